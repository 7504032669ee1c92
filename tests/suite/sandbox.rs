//! `sandbox`: programs that try what they may not, refused by the kernel.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use folio::SandboxSupport;
use serde_json::{Value, json};

use crate::harness::{FOLIO_BIN, ServeCommand, TestClient, TestFolder, run_folio, text_of};

/// What a test says before each attempt of its program, to tell them from what the test runner prints.
const ATTEMPT: &str = "attempt ";

/// Whether this kernel enforces all of it.
fn is_enforced() -> bool {
    let found = SandboxSupport::detect().gaps([]).is_empty();
    if !found {
        eprintln!("skipped: this kernel enforces {}", SandboxSupport::detect().describe());
    }
    found
}

/// The program under test: this one, which tries everything.
#[test]
#[ignore = "run by other tests as their program"]
fn attempts() {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let outside = variable("OUTSIDE");
    let outside = Path::new(&outside);
    let port: u16 = variable("PORT").parse().unwrap_or(1);
    let pid: i32 = variable("PID").parse().unwrap_or(0);
    let zero = 0_u32;
    let open = (3..256).filter(|fd| fs::read_link(format!("/proc/self/fd/{fd}")).is_ok()).count();
    let say = |what: &str, outcome: io::Result<()>| {
        println!("\n{ATTEMPT}{what}={}", outcome.err().map_or("ok".to_owned(), |error| format!("{:?}", error.kind())));
    };
    say("read in cwd", fs::read("folio.yaml").map(drop));
    say("read given", fs::read("data/given").map(drop));
    say("write given", fs::write("out/new", "x"));
    say("rename given", fs::rename("out/new", "out/newer"));
    say("write in cwd", fs::write("new", "x"));
    say("write read-only", fs::write("data/new", "x"));
    say("read outside", fs::read(outside.join("secret")).map(drop));
    say("list outside", fs::read_dir(outside).map(drop));
    say("write outside", fs::write(outside.join("new"), "x"));
    say("truncate outside", truncate(&outside.join("full")));
    say("remove outside", fs::remove_file(outside.join("removable")));
    say("link out", fs::hard_link(outside.join("secret"), "out/hard"));
    say("rename out", fs::write("out/own", "x").and_then(|()| fs::rename("out/own", outside.join("own"))));
    say("rename in", fs::rename(outside.join("movable"), "out/moved"));
    say("read by link", symlink(outside.join("secret"), "out/soft").and_then(|()| fs::read("out/soft").map(drop)));
    say("write by link", fs::write("out/soft", "x"));
    say("make device", mkfifo(&outside.join("fifo")));
    say("swap", fs::write("out/one", "x").and_then(|()| swap(Path::new("out/one"), &outside.join("full"))));
    say("connect", TcpStream::connect(("127.0.0.1", port)).map(drop));
    say("bind", TcpListener::bind("127.0.0.1:0").map(drop));
    say("listen", socket(libc::AF_INET, libc::SOCK_STREAM, 0).and_then(|socket| listen(&socket)));
    say("mptcp", socket(libc::AF_INET, libc::SOCK_STREAM, libc::IPPROTO_MPTCP).map(drop));
    say("fast open", socket(libc::AF_INET, libc::SOCK_STREAM, 0).and_then(|socket| fast_open(&socket, port)));
    say("upper layer", socket(libc::AF_INET, libc::SOCK_STREAM, 0).and_then(|socket| upper_layer(&socket)));
    say("udp", socket(libc::AF_INET6, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, libc::IPPROTO_UDP).map(drop));
    say("vsock", socket(libc::AF_VSOCK, libc::SOCK_STREAM, 0).map(drop));
    say("raw", socket(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP).map(drop));
    say("packet", socket(libc::AF_PACKET, libc::SOCK_RAW, 0).map(drop));
    say("ring", call(libc::SYS_io_uring_setup, [0, 0, 0]).map(drop));
    say("x32", call(0x4000_0000 | libc::SYS_getpid, [0, 0, 0]).map(drop));
    say("local sockets", UnixStream::pair().map(drop));
    say("netlink", socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE).map(drop));
    say("mode outside", fs::set_permissions(outside.join("secret"), PermissionsExt::from_mode(0o640)));
    say("owner outside", std::os::unix::fs::lchown(outside.join("secret"), None, None));
    say("times outside", touch(&outside.join("secret")));
    say("flags outside", fs::File::open(outside.join("secret")).and_then(|file| set_flags(&file)));
    say("flags given", fs::File::open("data/given").and_then(|file| set_flags(&file)));
    say("project given", fs::File::open("data/given").and_then(|file| set_project(&file)));
    say("mode given", fs::set_permissions("out/keep", PermissionsExt::from_mode(0o600)));
    let name = SocketAddr::from_abstract_name(format!("folio-suite-{pid}")).unwrap();
    say("abstract socket", UnixStream::connect_addr(&name).map(drop));
    say("signal", signal(pid));
    say("process", fs::read(format!("/proc/{pid}/cmdline")).map(drop));
    let parent = std::os::unix::process::parent_id();
    say("parent", fs::read(format!("/proc/{parent}/environ")).map(drop));
    say("ptrace", trace(pid));
    say("take descriptor", take_descriptor(pid));
    say("descriptors of parent", fs::read_dir(format!("/proc/{parent}/fd")).map(drop));
    say(
        "open by descriptor",
        fs::File::open(format!("/proc/{pid}/root{}", outside.join("secret").display())).map(drop),
    );
    say("shared memory", made_and_removed(libc::SYS_shmget, [0, 4096, 0o600], libc::SYS_shmctl));
    say("semaphores", made_and_removed(libc::SYS_semget, [0, 1, 0o600], libc::SYS_semctl));
    say("message queue", made_and_removed(libc::SYS_msgget, [0, 0o600, 0], libc::SYS_msgctl));
    say("watch outside", watch(outside));
    say("limits of another", call(libc::SYS_prlimit64, [pid as usize, 0, 0]).map(drop));
    say("own limits", call(libc::SYS_prlimit64, [0, 0, 0]).map(drop));
    say("own priority", call(libc::SYS_setpriority, [0, 0, 19]).map(drop));
    say("own group", call(libc::SYS_setpriority, [1, 0, 19]).map(drop));
    say("own scheduler", call(libc::SYS_sched_setscheduler, [0, 0, &raw const zero as usize]).map(drop));
    say("own personality", call(libc::SYS_personality, [0xffff_ffff, 0, 0]).map(drop));
    say("open descriptors", if open == 0 { Ok(()) } else { Err(io::Error::other(format!("{open}"))) });
}

