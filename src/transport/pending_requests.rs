//! The pending requests of a peer.

use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    sync::{Arc, Weak},
    time::Duration,
};

use rmcp::model::RequestId;
use tokio::time::Instant;

use crate::budget::Reservation;

/// How many requests of a peer may be pending.
pub(super) const MAX_PENDING_REQUESTS: usize = 4096;

/// How many subscription streams a peer may have on one connection.
pub(super) const MAX_LISTEN_STREAMS: usize = 100;

/// How many cancelled requests are remembered, so that their ids are not taken for new ones.
const MAX_CANCELLED_IDS: usize = 1024;

/// How long after its end an answer to a cancelled request may still be on its way, to be dropped.
const LATE_ANSWER_GRACE: Duration = Duration::from_secs(1);

/// The requests of a peer that are not answered yet.
#[derive(Default)]
pub(super) struct PendingRequests {
    requests: HashMap<RequestId, PendingRequest>,
    /// How many of them have no answer to be awaited at the end: they wait for changes.
    stream_count: usize,
    cancelled: VecDeque<CancelledRequest>,
    /// The pending `initialize`; later messages need its session.
    initialize_id: Option<RequestId>,
}

/// A pending request, and its reservation.
struct PendingRequest {
    reservation: Arc<Reservation>,
    listens: bool,
}

/// A cancelled request that may still be running.
struct CancelledRequest {
    id: RequestId,
    running: Weak<Reservation>,
    ended: Option<Instant>,
}

impl CancelledRequest {
    /// Whether a late answer may still arrive, which must not be taken for that of another request with the id.
    fn may_still_answer(&mut self) -> bool {
        if self.running.strong_count() > 0 {
            return true;
        }
        self.ended.get_or_insert_with(Instant::now).elapsed() < LATE_ANSWER_GRACE
    }
}

/// Why a request cannot be taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PendingRequestError {
    /// A request with that id is pending, or was just cancelled.
    DuplicateId,
    /// Too many requests are pending.
    TooManyRequests,
    /// Too many subscriptions are open.
    TooManyStreams,
}

impl PendingRequests {
    pub(super) fn add(
        &mut self,
        id: &RequestId,
        method: &str,
        reservation: Arc<Reservation>,
    ) -> Result<(), PendingRequestError> {
        self.remove_ended();
        let listens = method == "subscriptions/listen";
        let (is_cancelled, is_full) = (self.is_cancelled(id), self.requests.len() >= MAX_PENDING_REQUESTS);
        let Entry::Vacant(vacant) = self.requests.entry(id.clone()) else {
            return Err(PendingRequestError::DuplicateId);
        };
        if is_cancelled {
            return Err(PendingRequestError::DuplicateId);
        }
        if is_full {
            return Err(PendingRequestError::TooManyRequests);
        }
        if listens && self.stream_count >= MAX_LISTEN_STREAMS {
            return Err(PendingRequestError::TooManyStreams);
        }
        if method == "initialize" {
            self.initialize_id = Some(id.clone());
        }
        self.stream_count += usize::from(listens);
        vacant.insert(PendingRequest { reservation, listens });
        Ok(())
    }

    /// Removes an answered request, and returns its reservation.
    pub(super) fn complete(&mut self, id: &RequestId) -> Option<Arc<Reservation>> {
        self.initialize_id.take_if(|first| first == id);
        self.remove(id)
    }

    /// Cancels a request. False for `initialize`, which cannot be cancelled.
    pub(super) fn cancel(&mut self, id: &RequestId) -> bool {
        if self.initialize_id.as_ref() == Some(id) {
            return false;
        }
        self.remove_ended();
        if let Some(reservation) = self.remove(id) {
            let running = Arc::downgrade(&reservation);
            self.cancelled.push_back(CancelledRequest { id: id.clone(), running, ended: None });
            if self.cancelled.len() > MAX_CANCELLED_IDS {
                self.cancelled.pop_front();
            }
        }
        true
    }

    fn remove(&mut self, id: &RequestId) -> Option<Arc<Reservation>> {
        let asked = self.requests.remove(id)?;
        self.stream_count -= usize::from(asked.listens);
        Some(asked.reservation)
    }

    /// Forgets the ids of cancelled requests that have ended.
    pub(super) fn remove_ended(&mut self) {
        if !self.cancelled.is_empty() {
            self.cancelled.retain_mut(CancelledRequest::may_still_answer);
        }
    }

    /// How many cancelled requests are remembered.
    #[cfg(test)]
    pub(super) fn cancelled(&self) -> usize {
        self.cancelled.len()
    }

