//! The memory of a process that has no other replica.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::future::{pending, ready};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{
    CallRate, FirstUse, ListLimit, ListPosition, NONCE_BYTES, OneTimeId, Received, Recipient, RenewedLease, Store,
    StoreError,
};

/// How many ids that were used are remembered; beyond that the first to expire are forgotten, and none is used that
/// expires as early as they do.
const MAX_USED_IDS: usize = 100_000;

/// With how many keys those are looked for under which nobody calls any more.
const MIN_SWEPT_KEYS: usize = 64;

/// What one process remembers. What only other replicas would read is dropped.
#[derive(Default)]
pub struct MemoryStore {
    used_ids: Mutex<UsedIds>,
    calls: Mutex<RecentCalls>,
}

impl MemoryStore {
    /// Whether an id was used, or is too old to tell.
    pub(super) fn has_used(&self, id: OneTimeId) -> bool {
        let used = self.used_ids.lock();
        id.expiry <= used.evicted_until || used.seen.contains(&(id.expiry, id.nonce))
    }
}

impl Store for MemoryStore {
    fn replica(&self) -> &'static str {
        "only"
    }

    fn is_reachable(&self) -> Option<bool> {
        None
    }

    fn epoch(&self) -> BoxFuture<'_, u64> {
        Box::pin(ready(0))
    }

    fn use_once(&self, id: OneTimeId, _: bool) -> BoxFuture<'_, FirstUse> {
        Box::pin(ready(self.used_ids.lock().insert(id.expiry, id.nonce)))
    }

    fn count_call<'a>(&'a self, key: &'a str, rate: CallRate) -> BoxFuture<'a, Result<(), Duration>> {
        Box::pin(ready(self.calls.lock().count(key, rate)))
    }

    fn put<'a>(&'a self, _: &'a str, _: &'a [u8], _: Duration) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(ready(Ok(())))
    }

    fn get<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreError>> {
        Box::pin(ready(Ok(None)))
    }

    fn set_field<'a>(
        &'a self,
        _: &'a str,
        _: &'a str,
        _: Option<&'a [u8]>,
        _: Duration,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(ready(Ok(())))
    }

    fn fields<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<Vec<u8>>, StoreError>> {
        Box::pin(ready(Ok(Vec::new())))
    }

    fn append<'a>(&'a self, _: &'a str, _: &'a [u8], _: ListLimit) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(ready(Ok(())))
    }

    fn read<'a>(&'a self, _: &'a str, _: &'a mut ListPosition) -> BoxFuture<'a, Result<Vec<Vec<u8>>, StoreError>> {
        Box::pin(ready(Ok(Vec::new())))
    }

    fn extend<'a>(&'a self, _: &'a [&'a str], _: Duration) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(ready(Ok(())))
    }

    fn remove<'a>(&'a self, _: &'a [&'a str]) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(ready(Ok(())))
    }

    fn send<'a>(&'a self, _: Recipient<'a>, _: &'a [u8]) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(ready(Ok(())))
    }

    fn receive(&self) -> BoxFuture<'_, Received> {
        Box::pin(pending())
    }

    fn renew_lease<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<RenewedLease, StoreError>> {
        Box::pin(ready(Ok(RenewedLease::default())))
    }
}

/// Ids that were used and have not expired.
struct UsedIds {
    seen: BTreeSet<(u64, [u8; NONCE_BYTES])>,
    /// How many are remembered.
    capacity: usize,
    /// The latest expiry of those that are forgotten: what expires no later may have been used.
    evicted_until: u64,
}

impl Default for UsedIds {
    fn default() -> UsedIds {
        UsedIds { seen: BTreeSet::new(), capacity: MAX_USED_IDS, evicted_until: 0 }
    }
}

impl UsedIds {
    fn insert(&mut self, expiry: u64, nonce: [u8; NONCE_BYTES]) -> FirstUse {
        if expiry <= self.evicted_until {
            return FirstUse::Forgotten;
        }
        if !self.seen.insert((expiry, nonce)) {
            return FirstUse::No;
        }
        // Those that have expired are forgotten too, and stay so should the clock be put back.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        while self.seen.len() > self.capacity || self.seen.first().is_some_and(|(first, _)| *first <= now) {
            let Some((first, _)) = self.seen.pop_first() else { break };
            self.evicted_until = self.evicted_until.max(first);
        }
        FirstUse::Yes
    }
}

/// When the calls of the last while began, oldest first, by their keys.
#[derive(Default)]
struct RecentCalls {
    by_key: HashMap<String, VecDeque<Instant>>,
    /// With how many keys those are dropped under which nobody has called for a while.
    sweep_at: usize,
}

impl RecentCalls {
    /// Counts a call among those of the last while, or returns how long to wait.
    fn count(&mut self, key: &str, rate: CallRate) -> Result<(), Duration> {
        let now = Instant::now();
        let calls = self.of(key, rate.per, now);
        // After a reload with a lower limit there are more than it allows.
        let too_many = (calls.len() + 1).saturating_sub(rate.calls as usize);
        match too_many.checked_sub(1).and_then(|last| calls.get(last)) {
            Some(last) => Err(rate.per.saturating_sub(now.duration_since(*last))),
            None => {
                calls.push_back(now);
                Ok(())
            }
        }
    }

