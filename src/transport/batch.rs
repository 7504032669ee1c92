//! JSON-RPC batches, which exist only in version 2025-03-26.

use std::{collections::HashMap, sync::Arc};

use rmcp::model::{ErrorData, RequestId};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    budget::{Reservation, Suspension},
    server::OutgoingMessage,
};

use super::message::MessageError;

/// How many messages a batch may hold: all that is answered waits for the last of them.
pub(super) const MAX_BATCH_MESSAGES: usize = 100;

/// How many bytes the answers to a batch may have. They are kept until all are complete.
const MAX_BATCH_RESPONSE_BYTES: u64 = 32 * 1024 * 1024;

/// A batch all of whose answers are there.
#[derive(Debug)]
pub(super) struct FinishedBatch {
    pub(super) batch: u64,
    pub(super) responses: Vec<OutgoingMessage>,
    /// What the replies take.
    pub(super) reservations: Vec<Arc<Reservation>>,
}

/// The batches of a peer that are not answered yet.
#[derive(Default)]
pub(super) struct Batches {
    open: HashMap<u64, OpenBatch>,
    /// The batch of each request.
    batch_of_request: HashMap<RequestId, u64>,
    last_number: u64,
}

#[derive(Default)]
struct OpenBatch {
    pending_count: usize,
    responses: Vec<OutgoingMessage>,
    /// What the responses take: they wait for the rest.
    suspensions: Vec<Suspension>,
    bytes: u64,
}

impl OpenBatch {
    /// Adds an answer, or an error if there is no room for it.
    fn add_response(&mut self, response: OutgoingMessage, reservation: &Arc<Reservation>) {
        let kept = match self.keep(reservation) {
            Ok(()) => response,
            Err(message) => {
                let id = response.answered_request().cloned();
                OutgoingMessage::error(id, &ErrorData::internal_error(message, None))
            }
        };
        self.responses.push(kept);
    }

    /// Keeps the memory of an answer, or says why it cannot.
    fn keep(&mut self, reservation: &Arc<Reservation>) -> Result<(), String> {
        let bytes = self.bytes + reservation.bytes();
        if bytes > MAX_BATCH_RESPONSE_BYTES {
            let max = MAX_BATCH_RESPONSE_BYTES >> 20;
            return Err(format!("batch response exceeds {max} MiB; send the request on its own"));
        }
        self.suspensions.push(reservation.try_suspend().map_err(|busy| busy.to_string())?);
        self.bytes = bytes;
        Ok(())
    }
}

/// What becomes of an answer.
pub(super) enum AnswerRoute {
    /// It belongs to no batch.
    Single(OutgoingMessage),
    /// It waits for the others of its batch.
    Queued,
    /// It was the last of its batch.
    BatchFinished(FinishedBatch),
    /// No one waits for it: its request was cancelled.
    Dropped,
}

impl Batches {
    /// Takes in a batch: the requests in it, and the errors of what was none. Returns its number, unless nothing
    /// in it wants an answer.
    pub(super) fn begin(&mut self, requests: &[RequestId], responses: Vec<OutgoingMessage>) -> Option<u64> {
        if requests.is_empty() && responses.is_empty() {
            return None;
        }
        self.last_number += 1;
        self.batch_of_request.extend(requests.iter().map(|id| (id.clone(), self.last_number)));
        self.open
            .insert(self.last_number, OpenBatch { pending_count: requests.len(), responses, ..OpenBatch::default() });
        Some(self.last_number)
    }

    /// Takes in the answer to a request.
    pub(super) fn route(&mut self, answer: OutgoingMessage, reservation: &Arc<Reservation>) -> AnswerRoute {
        // Few peers ever send a batch.
        if self.open.is_empty() {
            return AnswerRoute::Single(answer);
        }
        let batch = answer.answered_request().and_then(|id| self.batch_of_request.remove(id));
        let Some(batch) = batch else { return AnswerRoute::Single(answer) };
        if let Some(open) = self.open.get_mut(&batch) {
            open.add_response(answer, reservation);
        }
        self.finish_part(batch).map_or(AnswerRoute::Queued, AnswerRoute::BatchFinished)
    }

    /// Notes that a request will not be answered.
    pub(super) fn cancel(&mut self, id: &RequestId) -> Option<FinishedBatch> {
        let batch = self.batch_of_request.remove(id)?;
        self.finish_part(batch)
    }

    /// Returns a batch of which nothing is awaited any more.
    pub(super) fn take_finished(&mut self, batch: u64) -> Option<FinishedBatch> {
        if self.open.get(&batch)?.pending_count > 0 {
            return None;
        }
        self.open.remove(&batch).map(|open| FinishedBatch {
            batch,
            responses: open.responses,
            reservations: open.suspensions.iter().map(|suspension| suspension.reservation().clone()).collect(),
        })
    }

    fn finish_part(&mut self, batch: u64) -> Option<FinishedBatch> {
        let open = self.open.get_mut(&batch)?;
        open.pending_count = open.pending_count.saturating_sub(1);
        self.take_finished(batch)
    }
}

/// The answers to a batch, as they are written.
pub(super) fn responses_to_json(responses: &[OutgoingMessage]) -> Vec<u8> {
    let mut list = Vec::with_capacity(responses.iter().map(|response| response.json.len() + 1).sum::<usize>() + 1);
    for response in responses {
        list.push(if list.is_empty() { b'[' } else { b',' });
        list.extend_from_slice(&response.json);
    }
    list.push(b']');
    list
}

/// Whether bytes are a JSON array.
pub(super) fn is_batch(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().starts_with(b"[")
}

/// The raw messages of a batch.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct BatchMessages<'a>(#[serde(borrow)] pub(super) Vec<&'a RawValue>);

/// Reads a list as a batch.
pub(super) fn parse_batch(bytes: &[u8]) -> Result<BatchMessages<'_>, MessageError> {
    let text = std::str::from_utf8(bytes).map_err(|_| MessageError::parse_error("invalid UTF-8"))?;
    let list: BatchMessages<'_> =
        serde_json::from_str(text).map_err(|error| MessageError::parse_error(format!("invalid JSON: {error}")))?;
    match list.0.len() {
        0 => Err(MessageError::invalid_request(None, "empty batch")),
        1..=MAX_BATCH_MESSAGES => Ok(list),
        count => Err(MessageError::invalid_request(
            None,
            format!("too many messages in batch: {count}, limit {MAX_BATCH_MESSAGES}"),
        )),
    }
}
