//! The bytes of requests and answers that are under way: in the process, and for each peer. What is under way is
//! answered, whatever it takes; what would take more waits.
//!
//! Whoever holds bytes has a [`Reservation`], which gives them back when it is dropped. A small request never waits for
//! others: however much they have under way, a peer that asks for little is served. And whoever waits does not count
//! against who is first in line: what waits for each other goes on, one after another.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use rmcp::{RoleServer, model::ErrorData, service::RequestContext};
use tokio::sync::{Mutex as Turn, Notify};

use super::weight::Weight;

/// What a small request and its answer may take.
pub(crate) const SMALL: u64 = 64 * 1024;

/// How long a request waits for room. Peers that do not read are gone by then.
const PATIENCE: Duration = Duration::from_secs(30);

/// How many entries with large answers are remembered.
const MOST_REMEMBERED: usize = 4096;

/// The bytes that are under way in the process. Clones are handles of the same account.
#[derive(Clone)]
pub(crate) struct Account {
    inner: Arc<Inner>,
}

struct Inner {
    used: AtomicU64,
    /// How many of them are of those who wait for more.
    held_waiting: AtomicU64,
    limit: AtomicU64,
    waiting: AtomicUsize,
    freed: Notify,
    /// Held by the one who waits for room: the others stand behind it, first come first served.
    turn: Turn<()>,
    /// How large the last answer of an entry was, where it was large.
    sizes: Mutex<HashMap<u64, u64>>,
}

impl Account {
    pub(crate) fn new(limit: u64) -> Account {
        let inner = Inner {
            used: AtomicU64::new(0),
            held_waiting: AtomicU64::new(0),
            limit: AtomicU64::new(limit),
            waiting: AtomicUsize::new(0),
            freed: Notify::new(),
            turn: Turn::new(()),
            sizes: Mutex::default(),
        };
        Account { inner: Arc::new(inner) }
    }

    /// Allows so many bytes from now on.
    pub(crate) fn set_limit(&self, limit: u64) {
        self.inner.limit.store(limit, Ordering::Release);
        self.inner.freed.notify_waiters();
    }

    /// The account of a new peer.
    pub(crate) fn peer(&self) -> PeerAccount {
        let peer = Peer {
            account: self.clone(),
            used: AtomicU64::new(0),
            held_waiting: AtomicU64::new(0),
            turn: Turn::new(()),
        };
        PeerAccount { peer: Arc::new(peer) }
    }

    /// Whether what could be let go may be kept: most of the bytes are for what has to be.
    pub(crate) fn has_spare(&self) -> bool {
        self.used() <= self.limit() / 4
    }

    /// What one peer may have under way.
    pub(crate) fn share(&self) -> u64 {
        self.limit() / 4
    }

    fn is_overdrawn_by(&self, bytes: u64) -> bool {
        self.used() + bytes > self.limit()
    }

    fn used(&self) -> u64 {
        self.inner.used.load(Ordering::SeqCst)
    }

    fn limit(&self) -> u64 {
        self.inner.limit.load(Ordering::Acquire)
    }

    fn sizes(&self) -> MutexGuard<'_, HashMap<u64, u64>> {
        self.inner.sizes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes those who wait, if there are any. What is changed before and what they look at are ordered by `SeqCst`:
    /// either they see the change, or they are seen here.
    fn wake(&self) {
        if self.inner.waiting.load(Ordering::SeqCst) > 0 {
            self.inner.freed.notify_waiters();
        }
    }

    /// Waits until `fits` holds.
    async fn wait(&self, fits: impl Fn() -> bool) {
        self.inner.waiting.fetch_add(1, Ordering::SeqCst);
        let _waiting = Waiting(&self.inner);
        loop {
            let freed = self.inner.freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            if fits() {
                return;
            }
            freed.await;
        }
    }
}

