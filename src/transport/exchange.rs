//! What one peer asks and is told, whatever carries it: so that the same mistake gets the same error everywhere.

use std::{collections::VecDeque, sync::Arc};

use rmcp::{
    RoleServer,
    model::{
        ClientNotification, ClientRequest, GetExtensions, JsonRpcMessage, ProtocolVersion, RequestId, ServerResult,
    },
    service::TxJsonRpcMessage,
};

use crate::budget::block_if_large;
use crate::server::{Account, Live, PeerAccount, Reservation, RootsAge};

use super::{
    batch::{self, Answer, Answered, Batches, Whole},
    message::{self, Fault, Incoming, Kind},
    pending::{Full, MOST, MOST_LISTENING, Pending},
};

/// The conversation with one peer.
pub(super) struct Exchange {
    live: Live,
    /// What the peer has under way.
    bytes: PeerAccount,
    pending: Pending,
    batches: Batches,
    /// The version of the session, once there is one.
    version: Option<ProtocolVersion>,
    roots_age: RootsAge,
}

/// What a peer has sent, read.
pub(super) enum Sent {
    /// A message.
    Message(Box<Read>),
    /// The messages of a batch, or what is wrong with them.
    Batch(Vec<Result<Read, Fault>>),
}

/// A message that was read, and what is reserved for it. `None` for a notification that is none.
pub(super) struct Read {
    message: Option<Incoming>,
    reservation: Arc<Reservation>,
}

impl Sent {
    /// Reads what a peer has sent, a message or a batch. Nobody waits for it, however long it is, as nothing is locked
    /// meanwhile.
    pub(super) fn read(bytes: &[u8], peer: &PeerAccount) -> Result<Sent, Fault> {
        block_if_large(bytes.len() as u64, || {
            if !batch::is_list(bytes) {
                return Read::of(bytes, peer).map(|read| Sent::Message(Box::new(read)));
            }
            let list = batch::read(bytes)?;
            let messages = list.0.iter().map(|message| message.get().as_bytes());
            Ok(Sent::Batch(messages.map(|bytes| alone(bytes).and_then(|()| Read::of(bytes, peer))).collect()))
        })
    }
}

impl Read {
    fn of(bytes: &[u8], peer: &PeerAccount) -> Result<Read, Fault> {
        let envelope = message::open(bytes)?;
        let weight = weight(bytes, peer.account());
        let weight = weight.map_err(|words| Fault::request(envelope.kind.request().cloned(), words))?;
        let reservation = Arc::new(peer.reserve(weight));
        Ok(Read { message: envelope.read(bytes)?, reservation })
    }
}

/// What became of what a peer sent, beside the messages for the handler.
#[derive(Default)]
pub(super) struct Taken {
    /// The number of the batch that it was, where it wants an answer.
    pub(super) batch: Option<u64>,
    /// Batches that are thereby answered.
    pub(super) whole: Vec<Whole>,
}

impl Exchange {
    pub(super) fn new(live: Live) -> Exchange {
        Exchange {
            bytes: live.bytes().peer(),
            live,
            pending: Pending::default(),
            batches: Batches::default(),
            version: None,
            roots_age: RootsAge::default(),
        }
    }

    pub(super) fn pending(&self) -> &Pending {
        &self.pending
    }

    pub(super) fn bytes(&self) -> &PeerAccount {
        &self.bytes
    }

    pub(super) fn forget_ended(&mut self) {
        self.pending.forget_ended();
    }

    pub(super) fn version(&self) -> Option<&ProtocolVersion> {
        self.version.as_ref()
    }

    /// Takes what a peer has sent, a message or a batch, and puts what the handler must see into `inbox`.
    pub(super) fn take(&mut self, sent: Sent, inbox: &mut VecDeque<Incoming>) -> Result<Taken, Fault> {
        match sent {
            Sent::Batch(list) => self.take_batch(list, inbox),
            Sent::Message(read) => {
                let mut taken = Taken::default();
                inbox.extend(self.note(*read, &mut taken)?);
                Ok(taken)
            }
        }
    }

    /// The same for a message that somebody else has read, and reserved this for.
    pub(super) fn admit(&mut self, message: &mut Incoming, reservation: Arc<Reservation>) -> Result<Taken, Fault> {
        let mut taken = Taken::default();
        match message {
            JsonRpcMessage::Request(request) => {
                self.ask(&request.id, request.request.method(), &reservation)?;
                request.request.extensions_mut().insert(reservation);
            }
            _ => drop(self.cancel(message, &mut taken)),
        }
        self.stamp(message);
        Ok(taken)
    }

    /// Takes in what the handler says, and returns what the peer is to be told now.
    pub(super) fn tell(&mut self, message: TxJsonRpcMessage<RoleServer>) -> Answered {
        let reservation = batch::answered(&message).and_then(|id| self.pending.answer(id));
        if let JsonRpcMessage::Response(response) = &message
            && let ServerResult::InitializeResult(agreed) = &response.result
        {
            self.version = Some(agreed.protocol_version.clone());
        }
        self.batches.answer(Answer { message, reservation })
    }

    /// Gives up a request that is under way, whichever it is.
    pub(super) fn give_up(&mut self) -> Option<RequestId> {
        self.pending.give_up()
    }

