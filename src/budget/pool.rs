//! The memory of messages and of the outputs of calls, which all callers of a server share.
//!
//! A [`Reservation`] is what one request has of the pool of messages, from when its message is read until its answer is
//! written. Bytes that are in memory already are counted at once; for others it waits until there is room, in the share of
//! its caller and in the pool. Requests that wait for each other go on one by one: the first in line does not wait for what
//! is suspended. What its call holds of outputs is a reservation of another pool, where the first of those that wait may
//! have more than there is until it ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use tokio::sync::{Mutex, Notify};

use super::caller::{Caller, CallerKind};

/// Up to this size a request does not wait for other callers.
pub const SMALL_RESERVATION_BYTES: u64 = 64 * 1024;

/// How long a message or a file waits for room. Peers that do not read are gone by then.
pub const ADMISSION_TIMEOUT: Duration = Duration::from_secs(30);

/// The limit where no manifest sets one.
pub const DEFAULT_POOL_BYTES: u64 = 256 << 20;

/// Memory that all callers share.
#[derive(Debug)]
pub struct MemoryPool {
    limit: AtomicU64,
    usage: MemoryUsage,
    /// Notified when a request that waits may have room.
    pub(super) changed: Notify,
    /// Locked by the call whose outputs may exceed the limit.
    pub(super) turn: Arc<Mutex<()>>,
}

/// What is held of the pool, by all or by one caller.
#[derive(Debug, Default)]
pub(super) struct MemoryUsage {
    held: AtomicU64,
    /// How many of these bytes belong to requests that wait for their client or for the rest of their batch.
    suspended: AtomicU64,
    /// How many belong to requests that wait for more.
    waiting: AtomicU64,
    /// Locked by the first of those that hold little yet.
    new_line: Mutex<()>,
    /// Locked by the first of the others, which do not wait for those that come.
    holder_line: Mutex<()>,
}

/// Where a request waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    New,
    Holder,
}

impl MemoryUsage {
    /// Whether so many bytes more fit. The first in line does not wait for what is suspended, nor the first holder for
    /// other holders that wait: they are released after it.
    fn has_room(&self, bytes: u64, limit: u64, first_in: Option<Line>) -> bool {
        let (held, suspended) = (self.held.load(SeqCst), self.suspended.load(SeqCst));
        let excepted = match first_in {
            None => return held.saturating_add(bytes) <= limit,
            Some(Line::New) => suspended,
            Some(Line::Holder) => suspended + self.waiting.load(SeqCst),
        };
        held.saturating_add(bytes) <= limit || held.saturating_sub(excepted) <= limit / 4
    }

    fn line(&self, line: Line) -> &Mutex<()> {
        match line {
            Line::New => &self.new_line,
            Line::Holder => &self.holder_line,
        }
    }
}

impl Default for MemoryPool {
    fn default() -> MemoryPool {
        MemoryPool::new(DEFAULT_POOL_BYTES)
    }
}

impl MemoryPool {
    /// A pool of so many bytes.
    pub fn new(limit: u64) -> MemoryPool {
        let (usage, changed, turn) = Default::default();
        MemoryPool { limit: AtomicU64::new(limit), usage, changed, turn }
    }

    /// How many bytes there are.
    pub fn limit(&self) -> u64 {
        self.limit.load(SeqCst)
    }

    /// Changes how many there are; what is held stays.
    pub fn set_limit(&self, limit: u64) {
        self.limit.store(limit, SeqCst);
        self.changed.notify_waiters();
    }

    /// How many bytes are held.
    pub fn held(&self) -> u64 {
        self.usage.held.load(SeqCst)
    }

    async fn wait_until(&self, holds: impl Fn() -> bool) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if holds() {
                return;
            }
            changed.await;
        }
    }
}

impl Caller {
    /// Counts bytes that are in memory already, whether there is room or not.
    pub fn reserve(self: &Arc<Caller>, bytes: u64) -> Reservation {
        let reservation = Reservation::new(self.clone(), Content::Messages);
        reservation.grow(bytes);
        reservation
    }