/// Somebody who waits, counted.
struct Waiting<'a>(&'a Inner);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The bytes that one peer has under way. Clones are handles of the same account.
#[derive(Clone)]
pub(crate) struct PeerAccount {
    peer: Arc<Peer>,
}

struct Peer {
    account: Account,
    used: AtomicU64,
    /// How many of them are of requests that wait for more.
    held_waiting: AtomicU64,
    turn: Turn<()>,
}

impl PeerAccount {
    /// Takes bytes that are there already, whether there is room or not.
    pub(crate) fn reserve(&self, bytes: u64) -> Reservation {
        let reservation = Reservation { peer: self.clone(), bytes: AtomicU64::new(0) };
        reservation.grow(bytes);
        reservation
    }

    pub(crate) fn account(&self) -> &Account {
        &self.peer.account
    }

    /// Waits until the peer has no more under way than its share, or nothing else.
    pub(crate) async fn room(&self) {
        self.wait_for_share(|| self.used() <= self.account().share()).await;
    }

    async fn wait_for_share(&self, fits: impl Fn() -> bool) {
        if !fits() {
            let _turn = self.peer.turn.lock().await;
            self.account().wait(fits).await;
        }
    }

    pub(crate) fn used(&self) -> u64 {
        self.peer.used.load(Ordering::SeqCst)
    }
}

/// Bytes that are under way for a peer, until it is dropped.
pub(crate) struct Reservation {
    peer: PeerAccount,
    bytes: AtomicU64,
}

impl std::fmt::Debug for Reservation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Reservation").field(&self.bytes()).finish()
    }
}

impl Reservation {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Acquire)
    }

    /// Takes more bytes that are there already.
    pub(crate) fn grow(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::AcqRel);
        self.peer.peer.used.fetch_add(bytes, Ordering::SeqCst);
        self.peer.account().inner.used.fetch_add(bytes, Ordering::SeqCst);
    }

    /// Gives bytes back, as many of them as it has.
    pub(crate) fn shrink(&self, bytes: u64) {
        let left = |held: u64| Some(held.saturating_sub(bytes));
        let before = self.bytes.fetch_update(Ordering::AcqRel, Ordering::Acquire, left).unwrap_or_default();
        let freed = before.min(bytes);
        if freed == 0 {
            return;
        }
        self.peer.peer.used.fetch_sub(freed, Ordering::SeqCst);
        self.peer.account().inner.used.fetch_sub(freed, Ordering::SeqCst);
        self.peer.account().wake();
    }

    /// Takes so many bytes in place of those that it has. They are there already.
    pub(crate) fn resize(&self, bytes: u64) {
        let before = self.bytes();
        self.grow(bytes.saturating_sub(before));
        self.shrink(before.saturating_sub(bytes));
    }

    /// Waits for room for more bytes, and takes them.
    pub(crate) async fn admit(&self, bytes: u64) -> Result<(), Busy> {
        if !self.fits_share(bytes, self.bytes()) || !self.fits(bytes, self.bytes()) {
            Box::pin(tokio::time::timeout(PATIENCE, self.wait(bytes))).await.map_err(|_| Busy)?;
        }
        self.grow(bytes);
        Ok(())
    }

    async fn wait(&self, bytes: u64) {
        let (peer, account) = (&self.peer.peer, self.peer.account());
        let _held = HeldWaiting::new(self);
        self.peer.wait_for_share(|| self.fits_share(bytes, peer.held_waiting.load(Ordering::SeqCst))).await;
        let fits = || self.fits(bytes, account.inner.held_waiting.load(Ordering::SeqCst));
        if !fits() {
            let _turn = account.inner.turn.lock().await;
            account.wait(fits).await;
        }
    }

    fn fits_share(&self, bytes: u64, held_waiting: u64) -> bool {
        has_room(self.peer.used(), self.peer.account().share(), bytes, held_waiting)
    }

    /// Whether there is room for so many more. Half is left for what is small, and for answers that are larger than was
    /// expected.
    fn fits(&self, bytes: u64, held_waiting: u64) -> bool {
        let account = self.peer.account();
        self.bytes() + bytes <= SMALL || has_room(account.used(), account.limit() / 2, bytes, held_waiting)
    }
}

