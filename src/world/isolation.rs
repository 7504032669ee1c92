//! What keeps a program from reaching into the process that has started it.

use std::fs;
use std::os::fd::{BorrowedFd, RawFd};

use rustix::io::{FdFlags, fcntl_setfd};

/// Closes this process to others of its user: its environment, its memory, and what it has open. Debuggers and core dumps
/// are others too. It is not closed to root.
pub fn forbid_ptrace() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

/// Keeps what this process was given open by its parent from the programs that it starts. What it opens itself is kept
/// from them anyway. To be called before any other thread is started.
pub(super) fn set_cloexec_on_inherited() {
    let listed = fs::read_dir("/dev/fd").into_iter().flatten().flatten();
    let open: Vec<RawFd> = listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for fd in open.into_iter().filter(|fd| *fd > 2) {
        // SAFETY: nothing else runs that could have closed it since; only the one that listed it is gone, which the
        // call then says.
        #[allow(unsafe_code, reason = "a descriptor that was inherited is known by its number alone")]
        let inherited = unsafe { BorrowedFd::borrow_raw(fd) };
        let _ = fcntl_setfd(inherited, FdFlags::CLOEXEC);
    }
}