macro_rules! calls {
    ($($name:ident)*) => { &[$((stringify!($name), libc::$name)),*] }
}

/// Calls that no sandbox allows.
const REFUSED: &[(&str, i64)] = calls![
    SYS_shmget SYS_shmat SYS_shmctl SYS_shmdt SYS_semget SYS_semop SYS_semtimedop SYS_semctl
    SYS_msgget SYS_msgsnd SYS_msgrcv SYS_msgctl SYS_mq_open SYS_mq_unlink SYS_mq_timedsend SYS_mq_timedreceive
    SYS_mq_notify SYS_mq_getsetattr SYS_add_key SYS_request_key SYS_keyctl
    SYS_inotify_init1 SYS_inotify_add_watch SYS_inotify_rm_watch SYS_fanotify_init SYS_fanotify_mark
    SYS_open_by_handle_at SYS_ptrace SYS_process_vm_readv SYS_process_vm_writev SYS_process_madvise SYS_kcmp
    SYS_pidfd_getfd SYS_move_pages SYS_migrate_pages SYS_mbind SYS_get_mempolicy SYS_set_mempolicy
    SYS_set_mempolicy_home_node SYS_perf_event_open SYS_bpf SYS_userfaultfd SYS_syslog SYS_lookup_dcookie
    SYS_acct SYS_quotactl SYS_quotactl_fd SYS_mount SYS_umount2 SYS_pivot_root SYS_chroot SYS_mount_setattr
    SYS_open_tree SYS_move_mount SYS_fsopen SYS_fsconfig SYS_fsmount SYS_fspick SYS_unshare SYS_setns
    SYS_init_module SYS_finit_module SYS_delete_module SYS_kexec_load SYS_reboot SYS_swapon SYS_swapoff
    SYS_sethostname SYS_setdomainname SYS_settimeofday SYS_clock_settime SYS_clock_adjtime SYS_adjtimex SYS_vhangup
    SYS_setpriority SYS_ioprio_set SYS_prlimit64 SYS_sched_setaffinity SYS_sched_setattr SYS_sched_setparam
    SYS_sched_setscheduler
];
#[cfg(target_arch = "x86_64")]
const REFUSED_OF_ARCHITECTURE: &[(&str, i64)] =
    calls![SYS_inotify_init SYS_kexec_file_load SYS_iopl SYS_ioperm SYS_uselib SYS_ustat SYS_sysfs];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_OF_ARCHITECTURE: &[(&str, i64)] = &[("kexec_file_load", 294)];
/// Those that have no name in some C libraries.
const REFUSED_YOUNGER: &[(&str, i64)] = &[
    ("statmount", 457),
    ("listmount", 458),
    ("lsm_get_self_attr", 459),
    ("lsm_set_self_attr", 460),
    ("lsm_list_modules", 461),
];
/// Calls that a sandbox has not. The last are the first one that is younger than its tables, and one that is yet to come.
const ABSENT: &[(&str, i64)] = calls![SYS_clone3 SYS_io_uring_setup SYS_io_uring_enter SYS_io_uring_register];
const ABSENT_YOUNGER: &[(&str, i64)] = &[("open_tree_attr", 467), ("one of the future", 600)];