    fn take_batch(&mut self, list: Vec<Result<Read, Fault>>, inbox: &mut VecDeque<Incoming>) -> Result<Taken, Fault> {
        if self.version != Some(ProtocolVersion::V_2025_03_26) {
            let message = "batches exist in sessions of version 2025-03-26 only: send each message by itself";
            return Err(Fault::request(None, message));
        }
        let (mut taken, mut requests, mut faults) = (Taken::default(), Vec::new(), Vec::new());
        for read in list {
            match read.and_then(|read| self.note(read, &mut taken)) {
                Ok(message) => {
                    if let Some(JsonRpcMessage::Request(request)) = &message {
                        requests.push(request.id.clone());
                    }
                    inbox.extend(message);
                }
                Err(fault) => faults.push(fault),
            }
        }
        taken.batch = self.batches.begin(&requests, faults);
        taken.whole.extend(taken.batch.and_then(|batch| self.batches.finished(batch)));
        Ok(taken)
    }

    /// Notes what a message asks or cancels, and returns it where the handler must see it.
    fn note(&mut self, read: Read, taken: &mut Taken) -> Result<Option<Incoming>, Fault> {
        let Some(mut message) = read.message else { return Ok(None) };
        if let JsonRpcMessage::Request(request) = &mut message {
            self.ask(&request.id, request.request.method(), &read.reservation)?;
            request.request.extensions_mut().insert(read.reservation);
        } else if !self.cancel(&message, taken) {
            return Ok(None);
        }
        self.stamp(&mut message);
        Ok(Some(message))
    }

    /// Tells a request what was before it: the handler takes what comes at once in no order.
    fn stamp(&mut self, message: &mut Incoming) {
        match message {
            JsonRpcMessage::Request(request) => {
                message::leave_foreign(&mut request.request);
                if let ClientRequest::SubscriptionsListenRequest(listen) = &mut request.request {
                    let stamp = self.live.stamp(&listen.params.notifications);
                    listen.extensions.insert(stamp);
                }
                if self.roots_age != RootsAge::default() {
                    request.request.extensions_mut().insert(self.roots_age);
                }
            }
            JsonRpcMessage::Notification(told) => {
                if matches!(told.notification, ClientNotification::RootsListChangedNotification(_)) {
                    self.roots_age = self.roots_age.next();
                }
            }
            _ => {}
        }
    }

    fn ask(&mut self, id: &RequestId, method: &str, reservation: &Arc<Reservation>) -> Result<(), Fault> {
        self.pending.ask(id, method, reservation.clone()).map_err(|full| busy(id, &full))
    }

    /// Notes what a message cancels, if it does. False where that cannot be cancelled.
    fn cancel(&mut self, message: &Incoming, taken: &mut Taken) -> bool {
        let Some(id) = message::cancelled(message) else { return true };
        if !self.pending.cancel(id) {
            return false;
        }
        taken.whole.extend(self.batches.cancel(id));
        true
    }
}

/// Refuses in a batch what must come by itself: what would begin a session, and what would never be answered.
fn alone(bytes: &[u8]) -> Result<(), Fault> {
    match message::open(bytes)?.kind {
        Kind::Request { method, id } if matches!(&*method, "initialize" | "subscriptions/listen") => {
            Err(Fault::request(Some(id), format!("`{method}` cannot be part of a batch: send it by itself")))
        }
        _ => Ok(()),
    }
}

/// How much memory a message takes when it is read, where there may be so much for one.
pub(super) fn weight(bytes: &[u8], account: &Account) -> Result<u64, String> {
    let (weight, most) = (message::weight(bytes), account.share() * 2);
    if weight > most {
        return Err(format!("the message is too large when it is read: at most {} MiB", most >> 20));
    }
    Ok(weight)
}

fn busy(id: &RequestId, full: &Full) -> Fault {
    match full {
        Full::SameId => in_use(id),
        Full::TooMany => Fault::busy(Some(id.clone()), format!("more than {MOST} requests are not answered yet")),
        Full::TooManyListening => {
            let words = format!("{MOST_LISTENING} streams of changes are open already; cancel one of them first");
            Fault::busy(Some(id.clone()), words)
        }
    }
}

/// An id that another request has. Whoever waits for that one would take an answer with this id for it.
pub(super) fn in_use(id: &RequestId) -> Fault {
    Fault::request(None, format!("a request with the id `{id}` is not answered yet"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;
    use crate::server::testing::{DESK, live};
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
    fn spoilt() -> impl Strategy<Value = Vec<u8>> {
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

    /// The ids of the requests that are to be answered.
    fn asked(inbox: &VecDeque<Incoming>) -> usize {
        inbox.iter().filter(|message| matches!(message, JsonRpcMessage::Request(_))).count()
    }

    proptest! {
        /// Whatever comes is a message or has its error, and nothing stays behind of what was refused or is over.
        #[test]
        fn whatever_is_sent_is_taken_or_refused(lines in prop::collection::vec(spoilt(), 1..4)) {
            let live = LIVE.with(Clone::clone);
            let mut exchange = Exchange::new(live);
            exchange.version = Some(ProtocolVersion::V_2025_03_26);
            let (mut inbox, mut cancelled) = (VecDeque::new(), 0);
            for line in &lines {
                let before = exchange.pending.cancelled();
                match Sent::read(line, &exchange.bytes).and_then(|sent| exchange.take(sent, &mut inbox)) {
                    Ok(_) => cancelled += exchange.pending.cancelled() - before,
                    Err(fault) => {
                        let said = serde_json::to_string(&fault).unwrap();
                        prop_assert!(said.len() < 2000 + line.len(), "{}", said);
                    }
                }
            }
            let mut left = 0;
            while exchange.give_up().is_some() {
                left += 1;
            }
            prop_assert_eq!(left + cancelled, asked(&inbox));
            let bytes = exchange.bytes.clone();
            drop((inbox, exchange));
            prop_assert_eq!(bytes.used(), 0);
        }
    }

    thread_local! {
        static LIVE: Live = live(DESK);
    }
}
