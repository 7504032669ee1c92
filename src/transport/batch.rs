//! Batches: several messages in one list, whose answers come in one list. They exist in version 2025-03-26 alone.

use std::{collections::HashMap, sync::Arc};

use rmcp::{
    RoleServer,
    model::{JsonRpcMessage, RequestId},
    service::TxJsonRpcMessage,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::server::Reservation;

use super::message::Fault;

/// How many messages a batch may hold: all that is answered waits for the last of them.
pub(super) const MOST: usize = 100;

/// How many bytes the answers to a batch may have in all. They are kept until the last of them is there.
const MOST_BYTES: u64 = 32 * 1024 * 1024;

/// The answer to one message of a batch.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Reply {
    /// What the handler said.
    Message(Arc<TxJsonRpcMessage<RoleServer>>),
    /// What was wrong with it.
    Fault(Fault),
}

impl Reply {
    /// The answer by itself.
    pub(super) fn message(&self) -> Arc<TxJsonRpcMessage<RoleServer>> {
        match self {
            Reply::Message(message) => message.clone(),
            Reply::Fault(fault) => Arc::new(fault.clone().into_message()),
        }
    }
}

/// A batch all of whose answers are there.
#[derive(Debug)]
pub(super) struct Whole {
    /// Its number.
    pub(super) batch: u64,
    pub(super) replies: Vec<Reply>,
    /// What the replies take.
    pub(super) held: Vec<Arc<Reservation>>,
}

/// The batches of a peer that are not answered yet.
#[derive(Default)]
pub(super) struct Batches {
    open: HashMap<u64, Open>,
    /// In which batch a request came.
    of: HashMap<RequestId, u64>,
    last: u64,
}

#[derive(Default)]
struct Open {
    awaited: usize,
    replies: Vec<Reply>,
    held: Vec<Arc<Reservation>>,
    bytes: u64,
}

impl Open {
    /// Takes in an answer, or, where there are too many bytes of answers already, the error that says so.
    fn take(&mut self, answer: Answer) {
        let bytes = answer.reservation.as_ref().map_or(0, |reservation| reservation.bytes());
        if self.bytes + bytes <= MOST_BYTES {
            self.bytes += bytes;
            self.held.extend(answer.reservation);
            self.replies.push(Reply::Message(Arc::new(answer.message)));
            return;
        }
        let id = answered(&answer.message).cloned();
        let most = MOST_BYTES >> 20;
        let words = format!("the answers to this batch are longer than {most} MiB: send the request by itself");
        self.replies.push(Reply::Fault(Fault::busy(id, words)));
    }
}

/// An answer of the handler's, and what it takes.
pub(super) struct Answer {
    pub(super) message: TxJsonRpcMessage<RoleServer>,
    pub(super) reservation: Option<Arc<Reservation>>,
}

/// What becomes of an answer.
#[expect(clippy::large_enum_variant, reason = "it is taken apart at once, and is nearly always the large one")]
pub(super) enum Answered {
    /// It belongs to no batch.
    Alone(Answer),
    /// It waits for the others of its batch.
    Waits,
    /// It was the last of its batch.
    Whole(Whole),
}

impl Batches {
    /// Takes in a batch: the requests in it, and the faults of what was none. Returns its number, unless nothing
    /// in it wants an answer.
    pub(super) fn begin(&mut self, requests: &[RequestId], faults: Vec<Fault>) -> Option<u64> {
        if requests.is_empty() && faults.is_empty() {
            return None;
        }
        self.last += 1;
        self.of.extend(requests.iter().map(|id| (id.clone(), self.last)));
        let replies = faults.into_iter().map(Reply::Fault).collect();
        self.open.insert(self.last, Open { awaited: requests.len(), replies, ..Open::default() });
        Some(self.last)
    }

    /// Takes in an answer.
    pub(super) fn answer(&mut self, answer: Answer) -> Answered {
        let batch = answered(&answer.message).and_then(|id| self.of.remove(id));
        let Some(batch) = batch else { return Answered::Alone(answer) };
        match self.settle(batch, Some(answer)) {
            Some(whole) => Answered::Whole(whole),
            None => Answered::Waits,
        }
    }

    /// Notes that a request will not be answered.
    pub(super) fn cancel(&mut self, id: &RequestId) -> Option<Whole> {
        let batch = self.of.remove(id)?;
        self.settle(batch, None)
    }

    /// Returns a batch of which nothing is awaited any more.
    pub(super) fn finished(&mut self, batch: u64) -> Option<Whole> {
        if self.open.get(&batch)?.awaited > 0 {
            return None;
        }
        self.open.remove(&batch).map(|open| Whole { batch, replies: open.replies, held: open.held })
    }

    fn settle(&mut self, batch: u64, answer: Option<Answer>) -> Option<Whole> {
        let open = self.open.get_mut(&batch)?;
        open.awaited = open.awaited.saturating_sub(1);
        if let Some(answer) = answer {
            open.take(answer);
        }
        self.finished(batch)
    }
}

/// The request that a message answers.
pub(super) fn answered(message: &TxJsonRpcMessage<RoleServer>) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(&response.id),
        JsonRpcMessage::Error(error) => error.id.as_ref(),
        _ => None,
    }
}

/// Whether bytes are a list, of whatever.
pub(super) fn is_list(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().starts_with(b"[")
}

/// The messages of a batch, each as it was written.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct List<'a>(#[serde(borrow)] pub(super) Vec<&'a RawValue>);

/// Reads a list as a batch.
pub(super) fn read(bytes: &[u8]) -> Result<List<'_>, Fault> {
    let text = std::str::from_utf8(bytes).map_err(|_| Fault::parse("the message is not UTF-8"))?;
    let list: List<'_> =
        serde_json::from_str(text).map_err(|error| Fault::parse(format!("the message is no JSON: {error}")))?;
    match list.0.len() {
        0 => Err(Fault::request(None, "a batch holds at least one message")),
        1..=MOST => Ok(list),
        many => Err(Fault::request(None, format!("a batch holds at most {MOST} messages, and this one {many}"))),
    }
}