    /// The pool that its requests share with those of others.
    pub fn pool(&self) -> &MemoryPool {
        &self.capacity().messages
    }

    /// How many bytes its requests hold.
    pub fn held(&self) -> u64 {
        self.messages.held.load(SeqCst)
    }

    /// How many they may hold.
    fn memory_share(&self) -> u64 {
        self.max_share(self.pool().limit()).min(self.pool().limit())
    }

    /// Whether its requests are within its share.
    pub fn has_room(&self) -> bool {
        self.messages.has_room(0, self.memory_share(), Some(Line::New))
    }

    /// Waits until its requests are within its share.
    pub async fn wait_for_room(&self) {
        self.pool().wait_until(|| self.has_room()).await;
    }
}

/// There is no room, and none that is worth waiting for.
#[derive(Debug, thiserror::Error)]
#[error("server busy: too many bytes in flight; try again later")]
pub struct Busy;

/// What is in reserved memory, and thus which pool it is of.
#[derive(Debug, Default, Clone, Copy)]
pub(super) enum Content {
    #[default]
    Messages,
    Outputs,
}

/// The memory of one request, until it is dropped.
#[derive(Debug, Default)]
pub struct Reservation {
    caller: Arc<Caller>,
    content: Content,
    bytes: AtomicU64,
    is_suspended: AtomicBool,
}

impl Reservation {
    pub(super) fn new(caller: Arc<Caller>, content: Content) -> Reservation {
        let (bytes, is_suspended) = Default::default();
        Reservation { caller, content, bytes, is_suspended }
    }

    /// Whose request it is.
    pub fn caller(&self) -> &Arc<Caller> {
        &self.caller
    }

