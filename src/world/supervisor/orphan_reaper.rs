//! Kills and reaps the processes that programs leave behind.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::sync::{Notify, oneshot};

use super::main_loop::KILL_TIMEOUT;
#[cfg(target_os = "linux")]
use crate::world::procfs;

const SWEEP_PAUSE: Duration = Duration::from_millis(1);
/// The pause between sweeps without waiters.
const IDLE_SWEEP_PAUSE: Duration = Duration::from_millis(50);

/// The leaders of running programs, and the waiters for the orphans of others. One sweep of all children serves all
/// waiters, however many programs exit at once.
#[derive(Default)]
pub(super) struct OrphanReaper {
    leaders: RefCell<HashSet<Pid>>,
    waiting: RefCell<Vec<oneshot::Sender<()>>>,
    sweep_requested: Notify,
    /// Since when each orphan has been killed without effect.
    killed_since: RefCell<HashMap<Pid, Instant>>,
}

/// The outcome of a sweep.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SweepOutcome {
    NoneLeft,
    /// All orphans were killed before.
    AllKilled,
    /// New orphans were killed, and may have left others.
    New,
}

impl OrphanReaper {
    /// Creates it for the programs that this process will start. Existing children are not orphans.
    pub(super) fn new_subreaper() -> OrphanReaper {
        let orphans = OrphanReaper::default();
        #[cfg(target_os = "linux")]
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        #[cfg(target_os = "linux")]
        orphans.leaders.borrow_mut().extend(procfs::children());
        orphans
    }

    pub(super) fn add_leader(&self, leader: Pid) {
        self.leaders.borrow_mut().insert(leader);
    }

    /// Removes a program, whose descendants are orphans from now on.
    pub(super) fn remove_leader(&self, leader: Pid) {
        self.leaders.borrow_mut().remove(&leader);
    }

    /// Whether a program that has exited, and is not reaped yet, certainly left nothing behind: all children of this process
    /// lead programs, and the list of children is complete enough to includes this one.
    pub(super) fn has_no_orphans(&self, leader: Pid) -> bool {
        #[cfg(target_os = "linux")]
        {
            let (children, leaders) = (procfs::children(), self.leaders.borrow());
            children.contains(&leader) && children.iter().all(|child| leaders.contains(child))
        }
        #[cfg(not(target_os = "linux"))]
        false
    }

    /// Waits until there are no orphans.
    pub(super) async fn wait_until_reaped(&self) {
        let (notify_reaped, reaped) = oneshot::channel();
        self.waiting.borrow_mut().push(notify_reaped);
        self.sweep_requested.notify_one();
        let _ = reaped.await;
    }

    /// Kills orphans on request, until all are gone.
    pub(super) async fn sweep(&self) {
        loop {
            self.sweep_requested.notified().await;
            self.sweep_once().await;
        }
    }

    async fn sweep_once(&self) {
        loop {
            // Later waiters are served by the next sweep.
            let mut waiting = self.waiting.take();
            match self.kill_orphans() {
                SweepOutcome::NoneLeft if self.waiting.borrow().is_empty() => return,
                SweepOutcome::NoneLeft => {}
                found => {
                    waiting.retain(|one| !one.is_closed());
                    let pause = if waiting.is_empty() { IDLE_SWEEP_PAUSE } else { SWEEP_PAUSE };
                    self.waiting.borrow_mut().append(&mut waiting);
                    match found {
                        // A process that forks and exits continuously is only caught without a pause.
                        SweepOutcome::New => tokio::task::yield_now().await,
                        _ => tokio::time::sleep(pause).await,
                    }
                }
            }
        }
    }

    /// Kills what a killed supervisor left behind, which this process adopts.
    pub(super) fn kill_leftovers(&self) {
        let deadline = Instant::now() + KILL_TIMEOUT;
        while self.kill_orphans() != SweepOutcome::NoneLeft && Instant::now() < deadline {
            std::thread::sleep(SWEEP_PAUSE);
        }
    }

    /// Kills all programs and orphans.
    pub(super) async fn kill_all(&self) {
        for leader in self.leaders.take() {
            let _ = kill_process_group(leader, Signal::KILL);
        }
        while self.kill_orphans() != SweepOutcome::NoneLeft {
            tokio::time::sleep(SWEEP_PAUSE).await;
        }
    }

    /// Kills orphans, and reaps dead ones.
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
            found =
                if known.is_none() || found == SweepOutcome::New { SweepOutcome::New } else { SweepOutcome::AllKilled };
        }
        found
    }

    #[cfg(not(target_os = "linux"))]
    fn kill_orphans(&self) -> SweepOutcome {
        SweepOutcome::NoneLeft
    }

    /// The children that are not leaders, and in no session of a leader or of this process.
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

/// Kills an orphan with its process group, and reaps it if it is dead. `false` if it cannot be killed.
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
