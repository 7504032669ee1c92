//! seccomp: a filter of system calls, for what Landlock does not hold.
//!
//! Landlock refuses `connect` and `bind` of TCP. Other protocols carry the same packets, TCP Fast Open connects by
//! `sendto`, `listen` binds by itself, and rings of io_uring make sockets past any filter. A filter sees the numbers that
//! a call is given, not the paths or addresses that they point to.

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

/// From this number on calls are those of x32, which have other numbers for the same.
#[cfg(target_arch = "x86_64")]
const FIRST_X32_SYSCALL: u32 = 0x4000_0000;

/// Where the number of the call, its architecture and its arguments are.
const CALL_OFFSET: u32 = 0;
const ARCHITECTURE_OFFSET: u32 = 4;
const ARGUMENTS_OFFSET: u32 = 16;

/// Calls that have these numbers on every architecture, and are younger than some C libraries.
const FCHMODAT2: i64 = 452;
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const FILE_SETATTR: i64 = 469;

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
const ATTRIBUTE_CALLS: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    REMOVEXATTRAT,
    FILE_SETATTR,
];
#[cfg(target_arch = "x86_64")]
const OLDER_ATTRIBUTE_CALLS: &[i64] =
    &[libc::SYS_chmod, libc::SYS_chown, libc::SYS_lchown, libc::SYS_utime, libc::SYS_utimes, libc::SYS_futimesat];
#[cfg(not(target_arch = "x86_64"))]
const OLDER_ATTRIBUTE_CALLS: &[i64] = &[];

/// Whether the system filters system calls.
pub(super) fn is_supported() -> bool {
    let action = libc::SECCOMP_RET_ERRNO;
    // SAFETY: the kernel reads the action, which outlives the call.
    #[allow(unsafe_code, reason = "only the system call itself knows")]
    let outcome =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0_u32, std::ptr::from_ref(&action)) };
    outcome == 0 && ARCHITECTURE.is_some()
}

/// The filter of these rules; empty where they refuse nothing.
pub(super) fn filter(rules: SyscallRules) -> SyscallFilter {
    let Some(architecture) = ARCHITECTURE.filter(|_| !rules.is_empty()) else { return SyscallFilter::new() };
    let mut filter = vec![
        load(ARCHITECTURE_OFFSET),
        jump(libc::BPF_JEQ, architecture, 1, 0),
        // Programs of another architecture have other calls.
        return_action(libc::SECCOMP_RET_KILL_PROCESS),
        load(CALL_OFFSET),
    ];
    #[cfg(target_arch = "x86_64")]
    filter.extend([jump(libc::BPF_JGE, FIRST_X32_SYSCALL, 0, 1), deny(libc::ENOSYS)]);
    let calls = match rules.sockets {
        SocketRules::Any => &[],
        SocketRules::TcpAndUdp => TCP_AND_UDP_RULES,
        SocketRules::Local => LOCAL_RULES,
    };
    calls.iter().for_each(|call| push_syscall(&mut filter, call.number, rule(call.allowed)));
    if rules.keeps_attributes {
        let calls = ATTRIBUTE_CALLS.iter().chain(OLDER_ATTRIBUTE_CALLS);
        calls.for_each(|call| push_syscall(&mut filter, *call, vec![deny(libc::EACCES)]));
        push_syscall(&mut filter, libc::SYS_ioctl, rule(NO_ATTRIBUTE_COMMANDS));
    }
    // As on a system that has none, which programs expect.
    push_syscall(&mut filter, libc::SYS_io_uring_setup, vec![deny(libc::ENOSYS)]);
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
fn rule(allowed: &[&[ArgCondition]]) -> SyscallFilter {
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
    decision.push(deny(libc::EACCES));
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