    /// How many bytes it holds.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(SeqCst)
    }

    pub(super) fn pool(&self) -> &MemoryPool {
        match self.content {
            Content::Messages => self.caller.pool(),
            Content::Outputs => &self.caller.capacity().outputs,
        }
    }

    fn caller_usage(&self) -> &MemoryUsage {
        match self.content {
            Content::Messages => &self.caller.messages,
            Content::Outputs => &self.caller.outputs,
        }
    }

    /// How many bytes its caller may hold.
    fn share(&self) -> u64 {
        match self.content {
            Content::Messages => self.caller.memory_share(),
            Content::Outputs => self.caller.max_share(self.pool().limit()),
        }
    }

    /// Counts more bytes, whether there is room or not.
    pub fn grow(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, SeqCst);
        self.caller_usage().held.fetch_add(bytes, SeqCst);
        self.pool().usage.held.fetch_add(bytes, SeqCst);
    }

    /// Changes what it holds to this size, for bytes that are in memory already.
    ///
    /// # Errors
    /// It is much more, and other requests hold far more than the limit.
    pub fn try_resize(&self, bytes: u64) -> Result<(), Busy> {
        let (pool, held) = (self.pool(), self.bytes());
        let is_full = pool.held().saturating_sub(held) > pool.limit() / 2 * 3;
        if is_full && bytes.saturating_sub(held) > SMALL_RESERVATION_BYTES {
            return Err(Busy);
        }
        self.resize(bytes);
        Ok(())
    }

    /// Counts more bytes if there is room now.
    pub fn try_grow(&self, bytes: u64) -> bool {
        let has_room = self.fits_share(bytes, None) && self.fits_pool(bytes, None);
        if has_room {
            self.grow(bytes);
        }
        has_room
    }

    /// Waits for room for more bytes, and counts them.
    ///
    /// # Errors
    /// There is none in time.
    pub async fn grow_within(self: &Arc<Reservation>, timeout: Duration, bytes: u64) -> Result<(), Busy> {
        tokio::time::timeout(timeout, self.grow_when_free(bytes)).await.map_err(|_| Busy)
    }

    /// Counts more bytes as soon as there is room.
    pub async fn grow_when_free(self: &Arc<Reservation>, bytes: u64) {
        if self.try_grow(bytes) {
            return;
        }
        let (pool, line) = (self.pool(), if self.is_small(0) { Line::New } else { Line::Holder });
        let _waiting = self.suspend(|usage| &usage.waiting);
        let _first_of_caller = self.caller_usage().line(line).lock().await;
        pool.wait_until(|| self.fits_share(bytes, Some(line))).await;
        let _first = if self.is_small(bytes) { None } else { Some(pool.usage.line(line).lock().await) };
        pool.wait_until(|| self.fits_pool(bytes, Some(line))).await;
        self.grow(bytes);
    }

    /// Releases bytes, at most those that it holds.
    pub fn shrink(&self, bytes: u64) {
        let left = |held: u64| Some(held.saturating_sub(bytes));
        let released = self.bytes.fetch_update(SeqCst, SeqCst, left).unwrap_or_default().min(bytes);
        if released > 0 {
            self.caller_usage().held.fetch_sub(released, SeqCst);
            self.pool().usage.held.fetch_sub(released, SeqCst);
            self.pool().changed.notify_waiters();
        }
    }

    /// Changes what it holds to this size, whether there is room or not.
    pub fn resize(&self, bytes: u64) {
        let before = self.bytes();
        self.grow(bytes.saturating_sub(before));
        self.shrink(before.saturating_sub(bytes));
    }

    /// Lets other requests go on while this one waits for something else.
    ///
    /// # Errors
    /// Too many bytes are held so.
    pub fn try_suspend(self: &Arc<Reservation>) -> Result<Suspension, Busy> {
        let suspension = self.suspend(|usage| &usage.suspended);
        let is_within = |usage: &MemoryUsage, limit| usage.suspended.load(SeqCst) <= limit;
        let fits = self.bytes() <= SMALL_RESERVATION_BYTES
            || is_within(self.caller_usage(), self.share()) && is_within(&self.pool().usage, self.pool().limit());
        fits.then_some(suspension).ok_or(Busy)
    }

    /// What is suspended already, as by another step of the call, counts once.
    fn suspend(self: &Arc<Reservation>, counter: fn(&MemoryUsage) -> &AtomicU64) -> Suspension {
        let bytes = if self.is_suspended.swap(true, SeqCst) { 0 } else { self.bytes() };
        let suspension = Suspension { reservation: self.clone(), counter, bytes };
        for counter in suspension.counters() {
            counter.fetch_add(bytes, SeqCst);
        }
        // The first in line may go on as soon as the others wait.
        self.pool().changed.notify_waiters();
        suspension
    }

    fn is_small(&self, more: u64) -> bool {
        self.bytes().saturating_add(more) <= SMALL_RESERVATION_BYTES
    }

    /// Small requests of one address do not wait for each other: many clients may have it.
    pub(super) fn fits_share(&self, bytes: u64, first_in: Option<Line>) -> bool {
        self.is_small(bytes) && self.caller.kind() == CallerKind::Address
            || self.caller_usage().has_room(bytes, self.share(), first_in)
    }

    /// Suspended outputs are in the share of their caller alone.
    fn fits_pool(&self, bytes: u64, first_in: Option<Line>) -> bool {
        let usage = &self.pool().usage;
        let suspended = match self.content {
            Content::Messages => 0,
            Content::Outputs => usage.suspended.load(SeqCst),
        };
        self.is_small(bytes) || usage.has_room(bytes, self.pool().limit() + suspended, first_in)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.shrink(self.bytes());
    }
}

/// A request that waits, until it is dropped: others do not wait for its memory.
#[derive(Debug)]
pub struct Suspension {
    reservation: Arc<Reservation>,
    counter: fn(&MemoryUsage) -> &AtomicU64,
    bytes: u64,
}

impl Suspension {
    /// Where its bytes count: for its caller and for all.
    fn counters(&self) -> [&AtomicU64; 2] {
        [(self.counter)(self.reservation.caller_usage()), (self.counter)(&self.reservation.pool().usage)]
    }

    /// The request.
    pub fn reservation(&self) -> &Arc<Reservation> {
        &self.reservation
    }
}

