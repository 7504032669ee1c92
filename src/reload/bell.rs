//! The bell that word of changes rings, and the ear at the file system's door. Which change it was is nobody's
//! business: the stamps tell.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use notify::event::ModifyKind;
use notify::{ErrorKind, Event, EventKind, RecursiveMode, Watcher};
use tokio::sync::Notify;

use super::plan::Plan;
use super::poll::{Pace, Poller};
use super::stamp::Stamps;
use super::{Options, WatchSet};

/// How often to look where the system cannot tell, and nobody said.
const FALL_BACK: Duration = Duration::from_secs(1);

/// How often a plan is made again because folders came or went while it was carried out.
const MOST_PLANS: usize = 4;

/// Opens the system's watcher, which will ring; a seam for tests.
pub(super) type Listen = Box<dyn FnOnce(Arc<Ring>) -> notify::Result<Ear> + Send>;

/// The system's watcher.
pub(super) type Ear = Box<dyn Watcher + Send>;

/// Opens the watcher that this system has.
pub(super) fn listen(ring: Arc<Ring>) -> notify::Result<Ear> {
    let watcher = notify::recommended_watcher(move |event| ring.hear(event))?;
    Ok(Box::new(watcher))
}

/// What is rung. Any number of rings before somebody answers are one.
#[derive(Debug, Default)]
pub(super) struct Ring {
    wake: Notify,
    hearing: Mutex<Hearing>,
}

#[derive(Debug, Default)]
struct Hearing {
    plan: Plan,
    /// Folders whose watch may have died: they, or one above them, went away.
    lost: BTreeSet<PathBuf>,
}

impl Ring {
    /// Rings.
    pub(super) fn ring(&self) {
        self.wake.notify_one();
    }

    /// Waits until it rings; at once, if it has rung since the last time.
    pub(super) async fn rung(&self) {
        self.wake.notified().await;
    }

    /// Rings if the event concerns the plan. A watcher that stumbles may have missed anything.
    fn hear(&self, event: notify::Result<Event>) {
        let mut hearing = self.hearing();
        match event {
            Ok(event) if !event.need_rescan() => {
                if !hearing.plan.concerns(&event) {
                    return;
                }
                if may_end_watches(event.kind) {
                    hearing.lost.extend(event.paths);
                }
            }
            _ => {
                let all: Vec<PathBuf> = hearing.plan.folders().map(|(folder, _)| folder.to_path_buf()).collect();
                hearing.lost.extend(all);
            }
        }
        self.ring();
    }

    fn hearing(&self) -> MutexGuard<'_, Hearing> {
        self.hearing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A folder that goes away takes its watch along, even if another takes its place.
fn may_end_watches(kind: EventKind) -> bool {
    matches!(kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_) | ModifyKind::Any) | EventKind::Any)
}

/// The bell, with whatever rings it.
pub(super) struct Bell {
    ring: Arc<Ring>,
    source: Source,
    pace: Pace,
}

enum Source {
    Events(Events),
    Polling(Poller),
}

impl Bell {
    /// A bell that nothing rings until it is armed.
    pub(super) fn new(ring: Arc<Ring>, options: &Options, listen: Listen) -> Bell {
        let pace = Pace { idle: options.poll.unwrap_or(FALL_BACK), restless: options.quiet / 2 };
        let polling = |ring: &Arc<Ring>| Source::Polling(Poller::start(pace, Arc::clone(ring)));
        let source = match options.poll {
            Some(_) => polling(&ring),
            None => match listen(Arc::clone(&ring)) {
                Ok(ear) => Source::Events(Events { ear, armed: BTreeSet::new() }),
                Err(error) => {
                    warn_of_polling(&error, pace);
                    polling(&ring)
                }
            },
        };
        Bell { ring, source, pace }
    }

    /// Rings.
    pub(super) fn ring(&self) {
        self.ring.ring();
    }

    /// Listens to whatever may change anything of `set`, and to nothing else. To be done before stamps are taken:
    /// what changes afterwards rings.
    pub(super) fn arm(&mut self, set: &WatchSet) {
        let Source::Events(events) = &mut self.source else { return };
        if let Err(error) = events.arm(set, &self.ring) {
            warn_of_polling(&error, self.pace);
            self.source = Source::Polling(Poller::start(self.pace, Arc::clone(&self.ring)));
        }
    }

    /// Tells which stamps are those of what is served.
    pub(super) fn compare_with(&self, set: &WatchSet, stamps: &Stamps) {
        if let Source::Polling(poller) = &self.source {
            poller.compare_with(set, stamps);
        }
    }
}

fn warn_of_polling(error: &notify::Error, pace: Pace) {
    let reason = match &error.kind {
        ErrorKind::MaxFilesWatch => "the system's limit of watches is reached".to_owned(),
        ErrorKind::Io(error) => error.to_string(),
        kind => format!("{kind:?}"),
    };
    tracing::warn!("cannot be told of changes, looking every {} ms instead: {reason}", pace.idle.as_millis());
}