/// The program under test: this one, which makes all calls that no sandbox allows. With these arguments they do
/// nothing, and are not refused to root for another reason.
#[test]
#[ignore = "run by other tests as their program"]
fn refused_calls() {
    let say = |what: &str, outcome: io::Result<usize>| {
        let errno = outcome.err().and_then(|error| error.raw_os_error());
        println!("\n{ATTEMPT}{what}={}", errno.map_or("ok".to_owned(), |errno| errno.to_string()));
    };
    let all = [REFUSED, REFUSED_OF_ARCHITECTURE, REFUSED_YOUNGER, ABSENT, ABSENT_YOUNGER].concat();
    for (name, number) in all {
        say(name, call(number, [usize::MAX; 3]));
    }
    for (name, flag) in [
        ("mount", libc::CLONE_NEWNS),
        ("cgroup", libc::CLONE_NEWCGROUP),
        ("uts", libc::CLONE_NEWUTS),
        ("ipc", libc::CLONE_NEWIPC),
        ("user", libc::CLONE_NEWUSER),
        ("pid", libc::CLONE_NEWPID),
        ("net", libc::CLONE_NEWNET),
    ] {
        // Handlers of signals are shared with memory only.
        say(&format!("{name} namespace"), call(libc::SYS_clone, [(flag | libc::CLONE_SIGHAND) as usize, 0, 0]));
    }
    say("personality", call(libc::SYS_personality, [0x40_0000, 0, 0]));
    let is_held = call(libc::SYS_shmdt, [usize::MAX; 3]).is_err_and(|error| error.raw_os_error() == Some(libc::EPERM));
    if is_held {
        // It would do something.
        say("priority of user", call(libc::SYS_setpriority, [2, 0, 0]));
    }
    say("ioprio of user", call(libc::SYS_ioprio_set, [3, 0, usize::MAX]));
    say("socket of vsock", call(libc::SYS_socket, [libc::AF_VSOCK as usize, 1, 0]));
    say("socket of cryptography", call(libc::SYS_socket, [libc::AF_ALG as usize, 5, 0]));
}

#[test]
fn every_sandbox_refuses_calls_without_a_path() {
    if !is_enforced() {
        return;
    }
    let playground = Playground::new(&[]);
    let tools: String = [("none", "{}"), ("port", "{ network: [9] }"), ("any", "{ network: any, write: [out] }")]
        .iter()
        .map(|(name, sandbox)| playground.tool(name, &format!("      sandbox: {sandbox}\n")))
        .collect();
    let tools = tools.replace("sandbox::attempts", "sandbox::refused_calls");
    playground.folder.write("folio.yaml", format!("folio: 1\nserver: {{ name: s }}\ntools:\n{tools}"));
    let server = playground.folder.stdio();
    let client = server.sessionless();
    let absent = [ABSENT, ABSENT_YOUNGER].concat();
    for tool in ["none", "port", "any"] {
        for (what, how) in playground.attempts(&client, tool) {
            let expected = match what.as_str() {
                name if absent.iter().any(|(absent, _)| *absent == name) => libc::ENOSYS,
                name if name.starts_with("socket") => libc::EACCES,
                _ => libc::EPERM,
            };
            assert_eq!(how, expected.to_string(), "{tool}: {what}");
        }
    }
}

fn signal(pid: i32) -> io::Result<()> {
    let pid = rustix::process::Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidInput)?;
    rustix::process::test_kill_process(pid).map_err(io::Error::from)
}