impl Drop for Suspension {
    fn drop(&mut self) {
        if self.bytes > 0 {
            for counter in self.counters() {
                counter.fetch_sub(self.bytes, SeqCst);
            }
            self.reservation.is_suspended.store(false, SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Capacity;
    use futures_util::FutureExt;

    const LIMIT: u64 = 64 << 20;

    fn session(capacity: &Arc<Capacity>) -> Arc<Caller> {
        Arc::new(Caller::new(CallerKind::Session, capacity.clone()))
    }

    fn request(caller: &Arc<Caller>, bytes: u64) -> Arc<Reservation> {
        Arc::new(caller.reserve(bytes))
    }

    #[tokio::test]
    async fn dropped_reservation_admits_waiter() {
        let pool = Arc::new(Capacity::new(LIMIT));
        let (first, second) = (session(&pool), session(&pool));
        let large = first.reserve(LIMIT);
        let waiter = request(&second, 1);
        let mut grown = Box::pin(waiter.grow_when_free(SMALL_RESERVATION_BYTES * 2));
        assert!(grown.as_mut().now_or_never().is_none());
        drop(large);
        grown.await;
        assert_eq!(pool.messages.held(), SMALL_RESERVATION_BYTES * 2 + 1);
        drop(waiter);
        assert_eq!((pool.messages.held(), first.held(), second.held()), (0, 0, 0));
    }

    #[tokio::test]
    async fn small_reservation_never_waits_for_other_callers() {
        let pool = Arc::new(Capacity::new(LIMIT));
        let _large = session(&pool).reserve(LIMIT * 2);
        assert!(request(&session(&pool), 0).grow_when_free(SMALL_RESERVATION_BYTES).now_or_never().is_some());
        assert!(request(&session(&pool), 0).grow_when_free(SMALL_RESERVATION_BYTES + 1).now_or_never().is_none());
    }

    #[tokio::test]
    async fn caller_waits_for_its_own_share_only() {
        let pool = Arc::new(Capacity::new(LIMIT));
        let caller = session(&pool);
        let alone = request(&caller, 10);
        assert!(alone.grow_when_free(LIMIT / 2 + 1).now_or_never().is_some(), "nothing else is held");
        assert!(caller.wait_for_room().now_or_never().is_none());
        assert!(request(&caller, 10).grow_when_free(10).now_or_never().is_none());
        assert!(request(&session(&pool), 10).grow_when_free(LIMIT / 4).now_or_never().is_some());
        drop(alone);
        assert!(caller.wait_for_room().now_or_never().is_some());
    }

    #[tokio::test]
    async fn waiters_are_admitted_in_order() {
        let pool = Arc::new(Capacity::new(LIMIT));
        let all = session(&pool).reserve(LIMIT);
        let (large, small) = (request(&session(&pool), 0), request(&session(&pool), 0));
        let mut first = Box::pin(large.grow_when_free(LIMIT / 2));
        let mut second = Box::pin(small.grow_when_free(SMALL_RESERVATION_BYTES + 1));
        assert!(first.as_mut().now_or_never().is_none() && second.as_mut().now_or_never().is_none());
        all.shrink(LIMIT / 3);
        assert!(small.fits_pool(SMALL_RESERVATION_BYTES + 1, None), "there is room for the second alone");
        assert!(first.as_mut().now_or_never().is_none() && second.as_mut().now_or_never().is_none());
        all.shrink(LIMIT);
        first.await;
        second.await;
    }

    #[tokio::test]
    async fn requests_that_wait_for_each_other_go_on_one_by_one() {
        let pool = Arc::new(Capacity::new(LIMIT));
        run_all(&pool, (0..16).map(|_| request(&session(&pool), LIMIT / 16)).collect()).await;
        let caller = session(&pool);
        run_all(&pool, (0..16).map(|_| request(&caller, LIMIT / 16)).collect()).await;
    }

    /// Each waits for as much again as it has, and ends when it gets that.
    async fn run_all(pool: &Arc<Capacity>, requests: Vec<Arc<Reservation>>) {
        let waiting = requests.into_iter().map(|request| async move {
            request.grow_when_free(request.bytes()).await;
            tokio::task::yield_now().await;
            assert!(pool.messages.held() <= LIMIT * 3 / 2, "all of them go on at once");
        });
        let all = futures_util::future::join_all(waiting);
        tokio::time::timeout(Duration::from_secs(15), all).await.expect("none goes on");
        assert_eq!((pool.messages.held(), pool.messages.usage.waiting.load(SeqCst)), (0, 0));
    }

    #[tokio::test]
    async fn request_that_holds_little_waits_for_those_that_wait() {
        let pool = Arc::new(Capacity::new(LIMIT));
        let holders = [(); 4].map(|()| request(&session(&pool), LIMIT / 4));
        let mut grown = holders.each_ref().map(|holder| Box::pin(holder.grow_when_free(LIMIT / 4)));
        let newcomer = request(&session(&pool), 0);
        let mut admitted = Box::pin(newcomer.grow_when_free(LIMIT / 4));
        assert!(admitted.as_mut().now_or_never().is_none());
        assert!(grown[0].as_mut().now_or_never().is_none(), "the others do not wait yet");
        assert!(grown[1].as_mut().now_or_never().is_none() && grown[2].as_mut().now_or_never().is_none());
        assert!(grown[0].as_mut().now_or_never().is_some());
        assert!(admitted.as_mut().now_or_never().is_none());
        drop(grown);
        drop(holders);
        admitted.await;
    }

    #[tokio::test]
    async fn suspended_request_holds_no_memory_of_others() {
        let pool = Arc::new(Capacity::new(LIMIT));
        let callers = [(); 3].map(|()| session(&pool));
        let waiting = callers.each_ref().map(|caller| request(caller, LIMIT / 3));
        let large = request(&session(&pool), 0);
        assert!(large.grow_when_free(LIMIT / 8).now_or_never().is_none());
        let suspended = waiting.each_ref().map(Reservation::try_suspend);
        assert!(suspended.iter().all(Result::is_ok));
        assert!(large.grow_when_free(LIMIT / 8).now_or_never().is_some());
        let more = request(&session(&pool), LIMIT / 8);
        assert!(more.try_suspend().is_err(), "the whole pool is suspended");
        let greedy = [(); 2].map(|()| request(&callers[0], LIMIT / 8));
        drop((suspended, more));
        let suspended = greedy.each_ref().map(Reservation::try_suspend);
        let third = waiting[0].try_suspend();
        assert_eq!((suspended.each_ref().map(Result::is_ok), third.is_ok()), ([true, true], false), "its share");
        drop((suspended, third, greedy, waiting, large));
        assert_eq!((pool.messages.held(), pool.messages.usage.suspended.load(SeqCst)), (0, 0));
    }

    #[tokio::test]
    async fn small_requests_of_one_address_do_not_wait_for_each_other() {
        let pool = Arc::new(Capacity::new(LIMIT));
        for (kind, waits) in [(CallerKind::Address, false), (CallerKind::Session, true)] {
            let caller = Arc::new(Caller::new(kind, pool.clone()));
            let _large = caller.reserve(LIMIT / 2);
            assert_eq!(request(&caller, 10).grow_when_free(10).now_or_never().is_none(), waits, "{kind:?}");
            let large = request(&caller, 0);
            assert!(large.grow_when_free(SMALL_RESERVATION_BYTES + 1).now_or_never().is_none());
        }
    }

    #[tokio::test]
    async fn raised_limit_admits_waiter() {
        let pool = Arc::new(Capacity::new(LIMIT));
        let _large = session(&pool).reserve(LIMIT);
        let waiter = request(&session(&pool), 0);
        let mut grown = Box::pin(waiter.grow_when_free(LIMIT / 4));
        assert!(grown.as_mut().now_or_never().is_none());
        pool.messages.set_limit(LIMIT * 2);
        grown.await;
    }
}
