//! Who belongs to a call, and how all of them come to an end with it.
//!
//! A program is the leader of its own process group, which is killed as a whole. On Linux nobody escapes by `setsid`
//! either: this process is the reaper of its orphans, so every branch that has left the group hangs from it sooner or
//! later, and is known by a mark that descendants inherit and cannot see. Elsewhere such a one is out of reach.
//! Should this process die by SIGKILL, a watcher does the same in its place.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::Child;

use super::watch::Watch;

/// All calls that are running.
#[derive(Clone)]
pub(super) struct Families {
    /// What all their marks begin with, which tells them from those of any other process.
    marks: u64,
    ledger: Arc<Mutex<Ledger>>,
}

struct Ledger {
    last: u64,
    running: BTreeMap<u64, Option<Pid>>,
    watch: Watch,
}

/// A mark is a 7, then nine digits at random, then nine digits of the call's number.
const DIGITS: u64 = 1_000_000_000;
const FIRST: u64 = 7 * DIGITS;

impl Families {
    pub(super) fn new() -> Families {
        use std::hash::{BuildHasher, Hasher, RandomState};

        let marks = FIRST + RandomState::new().build_hasher().finish() % DIGITS;
        let ledger = Ledger { last: 0, running: BTreeMap::new(), watch: Watch::new(marks.to_string()) };
        Families { marks, ledger: Arc::new(Mutex::new(ledger)) }
    }

    /// Returns what all marks of these calls begin with.
    #[cfg(all(test, target_os = "linux"))]
    pub(super) fn marks(&self) -> u64 {
        self.marks
    }

    /// Begins a call, before its program is started: from here on its end is certain.
    pub(super) fn begin(&self) -> Family {
        let mut ledger = self.ledger();
        #[cfg(target_os = "linux")]
        super::kin::adopt_orphans();
        ledger.last = (ledger.last + 1) % DIGITS;
        let number = ledger.last;
        let groups: Vec<Pid> = ledger.running.values().copied().flatten().collect();
        ledger.watch.keep(&groups);
        ledger.running.insert(number, None);
        Family { families: self.clone(), number, leader: None, killed: false, over: false }
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The processes of one call. Dropped, it kills them all, and sees to it on a thread of its own that they are gone.
pub(super) struct Family {
    families: Families,
    number: u64,
    leader: Option<Pid>,
    killed: bool,
    over: bool,
}

impl Family {
    /// Has `start` start the leader.
    pub(super) fn found(&mut self, start: impl FnOnce() -> io::Result<Child>) -> io::Result<Child> {
        #[cfg(target_os = "linux")]
        let child = super::kin::start(Some(self.families.marks * DIGITS + self.number), start)?;
        #[cfg(not(target_os = "linux"))]
        let child = start()?;
        self.leader = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let mut ledger = self.families.ledger();
        ledger.running.insert(self.number, self.leader);
        if let Some(leader) = self.leader {
            ledger.watch.add(leader);
        }
        drop(ledger);
        Ok(child)
    }

    /// Kills the group. It must not yet be reaped, or the number might be somebody else's.
    pub(super) fn kill(&mut self) {
        if let Some(leader) = self.leader.filter(|_| !self.killed) {
            let _ = kill_process_group(leader, Signal::KILL);
        }
        self.killed = true;
    }

    /// Waits until nobody is left, once the leader is reaped.
    pub(super) async fn end(mut self) {
        for pause in patience() {
            if !self.sweep() {
                break;
            }
            tokio::time::sleep(pause).await;
        }
        self.close();
    }

    /// Kills and reaps those it can see. Says whether somebody may still be there.
    fn sweep(&self) -> bool {
        let ledger = self.families.ledger();
        // In this order: when the group is gone, its orphans are ours already.
        let left = self.leader.is_some_and(|leader| test_kill_process_group(leader).is_ok());
        let strays = ledger.end_strays(self);
        left || strays
    }

    fn close(&mut self) {
        self.over = true;
        let mut ledger = self.families.ledger();
        ledger.running.remove(&self.number);
        if let Some(leader) = self.leader {
            ledger.watch.remove(leader);
        }
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        self.kill();
        let mut rest = Family { families: self.families.clone(), killed: true, over: true, ..*self };
        let bury = move || {
            for pause in patience() {
                if !rest.sweep() {
                    break;
                }
                std::thread::sleep(pause);
            }
            rest.close();
        };
        // Without a thread the group is killed all the same; what has left it is found by the next call.
        if self.leader.is_none() || std::thread::Builder::new().name("folio-burial".into()).spawn(bury).is_err() {
            self.close();
        }
    }
}

impl Ledger {
    #[cfg(target_os = "linux")]
    fn end_strays(&self, family: &Family) -> bool {
        let mut found = false;
        for pid in super::kin::children() {
            if self.is_stray(pid, family) {
                found |= super::kin::end(pid);
            }
        }
        found
    }

    #[cfg(not(target_os = "linux"))]
    fn end_strays(&self, _: &Family) -> bool {
        false
    }

    /// Says whether `pid`, a child of this process, is one that `family` has left behind.
    #[cfg(target_os = "linux")]
    fn is_stray(&self, pid: Pid, family: &Family) -> bool {
        use super::kin;

        if self.running.values().any(|leader| *leader == Some(pid)) || kin::is_beside_us(pid) {
            return false;
        }
        if family.leader.is_some() && kin::group(pid) == family.leader {
            return true;
        }
        match kin::mark_of(pid) {
            Some(mark) if mark / DIGITS == family.families.marks => {
                let number = mark % DIGITS;
                number == family.number || !self.running.contains_key(&number)
            }
            Some(mark) if mark / DIGITS / DIGITS == FIRST / DIGITS => false,
            // It set its limits itself, or ran under another user: then it is of the only call there is.
            _ => self.running.len() == 1 && kin::is_adopted(pid),
        }
    }
}

/// Two seconds, first in small steps.
fn patience() -> impl Iterator<Item = Duration> {
    (0..120).map(|round: u64| {
        Duration::from_millis(match round {
            0..10 => 1,
            10..20 => 5,
            _ => 20,
        })
    })
}
