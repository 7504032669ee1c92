//! seccomp: a filter of system calls, for what Landlock does not hold.
//!
//! Landlock judges paths, `connect` and `bind` of TCP, and signals. Much else names no path, and some calls take a path that
//! Landlock does not see: every filter refuses these, and all that container engines refuse by default. Of the network,
//! other protocols carry the same packets as TCP, TCP Fast Open connects by `sendto`, and `listen` binds by itself. A
//! filter sees the numbers that a call is given, not the paths or addresses that they point to.

use std::io;

use super::SyscallRules;
use super::rules::SocketRules;

/// A program of the kernel's, made before the fork and loaded after it.
pub(in crate::world) type SyscallFilter = Vec<libc::sock_filter>;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: Option<u32> = Some(0xc000_003e);
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
const ARCHITECTURE: Option<u32> = Some(0xc000_00b7);
#[cfg(not(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little"))))]
const ARCHITECTURE: Option<u32> = None;

/// From this number on calls are younger than these tables, or those of x32, which have other numbers for the same.
const FIRST_UNKNOWN_CALL: u32 = 467;

/// Where the number of the call, its architecture and its arguments are.
const CALL_OFFSET: u32 = 0;
const ARCHITECTURE_OFFSET: u32 = 4;
const ARGUMENTS_OFFSET: u32 = 16;

/// Calls that have these numbers on every architecture, and are younger than some C libraries.
const FCHMODAT2: i64 = 452;
const STATMOUNT: i64 = 457;
const LISTMOUNT: i64 = 458;
const LSM_GET_SELF_ATTR: i64 = 459;
const LSM_SET_SELF_ATTR: i64 = 460;
const LSM_LIST_MODULES: i64 = 461;
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
/// Some C libraries have no name for it.
const KEXEC_FILE_LOAD: i64 = if cfg!(target_arch = "x86_64") { 320 } else { 294 };

/// Commands of `ioctl` by which who owns a file, or may read it, changes its flags, project, version or protection, and
/// makes or removes subvolumes: a descriptor to read it is enough. They have these numbers on both architectures.
const FS_IOC_SETFLAGS: i32 = 0x4008_6602;
const FS_IOC_SETVERSION: i32 = 0x4008_7602;
const FS_IOC_FSSETXATTR: i32 = 0x401c_5820;
const FS_IOC_ENABLE_VERITY: i32 = 0x4080_6685;
const FS_IOC_SET_ENCRYPTION_POLICY: i32 = 0x800c_6613_u32.cast_signed();
const EXT4_IOC_SETVERSION: i32 = 0x4008_6604;
const FAT_IOCTL_SET_ATTRIBUTES: i32 = 0x4004_7211;
const BTRFS_IOC_SUBVOL_CREATE: i32 = 0x5000_940e;
const BTRFS_IOC_SUBVOL_CREATE_V2: i32 = 0x5000_9418;
const BTRFS_IOC_SNAP_CREATE: i32 = 0x5000_9401;
const BTRFS_IOC_SNAP_CREATE_V2: i32 = 0x5000_9417;
const BTRFS_IOC_SNAP_DESTROY: i32 = 0x5000_940f;
const BTRFS_IOC_SNAP_DESTROY_V2: i32 = 0x5000_943f;
const BTRFS_IOC_SUBVOL_SETFLAGS: i32 = 0x4008_941a;

/// The flags of `clone` that make namespaces.
const NAMESPACES: i32 = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;
/// All processes of a user, to `setpriority` and to `ioprio_set`.
const PRIO_USER: i32 = 2;
const IOPRIO_WHO_USER: i32 = 3;
/// The personalities of `setarch`, `PER_LINUX32` and `UNAME26`, and the one that asks for the present one.
const LINUX32: i32 = 0x8;
const UNAME26: i32 = 0x2_0000;
const PRESENT_PERSONALITY: i32 = -1;

/// The type of a socket, without its flags.
const SOCKET_TYPE: u32 = 0xf;
const ALL_BITS: u32 = u32::MAX;

/// What an argument of a call is.
#[derive(Clone, Copy)]
struct ArgCondition {
    argument: u32,
    mask: u32,
    value: i32,
    /// Whether it has this value, or any other.
    is_equal: bool,
}

