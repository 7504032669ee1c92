//! One session over HTTP: what its client asks comes in request by request, and what the handler says goes out on
//! streams.
//!
//! To versions from 2025-03-26 each request has a stream of its own, on which its answer comes and what belongs to it;
//! all else goes down the one that the client opens for it. To 2024-11-05 there is that one alone.

use std::{
    collections::VecDeque,
    convert::Infallible,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rmcp::{
    RoleServer,
    model::{
        CancelledNotification, CancelledNotificationParam, ClientNotification, GetExtensions, JsonRpcMessage,
        ProtocolVersion, RequestId,
    },
    service::TxJsonRpcMessage,
    transport::Transport,
};
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::{
    server::{Live, PeerAccount, Reservation},
    transport::{
        batch::{self, Answered},
        exchange::{Exchange, Sent},
        message::{self, Fault, Incoming},
    },
};

use super::{
    channel::{Channel, Reader, Said},
    presence::Presence,
    streams::Streams,
};

/// How long a session may do nothing but begin.
const BEGINNING: Duration = Duration::from_secs(30);

/// A session.
pub(super) struct Session {
    /// What the handler takes at once. How much waits there, the bytes that its client may have under way say.
    inbox: mpsc::UnboundedSender<Incoming>,
    over: CancellationToken,
    bytes: PeerAccount,
    since: Instant,
    state: Mutex<State>,
}

/// The session is over.
#[derive(Debug, thiserror::Error)]
#[error("the session is over")]
pub(super) struct Over;

struct State {
    exchange: Exchange,
    streams: Streams,
    last_used: Instant,
    presence: Presence,
    /// Whether its client has said anything since `initialize`.
    begun: bool,
}

impl Session {
    /// A session, and what the handler takes for its transport.
    pub(super) fn new(live: &Live, single: bool, over: CancellationToken) -> (Arc<Session>, Wire) {
        let (inbox, waiting) = mpsc::unbounded_channel();
        let exchange = Exchange::new(live.clone());
        let bytes = exchange.bytes().clone();
        let since = Instant::now();
        let state = State {
            exchange,
            streams: Streams::new(single, over.clone(), bytes.clone()),
            last_used: since,
            presence: Presence::default(),
            begun: false,
        };
        let session = Arc::new(Session { inbox, over, bytes, since, state: Mutex::new(state) });
        let wire = Wire { session: session.clone(), inbox: waiting };
        (session, wire)
    }

    pub(super) fn is_single(&self) -> bool {
        self.state().streams.is_single()
    }

    /// What its client has under way.
    pub(super) fn bytes(&self) -> &PeerAccount {
        &self.bytes
    }

    /// When it began, where its client has said nothing since.
    pub(super) fn begins_since(&self) -> Option<Instant> {
        (!self.state().begun).then_some(self.since)
    }

    /// The version that was agreed on.
    pub(super) fn version(&self) -> Option<ProtocolVersion> {
        self.state().exchange.version().cloned()
    }

    /// Whether a request of that id is not answered yet.
    pub(super) fn is_asked(&self, id: &RequestId) -> bool {
        self.state().exchange.pending().is_asked(id)
    }

    /// Ends it, and with it all that is running.
    pub(super) fn end(&self) {
        self.over.cancel();
    }

    /// Cancelled when it is over; whoever cancels it ends it.
    pub(super) fn over(&self) -> &CancellationToken {
        &self.over
    }

    /// Whether nobody has used it for so long.
    pub(super) fn is_unused(&self, idle: Duration) -> bool {
        let mut state = self.state();
        state.streams.forget_finished();
        state.exchange.forget_ended();
        if !state.begun && self.since.elapsed() >= BEGINNING {
            return true;
        }
        if !state.exchange.pending().is_empty() || state.streams.is_read() {
            state.last_used = Instant::now();
        }
        state.last_used.elapsed() >= idle
    }

    /// Asks the client whether it is there. False where it did not answer the last time, or has closed its stream and
    /// not been heard of since.
    pub(super) fn ping(&self) -> bool {
        let mut state = self.state();
        if !state.streams.common().is_read() {
            let likely = state.presence.without_stream();
            return likely || !state.exchange.pending().is_empty();
        }
        state.presence.listens();
        if state.exchange.version().is_none() {
            return true;
        }
        let Some(ping) = state.presence.ask() else { return false };
        state.streams.common().push(Said::message(ping), Vec::new());
        true
    }

    /// Takes a request, and returns the stream on which it is answered.
    ///
    /// The handler gets it before anything can be waited for: a request that is noted is always answered or cancelled.
    pub(super) fn ask(&self, mut request: Incoming) -> Result<Reader, Over> {
        let reservation = self.reserved(&request);
        let mut state = self.state();
        state.touch(&request);
        let (number, channel) = state.streams.open();
        let reader = channel.read(None).ok_or(Over)?;
        match state.exchange.admit(&mut request, reservation) {
            Ok(_) => {
                state.streams.register(&request, number);
                self.deliver(&mut state, request)?;
            }
            Err(fault) => {
                channel.push(Said::message(fault.into_message()), Vec::new());
                state.streams.finish(number);
            }
        }
        Ok(reader)
    }

    /// What was reserved for a message when it was read.
    fn reserved(&self, message: &Incoming) -> Arc<Reservation> {
        let head = match message {
            JsonRpcMessage::Request(request) => request.request.extensions().get::<http::request::Parts>(),
            _ => None,
        };
        let reserved = head.and_then(|head| head.extensions.get::<Arc<Reservation>>());
        reserved.cloned().unwrap_or_else(|| Arc::new(self.bytes.reserve(0)))
    }

    /// Takes a message that wants no answer.
    pub(super) fn accept(&self, mut message: Incoming) -> Result<(), Over> {
        let reservation = self.reserved(&message);
        let mut state = self.state();
        state.touch(&message);
        if let Ok(taken) = state.exchange.admit(&mut message, reservation) {
            state.streams.settle(taken.whole);
        }
        state.release_cancelled(&message);
        self.deliver(&mut state, message)
    }

    /// Takes what a client has sent, a message or a batch. Returns the stream with the answers to a batch, where they
    /// have one of their own.
    pub(super) fn take(&self, bytes: &[u8]) -> Result<Option<Reader>, Fault> {
        let sent = Sent::read(bytes, &self.bytes)?;
        let mut messages = VecDeque::new();
        let mut state = self.state();
        state.last_used = Instant::now();
        let taken = state.exchange.take(sent, &mut messages)?;
        let reader = match taken.batch {
            Some(batch) if !state.streams.is_single() => {
                let (number, channel) = state.streams.open();
                state.streams.register_batch(batch, &messages, number);
                channel.read(None)
            }
            _ => None,
        };
        state.streams.settle(taken.whole);
        for message in messages {
            state.touch(&message);
            state.release_cancelled(&message);
            // Where it is over, the stream says so.
            let _ = self.deliver(&mut state, message);
        }
        Ok(reader)
    }

    /// Begins to read what belongs to no request.
    pub(super) fn listen(&self) -> Option<Reader> {
        let mut state = self.state();
        state.hear();
        state.streams.common().read(None)
    }

    /// Goes on to read behind an event.
    pub(super) fn resume(&self, channel: u64, after: u64) -> Option<Reader> {
        let mut state = self.state();
        state.hear();
        state.streams.get(channel)?.read(Some(after))
    }

    fn deliver(&self, state: &mut State, message: Incoming) -> Result<(), Over> {
        if state.is_pong(&message) {
            return Ok(());
        }
        self.inbox.send(message).map_err(|_| Over)
    }

    /// Says what the handler says. Returns what has to wait until the client has read.
    fn say(&self, message: TxJsonRpcMessage<RoleServer>) -> Option<Late> {
        if batch::answered(&message).is_some() {
            let mut state = self.state();
            let channel = state.streams.route(&message);
            state.answer(message, &channel);
            return None;
        }
        let held = vec![Arc::new(self.bytes.reserve(json_length(&message)))];
        let channel = self.state().streams.route(&message);
        let is_full = matches!(message, JsonRpcMessage::Notification(_)) && channel.is_full();
        let said = Said::message(message);
        if is_full {
            return Some(Late { channel, said, held });
        }
        channel.push(said, held);
        None
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is said when its reader has read.
struct Late {
    channel: Arc<Channel>,
    said: Said,
    held: Vec<Arc<Reservation>>,
}

/// How long a message is when it is written.
fn json_length(message: &TxJsonRpcMessage<RoleServer>) -> u64 {
    let mut counter = Counter(0);
    let _ = serde_json::to_writer(&mut counter, message);
    counter.0
}

/// Counts what is written.
struct Counter(u64);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl State {
    /// Notes that its client is there.
    fn hear(&mut self) {
        self.last_used = Instant::now();
        self.presence.heard();
    }

    /// The same for one that has said something. With `initialize` alone a session has not begun yet.
    fn touch(&mut self, message: &Incoming) {
        self.hear();
        let first = matches!(message, JsonRpcMessage::Request(asked) if asked.request.method() == "initialize");
        self.begun |= !first;
    }

    fn answer(&mut self, message: TxJsonRpcMessage<RoleServer>, channel: &Channel) {
        let answered = batch::answered(&message).cloned();
        match self.exchange.tell(message) {
            Answered::Alone(answer) => {
                channel.push(Said::message(answer.message), answer.reservation.into_iter().collect());
            }
            Answered::Whole(whole) => self.streams.settle(vec![whole]),
            Answered::Waits => {}
        }
        if let Some(id) = answered {
            self.streams.release(&id);
        }
    }

    fn release_cancelled(&mut self, message: &Incoming) {
        if let Some(id) = message::cancelled(message) {
            self.streams.release(id);
        }
    }

    /// Whether a message answers a ping of ours, which is no business of the handler's.
    fn is_pong(&mut self, message: &Incoming) -> bool {
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        let Some(id) = id else { return false };
        self.streams.forget_question(id);
        self.presence.is_answer(id)
    }
}

/// A session as the handler's side sees it.
pub(super) struct Wire {
    session: Arc<Session>,
    inbox: mpsc::UnboundedReceiver<Incoming>,
}

impl Transport<RoleServer> for Wire {
    type Error = Infallible;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
        let late = self.session.say(message);
        async move {
            if let Some(late) = late {
                late.channel.room().await;
                late.channel.push(late.said, late.held);
            }
            Ok(())
        }
    }

    /// When the session is over, every request that is under way is cancelled: rmcp would wait for their answers.
    async fn receive(&mut self) -> Option<Incoming> {
        if !self.session.over.is_cancelled() {
            tokio::select! {
                biased;
                () = self.session.over.cancelled() => {}
                message = self.inbox.recv() => return message,
            }
        }
        let given_up = self.session.state().exchange.give_up();
        given_up.map(|id| {
            let params = CancelledNotificationParam::new(Some(id), Some("the session is over".to_owned()));
            let cancelled = ClientNotification::CancelledNotification(CancelledNotification::new(params));
            JsonRpcMessage::notification(cancelled)
        })
    }

    async fn close(&mut self) -> Result<(), Infallible> {
        self.session.end();
        Ok(())
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.session.end();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use rmcp::service::OriginatingRequestId;

    use super::*;
    use crate::{
        server::testing::{DESK, live},
        transport::http::streams::FINISHED,
    };
    use futures_util::FutureExt;
    use serde_json::{Value, json};

    fn from_server(message: Value) -> TxJsonRpcMessage<RoleServer> {
        serde_json::from_value(message).unwrap()
    }

    fn call(id: i64, token: &str) -> Incoming {
        let params = json!({ "name": "wait", "_meta": { "progressToken": token } });
        serde_json::from_value(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })).unwrap()
    }

    /// A question, asked on behalf of request 7.
    fn question(id: i64) -> TxJsonRpcMessage<RoleServer> {
        let mut question = from_server(json!({ "jsonrpc": "2.0", "id": id, "method": "roots/list" }));
        let JsonRpcMessage::Request(request) = &mut question else { panic!("{question:?}") };
        request.request.extensions_mut().insert(OriginatingRequestId(RequestId::Number(7)));
        question
    }

    fn log(text: &str) -> TxJsonRpcMessage<RoleServer> {
        let params = json!({ "level": "info", "data": text });
        from_server(json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params }))
    }

    fn progress(token: &str) -> TxJsonRpcMessage<RoleServer> {
        let params = json!({ "progressToken": token, "progress": 1 });
        from_server(json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }))
    }

    fn cancelled(id: i64) -> TxJsonRpcMessage<RoleServer> {
        from_server(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }))
    }

    fn answer(id: i64) -> TxJsonRpcMessage<RoleServer> {
        from_server(json!({ "jsonrpc": "2.0", "id": id, "result": {} }))
    }

    /// What a reader reads without waiting: methods, and the ids of answers.
    fn read(reader: &mut Reader) -> Vec<String> {
        let mut read = Vec::new();
        while let Some(Some(event)) = reader.next().now_or_never() {
            let message = serde_json::to_value(&event.said).unwrap();
            read.push(message["method"].as_str().map_or_else(|| message["id"].to_string(), str::to_owned));
        }
        read
    }

    #[tokio::test]
    async fn what_belongs_to_a_request_goes_down_its_stream_and_all_else_down_the_other() {
        for (single, own) in [(false, true), (true, false)] {
            let (session, mut wire) = Session::new(&live(DESK), single, CancellationToken::new());
            let mut common = session.listen().unwrap();
            let mut stream = session.ask(call(7, "p")).unwrap();
            for message in [progress("p"), question(1), cancelled(1), progress("q"), log("x"), cancelled(7), answer(7)]
            {
                wire.send(message).await.unwrap();
            }
            let of_request = ["notifications/progress", "roots/list", "notifications/cancelled", "7"];
            let rest = ["notifications/progress", "notifications/message", "notifications/cancelled"];
            if own {
                assert_eq!(read(&mut stream), of_request);
                assert_eq!(read(&mut common), rest);
                assert!(stream.next().now_or_never().unwrap().is_none(), "it ends with the answer");
            } else {
                assert_eq!(read(&mut common).len(), 7);
            }
        }
    }

    #[tokio::test]
    async fn the_end_of_a_session_cancels_what_is_under_way_and_nothing_else() {
        let (session, mut wire) = Session::new(&live(DESK), false, CancellationToken::new());
        let _streams = [session.ask(call(7, "p")).unwrap(), session.ask(call(8, "q")).unwrap()];
        wire.send(answer(8)).await.unwrap();
        session.end();
        let told = wire.receive().await.unwrap();
        assert_eq!(message::cancelled(&told), Some(&RequestId::Number(7)), "{told:?}");
        assert!(wire.receive().await.is_none());
        assert!(session.ask(call(9, "r")).is_ok(), "it is taken, and its stream ends");
    }

    #[tokio::test]
    async fn who_does_not_read_is_told_so_much_and_then_waited_for_and_gets_answers_all_the_same() {
        let (session, mut wire) = Session::new(&live(DESK), false, CancellationToken::new());
        let mut common = session.listen().unwrap();
        let mut said = 0;
        let waiting = loop {
            let mut saying = Box::pin(wire.send(log("x")));
            if saying.as_mut().now_or_never().is_none() {
                break saying;
            }
            said += 1;
            assert!(said < 1000, "it is told on and on");
        };
        let mut stream = session.ask(call(7, "p")).unwrap();
        wire.send(answer(7)).await.unwrap();
        assert_eq!(read(&mut stream), ["7"]);
        assert_eq!(read(&mut common).len(), said);
        waiting.await.unwrap();
        assert_eq!(read(&mut common).len(), 1);
    }

    #[tokio::test]
    async fn only_the_last_answers_are_kept_for_those_who_lost_them() {
        let (session, mut wire) = Session::new(&live(DESK), false, CancellationToken::new());
        for id in 1..=20 {
            drop(session.ask(call(id, "p")).unwrap());
            wire.receive().await.unwrap();
            wire.send(answer(id)).await.unwrap();
        }
        let kept = (1..=20).filter(|channel| session.resume(*channel, 0).is_some()).count();
        let state = session.state();
        assert_eq!((kept, state.streams.under_way()), (FINISHED, (0, 0)));
    }
}