/// Whether so many bytes more are within the limit, or little goes on beside what waits, which cannot wait for itself.
fn has_room(used: u64, limit: u64, bytes: u64, held_waiting: u64) -> bool {
    used + bytes <= limit || used <= held_waiting + limit / 4
}

/// What a request has that waits for more, counted.
struct HeldWaiting<'a> {
    peer: &'a Peer,
    bytes: u64,
}

impl<'a> HeldWaiting<'a> {
    fn new(reservation: &'a Reservation) -> HeldWaiting<'a> {
        let held = HeldWaiting { peer: &reservation.peer.peer, bytes: reservation.bytes() };
        held.peer.held_waiting.fetch_add(held.bytes, Ordering::SeqCst);
        held.peer.account.inner.held_waiting.fetch_add(held.bytes, Ordering::SeqCst);
        // For whoever is first in line there is room as soon as all the others wait.
        held.peer.account.wake();
        held
    }
}

impl Drop for HeldWaiting<'_> {
    fn drop(&mut self) {
        self.peer.held_waiting.fetch_sub(self.bytes, Ordering::SeqCst);
        self.peer.account.inner.held_waiting.fetch_sub(self.bytes, Ordering::SeqCst);
    }
}

/// There has been no room for too long.
#[derive(Debug, thiserror::Error)]
#[error("the server is handling too much data at once; try again later")]
pub(crate) struct Busy;

impl From<Busy> for ErrorData {
    fn from(busy: Busy) -> ErrorData {
        ErrorData::internal_error(busy.to_string(), None)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.shrink(self.bytes());
    }
}

/// What a request takes while it is answered: its own bytes, and those that are expected of its answer.
pub(crate) struct Room {
    reservation: Arc<Reservation>,
    entry: u64,
    expected: u64,
}

impl Room {
    /// Waits until there is room for the answer of an entry, by the size of its last one. `None` for a request that
    /// nobody keeps account of.
    pub(crate) async fn wait(
        context: &RequestContext<RoleServer>,
        method: &str,
        name: &str,
    ) -> Result<Option<Room>, ErrorData> {
        let Some(reservation) = of_request(context) else { return Ok(None) };
        let entry = entry(method, name);
        let expected = reservation.peer.account().sizes().get(&entry).copied().unwrap_or_default();
        tokio::select! {
            biased;
            admitted = reservation.admit(expected) => admitted?,
            () = context.ct.cancelled() => return Err(Busy.into()),
        }
        Ok(Some(Room { reservation, entry, expected }))
    }

    /// Takes the bytes of the answer, or refuses one that there is no memory for.
    pub(crate) fn answered<T: Weight>(self, answer: Result<T, ErrorData>) -> Result<T, ErrorData> {
        // It is there twice when it is written.
        let weight = answer.weight() * 2;
        let account = self.reservation.peer.account();
        self.remember(weight);
        self.reservation.shrink(self.expected);
        if weight > SMALL && account.is_overdrawn_by(weight) {
            return Err(Busy.into());
        }
        self.reservation.grow(weight);
        answer
    }

    fn remember(&self, weight: u64) {
        if weight <= SMALL && self.expected == 0 {
            return;
        }
        let mut sizes = self.reservation.peer.account().sizes();
        if weight <= SMALL {
            sizes.remove(&self.entry);
            return;
        }
        if sizes.len() >= MOST_REMEMBERED {
            sizes.clear();
        }
        sizes.insert(self.entry, weight);
    }
}

/// What a transport has reserved for a request; over HTTP it travels with the head of that one.
fn of_request(context: &RequestContext<RoleServer>) -> Option<Arc<Reservation>> {
    let head = || context.extensions.get::<http::request::Parts>();
    let reservation = context.extensions.get::<Arc<Reservation>>();
    reservation.or_else(|| head()?.extensions.get::<Arc<Reservation>>()).cloned()
}