#[expect(unsafe_code, reason = "std truncates open files only, which the kernel holds by another right")]
fn truncate(path: &Path) -> io::Result<()> {
    let path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: the path ends with NUL.
    let outcome = unsafe { libc::truncate(path.as_ptr(), 0) };
    if outcome < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[expect(unsafe_code, reason = "std makes sockets of TCP, UDP and files only")]
fn socket(domain: i32, kind: i32, protocol: i32) -> io::Result<OwnedFd> {
    // SAFETY: the call reads no memory, and the descriptor is new.
    unsafe {
        match libc::socket(domain, kind, protocol) {
            fd if fd < 0 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}

#[expect(unsafe_code, reason = "no crate makes these calls")]
fn call(number: i64, [first, second, third]: [usize; 3]) -> io::Result<usize> {
    // SAFETY: with these arguments the calls read no memory but what outlives them, and write none.
    let outcome = unsafe { libc::syscall(number, first, second, third, 0, 0, 0) };
    if outcome < 0 { Err(io::Error::last_os_error()) } else { Ok(outcome as usize) }
}

/// Makes an object of System V, and removes it.
fn made_and_removed(make: i64, arguments: [usize; 3], control: i64) -> io::Result<()> {
    let id = call(make, arguments)?;
    call(control, [id, 0, 0]).map(drop)
}

fn watch(folder: &Path) -> io::Result<()> {
    let watcher = rustix::fs::inotify::init(rustix::fs::inotify::CreateFlags::empty())?;
    let wanted = rustix::fs::inotify::WatchFlags::CREATE;
    rustix::fs::inotify::add_watch(watcher, folder, wanted).map(drop).map_err(io::Error::from)
}

/// Sets the flags that `chattr` does, to what they are; done where the file system has none.
fn set_flags(file: &fs::File) -> io::Result<()> {
    let flags = rustix::fs::ioctl_getflags(file).unwrap_or(rustix::fs::IFlags::empty());
    done_or_unsupported(rustix::fs::ioctl_setflags(file, flags).map_err(io::Error::from))
}

/// Sets flags and the project in the other way.
#[expect(unsafe_code, reason = "no crate makes this call")]
fn set_project(file: &fs::File) -> io::Result<()> {
    const FS_IOC_FSSETXATTR: libc::c_ulong = 0x401c_5820;
    let attributes = [0_u32; 7];
    // SAFETY: the kernel reads 28 bytes, which outlive the call.
    let outcome = unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FSSETXATTR, attributes.as_ptr()) };
    done_or_unsupported(if outcome < 0 { Err(io::Error::last_os_error()) } else { Ok(()) })
}

fn done_or_unsupported(outcome: io::Result<()>) -> io::Result<()> {
    outcome.or_else(|error| match error.raw_os_error() {
        Some(libc::ENOTTY | libc::EOPNOTSUPP | libc::ENOSYS | libc::EINVAL) => Ok(()),
        _ => Err(error),
    })
}

/// Binds to a free port, as no other is named.
fn listen(socket: &OwnedFd) -> io::Result<()> {
    rustix::net::listen(socket, 1).map_err(io::Error::from)
}

/// Connects with the first bytes.
fn fast_open(socket: &OwnedFd, port: u16) -> io::Result<()> {
    let flags = rustix::net::SendFlags::from_bits_retain(libc::MSG_FASTOPEN as u32);
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
    rustix::net::sendto(socket, b"x", flags, &address).map(drop).map_err(io::Error::from)
}

#[expect(unsafe_code, reason = "no crate sets this option")]
fn upper_layer(socket: &OwnedFd) -> io::Result<()> {
    let name = c"tls";
    // SAFETY: the name outlives the call, and is as long as it says.
    let outcome =
        unsafe { libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_ULP, name.as_ptr().cast(), 3) };
    if outcome < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Sets the times of a file, which it need not open.
fn touch(path: &Path) -> io::Result<()> {
    let now = rustix::fs::Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
    let times = rustix::fs::Timestamps { last_access: now, last_modification: now };
    rustix::fs::utimensat(rustix::fs::CWD, path, &times, rustix::fs::AtFlags::empty()).map_err(io::Error::from)
}

fn mkfifo(path: &Path) -> io::Result<()> {
    let mode = rustix::fs::Mode::RWXU;
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).map_err(io::Error::from)
}

/// Exchanges two files.
fn swap(one: &Path, other: &Path) -> io::Result<()> {
    let flags = rustix::fs::RenameFlags::EXCHANGE;
    rustix::fs::renameat_with(rustix::fs::CWD, one, rustix::fs::CWD, other, flags).map_err(io::Error::from)
}

/// Duplicates the stdin of a process, which is open there.
fn take_descriptor(pid: i32) -> io::Result<()> {
    let pid = rustix::process::Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidInput)?;
    let process = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty())?;
    let flags = rustix::process::PidfdGetfdFlags::empty();
    rustix::process::pidfd_getfd(process, 0, flags).map(drop).map_err(io::Error::from)
}

/// Seizes a process, which does not stop it.
#[expect(unsafe_code, reason = "only debuggers do this")]
fn trace(pid: i32) -> io::Result<()> {
    // SAFETY: this request reads and writes no memory.
    let outcome = unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0_usize, 0_usize) };
    if outcome < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A folder with what a program may and may not reach, and the listeners that it tries.
struct Playground {
    folder: TestFolder,
    outside: TestFolder,
    listener: TcpListener,
    _abstract: Option<UnixListener>,
}

impl Playground {
    /// With tools of these sandboxes, each of which tries everything.
    fn new(tools: &[(&str, &str)]) -> Playground {
        let outside = TestFolder::new(&[("secret", "s"), ("full", "f"), ("removable", "r"), ("movable", "m")]);
        let folder = TestFolder::new(&[("data/given", "g"), ("out/keep", "")]);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let name = SocketAddr::from_abstract_name(format!("folio-suite-{}", std::process::id())).unwrap();
        let played = Playground { folder, outside, listener, _abstract: UnixListener::bind_addr(&name).ok() };
        let tools: String = tools.iter().map(|(name, rest)| played.tool(name, rest)).collect();
        played.folder.write("folio.yaml", format!("folio: 1\nserver: {{ name: s }}\ntools:\n{tools}"));
        played
    }

    fn port(&self) -> u16 {
        self.listener.local_addr().unwrap().port()
    }

    /// A tool whose program tries everything; `rest` are the keys beside it.
    fn tool(&self, name: &str, rest: &str) -> String {
        let program = std::env::current_exe().unwrap();
        let rest = rest.replace("PORT", &self.port().to_string());
        format!(
            "  {name}:\n    description: D\n    timeout: 20s\n    run:\n      exec: [{}, --exact, \"sandbox::attempts\", --ignored, --nocapture]\n      env: {{ OUTSIDE: {}, PORT: {}, PID: {} }}\n{rest}",
            program.display(),
            self.outside.path().display(),
            self.port(),
            std::process::id()
        )
    }

