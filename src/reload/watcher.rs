//! Watches folders through the system's file notifications, or by polling.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use notify::event::ModifyKind;
use notify::{ErrorKind, Event, EventKind, RecursiveMode, Watcher};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use super::WatchOptions;
use super::file_stamps::FileStamps;
use super::poller::{PollIntervals, Poller};
use super::watch_plan::WatchPlan;
use crate::compile::{LoadDependencies, OutdatedCheck};

/// The default interval of polling.
const DEFAULT_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// How often a plan is rebuilt because folders changed while it was applied.
const MAX_PLAN_ATTEMPTS: usize = 4;

/// Opens the watcher of the system; replaced in tests.
pub(super) type OpenBackend = Box<dyn FnOnce(Arc<Wakeup>) -> notify::Result<Backend> + Send>;

/// The watcher of the system.
pub(super) type Backend = Box<dyn Watcher + Send>;

/// Opens the watcher of this system.
pub(super) fn open_backend(wakeup: Arc<Wakeup>) -> notify::Result<Backend> {
    let watcher = notify::recommended_watcher(move |event| wakeup.handle_event(event))?;
    Ok(Box::new(watcher))
}

/// Wakes the watch task. Several wakeups before it runs count as one.
#[derive(Debug, Default)]
pub(super) struct Wakeup {
    notify: Notify,
    count: AtomicU64,
    state: Mutex<WatchState>,
}

#[derive(Debug, Default)]
struct WatchState {
    plan: WatchPlan,
    /// What the plan was built for, until names may have changed so that another applies.
    planned_for: Option<Arc<LoadDependencies>>,
    /// Folders whose watch may have died: they, or one above them, went away.
    lost_watches: BTreeSet<PathBuf>,
}

impl Wakeup {
    /// Wakes the watch task.
    pub(super) fn wake(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.notify.notify_one();
    }

    /// Waits for a wakeup; returns at once if there was one since the last call.
    pub(super) async fn notified(&self) {
        self.notify.notified().await;
    }

    /// Wakes if the event concerns the plan, or if the watcher may have lost events.
    fn handle_event(&self, event: notify::Result<Event>) {
        let mut state = self.lock_state();
        match event {
            Ok(event) if !event.need_rescan() => {
                if !state.plan.is_relevant(&event) {
                    return;
                }
                if may_change_names(event.kind) {
                    state.planned_for = None;
                }
                if may_end_watches(event.kind) {
                    state.lost_watches.extend(event.paths);
                }
            }
            _ => {
                state.planned_for = None;
                let all: Vec<PathBuf> = state.plan.folders().map(|(folder, _)| folder.to_path_buf()).collect();
                state.lost_watches.extend(all);
            }
        }
        self.wake();
    }

    fn lock_state(&self) -> MutexGuard<'_, WatchState> {
        self.state.lock()
    }
}

/// A folder that is removed or moved loses its watch, even if another replaces it.
fn may_end_watches(kind: EventKind) -> bool {
    matches!(kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_) | ModifyKind::Any) | EventKind::Any)
}

/// Whether a path may lead elsewhere now: metadata say who may follow it.
fn may_change_names(kind: EventKind) -> bool {
    !matches!(kind, EventKind::Access(_) | EventKind::Modify(ModifyKind::Data(_)))
}

/// Watches folders by events or by polling.
pub(super) struct FolderWatcher {
    wakeup: Arc<Wakeup>,
    source: ChangeSource,
    intervals: PollIntervals,
}

enum ChangeSource {
    Events(EventSource),
    Poller(Poller),
}

impl FolderWatcher {
    /// Creates a watcher of nothing.
    pub(super) fn new(wakeup: Arc<Wakeup>, options: &WatchOptions, open: OpenBackend) -> FolderWatcher {
        let intervals = PollIntervals {
            idle: options.poll_interval.unwrap_or(DEFAULT_POLL_INTERVAL),
            after_change: options.debounce / 2,
        };
        let polling = |wakeup: &Arc<Wakeup>| ChangeSource::Poller(Poller::start(intervals, Arc::clone(wakeup)));
        let source = match options.poll_interval {
            Some(_) => polling(&wakeup),
            None => match open(Arc::clone(&wakeup)) {
                Ok(backend) => ChangeSource::Events(EventSource { backend, watched: BTreeSet::new() }),
                Err(error) => {
                    warn_polling(&error, intervals);
                    polling(&wakeup)
                }
            },
        };
        FolderWatcher { wakeup, source, intervals }
    }