    /// Those under one key, as far as they are within `per`.
    fn of(&mut self, key: &str, per: Duration, now: Instant) -> &mut VecDeque<Instant> {
        let is_over = |began: &Instant| now.duration_since(*began) >= per;
        if self.by_key.len() > self.sweep_at {
            self.by_key.retain(|_, calls| calls.back().is_some_and(|last| !is_over(last)));
            // So that a sweep costs each call little, however many keys there are.
            self.sweep_at = self.by_key.len().saturating_mul(2).max(MIN_SWEPT_KEYS);
        }
        let calls = self.by_key.entry(key.to_owned()).or_default();
        while calls.front().is_some_and(is_over) {
            calls.pop_front();
        }
        calls
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn unix_now() -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
    }

    fn nonce(number: usize) -> [u8; NONCE_BYTES] {
        let mut nonce = [0; NONCE_BYTES];
        nonce[..8].copy_from_slice(&number.to_be_bytes());
        nonce
    }

    #[test]
    fn an_id_is_used_once_even_if_it_is_forgotten() {
        let mut used = UsedIds::default();
        let early = unix_now() + 100;
        assert_eq!(used.insert(early, nonce(1)), FirstUse::Yes);
        assert_eq!(used.insert(early, nonce(1)), FirstUse::No);
        for number in 0..MAX_USED_IDS {
            assert_eq!(used.insert(early + 1, nonce(number)), FirstUse::Yes);
        }
        assert_eq!(used.seen.len(), MAX_USED_IDS);
        assert_eq!(used.insert(early, nonce(1)), FirstUse::Forgotten);
        assert_eq!(used.insert(early, nonce(2)), FirstUse::Forgotten, "nobody can tell that it was not used");
        assert_eq!(used.insert(early + 2, nonce(3)), FirstUse::Yes);
    }

    #[tokio::test(start_paused = true)]
    async fn keys_are_counted_by_themselves_and_forgotten() {
        let mut calls = RecentCalls::default();
        let rate = CallRate { calls: 1, per: MINUTE };
        for id in 0..500 {
            assert_eq!(calls.count(&id.to_string(), rate), Ok(()));
            assert_eq!(calls.count(&id.to_string(), rate), Err(MINUTE));
        }
        tokio::time::advance(MINUTE).await;
        let mut call = |id: usize| calls.count(&id.to_string(), rate).is_ok();
        assert_eq!((0..500).filter(|id| call(id % 2)).count(), 2);
        assert!(calls.by_key.len() <= 500, "{} keys are kept", calls.by_key.len());
        assert_eq!((1000..1600).filter(|id| calls.count(&id.to_string(), rate).is_ok()).count(), 600);
        assert!(calls.by_key.len() <= 602, "{} keys are kept, of which 500 are old", calls.by_key.len());
    }

    #[tokio::test(start_paused = true)]
    async fn a_lower_limit_counts_calls_from_before() {
        let mut calls = RecentCalls::default();
        for _ in 0..3 {
            assert_eq!(calls.count("k", CallRate { calls: 3, per: MINUTE }), Ok(()));
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert_eq!(calls.count("k", CallRate { calls: 2, per: MINUTE }), Err(Duration::from_secs(58)));
    }

    proptest! {
        /// However few are remembered, in whatever order they expire.
        #[test]
        fn no_id_is_used_twice(ids in prop::collection::vec((0..20_u64, 0..30_usize), 0..200)) {
            let mut used = UsedIds { capacity: 8, ..UsedIds::default() };
            let mut taken = std::collections::HashSet::new();
            for (after, number) in ids {
                let id = (unix_now() + 1000 + after, nonce(number));
                if used.insert(id.0, id.1) == FirstUse::Yes {
                    prop_assert!(taken.insert(id), "{id:?}");
                }
            }
        }

        #[test]
        fn no_window_exceeds_the_rate(calls in 1_u32..5, gaps in prop::collection::vec(0_u64..40, 1..60)) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
            let rate = CallRate { calls, per: MINUTE };
            let admitted = runtime.block_on(async {
                let (mut recent, mut admitted) = (RecentCalls::default(), Vec::new());
                for gap in gaps {
                    tokio::time::advance(Duration::from_secs(gap)).await;
                    match recent.count("k", rate) {
                        Ok(()) => admitted.push(Instant::now()),
                        Err(wait) => {
                            tokio::time::advance(wait).await;
                            assert_eq!(recent.count("k", rate), Ok(()), "after it waited");
                            admitted.push(Instant::now());
                        }
                    }
                }
                admitted
            });
            for window in admitted.windows(calls as usize + 1) {
                prop_assert!(window[calls as usize].duration_since(window[0]) >= MINUTE);
            }
        }
    }
}
