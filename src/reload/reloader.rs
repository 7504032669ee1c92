//! One reload: watch, compare, load, publish.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use tokio_util::sync::CancellationToken;

use super::file_stamps::FileStamps;
use super::watcher::FolderWatcher;
use super::{InitialLoad, LoadOutput, ReloadInfo, ReloadSource};
use crate::compile::{LoadDependencies, OutdatedCheck};

/// Reloads when files changed since the last load.
pub(super) struct Reloader<L> {
    load: L,
    watcher: FolderWatcher,
    shutdown: CancellationToken,
    dependencies: Arc<LoadDependencies>,
    stamps: FileStamps,
    /// Whether files changed during the last load, so that a load is due whatever the stamps.
    reload_due: bool,
}

/// Why a check is done.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trigger {
    /// Whether to load even if nothing changed.
    pub(super) requested: bool,
    /// Whether to publish even if files changed meanwhile.
    pub(super) deadline_reached: bool,
}

/// The outcome of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReloadOutcome {
    /// Nothing changed.
    Unchanged,
    /// A load was published.
    Published,
    /// Files changed during the load, which was given up.
    Raced,
    /// The load panicked; the last good version stays.
    Panicked,
}

impl<L: ReloadSource> Reloader<L> {
    /// Continues from the first load, and wakes if anything changed since it began.
    pub(super) fn start(
        load: L,
        first: InitialLoad,
        mut watcher: FolderWatcher,
        shutdown: CancellationToken,
    ) -> Reloader<L> {
        let dependencies = Arc::new(first.watch);
        watcher.watch(&dependencies);
        let stamps = FileStamps::read(dependencies.clone());
        watcher.set_baseline(&stamps);
        let reload_due = !stamps.unchanged_since(&FileStamps::empty(), first.started_at);
        if reload_due {
            watcher.wake();
        }
        Reloader { load, watcher, shutdown, dependencies, stamps, reload_due }
    }

    /// Loads and publishes if anything changed.
    pub(super) fn check(&mut self, trigger: Trigger) -> ReloadOutcome {
        let outcome = match self.stamps_before_load(trigger) {
            Some(before) => self.reload(trigger, before),
            None => ReloadOutcome::Unchanged,
        };
        self.watcher.set_baseline(&self.stamps);
        outcome
    }

    /// The present stamps, if a load is due.
    fn stamps_before_load(&mut self, trigger: Trigger) -> Option<FileStamps> {
        let is_due = trigger.requested || self.reload_due || self.stamps.are_ambiguous();
        let now = self.stamps.reread();
        if is_due || now.differ_from(&self.stamps) {
            return Some(now);
        }
        // No load follows, after which what it depends on is watched. What changes once that is watched wakes the task.
        self.watcher.watch(&self.dependencies);
        let now = self.stamps.reread();
        if now.differ_from(&self.stamps) {
            return Some(now);
        }
        self.stamps = now;
        None
    }

    fn reload(&mut self, trigger: Trigger, before: FileStamps) -> ReloadOutcome {
        let (began, clock) = (SystemTime::now(), Instant::now());
        let outdated = match trigger.deadline_reached {
            true => OutdatedCheck::default(),
            false => self.watcher.outdated_check(before.clone()),
        };
        let loaded = catch_unwind(AssertUnwindSafe(|| self.load.load(trigger.requested, &outdated)));
        let info = ReloadInfo { requested: trigger.requested, elapsed: clock.elapsed() };
        let LoadOutput { outcome, watch } = match loaded {
            Ok(loaded) => loaded,
            Err(panic) => {
                self.watcher.watch(&self.dependencies);
                self.stamps = before;
                self.reload_due = false;
                if self.stamps.reread().differ_from(&self.stamps) {
                    self.watcher.wake();
                }
                return log_panic(&*panic);
            }
        };
        if outdated.is_outdated() {
            // What it depends on may be incomplete.
            self.stamps = before;
            self.reload_due = true;
            return ReloadOutcome::Raced;
        }
        // Who asks for a load may know of a change that no event has told.
        if trigger.requested || *self.dependencies != watch {
            self.dependencies = Arc::new(watch);
        }
        self.watcher.watch(&self.dependencies);
        self.stamps = FileStamps::read(self.dependencies.clone());
        self.reload_due = !self.stamps.unchanged_since(&before, began);
        if self.reload_due && !trigger.deadline_reached {
            return ReloadOutcome::Raced;
        }
        if self.reload_due {
            self.watcher.wake();
        }
        self.publish(outcome, info)
    }

    fn publish(&mut self, outcome: L::Outcome, info: ReloadInfo) -> ReloadOutcome {
        if self.shutdown.is_cancelled() {
            return ReloadOutcome::Unchanged;
        }
        match catch_unwind(AssertUnwindSafe(|| self.load.publish(outcome, info))) {
            Ok(()) => ReloadOutcome::Published,
            Err(panic) => log_panic(&*panic),
        }
    }
}

fn log_panic(panic: &(dyn Any + Send)) -> ReloadOutcome {
    let words = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    tracing::error!("reload panicked, keeping the last good version: {}", words.unwrap_or("no message"));
    ReloadOutcome::Panicked
}
