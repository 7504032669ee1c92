//! What Linux says of processes under `/proc`.

use std::fs;

use rustix::process::{Pid, getpid};

/// What one line of `/proc/PID/stat` says.
pub(super) struct ProcessStat {
    /// The process group. It is no [`Pid`]: it reads as 0 where its leader is outside of this container.
    pub(super) group: i32,
    /// The session, likewise.
    pub(super) session: i32,
}

/// Returns what is known of `pid`, while there is such a process.
pub(super) fn stat(pid: Pid) -> Option<ProcessStat> {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in brackets, which may hold anything; then come state and parent.
    let mut numbers = line.get(line.rfind(')')? + 1..)?.split_whitespace().skip(2).map(str::parse);
    Some(ProcessStat { group: numbers.next()?.ok()?, session: numbers.next()?.ok()? })
}

/// Says whether `/proc` numbers processes as this process does: in another process namespace it does not.
pub(super) fn is_same_pid_namespace() -> bool {
    let own = fs::read_link("/proc/self");
    own.is_ok_and(|own| own.to_str() == Some(&getpid().to_string()))
}

/// Returns the children of this process, orphans that it has adopted among them.
///
/// The kernel may leave one out when another is reaped meanwhile, and only then.
pub(super) fn children() -> Vec<Pid> {
    let Ok(threads) = fs::read_dir("/proc/self/task") else { return Vec::new() };
    let lists = threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| pids(&list)).collect()
}

fn pids(list: &str) -> Vec<Pid> {
    list.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()
}
