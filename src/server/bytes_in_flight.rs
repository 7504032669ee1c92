//! Accounts for the bytes of requests and answers in flight, per process and per peer, and makes large ones wait.
//!
//! A [`Reservation`] holds bytes until it is dropped. Small requests never wait for other peers, and requests that wait
//! for each other proceed one after another.

mod response_reservation;
#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use rmcp::model::ErrorData;
use tokio::sync::{Mutex as AsyncMutex, Notify};

use crate::budget::{Caller, CallerKind};

pub(crate) use response_reservation::{ResponseReservation, request_reservation};

/// What a small request and its answer may take.
pub(crate) const SMALL_MESSAGE_BYTES: u64 = 64 * 1024;

/// How long a request waits for room. Peers that do not read are gone by then.
const ADMISSION_TIMEOUT: Duration = Duration::from_secs(30);

/// How many entries with large answers are remembered.
const MAX_REMEMBERED_SIZES: usize = 4096;

/// The bytes in flight in the process. Clones are handles of the same account.
#[derive(Clone)]
pub(crate) struct BytesInFlight {
    inner: Arc<BytesInFlightState>,
}

struct BytesInFlightState {
    used: AtomicU64,
    /// How many of them are of those who wait for more.
    waiting_bytes: AtomicU64,
    /// What requests take that wait for their clients, beside `used`.
    suspended: AtomicU64,
    limit: AtomicU64,
    waiters: AtomicUsize,
    freed: Notify,
    /// Held by the request that waits for room; others queue behind it.
    queue: AsyncMutex<()>,
    /// How large the last answer of an entry was, where it was large; what arguments decide, for each peer.
    sizes: Mutex<HashMap<u64, u64>>,
    /// The number of the next peer.
    next_peer: AtomicU64,
}

impl BytesInFlight {
    pub(crate) fn new(limit: u64) -> BytesInFlight {
        let inner = BytesInFlightState {
            used: AtomicU64::new(0),
            waiting_bytes: AtomicU64::new(0),
            suspended: AtomicU64::new(0),
            limit: AtomicU64::new(limit),
            waiters: AtomicUsize::new(0),
            freed: Notify::new(),
            queue: AsyncMutex::new(()),
            sizes: Mutex::default(),
            next_peer: AtomicU64::new(0),
        };
        BytesInFlight { inner: Arc::new(inner) }
    }

    /// Sets the limit.
    pub(crate) fn set_limit(&self, limit: u64) {
        self.inner.limit.store(limit, Ordering::Release);
        self.inner.freed.notify_waiters();
    }

    /// The account of a new peer, which has a session of its own.
    #[cfg(test)]
    pub(crate) fn new_peer(&self) -> PeerBytes {
        self.new_peer_of(CallerKind::Session)
    }

    /// The account of a new peer.
    pub(crate) fn new_peer_of(&self, kind: CallerKind) -> PeerBytes {
        let state = PeerBytesState {
            in_flight: self.clone(),
            caller: Arc::new(Caller::new(kind)),
            number: self.inner.next_peer.fetch_add(1, Ordering::Relaxed),
            used: AtomicU64::new(0),
            waiting_bytes: AtomicU64::new(0),
            suspended: AtomicU64::new(0),
            queue: AsyncMutex::new(()),
        };
        PeerBytes { state: Arc::new(state) }
    }

    /// Whether there is room to keep what could be dropped: most of the bytes are for what cannot.
    pub(crate) fn has_spare(&self) -> bool {
        self.used() <= self.limit() / 4
    }

    /// The share of one peer: half of what large requests may take, which is half of all.
    pub(crate) fn peer_share(&self) -> u64 {
        self.limit() / 4
    }

    fn would_exceed(&self, bytes: u64) -> bool {
        self.used() + bytes > self.limit()
    }

    fn used(&self) -> u64 {
        self.inner.used.load(Ordering::SeqCst)
    }