    /// Wakes the watch task.
    pub(super) fn wake(&self) {
        self.wakeup.wake();
    }

    /// Whether files have other stamps than they had `before`, which is looked up after each wakeup.
    pub(super) fn outdated_check(&self, before: FileStamps) -> OutdatedCheck {
        let wakeup = Arc::clone(&self.wakeup);
        let (seen, is_outdated) = (AtomicU64::new(wakeup.count.load(Ordering::Relaxed)), AtomicBool::new(false));
        OutdatedCheck::new(move || {
            let count = wakeup.count.load(Ordering::Relaxed);
            if seen.swap(count, Ordering::Relaxed) != count && before.reread().differ_from(&before) {
                is_outdated.store(true, Ordering::Relaxed);
            }
            is_outdated.load(Ordering::Relaxed)
        })
    }

    /// Watches the folders that these dependencies need, and no others. To be called before stamps are read, so that
    /// later changes wake the task.
    pub(super) fn watch(&mut self, dependencies: &Arc<LoadDependencies>) {
        let ChangeSource::Events(events) = &mut self.source else { return };
        if let Err(error) = events.watch(dependencies, &self.wakeup) {
            warn_polling(&error, self.intervals);
            self.source = ChangeSource::Poller(Poller::start(self.intervals, Arc::clone(&self.wakeup)));
        }
    }

    /// Sets the stamps that a poller compares with.
    pub(super) fn set_baseline(&self, stamps: &FileStamps) {
        if let ChangeSource::Poller(poller) = &self.source {
            poller.set_baseline(stamps);
        }
    }
}

fn warn_polling(error: &notify::Error, intervals: PollIntervals) {
    let reason = match &error.kind {
        ErrorKind::MaxFilesWatch => "the system's limit of watches is reached".to_owned(),
        ErrorKind::Io(error) => error.to_string(),
        kind => format!("{kind:?}"),
    };
    tracing::warn!("file watching unavailable, polling every {} ms: {reason}", intervals.idle.as_millis());
}

struct EventSource {
    backend: Backend,
    watched: BTreeSet<PathBuf>,
}

impl EventSource {
    fn watch(&mut self, dependencies: &Arc<LoadDependencies>, wakeup: &Wakeup) -> notify::Result<()> {
        let before = wakeup.lock_state().planned_for.replace(dependencies.clone());
        if before.is_some_and(|before| Arc::ptr_eq(&before, dependencies)) {
            return Ok(());
        }
        for _ in 0..MAX_PLAN_ATTEMPTS {
            // What changed since a plan was built that applied already has woken the task.
            if !self.apply_plan(&WatchPlan::new(dependencies), wakeup)? {
                return Ok(());
            }
        }
        // Folders change faster than they can be watched: check again after a quiet period.
        wakeup.lock_state().planned_for = None;
        wakeup.wake();
        Ok(())
    }

    /// Returns whether another plan applied, or watches may have ended.
    fn apply_plan(&mut self, plan: &WatchPlan, wakeup: &Wakeup) -> notify::Result<bool> {
        let (lost, is_other) = {
            let mut state = wakeup.lock_state();
            let is_other = state.plan != *plan;
            if is_other {
                state.plan = plan.clone();
            }
            (std::mem::take(&mut state.lost_watches), is_other)
        };
        self.unwatch_stale(plan, &lost);
        let mut has_watched = false;
        for (folder, needed) in plan.folders() {
            if !self.watched.contains(folder) {
                has_watched |= self.watch_folder(folder, needed)?;
            }
        }
        Ok(is_other || has_watched)
    }

    /// Drops the watches that are no longer needed, and those of folders that were removed or moved.
    fn unwatch_stale(&mut self, plan: &WatchPlan, lost: &BTreeSet<PathBuf>) {
        let wanted: BTreeSet<&Path> = plan.folders().map(|(folder, _)| folder).collect();
        let backend = &mut self.backend;
        self.watched.retain(|folder| {
            let keep = wanted.contains(folder.as_path()) && !folder.ancestors().any(|above| lost.contains(above));
            if !keep {
                // The watch may have ended with its folder.
                let _ = backend.unwatch(folder);
            }
            keep
        });
    }