const fn is(argument: u32, value: i32) -> ArgCondition {
    ArgCondition { argument, mask: ALL_BITS, value, is_equal: true }
}

const fn is_not(argument: u32, value: i32) -> ArgCondition {
    ArgCondition { is_equal: false, ..is(argument, value) }
}

const fn is_type(value: i32) -> ArgCondition {
    ArgCondition { mask: SOCKET_TYPE, ..is(1, value) }
}

const fn lacks(argument: u32, flag: i32) -> ArgCondition {
    ArgCondition { argument, mask: flag.cast_unsigned(), value: 0, is_equal: true }
}

/// A system call that is allowed where all conditions of one of these lists hold, and else refused.
struct SyscallRule {
    number: i64,
    allowed: &'static [&'static [ArgCondition]],
}

const fn call_rule(number: i64, allowed: &'static [&'static [ArgCondition]]) -> SyscallRule {
    SyscallRule { number, allowed }
}

/// What no sandbox allows, by families.
const REFUSED_CALLS: &[&[i64]] = &[
    // Shared memory, semaphores and queues of messages belong to whoever knows their numbers or names.
    &[libc::SYS_shmget, libc::SYS_shmat, libc::SYS_shmctl, libc::SYS_shmdt],
    &[libc::SYS_semget, libc::SYS_semop, libc::SYS_semtimedop, libc::SYS_semctl],
    &[libc::SYS_msgget, libc::SYS_msgsnd, libc::SYS_msgrcv, libc::SYS_msgctl],
    &[libc::SYS_mq_open, libc::SYS_mq_unlink, libc::SYS_mq_timedsend, libc::SYS_mq_timedreceive],
    &[libc::SYS_mq_notify, libc::SYS_mq_getsetattr],
    // Keys of the user.
    &[libc::SYS_add_key, libc::SYS_request_key, libc::SYS_keyctl],
    // The names and the use of files in folders that are not given. Landlock does not see these paths.
    &[libc::SYS_inotify_init1, libc::SYS_inotify_add_watch, libc::SYS_inotify_rm_watch],
    &[libc::SYS_fanotify_init, libc::SYS_fanotify_mark],
    #[cfg(target_arch = "x86_64")]
    &[libc::SYS_inotify_init],
    // Files by handles instead of paths.
    &[libc::SYS_open_by_handle_at],
    // The memory and the descriptors of other processes.
    &[libc::SYS_ptrace, libc::SYS_process_vm_readv, libc::SYS_process_vm_writev, libc::SYS_process_madvise],
    &[libc::SYS_kcmp, libc::SYS_pidfd_getfd, libc::SYS_move_pages, libc::SYS_migrate_pages],
    // Which memory of the machine is used.
    &[libc::SYS_mbind, libc::SYS_get_mempolicy, libc::SYS_set_mempolicy, libc::SYS_set_mempolicy_home_node],
    // What watches the whole system, or gives ways to attack the kernel.
    &[libc::SYS_perf_event_open, libc::SYS_bpf, libc::SYS_userfaultfd, libc::SYS_syslog, libc::SYS_lookup_dcookie],
    &[libc::SYS_acct, libc::SYS_quotactl, libc::SYS_quotactl_fd],
    &[LSM_GET_SELF_ATTR, LSM_SET_SELF_ATTR, LSM_LIST_MODULES],
    // File systems, and the paths where they are mounted.
    &[libc::SYS_mount, libc::SYS_umount2, libc::SYS_pivot_root, libc::SYS_chroot, libc::SYS_mount_setattr],
    &[libc::SYS_open_tree, libc::SYS_move_mount, libc::SYS_fsopen, libc::SYS_fsconfig, libc::SYS_fsmount],
    &[libc::SYS_fspick, STATMOUNT, LISTMOUNT],
    // Namespaces, in which a program is root.
    &[libc::SYS_unshare, libc::SYS_setns],
    // The kernel, its modules, and the state of the machine.
    &[libc::SYS_init_module, libc::SYS_finit_module, libc::SYS_delete_module, libc::SYS_kexec_load, KEXEC_FILE_LOAD],
    &[libc::SYS_reboot, libc::SYS_swapon, libc::SYS_swapoff, libc::SYS_sethostname, libc::SYS_setdomainname],
    &[libc::SYS_settimeofday, libc::SYS_clock_settime, libc::SYS_clock_adjtime, libc::SYS_adjtimex],
    &[libc::SYS_vhangup],
    #[cfg(target_arch = "x86_64")]
    &[libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_uselib, libc::SYS_ustat, libc::SYS_sysfs],
];
/// What no sandbox has. Programs expect systems without them: `clone3` has flags that a filter does not see, and io_uring
/// makes calls that it does not see.
const ABSENT_CALLS: &[i64] =
    &[libc::SYS_clone3, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

const OWN_PROCESS: &[&[ArgCondition]] = &[&[is(0, 0)]];
/// What every sandbox allows in part. Priorities, schedulers and limits are those of the calling process, which is 0, or
/// of its group; other numbers may be those of any process of the user.
const LIMITED_CALLS: &[SyscallRule] = &[
    call_rule(libc::SYS_clone, &[&[lacks(0, NAMESPACES)]]),
    call_rule(libc::SYS_setpriority, &[&[is_not(0, PRIO_USER), is(1, 0)]]),
    call_rule(libc::SYS_ioprio_set, &[&[is_not(0, IOPRIO_WHO_USER), is(1, 0)]]),
    call_rule(libc::SYS_prlimit64, OWN_PROCESS),
    call_rule(libc::SYS_sched_setaffinity, OWN_PROCESS),
    call_rule(libc::SYS_sched_setattr, OWN_PROCESS),
    call_rule(libc::SYS_sched_setparam, OWN_PROCESS),
    call_rule(libc::SYS_sched_setscheduler, OWN_PROCESS),
    // Others turn off protections of memory.
    call_rule(
        libc::SYS_personality,
        &[
            &[is(0, 0)],
            &[is(0, LINUX32)],
            &[is(0, UNAME26)],
            &[is(0, LINUX32 | UNAME26)],
            &[is(0, PRESENT_PERSONALITY)],
        ],
    ),
];

/// All but those to the host of a virtual machine, and to the kernel's cryptography.
const ANY_SOCKETS: &[&[ArgCondition]] = &[&[is_not(0, libc::AF_VSOCK), is_not(0, libc::AF_ALG)]];
/// Sockets on this machine. `getaddrinfo` and `getifaddrs` ask the kernel for addresses by those of netlink.
const LOCAL_SOCKETS: &[&[ArgCondition]] =
    &[&[is(0, libc::AF_UNIX)], &[is(0, libc::AF_NETLINK), is(2, libc::NETLINK_ROUTE)]];
/// The same with TCP, whose ports Landlock holds, and UDP, by which names are resolved.
const TCP_AND_UDP_SOCKETS: &[&[ArgCondition]] = &[
    &[is(0, libc::AF_UNIX)],
    &[is(0, libc::AF_NETLINK), is(2, libc::NETLINK_ROUTE)],
    &[is(0, libc::AF_INET), is_type(libc::SOCK_STREAM), is(2, 0)],
    &[is(0, libc::AF_INET), is_type(libc::SOCK_STREAM), is(2, libc::IPPROTO_TCP)],
    &[is(0, libc::AF_INET), is_type(libc::SOCK_DGRAM), is(2, 0)],
    &[is(0, libc::AF_INET), is_type(libc::SOCK_DGRAM), is(2, libc::IPPROTO_UDP)],
    &[is(0, libc::AF_INET6), is_type(libc::SOCK_STREAM), is(2, 0)],
    &[is(0, libc::AF_INET6), is_type(libc::SOCK_STREAM), is(2, libc::IPPROTO_TCP)],
    &[is(0, libc::AF_INET6), is_type(libc::SOCK_DGRAM), is(2, 0)],
    &[is(0, libc::AF_INET6), is_type(libc::SOCK_DGRAM), is(2, libc::IPPROTO_UDP)],
];
const LOCAL_PAIRS: &[&[ArgCondition]] = &[&[is(0, libc::AF_UNIX)]];
/// The upper layer of a TCP connection may be another protocol, which connects by itself.
const NO_UPPER_LAYER: &[&[ArgCondition]] = &[&[is_not(1, libc::IPPROTO_TCP)], &[is_not(2, libc::TCP_ULP)]];

const NO_ATTRIBUTE_COMMANDS: &[&[ArgCondition]] = &[&[
    is_not(1, FS_IOC_SETFLAGS),
    is_not(1, FS_IOC_SETVERSION),
    is_not(1, FS_IOC_FSSETXATTR),
    is_not(1, FS_IOC_ENABLE_VERITY),
    is_not(1, FS_IOC_SET_ENCRYPTION_POLICY),
    is_not(1, EXT4_IOC_SETVERSION),
    is_not(1, FAT_IOCTL_SET_ATTRIBUTES),
    is_not(1, BTRFS_IOC_SUBVOL_CREATE),
    is_not(1, BTRFS_IOC_SUBVOL_CREATE_V2),
    is_not(1, BTRFS_IOC_SNAP_CREATE),
    is_not(1, BTRFS_IOC_SNAP_CREATE_V2),
    is_not(1, BTRFS_IOC_SNAP_DESTROY),
    is_not(1, BTRFS_IOC_SNAP_DESTROY_V2),
    is_not(1, BTRFS_IOC_SUBVOL_SETFLAGS),
]];

const ANY_RULES: &[SyscallRule] = &[call_rule(libc::SYS_socket, ANY_SOCKETS)];
const LOCAL_RULES: &[SyscallRule] =
    &[call_rule(libc::SYS_socket, LOCAL_SOCKETS), call_rule(libc::SYS_socketpair, LOCAL_PAIRS)];
const TCP_AND_UDP_RULES: &[SyscallRule] = &[
    call_rule(libc::SYS_socket, TCP_AND_UDP_SOCKETS),
    call_rule(libc::SYS_socketpair, LOCAL_PAIRS),
    call_rule(libc::SYS_listen, &[]),
    call_rule(libc::SYS_sendto, &[&[lacks(3, libc::MSG_FASTOPEN)]]),
    call_rule(libc::SYS_sendmsg, &[&[lacks(2, libc::MSG_FASTOPEN)]]),
    call_rule(libc::SYS_sendmmsg, &[&[lacks(3, libc::MSG_FASTOPEN)]]),
    call_rule(libc::SYS_setsockopt, NO_UPPER_LAYER),
];
/// Calls that change the mode, the owner, the times or the extended attributes of a file, which Landlock does not hold.
const ATTRIBUTE_CALLS: &[&[i64]] = &[
    &[libc::SYS_fchmod, libc::SYS_fchmodat, FCHMODAT2, libc::SYS_fchown, libc::SYS_fchownat, libc::SYS_utimensat],
    &[libc::SYS_setxattr, libc::SYS_lsetxattr, libc::SYS_fsetxattr, SETXATTRAT],
    &[libc::SYS_removexattr, libc::SYS_lremovexattr, libc::SYS_fremovexattr, REMOVEXATTRAT],
    #[cfg(target_arch = "x86_64")]
    &[libc::SYS_chmod, libc::SYS_chown, libc::SYS_lchown, libc::SYS_utime, libc::SYS_utimes, libc::SYS_futimesat],
];

/// Whether the system filters system calls.
pub(super) fn is_supported() -> bool {
    let action = libc::SECCOMP_RET_ERRNO;
    // SAFETY: the kernel reads the action, which outlives the call.
    #[allow(unsafe_code, reason = "only the system call itself knows")]
    let outcome =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0_u32, std::ptr::from_ref(&action)) };
    outcome == 0 && ARCHITECTURE.is_some()
}