    fn limit(&self) -> u64 {
        self.inner.limit.load(Ordering::Acquire)
    }

    fn sizes(&self) -> MutexGuard<'_, HashMap<u64, u64>> {
        self.inner.sizes.lock()
    }

    /// Wakes those who wait, if there are any. What is changed before and what they look at are ordered by `SeqCst`:
    /// either they see the change, or they are seen here.
    fn wake(&self) {
        if self.inner.waiters.load(Ordering::SeqCst) > 0 {
            self.inner.freed.notify_waiters();
        }
    }

    /// Waits until `fits` holds.
    async fn wait_until(&self, fits: impl Fn() -> bool) {
        self.inner.waiters.fetch_add(1, Ordering::SeqCst);
        let _waiting = WaiterGuard(&self.inner);
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

/// Counts a waiter.
struct WaiterGuard<'a>(&'a BytesInFlightState);

impl Drop for WaiterGuard<'_> {
    fn drop(&mut self) {
        self.0.waiters.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The bytes in flight of one peer. Clones are handles of the same account.
#[derive(Clone)]
pub(crate) struct PeerBytes {
    state: Arc<PeerBytesState>,
}

struct PeerBytesState {
    in_flight: BytesInFlight,
    caller: Arc<Caller>,
    /// Tells it apart from earlier peers.
    number: u64,
    used: AtomicU64,
    /// How many of them are of requests that wait for more.
    waiting_bytes: AtomicU64,
    /// What requests take that wait for the client, beside `used`.
    suspended: AtomicU64,
    queue: AsyncMutex<()>,
}

impl PeerBytes {
    /// Reserves bytes that are in memory already, with or without room.
    pub(crate) fn reserve(&self, bytes: u64) -> Reservation {
        let reservation = Reservation { peer: self.clone(), bytes: AtomicU64::new(0) };
        reservation.grow(bytes);
        reservation
    }

    pub(crate) fn server_bytes(&self) -> &BytesInFlight {
        &self.state.in_flight
    }

    /// What the peer has of other pools.
    pub(crate) fn caller(&self) -> &Arc<Caller> {
        &self.state.caller
    }

    pub(crate) fn downgrade(&self) -> WeakPeerBytes {
        WeakPeerBytes(Arc::downgrade(&self.state))
    }

    /// How large the answer of an entry is expected to be: as its last one, where that was large.
    fn expected_size(&self, method: &str, name: &str) -> u64 {
        let sizes = self.server_bytes().sizes();
        if sizes.is_empty() {
            return 0;
        }
        sizes.get(&self.entry_key(method, name)).copied().unwrap_or_default()
    }

    /// Remembers how large the answer of an entry was.
    fn remember_size(&self, method: &str, name: &str, bytes: u64) {
        let entry = self.entry_key(method, name);
        let mut sizes = self.server_bytes().sizes();
        if bytes <= SMALL_MESSAGE_BYTES {
            sizes.remove(&entry);
            return;
        }
        if sizes.len() >= MAX_REMEMBERED_SIZES {
            sizes.clear();
        }
        sizes.insert(entry, bytes);
    }

    /// The key of an entry. What one peer gets by its arguments says nothing about what others ask for.
    fn entry_key(&self, method: &str, name: &str) -> u64 {
        let has_arguments = matches!(method, "tools/call" | "prompts/get" | "completion/complete");
        let mut hasher = DefaultHasher::new();
        (has_arguments.then_some(self.state.number), method, name).hash(&mut hasher);
        hasher.finish()
    }

    /// Whether the peer is within its share.
    pub(crate) fn has_room(&self) -> bool {
        self.used() <= self.server_bytes().peer_share()
    }

    /// Waits until the peer is within its share.
    pub(crate) async fn wait_for_room(&self) {
        self.wait_for_share(|| self.has_room()).await;
    }

    async fn wait_for_share(&self, fits: impl Fn() -> bool) {
        if !fits() {
            let _turn = self.state.queue.lock().await;
            self.server_bytes().wait_until(fits).await;
        }
    }

    /// Whether both are the account of the same peer.
    pub(super) fn is_same(&self, other: &PeerBytes) -> bool {
        Arc::ptr_eq(&self.state, &other.state)
    }

    pub(crate) fn used(&self) -> u64 {
        self.state.used.load(Ordering::SeqCst)
    }
}

/// The account of a peer, as long as anybody has it.
pub(crate) struct WeakPeerBytes(Weak<PeerBytesState>);

impl WeakPeerBytes {
    pub(crate) fn upgrade(&self) -> Option<PeerBytes> {
        self.0.upgrade().map(|state| PeerBytes { state })
    }
}

/// Bytes reserved for a peer, until it is dropped.
pub(crate) struct Reservation {
    peer: PeerBytes,
    bytes: AtomicU64,
}

impl std::fmt::Debug for Reservation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Reservation").field(&self.bytes()).finish()
    }
}

