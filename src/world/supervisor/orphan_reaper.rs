//! Kills and reaps the processes that programs leave behind.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::sync::{Notify, oneshot};

use super::main_loop::KILL_TIMEOUT;
#[cfg(target_os = "linux")]
use crate::world::procfs;

/// How long those that are killed are given before one looks again.
const SWEEP_PAUSE: Duration = Duration::from_millis(1);
/// The same when nobody waits for them any more.
const IDLE_SWEEP_PAUSE: Duration = Duration::from_millis(50);

/// The leaders of the programs that run, and whoever waits until the orphans of others are gone. One look at all children
/// serves all who wait for it: however many programs end at once, the work is that of their own descendants.
#[derive(Default)]
pub(super) struct OrphanReaper {
    leaders: RefCell<HashSet<Pid>>,
    waiting: RefCell<Vec<oneshot::Sender<()>>>,
    sweep_requested: Notify,
    /// Since when each has been killed in vain.
    killed_since: RefCell<HashMap<Pid, Instant>>,
}

/// Makes this process the parent of orphans among its descendants.
pub(super) fn become_subreaper() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// What one look at all children has found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SweepOutcome {
    NoneLeft,
    /// All have been killed before.
    Dying,
    /// There may be more behind them.
    New,
}

impl OrphanReaper {
    /// Those of the programs that this process is about to start. Children that it has already are none.
    pub(super) fn new_subreaper() -> OrphanReaper {
        become_subreaper();
        let orphans = OrphanReaper::default();
        #[cfg(target_os = "linux")]
        orphans.leaders.borrow_mut().extend(procfs::children());
        orphans
    }

    /// Knows a program that runs.
    pub(super) fn add_leader(&self, leader: Pid) {
        self.leaders.borrow_mut().insert(leader);
    }

    /// Forgets it. From here on, whatever it has started is an orphan, or will be.
    pub(super) fn remove_leader(&self, leader: Pid) {
        self.leaders.borrow_mut().remove(&leader);
    }

    /// Says whether it is certain that a program that has ended, and is not yet reaped, has left nothing behind: this
    /// process has no children but such as lead a program, and the list of them is one that this one is found in.
    pub(super) fn are_none_of(&self, leader: Pid) -> bool {
        #[cfg(target_os = "linux")]
        {
            let (children, leaders) = (procfs::children(), self.leaders.borrow());
            children.contains(&leader) && children.iter().all(|child| leaders.contains(child))
        }
        #[cfg(not(target_os = "linux"))]
        false
    }

    /// Waits until there are none.
    pub(super) async fn wait_until_reaped(&self) {
        let (told, gone) = oneshot::channel();
        self.waiting.borrow_mut().push(told);
        self.sweep_requested.notify_one();
        let _ = gone.await;
    }

    /// Kills orphans whenever somebody waits for that, and until all are gone.
    pub(super) async fn sweep(&self) {
        loop {
            self.sweep_requested.notified().await;
            self.sweep_once().await;
        }
    }

    async fn sweep_once(&self) {
        loop {
            // Who comes later is served by the next look.
            let mut waiting = self.waiting.take();
            match self.kill_orphans() {
                SweepOutcome::NoneLeft if self.waiting.borrow().is_empty() => return,
                SweepOutcome::NoneLeft => {}
                found => {
                    waiting.retain(|one| !one.is_closed());
                    let pause = if waiting.is_empty() { IDLE_SWEEP_PAUSE } else { SWEEP_PAUSE };
                    self.waiting.borrow_mut().append(&mut waiting);
                    match found {
                        // One that forks and ends all the time is caught only by being as quick.
                        SweepOutcome::New => tokio::task::yield_now().await,
                        _ => tokio::time::sleep(pause).await,
                    }
                }
            }
        }
    }

    /// Does what a supervisor would have done that was killed itself. What it leaves behind is adopted by this process.
    pub(super) fn kill_leftovers(&self) {
        let deadline = Instant::now() + KILL_TIMEOUT;
        while self.kill_orphans() != SweepOutcome::NoneLeft && Instant::now() < deadline {
            std::thread::sleep(SWEEP_PAUSE);
        }
    }

    /// Kills everything, leaders too, until no child is left.
    pub(super) async fn kill_all(&self) {
        for leader in self.leaders.take() {
            let _ = kill_process_group(leader, Signal::KILL);
        }
        while self.kill_orphans() != SweepOutcome::NoneLeft {
            tokio::time::sleep(SWEEP_PAUSE).await;
        }
    }

    /// Kills the orphans that there are, and reaps those that are dead.
    #[cfg(target_os = "linux")]
    fn kill_orphans(&self) -> SweepOutcome {
        let mut killed = self.killed_since.borrow_mut();
        let orphans = self.find_orphans();
        killed.retain(|pid, _| orphans.contains(pid));
        let mut found = SweepOutcome::NoneLeft;
        for pid in orphans {
            let known = killed.get(&pid).copied();
            if !kill_and_reap(pid) || known.is_some_and(|since| since.elapsed() > KILL_TIMEOUT) {
                continue;
            }
            killed.entry(pid).or_insert_with(Instant::now);
            found = if known.is_none() || found == SweepOutcome::New { SweepOutcome::New } else { SweepOutcome::Dying };
        }
        found
    }

    #[cfg(not(target_os = "linux"))]
    fn kill_orphans(&self) -> SweepOutcome {
        SweepOutcome::NoneLeft
    }

    /// The children that are no leaders, and of no session that one leads: the only way out of its leader's reach is
    /// by the leader's own doing. Those in the session of this process are not of any program either.
    #[cfg(target_os = "linux")]
    fn find_orphans(&self) -> Vec<Pid> {
        let leaders = self.leaders.borrow();
        let mut children = procfs::children();
        children.retain(|pid| !leaders.contains(pid));
        if children.is_empty() || !procfs::is_same_pid_namespace() {
            return Vec::new();
        }
        let ours = procfs::stat(rustix::process::getpid()).map(|ours| ours.session);
        let is_orphan = |pid: &Pid| {
            let session = procfs::stat(*pid).map(|its| its.session);
            let led = session.and_then(Pid::from_raw).is_some_and(|session| leaders.contains(&session));
            !led && session != ours
        };
        children.retain(is_orphan);
        children
    }
}

/// Kills an orphan with the group that it leads, and reaps it if it is dead. Says `false` where it cannot be killed.
#[cfg(target_os = "linux")]
fn kill_and_reap(pid: Pid) -> bool {
    use rustix::process::{WaitOptions, waitpid};

    if procfs::stat(pid).is_some_and(|its| its.group == pid.as_raw_nonzero().get()) {
        let _ = kill_process_group(pid, Signal::KILL);
    }
    let killed = kill_process(pid, Signal::KILL).is_ok();
    let _ = waitpid(Some(pid), WaitOptions::NOHANG);
    killed
}