    /// Returns whether a plan that is built now may be another.
    fn watch_folder(&mut self, folder: &Path, needed: bool) -> notify::Result<bool> {
        match self.backend.watch(folder, RecursiveMode::NonRecursive) {
            Ok(()) => {
                self.watched.insert(folder.to_path_buf());
                Ok(true)
            }
            // The folder was removed since the plan was built.
            Err(_) if !folder.exists() => Ok(true),
            Err(_) if !needed => Ok(false),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use notify::event::Flag;

    use super::*;
    use crate::reload::tests::hooked_backend::hooked_backend;

    #[tokio::test]
    async fn folder_created_while_watching_starts_is_watched() {
        let temporary = tempfile::tempdir().unwrap();
        let awaited = temporary.path().canonicalize().unwrap().join("new/sub");
        let dependencies = LoadDependencies { files: [awaited.join("a")].into(), ..LoadDependencies::default() };
        let dependencies = Arc::new(dependencies);
        let wakeup = Arc::<Wakeup>::default();
        let overtaken = awaited.clone();
        let open: OpenBackend = Box::new(|wakeup| {
            Ok(hooked_backend(open_backend(wakeup)?, move |_| {
                fs::create_dir_all(&overtaken).map_err(notify::Error::io)
            }))
        });
        let mut watcher = FolderWatcher::new(Arc::clone(&wakeup), &WatchOptions::default(), open);
        watcher.watch(&dependencies);
        tokio::select! {
            biased;
            () = wakeup.notified() => panic!("the plan was not made again"),
            () = std::future::ready(()) => {}
        }
        fs::write(awaited.join("a"), "").unwrap();
        tokio::time::timeout(Duration::from_secs(10), wakeup.notified()).await.unwrap();
    }

    #[tokio::test]
    async fn plan_stays_until_names_may_have_changed() {
        use notify::event::{AccessKind, AccessMode, CreateKind, DataChange, MetadataKind, RemoveKind, RenameMode};
        let temporary = tempfile::tempdir().unwrap();
        let file = temporary.path().canonicalize().unwrap().join("a");
        fs::write(&file, "").unwrap();
        let dependencies = LoadDependencies { files: [file.clone()].into(), ..LoadDependencies::default() };
        let (dependencies, wakeup) = (Arc::new(dependencies), Arc::<Wakeup>::default());
        let deaf_backend: OpenBackend = Box::new(|_| open_backend(Arc::default()));
        let mut watcher = FolderWatcher::new(Arc::clone(&wakeup), &WatchOptions::default(), deaf_backend);
        for (kind, stays) in [
            (EventKind::Modify(ModifyKind::Data(DataChange::Any)), true),
            (EventKind::Access(AccessKind::Close(AccessMode::Write)), true),
            (EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any)), false),
            (EventKind::Modify(ModifyKind::Name(RenameMode::To)), false),
            (EventKind::Create(CreateKind::File), false),
            (EventKind::Remove(RemoveKind::File), false),
            (EventKind::Any, false),
        ] {
            watcher.watch(&dependencies);
            assert!(wakeup.lock_state().planned_for.is_some());
            wakeup.handle_event(Ok(Event::new(kind).add_path(file.clone())));
            assert_eq!(wakeup.lock_state().planned_for.is_some(), stays, "{kind:?}");
        }
    }

    #[tokio::test]
    async fn watches_are_renewed_after_lost_events() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().canonicalize().unwrap().join("folder");
        fs::create_dir(&folder).unwrap();
        let dependencies = LoadDependencies { folders: [folder.clone()].into(), ..LoadDependencies::default() };
        let dependencies = Arc::new(dependencies);
        for lost in [Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)), Err(notify::Error::generic("lost"))] {
            let wakeup = Arc::<Wakeup>::default();
            // A ring of its own, which no one hears: all events are lost, but for the word that they are.
            let broken_backend: OpenBackend = Box::new(|_| open_backend(Arc::default()));
            let mut watcher = FolderWatcher::new(Arc::clone(&wakeup), &WatchOptions::default(), broken_backend);
            watcher.watch(&dependencies);
            wakeup.handle_event(lost);
            tokio::time::timeout(Duration::from_secs(10), wakeup.notified()).await.unwrap();
            let lost = wakeup.lock_state().lost_watches.clone();
            assert!(lost.contains(&folder), "{lost:?}");
        }
    }
}