    fn attempts(&self, client: &TestClient, tool: &str) -> BTreeMap<String, String> {
        attempts_of(&client.call(tool, json!({})))
    }
}

fn attempts_of(result: &Value) -> BTreeMap<String, String> {
    let text = text_of(&result["content"][0]);
    let lines = text.lines().filter_map(|line| line.strip_prefix(ATTEMPT)?.split_once('='));
    let found: BTreeMap<String, String> = lines.map(|(what, how)| (what.to_owned(), how.to_owned())).collect();
    assert!(found.len() > 20, "{text}");
    found
}

const MAY: [&str; 12] = [
    "read in cwd", "read given", "write given", "rename given", "open descriptors", "local sockets", "netlink",
    "own limits", "own priority", "own group", "own scheduler", "own personality",
];
/// A filter of system calls sees no paths, so who may write somewhere may change the modes of all that is its user's.
const WRITERS_MAY: [&str; 6] =
    ["mode outside", "owner outside", "times outside", "mode given", "flags given", "project given"];

#[test]
fn kernel_refuses_what_is_not_given() {
    if !is_enforced() {
        return;
    }
    let playground = Playground::new(&[("held", "      sandbox: { read: [data], write: [out], required: true }\n")]);
    let server = playground.folder.stdio();
    let client = server.sessionless();
    for (what, how) in playground.attempts(&client, "held") {
        let may = MAY.contains(&what.as_str()) || WRITERS_MAY.contains(&what.as_str());
        assert_eq!(how == "ok", may, "{what}: {how}");
    }
    for (file, content) in [("secret", "s"), ("full", "f"), ("removable", "r"), ("movable", "m")] {
        assert_eq!(fs::read_to_string(playground.outside.join(file)).unwrap(), content);
    }
}

/// Without it, each attempt of the test above would go well.
#[test]
fn attempts_succeed_without_sandbox() {
    let playground = Playground::new(&[("free", "")]);
    let server = playground.folder.stdio();
    let client = server.sessionless();
    // Who may look at other processes is also up to the system; hard links and renames need one file system.
    let elsewhere = [
        "ptrace", "parent", "signal", "link out", "rename out", "rename in", "swap", "take descriptor",
        "descriptors of parent", "open by descriptor", "mptcp", "fast open", "upper layer", "vsock", "raw", "packet",
        "ring", "x32",
    ];
    for (what, how) in playground.attempts(&client, "free") {
        assert!(how == "ok" || elsewhere.contains(&what.as_str()), "{what}: {how}");
    }
}

#[test]
fn network_is_restricted_by_port() {
    if !is_enforced() {
        return;
    }
    let playground = Playground::new(&[
        ("given", "      sandbox: { network: [PORT] }\n"),
        ("other", "      sandbox: { network: [9] }\n"),
        ("any", "      sandbox: { network: any, write: [out] }\n"),
    ]);
    let server = playground.folder.stdio();
    let client = server.sessionless();
    for (tool, connect, bind) in [("given", true, false), ("other", false, false), ("any", true, true)] {
        let tried = playground.attempts(&client, tool);
        assert_eq!((tried["connect"] == "ok", tried["bind"] == "ok"), (connect, bind), "{tool}: {tried:?}");
        assert_eq!(tried["write given"] == "ok", tool == "any", "{tool}: {tried:?}");
        assert!(tried["udp"] == "ok" && tried["netlink"] == "ok", "names are resolved: {tried:?}");
        for what in ["listen", "mode outside", "owner outside", "times outside", "mode given"] {
            assert_eq!(tried[what] == "ok", tool == "any", "{tool}: {what}: {tried:?}");
        }
        for what in ["flags given", "project given"] {
            assert_eq!(tried[what], if tool == "any" { "ok" } else { "PermissionDenied" }, "{tool}: {what}: {tried:?}");
        }
        for what in ["mptcp", "fast open", "upper layer", "raw", "packet"] {
            assert!(tool == "any" || tried[what] == "PermissionDenied", "{tool}: {what}: {tried:?}");
        }
        for what in ["shared memory", "semaphores", "message queue", "watch outside", "limits of another", "vsock"] {
            assert_eq!(tried[what], "PermissionDenied", "{tool}: {what}: {tried:?}");
        }
        assert!(tried["ring"] != "ok" && tried["x32"] != "ok", "{tool}: {tried:?}");
    }
}

