//! Reads `/proc` on Linux.

use std::fs;

use rustix::process::{Pid, getpid};

/// Fields of `/proc/PID/stat`.
pub(super) struct ProcessStat {
    /// The process group. Not a [`Pid`]: it is 0 if its leader is outside of this container.
    pub(super) group: i32,
    pub(super) session: i32,
}

/// Reads the fields of a process, if it exists.
pub(super) fn stat(pid: Pid) -> Option<ProcessStat> {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the name of the program in brackets, which may includes anything; then state and parent.
    let mut numbers = line.get(line.rfind(')')? + 1..)?.split_whitespace().skip(2).map(str::parse);
    Some(ProcessStat { group: numbers.next()?.ok()?, session: numbers.next()?.ok()? })
}

/// Whether `/proc` is of the process namespace of this process.
pub(super) fn is_same_pid_namespace() -> bool {
    let proc_self = fs::read_link("/proc/self");
    proc_self.is_ok_and(|proc_self| proc_self.to_str() == Some(&getpid().to_string()))
}

/// The children of this process, with adopted orphans.
///
/// The kernel may omit one, but only while another is reaped.
pub(super) fn children() -> Vec<Pid> {
    let Ok(threads) = fs::read_dir("/proc/self/task") else { return Vec::new() };
    let lists = threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let pid = |word: &str| Pid::from_raw(word.parse().ok()?);
    lists.flat_map(|list| list.split_whitespace().filter_map(pid).collect::<Vec<_>>()).collect()
}