fn entry(method: &str, name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (method, name).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;
    use futures_util::FutureExt;

    const LIMIT: u64 = 64 << 20;

    #[tokio::test]
    async fn what_is_dropped_is_given_back_and_lets_in_who_waits() {
        let account = Account::new(LIMIT);
        let (one, other) = (account.peer(), account.peer());
        let large = one.reserve(LIMIT);
        let waits = other.reserve(1);
        let mut admitted = Box::pin(waits.admit(SMALL * 2));
        assert!(admitted.as_mut().now_or_never().is_none());
        drop(large);
        admitted.await.unwrap();
        assert_eq!(account.used(), SMALL * 2 + 1);
        drop(waits);
        assert_eq!((account.used(), one.used(), other.used()), (0, 0, 0));
    }

    #[tokio::test]
    async fn what_is_small_waits_for_nobody_else() {
        let account = Account::new(LIMIT);
        let _large = account.peer().reserve(LIMIT * 2);
        let small = account.peer().reserve(0);
        assert!(small.admit(SMALL).now_or_never().is_some());
        assert!(account.peer().reserve(0).admit(SMALL + 1).now_or_never().is_none());
    }

    #[tokio::test]
    async fn a_peer_waits_for_itself_and_its_only_request_for_nobody() {
        let account = Account::new(LIMIT);
        let peer = account.peer();
        let alone = peer.reserve(10);
        assert!(alone.admit(LIMIT).now_or_never().is_some(), "it is all there is");
        assert!(peer.room().now_or_never().is_none());
        assert!(peer.reserve(10).admit(10).now_or_never().is_none());
        assert!(account.peer().reserve(10).admit(10).now_or_never().is_some());
        drop(alone);
        assert!(peer.room().now_or_never().is_some());
    }

    #[tokio::test]
    async fn who_came_first_is_let_in_first_whatever_it_needs() {
        let account = Account::new(LIMIT);
        let all = account.peer().reserve(LIMIT);
        let (large, less) = (account.peer().reserve(0), account.peer().reserve(0));
        let mut first = Box::pin(large.admit(LIMIT / 3));
        let mut second = Box::pin(less.admit(SMALL + 1));
        assert!(first.as_mut().now_or_never().is_none() && second.as_mut().now_or_never().is_none());
        all.shrink(LIMIT * 3 / 4);
        assert!(less.fits(SMALL + 1, 0) && !large.fits(LIMIT / 3, 0), "there is room for the second alone");
        assert!(second.as_mut().now_or_never().is_none(), "it came later");
        all.shrink(LIMIT);
        first.await.unwrap();
        second.await.unwrap();
    }

    #[tokio::test]
    async fn requests_that_fill_the_limit_alone_go_on_one_by_one() {
        let account = Account::new(LIMIT);
        let peers: Vec<_> = (0..16).map(|_| account.peer()).collect();
        let requests: Vec<_> = peers.iter().map(|peer| peer.reserve(LIMIT / 16)).collect();
        go_on(&account, requests).await;
        let peer = account.peer();
        go_on(&account, (0..16).map(|_| peer.reserve(LIMIT / 16)).collect()).await;
        assert_eq!(account.inner.held_waiting.load(Ordering::SeqCst), 0);
    }

    /// Each waits for as much again as it has, and is over when it gets that.
    async fn go_on(account: &Account, requests: Vec<Reservation>) {
        let waiting = requests.into_iter().map(|request| async move {
            request.admit(request.bytes()).await.expect("they wait for each other");
            tokio::task::yield_now().await;
            assert!(account.used() <= LIMIT * 3 / 2, "they are all let in at once: {}", account.used());
        });
        tokio::time::timeout(PATIENCE / 2, futures_util::future::join_all(waiting)).await.expect("nobody goes on");
        assert_eq!(account.used(), 0);
    }
}