/// What people put into sandboxes, where it is installed.
#[test]
fn ordinary_programs_run_in_sandboxes() {
    if !is_enforced() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
        }
    });
    let programs = [
        (
            "git",
            "cd out && git init -q g && cd g && git -c user.name=n -c user.email=e commit -q --allow-empty -m hello && git log --format=%s",
        ),
        (
            "tar",
            "cd out && mkdir -p t && echo hello > t/f && chmod 640 t/f && cp -p t/f t/g && tar cf a.tar t && tar xpf a.tar && cat t/g",
        ),
        ("perl", "nice -n 5 perl -e 'print `echo hello`'"),
        ("tail", "echo hello > out/log && (tail -f -s 0.1 out/log & sleep 0.3; kill $!) 2> /dev/null"),
        ("curl", "curl -s http://localhost:PORT/"),
        (
            "python3",
            "python3 -c 'import urllib.request as r; print(r.urlopen(\"http://localhost:PORT/\").read().decode())'",
        ),
        (
            "node",
            "node -e 'require(\"http\").get(\"http://localhost:PORT/\", r => r.on(\"data\", d => console.log(String(d))))'",
        ),
    ];
    let tool = |(name, text): &(&str, &str)| {
        let script = json!({ "shell": "sh", "text": text.replace("PORT", &port.to_string()) });
        let sandbox = json!({ "write": ["out", "/dev/null"], "network": [port], "required": true });
        let run = json!({ "script": script, "sandbox": sandbox, "env": { "HOME": "/nonexistent" } });
        (name.to_string(), json!({ "description": "D", "timeout": "60s", "run": run }))
    };
    let tools: serde_json::Map<String, Value> = programs.iter().map(tool).collect();
    let folder = TestFolder::new(&[("out/keep", "")]);
    folder.write("folio.yaml", json!({ "folio": 1, "server": { "name": "s" }, "tools": tools }).to_string());
    let server = folder.stdio();
    let client = server.sessionless();
    for (name, _) in programs {
        if Command::new(name).arg("--version").output().is_ok() {
            assert_eq!(client.call_text(name, json!({})).trim(), "hello", "{name}");
        }
    }
}

#[test]
fn stricter_sandbox_of_importer_and_pack_applies() {
    if !is_enforced() {
        return;
    }
    let playground = Playground::new(&[]);
    let folder = &playground.folder;
    let pack = |name: &str, rest: &str| {
        let tools = playground.tool("try", rest);
        folder.write(&format!("{name}/folio.yaml"), format!("folio: 1\nserver: {{ name: p }}\ntools:\n{tools}"));
        folder.write(&format!("{name}/data/given"), "g");
        folder.write(&format!("{name}/out/keep"), "");
    };
    pack("bare", "");
    pack("wide", "      sandbox: { write: [data, out], network: any }\n");
    pack("narrow", "      sandbox: {}\n");
    let import = |name: &str| {
        format!("  {name}: {{ path: {name}, allow: {{ exec: {{ sandbox: {{ write: [{name}/out] }} }} }} }}\n")
    };
    let packs: String = ["bare", "wide", "narrow"].into_iter().map(import).collect();
    folder.write("folio.yaml", format!("folio: 1\nserver: {{ name: s }}\npacks:\n{packs}"));
    let server = folder.stdio();
    let client = server.sessionless();
    for (tool, writes) in [("bare-try", true), ("wide-try", true), ("narrow-try", false)] {
        let tried = playground.attempts(&client, tool);
        let may = |what: &str| {
            (MAY.contains(&what) && (writes || !["write given", "rename given"].contains(&what)))
                || (writes && WRITERS_MAY.contains(&what))
        };
        for (what, how) in tried {
            assert_eq!(how == "ok", may(&what), "{tool}: {what}: {how}");
        }
    }
}

#[test]
fn swapped_folder_does_not_lead_out() {
    if !is_enforced() {
        return;
    }
    let outside = TestFolder::new(&[("secret", "s")]);
    let folder = TestFolder::new(&[("work/inner/file", "x")]);
    folder.write("folio.yaml", format!(
        "folio: 1\nserver: {{ name: s }}\ntools:\n  swap: {{ description: D, run: {{ exec: [sh, -c, \"rm -r work/inner && ln -s $0 work/inner\", {}], sandbox: {{ write: [work] }} }} }}\n  read: {{ description: D, run: {{ exec: [cat, work/inner/secret], sandbox: {{ read: [work/inner] }} }} }}\n  cwd: {{ description: D, run: {{ exec: [cat, secret], cwd: work/inner, sandbox: {{}} }} }}\n",
        outside.path().display()
    ));
    let server = ServeCommand::new(folder.path()).flag("--no-watch").stdio();
    let client = server.sessionless();
    assert_ne!(client.call("swap", json!({}))["isError"], true);
    for (tool, shown) in [("read", "work/inner"), ("cwd", "work/inner")] {
        let said = text_of(&client.call(tool, json!({}))["content"][0]);
        assert!(said.starts_with(&format!("cannot open `{shown}` of the sandbox: ")), "{tool}: {said}");
    }
}

#[test]
fn sandbox_of_a_script_and_of_a_shebang_starts() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\ntools:\n  script: { description: D, run: { script: { shell: sh, text: 'cat data/a > /dev/null; ls / | wc -l > /dev/null 2>&1; echo hi' }, sandbox: { network: none } } }\n  file: { description: D, run: { exec: [./tool.sh], sandbox: {} } }\n",
    );
    folder.write("data/a", "a");
    folder.write("tool.sh", "#!/usr/bin/env sh\necho started\n");
    fs::set_permissions(folder.join("tool.sh"), PermissionsExt::from_mode(0o755)).unwrap();
    let server = folder.stdio();
    let client = server.sessionless();
    assert_eq!(client.call_text("script", json!({})).trim(), "hi");
    assert_eq!(client.call_text("file", json!({})).trim(), "started");
}