/// The filter of these rules; empty on an architecture that has none.
pub(super) fn filter(rules: SyscallRules) -> SyscallFilter {
    let Some(architecture) = ARCHITECTURE else { return SyscallFilter::new() };
    let mut filter = vec![
        load(ARCHITECTURE_OFFSET),
        jump(libc::BPF_JEQ, architecture, 1, 0),
        // Programs of another architecture have other calls.
        return_action(libc::SECCOMP_RET_KILL_PROCESS),
        load(CALL_OFFSET),
        // As on an older system, which programs expect.
        jump(libc::BPF_JGE, FIRST_UNKNOWN_CALL, 0, 1),
        deny(libc::ENOSYS),
    ];
    let mut refuse = |call, errno| push_syscall(&mut filter, call, vec![deny(errno)]);
    REFUSED_CALLS.concat().into_iter().for_each(|call| refuse(call, libc::EPERM));
    ABSENT_CALLS.iter().for_each(|call| refuse(*call, libc::ENOSYS));
    if rules.keeps_attributes {
        ATTRIBUTE_CALLS.concat().into_iter().for_each(|call| refuse(call, libc::EACCES));
        push_syscall(&mut filter, libc::SYS_ioctl, decision(NO_ATTRIBUTE_COMMANDS, libc::EACCES));
    }
    LIMITED_CALLS.iter().for_each(|call| push_syscall(&mut filter, call.number, decision(call.allowed, libc::EPERM)));
    let socket_rules = match rules.sockets {
        SocketRules::Any => ANY_RULES,
        SocketRules::TcpAndUdp => TCP_AND_UDP_RULES,
        SocketRules::Local => LOCAL_RULES,
    };
    socket_rules.iter().for_each(|call| push_syscall(&mut filter, call.number, decision(call.allowed, libc::EACCES)));
    filter.push(return_action(libc::SECCOMP_RET_ALLOW));
    filter
}

