//! The requests and answers of one peer, on any transport: the same mistake gets the same error everywhere.

use std::sync::Arc;

use rmcp::model::RequestId;

use crate::budget::{Caller, MemoryPool, Reservation, block_if_large};
use crate::diagnostic::bytes_without_byte_order_mark;
use crate::redact::Redactors;
use crate::server::{OutgoingMessage, RequestSender, SharedServer};
use crate::spec_version::SpecVersion;

use super::{
    batch::{self, AnswerRoute, Batches, FinishedBatch},
    lone_surrogates::replace_lone_surrogates,
    message::{self, Incoming, MessageError, MessageKind},
    message_size::message_size,
    pending_requests::PendingRequests,
};

/// The conversation with one peer.
pub(super) struct PeerState {
    caller: Arc<Caller>,
    pending: PendingRequests,
    batches: Batches,
    redactors: Redactors,
}

/// What a peer has sent, read. `None` stands for an invalid notification. Only a request keeps its reservation.
pub(super) enum ReceivedPayload {
    Message(Option<Incoming>),
    /// The messages of a batch, or their errors.
    Batch(Vec<Result<Option<Incoming>, MessageError>>),
}

impl ReceivedPayload {
    /// How many requests it holds.
    pub(super) fn request_count(&self) -> usize {
        match self {
            ReceivedPayload::Message(message) => message.iter().filter_map(Incoming::request).count(),
            ReceivedPayload::Batch(list) => list.iter().flatten().flatten().filter_map(Incoming::request).count(),
        }
    }

    /// Reads what a peer has sent, a message or a batch. It holds no lock, so a long message delays no one.
    pub(super) fn parse(
        bytes: &[u8],
        caller: &Arc<Caller>,
        sender: &RequestSender,
    ) -> Result<ReceivedPayload, MessageError> {
        let bytes = bytes_without_byte_order_mark(bytes);
        block_if_large(bytes.len() as u64, || {
            if !batch::is_batch(bytes) {
                return parse_message(bytes, caller, sender).map(ReceivedPayload::Message);
            }
            let invalid = |message| MessageError::invalid_request(None, message);
            checked_size(bytes, caller.pool()).map_err(invalid)?;
            let list = batch::parse_batch(bytes)?;
            let messages = list.0.iter().map(|message| message.get().as_bytes());
            Ok(ReceivedPayload::Batch(
                messages
                    .map(|bytes| check_batchable(bytes).and_then(|()| parse_message(bytes, caller, sender)))
                    .collect(),
            ))
        })
    }
}

fn parse_message(bytes: &[u8], caller: &Arc<Caller>, sender: &RequestSender) -> Result<Option<Incoming>, MessageError> {
    let bytes = &*replace_lone_surrogates(bytes);
    let envelope = message::parse_envelope(bytes)?;
    let size = checked_size(bytes, caller.pool())
        .map_err(|message| MessageError::invalid_request(envelope.kind.request_id().cloned(), message))?;
    envelope.parse(&Arc::new(caller.reserve(size)), bytes.len() as u64, sender)
}

/// What became of what a peer sent.
#[derive(Default)]
pub(super) struct ReceiveOutcome {
    /// What the handler must see.
    pub(super) messages: Vec<Incoming>,
    /// The number of the batch that it was, where it wants an answer.
    pub(super) batch: Option<u64>,
    /// Batches that are thereby answered.
    pub(super) finished_batches: Vec<FinishedBatch>,
    /// The requests that it cancels.
    pub(super) cancelled: Vec<RequestId>,
}

impl PeerState {
    pub(super) fn new(shared_server: &SharedServer, caller: Arc<Caller>) -> PeerState {
        PeerState {
            caller,
            pending: PendingRequests::default(),
            batches: Batches::default(),
            redactors: shared_server.redactors().clone(),
        }
    }

    pub(super) fn pending(&self) -> &PendingRequests {
        &self.pending
    }

    /// Hides secrets in what the peer is told.
    pub(super) fn redactors(&self) -> &Redactors {
        &self.redactors
    }