#[test]
fn bad_sandbox_is_reported_in_its_place() {
    let check = |sandbox: &str, more: &str| {
        let text = format!(
            "folio: 1\nserver: {{ name: s }}\n{more}tools:\n  t:\n    description: D\n    arguments: {{ a: {{}} }}\n    run:\n      exec: [ls, --, \"{{{{a}}}}\"]\n      sandbox: {sandbox}\n"
        );
        let folder = TestFolder::new(&[
            ("folio.yaml", &text),
            ("data/a", ""),
            ("p/folio.yaml", "folio: 1\nserver: { name: p }\n"),
        ]);
        let ran = run_folio(folder.path(), &["check", "--strict", "--format", "json"]);
        let report: Vec<Value> = serde_json::from_str(&ran.out).unwrap();
        report
            .iter()
            .map(|fault| format!("{} {} {}", fault["severity"], fault["message"], fault["help"]))
            .collect::<Vec<_>>()
            .join("\n")
    };
    for (sandbox, expected) in [
        ("{ network: [\"api.example:443\"] }", "write `443`: a sandbox restricts ports, not host names"),
        ("{ network: [0] }", "invalid port `0` in `network`"),
        ("{ network: some }", "some"),
        ("{ network: 443 }", "expected one of `none`, `any`"),
        ("{ read: [absent] }", "file or folder `absent` not found"),
        ("{ read: [\"../x\"] }", "escapes the pack folder"),
        ("{ read: [\"{{a}}\"] }", "an argument must not choose what a program may reach"),
        ("{ write: [.] }", "`.` holds the manifest"),
        ("{ write: [/] }", "`/` holds the manifest"),
        ("{ reads: [data] }", "unknown key `reads`"),
        ("[data]", "expected a map"),
    ] {
        let report = check(sandbox, "");
        assert!(report.contains(expected), "{sandbox}: {report}");
    }
    assert_eq!(check("{ read: [data, /etc], network: any }", ""), "");
    let demand = |allow: &str| check("{}", &format!("packs: {{ p: {{ path: p, allow: {allow} }} }}\n"));
    assert_eq!(demand("{ exec: { sandbox: { read: [data] } }, http: {} }"), "");
    assert!(demand("{ exec: { sandbox: { read: [absent] } } }").contains("file or folder `absent` not found"));
    assert!(demand("{ http: { sandbox: {} } }").contains("unknown key `sandbox`"));
    assert!(demand("{ shell: {} }").contains("unknown key `shell`"));
}