/// Holds the calling process to a filter. It makes system calls only, as it runs between fork and exec.
pub(super) fn enforce(filter: &[libc::sock_filter]) -> io::Result<()> {
    if filter.is_empty() {
        return Ok(());
    }
    rustix::thread::set_no_new_privs(true)?;
    let length = u16::try_from(filter.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let program = libc::sock_fprog { len: length, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the kernel reads `program` and what it points to, which outlive the call.
    #[allow(unsafe_code, reason = "a filter is loaded by its system call alone")]
    let outcome =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0_u32, std::ptr::from_ref(&program)) };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Decides one call; all others skip it with their number still loaded.
fn push_syscall(filter: &mut SyscallFilter, call: i64, decision: SyscallFilter) {
    let length = u8::try_from(decision.len()).unwrap_or(u8::MAX);
    filter.push(jump(libc::BPF_JEQ, u32::try_from(call).unwrap_or(u32::MAX), 0, length));
    filter.extend(decision);
}

/// Allows a call where one of these lists holds.
fn decision(allowed: &[&[ArgCondition]], errno: i32) -> SyscallFilter {
    let mut decision = SyscallFilter::new();
    for conditions in allowed {
        let mut left = conditions.len();
        for condition in *conditions {
            left -= 1;
            // Past the other conditions, of three instructions each, and what they allow.
            let past = u8::try_from(3 * left + 1).unwrap_or(u8::MAX);
            let (then, otherwise) = if condition.is_equal { (0, past) } else { (past, 0) };
            decision.push(load(ARGUMENTS_OFFSET + 8 * condition.argument));
            decision.push(instruction(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, condition.mask));
            decision.push(jump(libc::BPF_JEQ, condition.value.cast_unsigned(), then, otherwise));
        }
        decision.push(return_action(libc::SECCOMP_RET_ALLOW));
    }
    decision.push(deny(errno));
    decision
}

fn instruction(code: u32, value: u32) -> libc::sock_filter {
    libc::sock_filter { code: u16::try_from(code).unwrap_or_default(), jt: 0, jf: 0, k: value }
}

/// Loads the lower half of a field, which is all that the kernel takes of an `int`.
fn load(offset: u32) -> libc::sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset)
}

fn jump(test: u32, value: u32, then: u8, otherwise: u8) -> libc::sock_filter {
    libc::sock_filter { jt: then, jf: otherwise, ..instruction(libc::BPF_JMP | test | libc::BPF_K, value) }
}

fn return_action(action: u32) -> libc::sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, action)
}

fn deny(errno: i32) -> libc::sock_filter {
    return_action(libc::SECCOMP_RET_ERRNO | errno.cast_unsigned())
}
