//! The pending requests of a peer.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use rmcp::model::RequestId;
use tokio_util::sync::CancellationToken;

use crate::budget::Reservation;

/// How many requests of a peer may be pending.
pub(super) const MAX_PENDING_REQUESTS: usize = 4096;

/// How many subscription streams a peer may have on one connection.
pub(super) const MAX_LISTEN_STREAMS: usize = 100;

/// The requests of a peer that are not answered yet.
#[derive(Default)]
pub(super) struct PendingRequests {
    requests: HashMap<RequestId, PendingRequest>,
    /// How many of them have no answer to be awaited at the end: they wait for changes.
    stream_count: usize,
}

/// A pending request, and its reservation.
struct PendingRequest {
    reservation: Arc<Reservation>,
    cancel: CancellationToken,
    listens: bool,
}

/// Why a request cannot be taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PendingRequestError {
    /// A request with that id is pending.
    DuplicateId,
    /// Too many requests are pending.
    TooManyRequests,
    /// Too many subscriptions are open.
    TooManyStreams,
}

impl PendingRequests {
    /// Takes a request, which `cancel` cancels.
    pub(super) fn add(
        &mut self,
        id: &RequestId,
        method: &str,
        reservation: Arc<Reservation>,
        cancel: CancellationToken,
    ) -> Result<(), PendingRequestError> {
        let listens = method == "subscriptions/listen";
        let is_full = self.requests.len() >= MAX_PENDING_REQUESTS;
        let Entry::Vacant(vacant) = self.requests.entry(id.clone()) else {
            return Err(PendingRequestError::DuplicateId);
        };
        if is_full {
            return Err(PendingRequestError::TooManyRequests);
        }
        if listens && self.stream_count >= MAX_LISTEN_STREAMS {
            return Err(PendingRequestError::TooManyStreams);
        }
        self.stream_count += usize::from(listens);
        vacant.insert(PendingRequest { reservation, cancel, listens });
        Ok(())
    }

    /// Removes an answered request. False where it was cancelled, even if another has its id now.
    pub(super) fn complete(&mut self, id: &RequestId, reservation: &Arc<Reservation>) -> bool {
        let Some(asked) = self.requests.remove(id) else { return false };
        let is_pending = Arc::ptr_eq(&asked.reservation, reservation);
        if is_pending {
            self.stream_count -= usize::from(asked.listens);
        } else {
            self.requests.insert(id.clone(), asked);
        }
        is_pending
    }

    /// Cancels a request. False where none has the id.
    pub(super) fn cancel(&mut self, id: &RequestId) -> bool {
        let asked = self.remove(id);
        asked.inspect(|asked| asked.cancel.cancel()).is_some()
    }

    /// Cancels all of them.
    pub(super) fn cancel_all(&mut self) {
        self.requests.drain().for_each(|(_, asked)| asked.cancel.cancel());
        self.stream_count = 0;
    }

    fn remove(&mut self, id: &RequestId) -> Option<PendingRequest> {
        let asked = self.requests.remove(id)?;
        self.stream_count -= usize::from(asked.listens);
        Some(asked)
    }

    /// Whether nothing is pending but streams.
    pub(super) fn has_only_streams(&self) -> bool {
        self.requests.len() == self.stream_count
    }

    pub(super) fn len(&self) -> usize {
        self.requests.len()
    }

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

    fn add(pending: &mut PendingRequests, id: i64, method: &str) -> Result<Arc<Reservation>, PendingRequestError> {
        let reservation = Arc::<Reservation>::default();
        let cancel = CancellationToken::new();
        pending.add(&RequestId::Number(id), method, reservation.clone(), cancel).map(|()| reservation)
    }

    #[test]
    fn late_answer_of_cancelled_request_is_not_that_of_its_successor() {
        let (mut pending, id) = (PendingRequests::default(), RequestId::Number(1));
        let first = add(&mut pending, 1, "tools/call").unwrap();
        assert_eq!(add(&mut pending, 1, "ping").err(), Some(PendingRequestError::DuplicateId));
        assert!(pending.cancel(&id) && !pending.cancel(&id) && pending.is_empty());
        let second = add(&mut pending, 1, "tools/call").unwrap();
        assert!(!pending.complete(&id, &first) && !pending.is_empty());
        assert!(pending.complete(&id, &second) && pending.is_empty());
    }

    #[test]
    fn pending_requests_are_bounded() {
        let mut pending = PendingRequests::default();
        for id in 0..MAX_PENDING_REQUESTS as i64 {
            add(&mut pending, id, "ping").unwrap();
        }
        assert_eq!(add(&mut pending, -1, "ping").err(), Some(PendingRequestError::TooManyRequests));
        pending.cancel_all();
        add(&mut pending, -1, "ping").unwrap();
    }

    #[test]
    fn listen_streams_are_bounded() {
        let mut pending = PendingRequests::default();
        let listen = "subscriptions/listen";
        let first = add(&mut pending, 0, listen).unwrap();
        for id in 1..MAX_LISTEN_STREAMS as i64 {
            add(&mut pending, id, listen).unwrap();
        }
        assert_eq!(add(&mut pending, -1, listen).err(), Some(PendingRequestError::TooManyStreams));
        pending.complete(&RequestId::Number(0), &first);
        add(&mut pending, -1, listen).unwrap();
        assert!(pending.has_only_streams() && !pending.is_empty());
    }
}