    pub(super) fn caller(&self) -> &Arc<Caller> {
        &self.caller
    }

    /// Whether the peer may send more: it has its share of room, or no answers to come that make room.
    pub(super) fn is_within_share(&self) -> bool {
        !self.pending.has_several() || self.caller.has_room()
    }

    /// Takes what a peer has sent in a session of this version: notes what it asks or cancels.
    ///
    /// # Errors
    /// A request cannot be taken, as its id is in use or there are too many; or the version has no batches.
    pub(super) fn receive(
        &mut self,
        payload: ReceivedPayload,
        version: Option<SpecVersion>,
    ) -> Result<ReceiveOutcome, MessageError> {
        let mut outcome = ReceiveOutcome::default();
        match payload {
            ReceivedPayload::Message(message) => self.receive_message(message, &mut outcome)?,
            ReceivedPayload::Batch(list) => self.receive_batch(list, version, &mut outcome)?,
        }
        Ok(outcome)
    }

    fn receive_message(&mut self, message: Option<Incoming>, outcome: &mut ReceiveOutcome) -> Result<(), MessageError> {
        match &message {
            Some(Incoming::Request(request)) => self.pending.add(request)?,
            Some(Incoming::Notification(notification)) => {
                if let Some(id) = message::cancelled_request(notification).filter(|id| self.pending.cancel(id)) {
                    outcome.finished_batches.extend(self.batches.cancel(id));
                    outcome.cancelled.push(id.clone());
                }
            }
            Some(Incoming::Answer(..)) | None => {}
        }
        outcome.messages.extend(message);
        Ok(())
    }

    fn receive_batch(
        &mut self,
        list: Vec<Result<Option<Incoming>, MessageError>>,
        version: Option<SpecVersion>,
        outcome: &mut ReceiveOutcome,
    ) -> Result<(), MessageError> {
        if version != Some(SpecVersion::V2025_03_26) {
            let message = "batches are only supported in sessions of version 2025-03-26; send each message on its own";
            return Err(MessageError::invalid_request(None, message));
        }
        let (mut requests, mut errors) = (Vec::new(), Vec::new());
        for received in list {
            let (taken, cancelled) = (outcome.messages.len(), outcome.cancelled.len());
            if let Err(error) = received.and_then(|received| self.receive_message(received, outcome)) {
                errors.push(error.into_message(&self.redactors));
            }
            if let Some(Incoming::Request(request)) = outcome.messages.get(taken) {
                requests.push(request.id.clone());
            }
            // A batch does not wait for what it cancels itself.
            let cancelled = outcome.cancelled.get(cancelled..).unwrap_or_default();
            requests.retain(|id| !cancelled.contains(id));
        }
        outcome.batch = self.batches.begin(&requests, errors);
        outcome.finished_batches.extend(outcome.batch.and_then(|batch| self.batches.take_finished(batch)));
        Ok(())
    }

    /// Takes the answer to a request, whose reservation this is.
    pub(super) fn route_answer(&mut self, answer: OutgoingMessage, reservation: &Arc<Reservation>) -> AnswerRoute {
        match answer.answered_request() {
            Some(id) if self.pending.complete(id, reservation) => self.batches.route(answer, reservation),
            _ => AnswerRoute::Dropped,
        }
    }

    /// Cancels all that is pending.
    pub(super) fn cancel_all(&mut self) {
        self.pending.cancel_all();
    }
}

/// Refuses requests that cannot be in a batch: one that starts a session, and one that is never answered.
fn check_batchable(bytes: &[u8]) -> Result<(), MessageError> {
    match message::parse_envelope(bytes)?.kind {
        MessageKind::Request { method, id } if matches!(&*method, "initialize" | "subscriptions/listen") => {
            Err(MessageError::invalid_request(
                Some(id),
                format!("`{method}` is not allowed in a batch; send it on its own"),
            ))
        }
        _ => Ok(()),
    }
}

