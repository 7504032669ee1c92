//! One round: arm, stamp, load, compare, publish.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Instant, SystemTime};

use tokio_util::sync::CancellationToken;

use super::bell::Bell;
use super::stamp::Stamps;
use super::{First, Load, Loaded, Round, WatchSet};

/// What is served, as far as this room knows it: what it was made of.
pub(super) struct Keeper<L> {
    load: L,
    bell: Bell,
    shutdown: CancellationToken,
    set: WatchSet,
    stamps: Stamps,
    /// A load is due whatever the stamps say: what was read last did not stand still.
    owed: bool,
}

/// Why and how a round is done.
#[derive(Debug, Clone, Copy)]
pub(super) struct Knock {
    /// Load even if nothing changed.
    pub(super) asked: bool,
    /// Publish even if it would not stand still.
    pub(super) last: bool,
}

/// What a round came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing changed, nothing was loaded.
    Same,
    /// Something new is served, or reported.
    Published,
    /// Files changed while they were read; what was read is thrown away.
    Torn,
    /// The load panicked; the last good stays.
    Failed,
}

impl<L: Load> Keeper<L> {
    /// Takes over from the first load, and rings if anything changed since that began.
    pub(super) fn begin(load: L, first: First, mut bell: Bell, shutdown: CancellationToken) -> Keeper<L> {
        bell.arm(&first.watch);
        let stamps = Stamps::of(&first.watch);
        bell.compare_with(&first.watch, &stamps);
        let owed = !stamps.stood_still(&Stamps::none(), first.began);
        if owed {
            bell.ring();
        }
        Keeper { load, bell, shutdown, set: first.watch, stamps, owed }
    }

    /// Loads and publishes if anything changed.
    pub(super) fn check(&mut self, knock: Knock) -> Verdict {
        self.bell.arm(&self.set);
        let before = Stamps::of(&self.set);
        let verdict = if knock.asked || self.owed || self.stamps.are_fresh() || before != self.stamps {
            self.reload(knock, before)
        } else {
            self.stamps = before;
            Verdict::Same
        };
        self.bell.compare_with(&self.set, &self.stamps);
        verdict
    }

    fn reload(&mut self, knock: Knock, before: Stamps) -> Verdict {
        let (began, clock) = (SystemTime::now(), Instant::now());
        let loaded = catch_unwind(AssertUnwindSafe(|| self.load.load()));
        let round = Round { asked: knock.asked, took: clock.elapsed() };
        let Loaded { outcome, watch } = match loaded {
            Ok(loaded) => loaded,
            Err(panic) => {
                self.stamps = before;
                self.owed = false;
                return failed(&*panic);
            }
        };
        self.bell.arm(&watch);
        self.set = watch;
        self.stamps = Stamps::of(&self.set);
        self.owed = !self.stamps.stood_still(&before, began);
        if self.owed && !knock.last {
            return Verdict::Torn;
        }
        if self.owed {
            self.bell.ring();
        }
        self.publish(outcome, round)
    }

    fn publish(&mut self, outcome: L::Outcome, round: Round) -> Verdict {
        if self.shutdown.is_cancelled() {
            return Verdict::Same;
        }
        match catch_unwind(AssertUnwindSafe(|| self.load.publish(outcome, round))) {
            Ok(()) => Verdict::Published,
            Err(panic) => failed(&*panic),
        }
    }
}

fn failed(panic: &(dyn Any + Send)) -> Verdict {
    let words = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    tracing::error!("a reload failed, the last good version stays: {}", words.unwrap_or("it panicked"));
    Verdict::Failed
}
