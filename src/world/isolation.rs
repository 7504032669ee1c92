//! Keeps programs from reading the memory and the file descriptors of the process that started them.

use std::fs;
use std::os::fd::{BorrowedFd, RawFd};

use rustix::io::{FdFlags, fcntl_setfd};

/// Forbids other processes of the same user, but not root, to read the environment, memory and file descriptors of this
/// process. This also disables debuggers and core dumps.
pub fn forbid_ptrace() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

/// Sets CLOEXEC on inherited file descriptors, as Rust does on its own. To be called before any thread is started.
pub(super) fn set_cloexec_on_inherited() {
    let listed = fs::read_dir("/dev/fd").into_iter().flatten().flatten();
    let open: Vec<RawFd> = listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for fd in open.into_iter().filter(|fd| *fd > 2) {
        // SAFETY: no other thread could have closed it; only the descriptor of the listing is gone, and fails.
        #[allow(unsafe_code, reason = "an inherited descriptor is only known by its number")]
        let inherited = unsafe { BorrowedFd::borrow_raw(fd) };
        let _ = fcntl_setfd(inherited, FdFlags::CLOEXEC);
    }
}