impl Reservation {
    pub(super) fn peer(&self) -> &PeerBytes {
        &self.peer
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Acquire)
    }

    /// Reserves more bytes that are in memory already.
    pub(crate) fn grow(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::AcqRel);
        self.peer.state.used.fetch_add(bytes, Ordering::SeqCst);
        self.peer.server_bytes().inner.used.fetch_add(bytes, Ordering::SeqCst);
    }

    /// Releases bytes, at most those that it holds.
    pub(crate) fn shrink(&self, bytes: u64) {
        let left = |held: u64| Some(held.saturating_sub(bytes));
        let before = self.bytes.fetch_update(Ordering::AcqRel, Ordering::Acquire, left).unwrap_or_default();
        let freed = before.min(bytes);
        if freed == 0 {
            return;
        }
        self.peer.state.used.fetch_sub(freed, Ordering::SeqCst);
        self.peer.server_bytes().inner.used.fetch_sub(freed, Ordering::SeqCst);
        self.peer.server_bytes().wake();
    }

    /// Changes the reservation to this size, for bytes that are in memory already.
    pub(crate) fn resize(&self, bytes: u64) {
        let before = self.bytes();
        self.grow(bytes.saturating_sub(before));
        self.shrink(before.saturating_sub(bytes));
    }

    /// Waits for room for more bytes, and reserves them.
    pub(crate) async fn admit(&self, bytes: u64) -> Result<(), Busy> {
        if !self.try_admit(bytes) {
            tokio::time::timeout(ADMISSION_TIMEOUT, self.wait_for_room(bytes)).await.map_err(|_| Busy)?;
            self.grow(bytes);
        }
        Ok(())
    }

    /// Waits until the reservation has this size. Small ones never wait.
    pub(crate) async fn admit_size(&self, bytes: u64) -> Result<(), Busy> {
        let more = bytes.saturating_sub(self.bytes());
        if more > 0 && bytes > SMALL_MESSAGE_BYTES {
            return self.admit(more).await;
        }
        self.resize(bytes);
        Ok(())
    }

    /// Lets other requests have the bytes of one that waits for its client, as long as not too many are held so.
    pub(crate) fn suspend(self: &Arc<Reservation>) -> Result<SuspendedReservation, Busy> {
        let (bytes, peer, in_flight) = (self.bytes(), &self.peer.state, self.peer.server_bytes());
        let suspended = SuspendedReservation { reservation: self.clone(), bytes };
        let of_peer = peer.suspended.fetch_add(bytes, Ordering::SeqCst) + bytes;
        let of_all = in_flight.inner.suspended.fetch_add(bytes, Ordering::SeqCst) + bytes;
        peer.used.fetch_sub(bytes, Ordering::SeqCst);
        in_flight.inner.used.fetch_sub(bytes, Ordering::SeqCst);
        in_flight.wake();
        let max = in_flight.limit() / 2;
        let fits = of_all <= max && of_peer <= self.peer.caller().max_share(max) || bytes <= SMALL_MESSAGE_BYTES;
        fits.then_some(suspended).ok_or(Busy)
    }

    /// Takes more bytes if there is room for them now.
    fn try_admit(&self, bytes: u64) -> bool {
        let fits = self.fits_share(bytes, self.bytes()) && self.fits(bytes, self.bytes());
        if fits {
            self.grow(bytes);
        }
        fits
    }

    async fn wait_for_room(&self, bytes: u64) {
        let (peer, in_flight) = (&self.peer.state, self.peer.server_bytes());
        let _held = WaitingBytesGuard::new(self);
        self.peer.wait_for_share(|| self.fits_share(bytes, peer.waiting_bytes.load(Ordering::SeqCst))).await;
        let fits = || self.fits(bytes, in_flight.inner.waiting_bytes.load(Ordering::SeqCst));
        if !fits() {
            let _turn = in_flight.inner.queue.lock().await;
            in_flight.wait_until(fits).await;
        }
    }

    /// Whether the peer is within its share with so many more. Small requests of one address do not wait for each other:
    /// many clients may have it.
    fn fits_share(&self, bytes: u64, held_waiting: u64) -> bool {
        let is_small = self.bytes() + bytes <= SMALL_MESSAGE_BYTES;
        is_small && self.peer.caller().kind() == CallerKind::Address
            || has_room(self.peer.used(), self.peer.server_bytes().peer_share(), bytes, held_waiting)
    }

    /// Whether there is room for so many more. Half is left for what is small, and for answers that are larger than was
    /// expected.
    fn fits(&self, bytes: u64, held_waiting: u64) -> bool {
        let in_flight = self.peer.server_bytes();
        self.bytes() + bytes <= SMALL_MESSAGE_BYTES
            || has_room(in_flight.used(), in_flight.limit() / 2, bytes, held_waiting)
    }
}

