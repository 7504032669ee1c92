//! One round: arm, stamp, load, compare, publish.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Instant, SystemTime};

use tokio_util::sync::CancellationToken;

use super::file_stamps::FileStamps;
use super::watcher::FolderWatcher;
use super::{InitialLoad, LoadOutput, ReloadInfo, ReloadSource};
use crate::compile::LoadDependencies;

/// What is served, as far as this room knows it: what it was made of.
pub(super) struct Reloader<L> {
    load: L,
    watcher: FolderWatcher,
    shutdown: CancellationToken,
    dependencies: LoadDependencies,
    stamps: FileStamps,
    /// A load is due whatever the stamps say: what was read last did not stand still.
    reload_due: bool,
}

/// Why and how a round is done.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trigger {
    /// Load even if nothing changed.
    pub(super) requested: bool,
    /// Publish even if it would not stand still.
    pub(super) deadline_reached: bool,
}

/// What a round came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReloadOutcome {
    /// Nothing changed, nothing was loaded.
    Unchanged,
    /// Something new is served, or reported.
    Published,
    /// Files changed while they were read; what was read is thrown away.
    Raced,
    /// The load panicked; the last good stays.
    Panicked,
}

impl<L: ReloadSource> Reloader<L> {
    /// Takes over from the first load, and rings if anything changed since that began.
    pub(super) fn start(
        load: L,
        first: InitialLoad,
        mut watcher: FolderWatcher,
        shutdown: CancellationToken,
    ) -> Reloader<L> {
        watcher.watch(&first.watch);
        let stamps = FileStamps::read(&first.watch);
        watcher.set_baseline(&stamps);
        let reload_due = !stamps.unchanged_since(&FileStamps::empty(), first.started_at);
        if reload_due {
            watcher.wake();
        }
        Reloader { load, watcher, shutdown, dependencies: first.watch, stamps, reload_due }
    }

    /// Loads and publishes if anything changed.
    pub(super) fn check(&mut self, trigger: Trigger) -> ReloadOutcome {
        self.watcher.watch(&self.dependencies);
        let before = self.stamps.reread();
        let outcome = if trigger.requested || self.reload_due || self.stamps.are_ambiguous() || before != self.stamps {
            self.reload(trigger, before)
        } else {
            self.stamps = before;
            ReloadOutcome::Unchanged
        };
        self.watcher.set_baseline(&self.stamps);
        outcome
    }

    fn reload(&mut self, trigger: Trigger, before: FileStamps) -> ReloadOutcome {
        let (began, clock) = (SystemTime::now(), Instant::now());
        let loaded = catch_unwind(AssertUnwindSafe(|| self.load.load()));
        let round = ReloadInfo { requested: trigger.requested, elapsed: clock.elapsed() };
        let LoadOutput { outcome, watch } = match loaded {
            Ok(loaded) => loaded,
            Err(panic) => {
                self.stamps = before;
                self.reload_due = false;
                return log_panic(&*panic);
            }
        };
        self.watcher.watch(&watch);
        self.dependencies = watch;
        self.stamps = FileStamps::read(&self.dependencies);
        self.reload_due = !self.stamps.unchanged_since(&before, began);
        if self.reload_due && !trigger.deadline_reached {
            return ReloadOutcome::Raced;
        }
        if self.reload_due {
            self.watcher.wake();
        }
        self.publish(outcome, round)
    }

    fn publish(&mut self, outcome: L::Outcome, round: ReloadInfo) -> ReloadOutcome {
        if self.shutdown.is_cancelled() {
            return ReloadOutcome::Unchanged;
        }
        match catch_unwind(AssertUnwindSafe(|| self.load.publish(outcome, round))) {
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
