//! What Linux says about the descendants of this process.
//!
//! The mark is the soft limit of `RLIMIT_RTTIME`, at a number of microseconds (200,000 years) that limits nothing:
//! unlike a variable it does not show in the environment, and survives `env -i`.

use std::fs;
use std::sync::{Mutex, PoisonError};

use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, getpid, getrlimit, kill_process, kill_process_group,
    set_child_subreaper, setrlimit, waitpid,
};

/// Makes descendants whose parent has died children of this process.
pub(super) fn adopt_orphans() {
    let _ = set_child_subreaper(Some(getpid()));
}

/// Limits are those of the whole process, and so is this lock: whatever is started has the mark that is meant for it.
static STARTING: Mutex<()> = Mutex::new(());

/// Starts a program that has `mark`, or none, from its first moment: by inheritance, as it hands it on itself.
pub(super) fn start<T>(mark: Option<u64>, start: impl FnOnce() -> T) -> T {
    let _alone = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    let before = getrlimit(Resource::Rttime);
    if mark.is_some() {
        let _ = setrlimit(Resource::Rttime, Rlimit { current: mark, ..before });
    }
    let started = start();
    if mark.is_some() {
        let _ = setrlimit(Resource::Rttime, before);
    }
    started
}

/// Returns the mark of `pid`, or of whoever started it.
pub(super) fn mark_of(pid: Pid) -> Option<u64> {
    let limits = fs::read_to_string(format!("/proc/{}/limits", pid.as_raw_nonzero())).ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max realtime timeout"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The numbers of the group and the session of a process, as `/proc` says them: 0 for one whose leader is outside the
/// container that this process lives in, which is why they are no `Pid`s and not asked of `getsid`.
struct Ties {
    group: i32,
    session: i32,
}

fn ties(pid: Pid) -> Option<Ties> {
    let line = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    // The second field is the program's name in brackets, which may hold anything; then state, parent, group, session.
    let mut fields = line.get(line.rfind(')')? + 1..)?.split_whitespace().skip(2).map(str::parse);
    Some(Ties { group: fields.next()?.ok()?, session: fields.next()?.ok()? })
}

/// Returns the group of `pid`.
pub(super) fn group(pid: Pid) -> Option<Pid> {
    Pid::from_raw(ties(pid)?.group)
}

/// Says whether `pid` is of our own group, as no descendant of a call is.
pub(super) fn is_beside_us(pid: Pid) -> bool {
    ties(pid).map(|its| its.group) == ties(getpid()).map(|ours| ours.group)
}

/// Says whether `pid`, a child of this process, was started by another: it has left our session, which no child of
/// ours can do as the leader of its group. The first process of a container adopts strangers too, and cannot tell.
pub(super) fn is_adopted(pid: Pid) -> bool {
    let ours = ties(getpid()).map(|ours| ours.session);
    !getpid().is_init() && ties(pid).is_some_and(|its| Some(its.session) != ours)
}

/// Returns the children of this process, orphans among them.
///
/// A list that is read while one of them ends may lack another; two that are equal do not.
pub(super) fn children() -> Vec<Pid> {
    let mut known = listed_children();
    for _ in 0..8 {
        let again = listed_children();
        if again == known {
            break;
        }
        known = again;
    }
    known
}

fn listed_children() -> Vec<Pid> {
    let Ok(threads) = fs::read_dir("/proc/self/task") else { return Vec::new() };
    let lists = threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let numbers = lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>());
    numbers.filter_map(Pid::from_raw).collect()
}

/// Kills `pid`, a child of this process, with the group that it leads, and reaps it if it is dead. Says `false` where
/// it cannot be killed.
pub(super) fn end(pid: Pid) -> bool {
    if group(pid) == Some(pid) {
        let _ = kill_process_group(pid, Signal::KILL);
    }
    let killed = kill_process(pid, Signal::KILL).is_ok();
    let _ = waitpid(Some(pid), WaitOptions::NOHANG);
    killed
}