    pub(super) fn contains(&self, id: &RequestId) -> bool {
        self.requests.contains_key(id) || self.is_cancelled(id)
    }

    fn is_cancelled(&self, id: &RequestId) -> bool {
        self.cancelled.iter().any(|cancelled| cancelled.id == *id)
    }

    /// Removes any pending request.
    pub(super) fn take_any(&mut self) -> Option<RequestId> {
        let id = self.requests.keys().next().cloned()?;
        self.complete(&id);
        Some(id)
    }

    /// Whether an `initialize` is pending.
    pub(super) fn is_initializing(&self) -> bool {
        self.initialize_id.is_some()
    }

    /// Whether no answer is awaited, but for streams.
    pub(super) fn has_only_streams(&self) -> bool {
        self.requests.len() == self.stream_count
    }

    /// How many requests are pending.
    pub(super) fn len(&self) -> usize {
        self.requests.len()
    }

    /// Whether no request is pending.
    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Whether several answers are awaited.
    pub(super) fn has_several(&self) -> bool {
        self.requests.len() > self.stream_count + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty_reservation() -> Arc<Reservation> {
        Arc::default()
    }

    #[test]
    fn cancelled_id_stays_in_use() {
        let (mut pending, id, running) = (PendingRequests::default(), RequestId::Number(1), empty_reservation());
        pending.add(&id, "ping", empty_reservation()).unwrap();
        assert_eq!(pending.add(&id, "ping", empty_reservation()), Err(PendingRequestError::DuplicateId));
        pending.complete(&id);
        pending.add(&id, "ping", running.clone()).unwrap();
        assert!(pending.cancel(&id));
        assert_eq!(pending.add(&id, "ping", empty_reservation()), Err(PendingRequestError::DuplicateId));
    }

    #[tokio::test(start_paused = true)]
    async fn cancelled_id_is_free_after_grace() {
        let (mut pending, id, running) = (PendingRequests::default(), RequestId::Number(1), empty_reservation());
        pending.add(&id, "ping", running.clone()).unwrap();
        assert!(pending.cancel(&id));
        tokio::time::advance(LATE_ANSWER_GRACE * 100).await;
        assert_eq!(pending.add(&id, "ping", empty_reservation()), Err(PendingRequestError::DuplicateId));
        drop(running);
        assert_eq!(
            pending.add(&id, "ping", empty_reservation()),
            Err(PendingRequestError::DuplicateId),
            "its answer may be on its way"
        );
        tokio::time::advance(LATE_ANSWER_GRACE).await;
        assert_eq!(pending.add(&id, "ping", empty_reservation()), Ok(()));
        assert!(pending.cancelled.is_empty());
    }

    #[test]
    fn pending_and_cancelled_ids_are_bounded() {
        let (mut pending, running) = (PendingRequests::default(), empty_reservation());
        for id in 0..MAX_PENDING_REQUESTS as i64 {
            pending.add(&RequestId::Number(id), "ping", running.clone()).unwrap();
        }
        assert_eq!(
            pending.add(&RequestId::Number(-1), "ping", running.clone()),
            Err(PendingRequestError::TooManyRequests)
        );
        for id in 0..MAX_PENDING_REQUESTS as i64 {
            pending.cancel(&RequestId::Number(id));
        }
        assert!(pending.is_empty());
        assert_eq!(pending.cancelled.len(), MAX_CANCELLED_IDS);
    }

    #[test]
    fn listen_streams_are_bounded() {
        let mut pending = PendingRequests::default();
        let listen = "subscriptions/listen";
        for id in 0..MAX_LISTEN_STREAMS as i64 {
            pending.add(&RequestId::Number(id), listen, empty_reservation()).unwrap();
        }
        assert_eq!(
            pending.add(&RequestId::Number(-1), listen, empty_reservation()),
            Err(PendingRequestError::TooManyStreams)
        );
        pending.complete(&RequestId::Number(0));
        assert_eq!(pending.add(&RequestId::Number(-1), listen, empty_reservation()), Ok(()));
        assert!(pending.has_only_streams() && !pending.is_empty());
    }

    #[test]
    fn initialize_cannot_be_cancelled() {
        let (mut pending, id) = (PendingRequests::default(), RequestId::Number(1));
        pending.add(&id, "initialize", empty_reservation()).unwrap();
        assert!(!pending.cancel(&id) && pending.is_initializing());
        pending.complete(&id);
        assert!(!pending.is_initializing());
    }
}
