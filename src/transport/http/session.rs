//! One session over HTTP: what its client asks comes in request by request, and what the handler says goes out on
//! streams.
//!
//! To versions from 2025-03-26 each request has a stream of its own, on which its answer comes and what belongs to it;
//! all else goes down the one that the client opens for it. To 2024-11-05 there is that one alone.

use std::{
    collections::{HashMap, VecDeque},
    convert::Infallible,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rmcp::{
    RoleServer,
    model::{
        CancelledNotification, CancelledNotificationParam, ClientNotification, GetExtensions, GetMeta, JsonRpcMessage,
        PingRequest, ProgressToken, ProtocolVersion, RequestId, ServerNotification, ServerRequest,
    },
    service::{OriginatingRequestId, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::{
    server::Live,
    transport::{
        batch::{self, Answered, Whole},
        exchange::Exchange,
        message::{self, Fault, Incoming},
    },
};

use super::channel::{Channel, Reader, Said};

/// How many messages wait for the handler; it takes them at once.
const WAITING: usize = 16;

/// How many streams with an answer are kept for a client that lost them on the way, and for how long.
const FINISHED: usize = 4;
const FINISHED_FOR: Duration = Duration::from_secs(60);

/// The ids of our own requests begin with it; the handler's are numbers.
const PING: &str = "folio-ping-";

/// A session.
pub(super) struct Session {
    /// Whether all goes down one stream.
    single: bool,
    inbox: mpsc::Sender<Incoming>,
    over: CancellationToken,
    state: Mutex<State>,
}

/// The session is over.
#[derive(Debug, thiserror::Error)]
#[error("the session is over")]
pub(super) struct Over;

struct State {
    exchange: Exchange,
    /// The stream for all that belongs to no request.
    common: Arc<Channel>,
    /// The streams of requests, by their numbers.
    opened: HashMap<u64, Opened>,
    /// Those of which nothing more will come, oldest first.
    finished: VecDeque<u64>,
    last_channel: u64,
    of_request: HashMap<RequestId, u64>,
    of_progress: HashMap<ProgressToken, u64>,
    of_batch: HashMap<u64, u64>,
    /// Where the handler's own requests went.
    of_question: HashMap<RequestId, u64>,
    last_used: Instant,
    ping: Ping,
}

/// The stream of a request, or of several.
struct Opened {
    channel: Arc<Channel>,
    /// How many answers are still to come.
    awaited: usize,
    tokens: Vec<ProgressToken>,
}

/// What is known of whether the client is there.
#[derive(Default)]
struct Ping {
    sent: u64,
    awaited: bool,
    /// Whether the client has ever had a stream that waits for changes.
    had_stream: bool,
    /// Whether it had none when it was last looked at.
    missed: bool,
}

impl Session {
    /// A session, and what the handler takes for its transport.
    pub(super) fn new(live: &Live, single: bool, over: CancellationToken) -> (Arc<Session>, Wire) {
        let (inbox, waiting) = mpsc::channel(WAITING);
        let state = State {
            exchange: Exchange::new(live.clone()),
            common: Channel::new(0, over.clone()),
            opened: HashMap::new(),
            finished: VecDeque::new(),
            last_channel: 0,
            of_request: HashMap::new(),
            of_progress: HashMap::new(),
            of_batch: HashMap::new(),
            of_question: HashMap::new(),
            last_used: Instant::now(),
            ping: Ping::default(),
        };
        let session = Arc::new(Session { single, inbox, over, state: Mutex::new(state) });
        let wire = Wire { session: session.clone(), inbox: waiting };
        (session, wire)
    }

    pub(super) fn is_single(&self) -> bool {
        self.single
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
        state.forget_finished();
        let in_use = !state.exchange.pending().is_empty()
            || state.common.is_read()
            || state.opened.values().any(|opened| opened.channel.is_read());
        if in_use {
            state.last_used = Instant::now();
        }
        state.last_used.elapsed() >= idle
    }

    /// Asks the client whether it is there. False where it did not answer the last time, or has closed its stream and
    /// not been heard of since.
    pub(super) fn ping(&self) -> bool {
        let mut state = self.state();
        if !state.common.is_read() {
            let alive = !state.exchange.pending().is_empty() || !state.ping.missed;
            state.ping.missed = state.ping.had_stream;
            return alive;
        }
        state.ping.had_stream = true;
        state.ping.missed = false;
        if state.exchange.version().is_none() {
            return true;
        }
        if state.ping.awaited {
            return false;
        }
        state.ping.awaited = true;
        state.ping.sent += 1;
        let id = RequestId::String(format!("{PING}{}", state.ping.sent).into());
        let ping = ServerRequest::PingRequest(PingRequest::default());
        state.common.push(Said::Message(Arc::new(JsonRpcMessage::request(ping, id))));
        true
    }

    /// Takes a request, and returns the stream on which it is answered.
    pub(super) async fn ask(&self, mut request: Incoming) -> Result<Reader, Over> {
        let reader = {
            let mut state = self.state();
            state.touch();
            let channel = state.open();
            let reader = channel.read(None).ok_or(Over)?;
            match state.exchange.admit(&mut request) {
                Ok(_) => {
                    let number = state.last_channel;
                    state.register(&request, number);
                }
                Err(fault) => {
                    channel.push(Said::Message(Arc::new(fault.into_message())));
                    let number = state.last_channel;
                    state.finish(number);
                    return Ok(reader);
                }
            }
            reader
        };
        self.deliver(request).await?;
        Ok(reader)
    }

    /// Takes a message that wants no answer.
    pub(super) async fn accept(&self, mut message: Incoming) -> Result<(), Over> {
        {
            let mut state = self.state();
            state.touch();
            if let Ok(taken) = state.exchange.admit(&mut message) {
                state.settle(taken.whole);
            }
            state.release_cancelled(&message);
        }
        self.deliver(message).await
    }

    /// Takes what a client has sent, a message or a batch. Returns the stream with the answers to a batch, where they
    /// have one of their own.
    pub(super) async fn take(&self, bytes: &[u8]) -> Result<Option<Reader>, Fault> {
        let mut messages = VecDeque::new();
        let reader = {
            let mut state = self.state();
            state.touch();
            let taken = state.exchange.take(bytes, &mut messages)?;
            let reader = match taken.batch {
                Some(batch) if !self.single => {
                    let reader = state.open().read(None);
                    let number = state.last_channel;
                    state.of_batch.insert(batch, number);
                    messages.iter().for_each(|message| state.register(message, number));
                    reader
                }
                _ => None,
            };
            state.settle(taken.whole);
            messages.iter().for_each(|message| state.release_cancelled(message));
            reader
        };
        for message in messages {
            // Where it is over, the stream says so.
            let _ = self.deliver(message).await;
        }
        Ok(reader)
    }

    /// Begins to read what belongs to no request.
    pub(super) fn listen(&self) -> Option<Reader> {
        let mut state = self.state();
        state.touch();
        state.common.read(None)
    }

    /// Goes on to read behind an event.
    pub(super) fn resume(&self, channel: u64, after: u64) -> Option<Reader> {
        let mut state = self.state();
        state.touch();
        state.channel(channel)?.read(Some(after))
    }

    async fn deliver(&self, message: Incoming) -> Result<(), Over> {
        if self.state().is_pong(&message) {
            return Ok(());
        }
        self.inbox.send(message).await.map_err(|_| Over)
    }

    /// Says what the handler says. Returns what has to wait until the client has read.
    fn say(&self, message: TxJsonRpcMessage<RoleServer>) -> Option<(Arc<Channel>, Said)> {
        let mut state = self.state();
        let channel = state.route(&message, self.single);
        if matches!(message, JsonRpcMessage::Notification(_)) && channel.is_full() {
            return Some((channel, Said::Message(Arc::new(message))));
        }
        state.tell(message, &channel);
        None
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn touch(&mut self) {
        self.last_used = Instant::now();
        self.ping.missed = false;
    }

    /// Opens a stream; its number is the last.
    fn open(&mut self) -> Arc<Channel> {
        self.last_channel += 1;
        let channel = Channel::new(self.last_channel, self.common.over().clone());
        let opened = Opened { channel: channel.clone(), awaited: 0, tokens: Vec::new() };
        self.opened.insert(self.last_channel, opened);
        channel
    }

    fn channel(&self, number: u64) -> Option<&Arc<Channel>> {
        if number == 0 { Some(&self.common) } else { self.opened.get(&number).map(|opened| &opened.channel) }
    }

    /// Notes that what belongs to a request goes down that stream.
    fn register(&mut self, message: &Incoming, number: u64) {
        let JsonRpcMessage::Request(request) = message else { return };
        let Some(opened) = self.opened.get_mut(&number) else { return };
        opened.awaited += 1;
        self.of_request.insert(request.id.clone(), number);
        if let Some(token) = request.request.get_meta().get_progress_token() {
            opened.tokens.push(token.clone());
            self.of_progress.insert(token, number);
        }
    }

    /// Where a message goes.
    fn route(&mut self, message: &TxJsonRpcMessage<RoleServer>, single: bool) -> Arc<Channel> {
        use ServerNotification as N;
        let origin = |state: &State, origin: Option<&OriginatingRequestId>| {
            origin.and_then(|origin| state.of_request.get(&origin.0)).copied()
        };
        let number = match message {
            _ if single => None,
            JsonRpcMessage::Request(request) => {
                let number = origin(self, request.request.extensions().get());
                self.of_question.insert(request.id.clone(), number.unwrap_or(0));
                number
            }
            JsonRpcMessage::Notification(told) => match &told.notification {
                N::ProgressNotification(progress) => self.of_progress.get(&progress.params.progress_token).copied(),
                // Where the request that asked was cancelled, its stream is over already.
                N::CancelledNotification(cancelled) => {
                    let number = cancelled.params.request_id.as_ref().and_then(|id| self.of_question.remove(id));
                    number.filter(|number| !self.finished.contains(number))
                }
                told => origin(self, told.extensions().get()),
            },
            answer => batch::answered(answer).and_then(|id| self.of_request.get(id)).copied(),
        };
        number.and_then(|number| self.channel(number)).unwrap_or(&self.common).clone()
    }

    fn tell(&mut self, message: TxJsonRpcMessage<RoleServer>, channel: &Channel) {
        let answered = batch::answered(&message).cloned();
        match self.exchange.tell(message) {
            Answered::Alone(message) => channel.push(Said::Message(Arc::new(message))),
            Answered::Whole(whole) => self.settle(vec![whole]),
            Answered::Waits => {}
        }
        if let Some(id) = answered {
            self.release(&id);
        }
    }

    /// Sends the answers of batches that are complete.
    fn settle(&mut self, whole: Vec<Whole>) {
        for Whole { batch, replies } in whole {
            let number = self.of_batch.remove(&batch).unwrap_or(0);
            if let Some(channel) = self.channel(number).filter(|_| !replies.is_empty()) {
                channel.push(Said::Batch(Arc::new(replies)));
            }
            self.finish(number);
        }
    }

    fn release_cancelled(&mut self, message: &Incoming) {
        if let Some(id) = message::cancelled(message) {
            self.release(id);
        }
    }

    /// Ends the stream of a request, unless others are answered there.
    fn release(&mut self, id: &RequestId) {
        let Some(number) = self.of_request.remove(id) else { return };
        if let Some(opened) = self.opened.get_mut(&number) {
            opened.awaited -= 1;
            if opened.awaited == 0 {
                self.finish(number);
            }
        }
    }

    fn finish(&mut self, number: u64) {
        let Some(opened) = self.opened.get_mut(&number).filter(|_| !self.finished.contains(&number)) else { return };
        opened.channel.finish();
        for token in std::mem::take(&mut opened.tokens) {
            self.of_progress.remove(&token);
        }
        self.finished.push_back(number);
        self.forget_finished();
    }

    fn forget_finished(&mut self) {
        while let Some(number) = self.finished.front()
            && (self.finished.len() > FINISHED
                || self.opened.get(number).is_none_or(|opened| opened.channel.is_finished_since(FINISHED_FOR)))
        {
            self.opened.remove(number);
            self.finished.pop_front();
        }
    }

    /// Whether a message answers a ping of ours, which is no business of the handler's.
    fn is_pong(&mut self, message: &Incoming) -> bool {
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        if let Some(id) = id {
            self.of_question.remove(id);
        }
        let ours = matches!(id, Some(RequestId::String(id)) if id.starts_with(PING));
        if ours {
            self.ping.awaited = false;
        }
        ours
    }
}

/// A session as the handler's side sees it.
pub(super) struct Wire {
    session: Arc<Session>,
    inbox: mpsc::Receiver<Incoming>,
}

impl Transport<RoleServer> for Wire {
    type Error = Infallible;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
        let late = self.session.say(message);
        async move {
            if let Some((channel, said)) = late {
                channel.room().await;
                channel.push(said);
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

    use super::*;
    use crate::server::testing::{DESK, live};
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
            let mut stream = session.ask(call(7, "p")).await.unwrap();
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
        let _streams = [session.ask(call(7, "p")).await.unwrap(), session.ask(call(8, "q")).await.unwrap()];
        wire.send(answer(8)).await.unwrap();
        session.end();
        let told = wire.receive().await.unwrap();
        assert_eq!(message::cancelled(&told), Some(&RequestId::Number(7)), "{told:?}");
        assert!(wire.receive().await.is_none());
        assert!(session.ask(call(9, "r")).await.is_ok(), "it is taken, and its stream ends");
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
        let mut stream = session.ask(call(7, "p")).await.unwrap();
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
            drop(session.ask(call(id, "p")).await.unwrap());
            wire.receive().await.unwrap();
            wire.send(answer(id)).await.unwrap();
        }
        let kept = (1..=20).filter(|channel| session.resume(*channel, 0).is_some()).count();
        let state = session.state();
        assert_eq!((kept, state.of_request.len(), state.of_progress.len()), (FINISHED, 0, 0));
    }
}
