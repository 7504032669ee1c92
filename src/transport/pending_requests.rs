//! The pending requests of a peer.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use rmcp::model::{ClientRequest, RequestId};
use tokio_util::sync::CancellationToken;

use crate::budget::Reservation;
use crate::server::IncomingRequest;

use super::message::MessageError;

/// How many requests of a peer may be pending.
const MAX_PENDING_REQUESTS: usize = 4096;

/// How many subscription streams a peer may have on one connection.
const MAX_LISTEN_STREAMS: usize = 100;

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

impl PendingRequests {
    /// Takes a request.
    ///
    /// # Errors
    /// Its id is in use, or there are too many.
    pub(super) fn add(&mut self, request: &IncomingRequest) -> Result<(), MessageError> {
        let id = &request.id;
        let listens = matches!(*request.message, ClientRequest::SubscriptionsListenRequest(_));
        let is_full = self.requests.len() >= MAX_PENDING_REQUESTS;
        let Entry::Vacant(vacant) = self.requests.entry(id.clone()) else {
            // Whoever waits for the other would take an answer with this id for it.
            let message = format!("duplicate request id `{id}`: that request is pending");
            return Err(MessageError::invalid_request(None, message));
        };
        if is_full {
            let message = format!("too many pending requests (limit {MAX_PENDING_REQUESTS})");
            return Err(MessageError::busy(Some(id.clone()), message));
        }
        if listens && self.stream_count >= MAX_LISTEN_STREAMS {
            let message = format!("too many open subscriptions (limit {MAX_LISTEN_STREAMS}); cancel one of them first");
            return Err(MessageError::busy(Some(id.clone()), message));
        }
        self.stream_count += usize::from(listens);
        let (reservation, cancel) = (request.reservation.clone(), request.cancel.clone());
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
    use crate::server::RequestSender;
    use crate::transport::message::{Incoming, parse_envelope};

    fn add(pending: &mut PendingRequests, id: i64, method: &str) -> Result<Arc<Reservation>, String> {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"notifications":{{}}}}}}"#);
        let envelope = parse_envelope(text.as_bytes()).unwrap();
        let Ok(Some(Incoming::Request(request))) = envelope.parse(&Arc::default(), 0, &RequestSender::default()) else {
            panic!("{text} is a request");
        };
        pending.add(&request).map(|()| request.reservation).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn late_answer_of_cancelled_request_is_not_that_of_its_successor() {
        let (mut pending, id) = (PendingRequests::default(), RequestId::Number(1));
        let first = add(&mut pending, 1, "tools/call").unwrap();
        assert!(add(&mut pending, 1, "ping").unwrap_err().starts_with("duplicate request id `1`"));
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
        assert_eq!(add(&mut pending, -1, "ping").unwrap_err(), "too many pending requests (limit 4096)");
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
        assert!(add(&mut pending, -1, listen).unwrap_err().starts_with("too many open subscriptions (limit 100)"));
        pending.complete(&RequestId::Number(0), &first);
        add(&mut pending, -1, listen).unwrap();
        assert!(pending.has_only_streams() && !pending.is_empty());
    }
}