/// Whether so many more bytes fit the limit, or only waiting requests are left, which must not wait for themselves.
fn has_room(used: u64, limit: u64, bytes: u64, held_waiting: u64) -> bool {
    used + bytes <= limit || used <= held_waiting + limit / 4
}

/// What a request has that waits for more, counted.
struct WaitingBytesGuard<'a> {
    peer: &'a PeerBytesState,
    bytes: u64,
}

impl<'a> WaitingBytesGuard<'a> {
    fn new(reservation: &'a Reservation) -> WaitingBytesGuard<'a> {
        let held = WaitingBytesGuard { peer: &reservation.peer.state, bytes: reservation.bytes() };
        held.peer.waiting_bytes.fetch_add(held.bytes, Ordering::SeqCst);
        held.peer.in_flight.inner.waiting_bytes.fetch_add(held.bytes, Ordering::SeqCst);
        // The first waiter may have room as soon as all others wait.
        held.peer.in_flight.wake();
        held
    }
}

impl Drop for WaitingBytesGuard<'_> {
    fn drop(&mut self) {
        self.peer.waiting_bytes.fetch_sub(self.bytes, Ordering::SeqCst);
        self.peer.in_flight.inner.waiting_bytes.fetch_sub(self.bytes, Ordering::SeqCst);
    }
}

/// The bytes of a request that waits for its client.
pub(crate) struct SuspendedReservation {
    reservation: Arc<Reservation>,
    bytes: u64,
}

impl Drop for SuspendedReservation {
    fn drop(&mut self) {
        let (peer, in_flight) = (&self.reservation.peer.state, &self.reservation.peer.server_bytes().inner);
        peer.used.fetch_add(self.bytes, Ordering::SeqCst);
        in_flight.used.fetch_add(self.bytes, Ordering::SeqCst);
        peer.suspended.fetch_sub(self.bytes, Ordering::SeqCst);
        in_flight.suspended.fetch_sub(self.bytes, Ordering::SeqCst);
    }
}

/// No room was found in time.
#[derive(Debug, thiserror::Error)]
#[error("server busy: too many bytes in flight; try again later")]
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