struct Events {
    ear: Ear,
    armed: BTreeSet<PathBuf>,
}

impl Events {
    fn arm(&mut self, set: &WatchSet, ring: &Ring) -> notify::Result<()> {
        let mut plan = Plan::of(set);
        for _ in 0..MOST_PLANS {
            self.carry_out(&plan, ring)?;
            let again = Plan::of(set);
            if again == plan {
                return Ok(());
            }
            plan = again;
        }
        // Folders come and go faster than they can be listened to: look again when it is quieter.
        ring.ring();
        Ok(())
    }

    fn carry_out(&mut self, plan: &Plan, ring: &Ring) -> notify::Result<()> {
        let lost = {
            let mut hearing = ring.hearing();
            hearing.plan = plan.clone();
            std::mem::take(&mut hearing.lost)
        };
        self.forget(plan, &lost);
        for (folder, needed) in plan.folders() {
            if !self.armed.contains(folder) {
                self.add(folder, needed)?;
            }
        }
        Ok(())
    }

    /// Drops the watches that are no longer wanted, and those that are no longer sure: one of a folder that was moved
    /// lives on where that is now.
    fn forget(&mut self, plan: &Plan, lost: &BTreeSet<PathBuf>) {
        let wanted: BTreeSet<&Path> = plan.folders().map(|(folder, _)| folder).collect();
        let ear = &mut self.ear;
        self.armed.retain(|folder| {
            let keep = wanted.contains(folder.as_path()) && !folder.ancestors().any(|above| lost.contains(above));
            if !keep {
                // It may be gone already, with its folder.
                let _ = ear.unwatch(folder);
            }
            keep
        });
    }

    fn add(&mut self, folder: &Path, needed: bool) -> notify::Result<()> {
        match self.ear.watch(folder, RecursiveMode::NonRecursive) {
            Ok(()) => {
                self.armed.insert(folder.to_path_buf());
                Ok(())
            }
            // It went away since the plan was made; the next plan knows.
            Err(_) if !needed || !folder.exists() => Ok(()),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use std::fs;

    use notify::WatcherKind;
    use notify::event::Flag;

    use super::*;

    /// A watcher just before whose first watch the awaited folders come into being.
    struct Overtaken {
        awaited: PathBuf,
        inner: Ear,
    }

    impl Watcher for Overtaken {
        fn new<F: notify::EventHandler>(_: F, _: notify::Config) -> notify::Result<Overtaken> {
            Err(notify::Error::generic("made by hand"))
        }

        fn watch(&mut self, path: &Path, mode: RecursiveMode) -> notify::Result<()> {
            fs::create_dir_all(&self.awaited).unwrap();
            self.inner.watch(path, mode)
        }

        fn unwatch(&mut self, path: &Path) -> notify::Result<()> {
            self.inner.unwatch(path)
        }

        fn kind() -> WatcherKind {
            WatcherKind::NullWatcher
        }
    }

    #[tokio::test]
    async fn folders_that_come_while_the_bell_is_armed_are_listened_to() {
        let temporary = tempfile::tempdir().unwrap();
        let awaited = temporary.path().canonicalize().unwrap().join("new/sub");
        let set = WatchSet { files: [awaited.join("a")].into(), ..WatchSet::default() };
        let ring = Arc::<Ring>::default();
        let overtaken = awaited.clone();
        let listen: Listen = Box::new(|ring| Ok(Box::new(Overtaken { awaited: overtaken, inner: listen(ring)? })));
        let mut bell = Bell::new(Arc::clone(&ring), &Options::default(), listen);
        bell.arm(&set);
        tokio::select! {
            biased;
            () = ring.rung() => panic!("the plan was not made again"),
            () = std::future::ready(()) => {}
        }
        fs::write(awaited.join("a"), "").unwrap();
        tokio::time::timeout(Duration::from_secs(10), ring.rung()).await.unwrap();
    }

    #[tokio::test]
    async fn a_watcher_that_lost_count_is_armed_anew() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().canonicalize().unwrap().join("folder");
        fs::create_dir(&folder).unwrap();
        let set = WatchSet { folders: [folder.clone()].into(), ..WatchSet::default() };
        for lost in [Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)), Err(notify::Error::generic("lost"))] {
            let ring = Arc::<Ring>::default();
            // A ring of its own, which nobody hears: all events are lost, but for the word that they are.
            let deaf: Listen = Box::new(|_| listen(Arc::default()));
            let mut bell = Bell::new(Arc::clone(&ring), &Options::default(), deaf);
            bell.arm(&set);
            ring.hear(lost);
            tokio::time::timeout(Duration::from_secs(10), ring.rung()).await.unwrap();
            let lost = ring.hearing().lost.clone();
            assert!(lost.contains(&folder), "{lost:?}");
        }
    }
}
