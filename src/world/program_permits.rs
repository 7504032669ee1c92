//! Limits how many programs run at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::ProgramCounts;
use crate::budget::Caller;

const DEFAULT_MAX_PROGRAMS: usize = 64;

/// A fair limit of all programs of a server.
#[derive(Clone)]
pub(super) struct ProgramPermits {
    semaphore: Arc<Semaphore>,
    limit_state: Arc<Mutex<PermitLimit>>,
    limit_changed: Arc<Notify>,
    counts: Arc<RunCounts>,
}

/// How many permits were given, and how many of them were given back.
#[derive(Default)]
struct RunCounts {
    given: AtomicU64,
    returned: AtomicU64,
}

struct PermitLimit {
    limit: usize,
    /// How many permits in use to take back, since the limit was lowered.
    excess: usize,
}

impl Default for ProgramPermits {
    fn default() -> ProgramPermits {
        let limit_state = PermitLimit { limit: DEFAULT_MAX_PROGRAMS, excess: 0 };
        ProgramPermits {
            semaphore: Arc::new(Semaphore::new(DEFAULT_MAX_PROGRAMS)),
            limit_state: Arc::new(Mutex::new(limit_state)),
            limit_changed: Arc::default(),
            counts: Arc::default(),
        }
    }
}

impl ProgramPermits {
    /// How many programs may run at once.
    pub(super) fn limit(&self) -> usize {
        self.lock().limit
    }

    /// Sets the limit. Running programs are not affected.
    pub(super) fn set_limit(&self, limit: usize) {
        let limit = limit.clamp(1, Semaphore::MAX_PERMITS);
        let mut limit_state = self.lock();
        if limit < limit_state.limit {
            let fewer = limit_state.limit - limit;
            limit_state.excess += fewer - self.semaphore.forget_permits(fewer);
        } else {
            let more = limit - limit_state.limit;
            let kept = limit_state.excess.min(more);
            limit_state.excess -= kept;
            self.semaphore.add_permits(more - kept);
        }
        limit_state.limit = limit;
        drop(limit_state);
        self.limit_changed.notify_waiters();
    }

    /// How many programs were started, and how many run.
    pub(super) fn counts(&self) -> ProgramCounts {
        let returned = self.counts.returned.load(Ordering::Relaxed);
        let started = self.counts.given.load(Ordering::Relaxed);
        ProgramCounts { started, running: started.saturating_sub(returned) }
    }

    /// The limit that a caller waits for: its own share where it has that, else that of all.
    pub(super) fn reached_limit(&self, caller: &Caller) -> usize {
        let limit = self.limit();
        let share = caller.max_share(limit as u64);
        if caller.programs.has_room(1, share) { limit } else { usize::try_from(share).unwrap_or(limit) }
    }

    /// Waits for a permit. A caller that has its share waits for its own programs, and keeps no one else waiting. Never
    /// `None`, as the semaphore is not closed.
    pub(super) async fn acquire(&self, caller: &Arc<Caller>) -> Option<ProgramPermit> {
        caller.programs.take_one(|| caller.max_share(self.limit() as u64), &self.limit_changed).await;
        let own = OwnPermit(caller.clone());
        let permit = self.semaphore.clone().acquire_owned().await.ok()?;
        self.counts.given.fetch_add(1, Ordering::Relaxed);
        Some(ProgramPermit { permit: Some(permit), permits: self.clone(), _own: own })
    }

    fn lock(&self) -> MutexGuard<'_, PermitLimit> {
        self.limit_state.lock()
    }
}

/// The permit of one program, kept until all its descendants are gone.
pub(super) struct ProgramPermit {
    permit: Option<OwnedSemaphorePermit>,
    permits: ProgramPermits,
    _own: OwnPermit,
}

/// One program in the share of a caller.
struct OwnPermit(Arc<Caller>);

impl Drop for OwnPermit {
    fn drop(&mut self) {
        self.0.programs.give_back(1);
    }
}

impl Drop for ProgramPermit {
    fn drop(&mut self) {
        self.permits.counts.returned.fetch_add(1, Ordering::Relaxed);
        let mut limit_state = self.permits.lock();
        if limit_state.excess > 0 {
            limit_state.excess -= 1;
            self.permit.take().into_iter().for_each(OwnedSemaphorePermit::forget);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{ProgramPermit, ProgramPermits};
    use crate::budget::{Caller, CallerKind};
    use futures_util::FutureExt as _;
    use proptest::prelude::*;

    fn acquire(permits: &ProgramPermits) -> Option<ProgramPermit> {
        permits.acquire(&Arc::default()).now_or_never().flatten()
    }

    #[test]
    fn caller_with_its_share_does_not_keep_others_waiting() {
        let permits = ProgramPermits::default();
        permits.set_limit(4);
        let callers = [(); 2].map(|()| Arc::new(Caller::new(CallerKind::Session, Arc::default())));
        let [greedy, modest] = &callers;
        let _running = [greedy, greedy].map(|caller| permits.acquire(caller).now_or_never().flatten().unwrap());
        let mut third = Box::pin(permits.acquire(greedy));
        assert!(third.as_mut().now_or_never().is_none());
        let _others = [modest, modest].map(|caller| permits.acquire(caller).now_or_never().flatten().unwrap());
        drop(_running);
        assert!(third.as_mut().now_or_never().is_some());
    }

    proptest! {
        #[test]
        fn permits_never_exceed_the_current_limit(acts in prop::collection::vec((0..3u8, 1..6usize), 1..60)) {
            let permits = ProgramPermits::default();
            permits.set_limit(3);
            let mut given = Vec::new();
            for (act, number) in acts {
                match act {
                    0 => permits.set_limit(number),
                    1 => drop(given.pop()),
                    _ => {
                        let permit = acquire(&permits);
                        prop_assert_eq!(permit.is_some(), given.len() < permits.limit());
                        given.extend(permit);
                    }
                }
            }
        }
    }

    #[test]
    fn permits_are_granted_in_fifo_order() {
        let permits = ProgramPermits::default();
        permits.set_limit(1);
        let permit = acquire(&permits).unwrap();
        let (one, other) = (Arc::default(), Arc::default());
        let mut first = Box::pin(permits.acquire(&one));
        let mut second = Box::pin(permits.acquire(&other));
        assert!(first.as_mut().now_or_never().is_none() && second.as_mut().now_or_never().is_none());
        drop(permit);
        assert!(acquire(&permits).is_none() && second.as_mut().now_or_never().is_none());
        assert!(first.as_mut().now_or_never().is_some());
    }
}
