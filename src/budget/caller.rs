//! Who calls, and what each has of the pools that all callers share: no more than half.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::capacity::Capacity;
use super::pool::MemoryUsage;
use super::token_bucket::TokenBucket;

/// The maximum credit of an idle caller: what it earns in this time.
const MAX_CREDIT: Duration = Duration::from_secs(10);

/// How many clients those at one address stand for, who are counted together.
const CLIENTS_PER_ADDRESS: u32 = 100;

/// Who calls.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum CallerKind {
    /// The only one there is, as on a pipe.
    #[default]
    Only,
    /// The client of one session among others, or a caller who is known by a token.
    Session,
    /// The clients without a session at one address.
    Address,
}

/// A caller, and what it has of each pool.
#[derive(Debug, Default)]
pub struct Caller {
    kind: CallerKind,
    capacity: Arc<Capacity>,
    pub(super) messages: MemoryUsage,
    pub(super) outputs: MemoryUsage,
    /// Running programs.
    pub programs: Share,
    pub(super) blocking_calls: Share,
    credit: Mutex<TokenBucket>,
}

impl Caller {
    /// A caller that has nothing yet of what it shares with others.
    pub fn new(kind: CallerKind, capacity: Arc<Capacity>) -> Caller {
        Caller { kind, capacity, ..Caller::default() }
    }

    /// What it shares with other callers.
    pub fn capacity(&self) -> &Arc<Capacity> {
        &self.capacity
    }

    /// Who it is.
    pub fn kind(&self) -> CallerKind {
        self.kind
    }

    /// Takes from its credit the time in which a client earns a request, or returns how long to wait for it.
    pub fn charge(&self, cost: Duration) -> Result<(), Duration> {
        let clients = if self.kind == CallerKind::Address { CLIENTS_PER_ADDRESS } else { 1 };
        self.credit.lock().take(cost / clients, MAX_CREDIT)
    }

    /// Whether it has all of its credit.
    pub fn has_full_credit(&self) -> bool {
        self.credit.lock().is_full()
    }

    /// How much it may have of a pool: at most half, unless there is no one else.
    pub fn max_share(&self, pool: u64) -> u64 {
        if self.kind == CallerKind::Only { u64::MAX } else { pool.div_ceil(2) }
    }
}

/// What one caller has of one pool.
#[derive(Debug, Default)]
pub struct Share {
    used: AtomicU64,
    returned: Notify,
}

impl Share {
    /// Whether it has no more than `max` with so much more.
    pub fn has_room(&self, amount: u64, max: u64) -> bool {
        self.used.load(Relaxed).saturating_add(amount) <= max
    }

    /// Takes so much more, if that is no more than `max`.
    pub fn try_add(&self, amount: u64, max: u64) -> bool {
        let add = |used: u64| used.checked_add(amount).filter(|after| *after <= max);
        self.used.fetch_update(Relaxed, Relaxed, add).is_ok()
    }

    /// Takes one more as soon as there are fewer than `max`, which may change when `changed` says so.
    pub async fn take_one(&self, max: impl Fn() -> u64, changed: &Notify) {
        loop {
            let (returned, changed) = (self.returned.notified(), changed.notified());
            tokio::pin!(returned, changed);
            returned.as_mut().enable();
            changed.as_mut().enable();
            if self.try_add(1, max()) {
                return;
            }
            tokio::select! {
                () = returned => {}
                () = changed => {}
            }
        }
    }

    /// Gives some of it back.
    pub fn give_back(&self, amount: u64) {
        self.used.fetch_sub(amount, Relaxed);
        self.returned.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    #[tokio::test]
    async fn share_is_half_and_waits_for_what_is_given_back() {
        assert_eq!(Caller::default().max_share(64), u64::MAX);
        let caller = Caller::new(CallerKind::Session, Arc::default());
        assert_eq!([64, 3, 1].map(|pool| caller.max_share(pool)), [32, 2, 1]);
        let (pool, changed) = (AtomicU64::new(3), Notify::new());
        let take = || caller.programs.take_one(|| caller.max_share(pool.load(Relaxed)), &changed);
        take().await;
        take().await;
        let mut third = Box::pin(take());
        assert!(third.as_mut().now_or_never().is_none());
        caller.programs.give_back(1);
        third.await;
        let mut fourth = Box::pin(take());
        assert!(fourth.as_mut().now_or_never().is_none());
        pool.store(6, Relaxed);
        changed.notify_waiters();
        fourth.await;
    }
}