#[test]
fn verbose_check_lists_what_is_given() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\ntools:\n  t: { description: D, run: { exec: [sh, -c, ls], sandbox: { read: [data], network: [443], required: true } } }\n",
    );
    folder.write("data/a", "");
    let ran = run_folio(folder.path(), &["check", "-v"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for line in ["sandbox of `sh` at folio.yaml:4", "  read: data, .", "  write: nothing", "  network: 443, required"] {
        assert!(ran.out.lines().any(|said| said == line), "{line}: {}", ran.out);
    }
    assert!(ran.out.contains("  also run and read: ") && ran.out.contains("/dev/null"), "{}", ran.out);
    assert!(ran.out.contains("sandboxes are enforced by "), "{}", ran.out);
    let plain = run_folio(folder.path(), &["check"]);
    assert!(!plain.out.contains("also run"), "{}", plain.out);
}

/// Has a command, and all that it starts, run as on a kernel without one of its calls.
#[expect(unsafe_code, reason = "only a filter of system calls takes one away")]
fn without_call(command: &mut Command, call: i64) {
    let load = libc::sock_filter { code: 0x20, jt: 0, jf: 0, k: 0 };
    let is_call = libc::sock_filter { code: 0x15, jt: 0, jf: 1, k: call as u32 };
    let returns = |k| libc::sock_filter { code: 0x06, jt: 0, jf: 0, k };
    let absent = returns(libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32);
    let mut filter = [load, is_call, absent, returns(libc::SECCOMP_RET_ALLOW)];
    let install = move || {
        let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
        // SAFETY: `program` and what it points to outlive both calls.
        let outcome = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
                | libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
        };
        if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    // SAFETY: `install` calls the system alone.
    unsafe { command.pre_exec(install) };
}

#[test]
fn missing_landlock_is_reported_and_required_rules_refuse() {
    missing_call_is_said(libc::SYS_landlock_create_ruleset, "lacks: files");
}

#[test]
fn missing_seccomp_is_reported_and_required_rules_refuse() {
    if is_enforced() {
        missing_call_is_said(libc::SYS_seccomp, "lacks: sockets other than those of TCP");
    }
}

fn missing_call_is_said(call: i64, lacks: &str) {
    let tool = |name: &str, sandbox: &str| {
        format!("  {name}: {{ description: D, run: {{ exec: [echo, ran], sandbox: {sandbox} }} }}\n")
    };
    let tools = tool("wanted", "{}") + &tool("required", "{ required: true }");
    let folder = TestFolder::with_manifest(&format!("folio: 1\nserver: {{ name: s }}\ntools:\n{tools}"));
    let run = |arguments: &[&str]| {
        let mut command = Command::new(FOLIO_BIN);
        command.args(arguments).current_dir(folder.path()).stdin(Stdio::null());
        without_call(&mut command, call);
        let ran = command.output().unwrap();
        (String::from_utf8(ran.stdout).unwrap(), String::from_utf8(ran.stderr).unwrap())
    };
    let warning = format!("sandboxes are not fully enforced by this system, which {lacks}");
    assert!(run(&["serve"]).1.contains(&warning), "{:?}", run(&["serve"]));
    assert!(run(&["call", "wanted"]).0.contains("ran"));
    let (out, log) = run(&["call", "required"]);
    assert!((out.clone() + &log).contains("sandbox required for `echo`"), "{out} {log}");
    assert!(!out.contains("ran"), "{out}");
}

#[test]
fn workspace_and_folder_of_argument_are_given() {
    if !is_enforced() {
        return;
    }
    let manifest = r#"
folio: 1
server: { name: s }
tools:
  cwd: { description: D, arguments: { path: {} }, run: { exec: [cat, "{{path}}"], cwd: "{{workspace}}", sandbox: {} } }
  argument:
    description: D
    arguments: { path: {}, dir: { within: "{{workspace}}", required: true } }
    run: { exec: [cat, "{{path}}"], cwd: "{{dir}}", sandbox: { required: true } }
  read: { description: D, arguments: { path: {} }, run: { exec: [cat, "{{path}}"], sandbox: { read: ["{{workspace}}"] } } }
  write:
    description: D
    arguments: { path: {} }
    run: { exec: [tee, "{{path}}"], stdin: new, cwd: "{{workspace}}", sandbox: { write: ["{{workspace}}"] } }
  held: { description: D, arguments: { path: {} }, run: { exec: [tee, "{{path}}"], stdin: new, cwd: "{{workspace}}", sandbox: {} } }
"#;
    let folder = TestFolder::new(&[
        ("server/folio.yaml", manifest),
        ("work/file", "mine"),
        ("work/sub/file", "below"),
        ("outside/secret", "SECRET"),
    ]);
    let at = |path: &str| folder.join(path).to_str().unwrap().to_owned();
    let server = ServeCommand::new(&folder.join("server")).flag(&format!("--workspace={}", at("work"))).stdio();
    let client = server.sessionless();
    for (tool, arguments, content) in [
        ("cwd", json!({ "path": "file" }), Some("mine")),
        ("cwd", json!({ "path": "../outside/secret" }), None),
        ("cwd", json!({ "path": at("server/folio.yaml") }), None),
        ("argument", json!({ "dir": "sub", "path": "file" }), Some("below")),
        ("argument", json!({ "dir": "sub", "path": "../file" }), None),
        ("argument", json!({ "dir": ".", "path": "../outside/secret" }), None),
        ("read", json!({ "path": at("work/sub/file") }), Some("below")),
        ("read", json!({ "path": at("outside/secret") }), None),
        ("write", json!({ "path": "new" }), Some("new")),
        ("write", json!({ "path": "../outside/new" }), None),
        ("held", json!({ "path": "newer" }), None),
    ] {
        let result = client.call(tool, arguments.clone());
        let words = text_of(&result["content"][0]);
        assert_eq!(result["isError"] == true, content.is_none(), "{tool} {arguments}: {words}");
        content.inspect(|content| assert_eq!(&words, content, "{tool}"));
        assert!(content.is_some() || words.contains("Permission denied"), "{tool} {arguments}: {words}");
    }
    assert!(!folder.join("outside/new").exists() && !folder.join("work/newer").exists());
    let ran = run_folio(Path::new("/"), &["check", "-v", &at("server"), "--workspace", &at("work")]);
    assert!(ran.out.contains("  read: workspace\n") && ran.out.contains("  read: dir\n"), "{}", ran.out);
}

#[test]
fn importer_gives_no_workspace_without_its_grant() {
    if !is_enforced() {
        return;
    }
    let pack = r#"
folio: 1
server: { name: p }
tools: { t: { description: D, run: { exec: [cat, file], cwd: "{{workspace}}" } } }
"#;
    for (allow, is_given) in
        [("exec: { sandbox: { network: none } }", false), ("exec: { sandbox: {} }, files: {}", true)]
    {
        let manifest =
            format!("folio: 1\nserver: {{ name: s }}\npacks: {{ p: {{ path: p, allow: {{ {allow} }} }} }}\n");
        let folder = TestFolder::new(&[("folio.yaml", &manifest), ("p/folio.yaml", pack), ("work/file", "mine")]);
        let command = folder.serve_command().flag(&format!("--workspace={}", folder.join("work").display()));
        let server = command.stdio();
        let result = server.sessionless().call("p-t", json!({}));
        assert_eq!(result["isError"] == false, is_given, "{allow}: {result}");
    }
}