/// How much memory a message takes when it is parsed. What is small goes beside one that takes the whole pool.
pub(super) fn checked_size(bytes: &[u8], pool: &MemoryPool) -> Result<u64, String> {
    let (size, max) = (message_size(bytes), pool.limit());
    if size > max {
        let (size, max) = (size.div_ceil(1 << 20), max >> 20);
        return Err(format!("message too large: up to {size} MiB in memory (limit {max} MiB); send fewer values"));
    }
    Ok(size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::CallerKind;
    use crate::server::testing::{TEST_MANIFEST, shared_server};
    use proptest::{prelude::*, sample::Index};

    const MESSAGES: [&str; 8] = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{"roots":{}},"clientInfo":{"name":"t","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","id":"two","method":"tools/call","params":{"name":"x","arguments":{"a":[1,null,{"b":"\u00e9"}]},"_meta":{"progressToken":7}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"two","reason":"enough"}}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["a:b"]}}}"#,
        r#"{"jsonrpc":"2.0","id":4,"result":{"action":"accept","content":{"x":1e400}}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}"#,
        r#"[{"jsonrpc":"2.0","id":5,"method":"ping"},{"jsonrpc":"2.0","id":5,"method":"ping"},7,[]]"#,
        r#"{"jsonrpc":"2.0","id":6,"method":"resources/read","params":{"uri":"f://a","uri":"f://b"}}"#,
    ];

    const PIECES: [&str; 12] =
        ["{", "}", "[", "]", ",", ":", "\"", "\\u0000", "null", "-1e999", "\"id\":1,", "\"method\":\"ping\","];

    /// A message, with some of it cut out, doubled or put elsewhere.
    fn mutated_message() -> impl Strategy<Value = Vec<u8>> {
        let change = (any::<Index>(), any::<Index>(), 0..4_u8, any::<u8>());
        (any::<Index>(), prop::collection::vec(change, 0..4)).prop_map(|(message, changes)| {
            let mut bytes = MESSAGES[message.index(MESSAGES.len())].as_bytes().to_vec();
            for (from, to, kind, byte) in changes {
                let (from, to) = (from.index(bytes.len() + 1), to.index(bytes.len() + 1));
                let (from, to) = (from.min(to), from.max(to));
                match kind {
                    0 => drop(bytes.drain(from..to)),
                    1 => bytes.splice(from..from, bytes[from..to].to_vec()).for_each(drop),
                    2 => bytes.insert(from, byte),
                    _ => {
                        let piece = PIECES[usize::from(byte) % PIECES.len()];
                        bytes.splice(from..from, piece.bytes()).for_each(drop);
                    }
                }
            }
            bytes
        })
    }

    /// How many requests are to be answered.
    fn request_count(messages: &[Incoming]) -> usize {
        messages.iter().filter(|message| message.request().is_some()).count()
    }

    proptest! {
        /// Whatever comes is a message or has its error, and nothing stays behind of what was refused or is over.
        #[test]
        fn any_input_is_received_or_refused(lines in prop::collection::vec(mutated_message(), 1..4)) {
            let mut peer_state = LIVE.with(|live| PeerState::new(live, live.new_caller(CallerKind::Only)));
            let (mut messages, mut cancelled) = (Vec::new(), 0);
            let version = Some(SpecVersion::V2025_03_26);
            for line in &lines {
                let payload = ReceivedPayload::parse(line, &peer_state.caller, &RequestSender::default());
                match payload.and_then(|payload| peer_state.receive(payload, version)) {
                    Ok(outcome) => {
                        cancelled += outcome.cancelled.len();
                        messages.extend(outcome.messages);
                    }
                    Err(error) => {
                        let said = error.into_message(&Redactors::default()).json;
                        prop_assert!(said.len() < 2000 + line.len(), "{:?}", said);
                    }
                }
            }
            prop_assert_eq!(peer_state.pending.len() + cancelled, request_count(&messages));
            peer_state.cancel_all();
            let caller = peer_state.caller.clone();
            drop((messages, peer_state));
            prop_assert_eq!(caller.held(), 0);
        }
    }

    thread_local! {
        static LIVE: SharedServer = shared_server(TEST_MANIFEST);
    }
}
