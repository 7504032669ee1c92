//! How many programs may be alive at once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The bound until a catalog says another.
const UNTIL_TOLD: usize = 64;

/// One bound for all programs of a server. Who waits longest is next, whoever it is.
#[derive(Clone)]
pub(super) struct Permits {
    semaphore: Arc<Semaphore>,
    bound: Arc<Mutex<Bound>>,
}

struct Bound {
    limit: usize,
    /// How many permits are out that are to be taken back, since the limit has become a lower one.
    excess: usize,
}

impl Default for Permits {
    fn default() -> Permits {
        let bound = Bound { limit: UNTIL_TOLD, excess: 0 };
        Permits { semaphore: Arc::new(Semaphore::new(UNTIL_TOLD)), bound: Arc::new(Mutex::new(bound)) }
    }
}

impl Permits {
    /// Returns how many programs may be alive.
    pub(super) fn limit(&self) -> usize {
        self.bound().limit
    }

    /// Lets so many programs be alive from now on. Those that are alive stay so.
    pub(super) fn set_limit(&self, limit: usize) {
        let limit = limit.clamp(1, Semaphore::MAX_PERMITS);
        let mut bound = self.bound();
        if limit < bound.limit {
            let fewer = bound.limit - limit;
            bound.excess += fewer - self.semaphore.forget_permits(fewer);
        } else {
            let more = limit - bound.limit;
            let kept = bound.excess.min(more);
            bound.excess -= kept;
            self.semaphore.add_permits(more - kept);
        }
        bound.limit = limit;
    }

    /// Waits for leave to start one program. `None` never comes: the semaphore is not closed.
    pub(super) async fn acquire(&self) -> Option<Permit> {
        let permit = self.semaphore.clone().acquire_owned().await.ok()?;
        Some(Permit { permit: Some(permit), permits: self.clone() })
    }

    fn bound(&self) -> MutexGuard<'_, Bound> {
        self.bound.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Leave for one program, to be kept until nothing of it is left.
pub(super) struct Permit {
    permit: Option<OwnedSemaphorePermit>,
    permits: Permits,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut bound = self.permits.bound();
        if bound.excess > 0 {
            bound.excess -= 1;
            self.permit.take().into_iter().for_each(OwnedSemaphorePermit::forget);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::{Permit, Permits};
    use futures_util::FutureExt as _;
    use proptest::prelude::*;

    fn acquire(permits: &Permits) -> Option<Permit> {
        permits.acquire().now_or_never().flatten()
    }

    proptest! {
        #[test]
        fn no_more_are_given_than_the_limit_of_the_moment(acts in prop::collection::vec((0..3u8, 1..6usize), 1..60)) {
            let permits = Permits::default();
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
    fn who_waits_longest_is_next() {
        let permits = Permits::default();
        permits.set_limit(1);
        let held = acquire(&permits).unwrap();
        let mut first = Box::pin(permits.acquire());
        let mut second = Box::pin(permits.acquire());
        assert!(first.as_mut().now_or_never().is_none() && second.as_mut().now_or_never().is_none());
        drop(held);
        assert!(acquire(&permits).is_none() && second.as_mut().now_or_never().is_none());
        assert!(first.as_mut().now_or_never().is_some());
    }
}
