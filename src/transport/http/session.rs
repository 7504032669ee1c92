//! One session over HTTP: takes requests, and sends messages of the handler on streams.
//!
//! Since 2025-03-26 each request has a stream for its answer and related messages; all others go to the standalone
//! stream. In 2024-11-05 there is only the standalone stream.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use axum::http::HeaderName;
use parking_lot::{Mutex, MutexGuard};
use rmcp::{
    RoleServer,
    model::{GetExtensions, JsonRpcMessage, ProtocolVersion, RequestId},
    service::TxJsonRpcMessage,
};
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::{
    budget::{Caller, CallerKind, Reservation, serialized_size},
    server::SharedServer,
    transport::{
        batch::{self, ResponseRoute},
        message::{self, Incoming, MessageError},
        peer_state::{PeerState, ReceivedPayload},
    },
};

use super::{
    event_channel::{EventChannel, EventPayload, EventReader},
    liveness::Liveness,
    session_transport::SessionTransport,
    streams::SessionStreams,
};

/// The header with the id of a session.
pub(super) const SESSION_ID_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");

/// How long a session may do nothing but begin.
const INITIALIZED_TIMEOUT: Duration = Duration::from_secs(30);

pub(super) struct HttpSession {
    /// Messages for the handler; bounded by the client's bytes in flight.
    inbox: mpsc::UnboundedSender<Incoming>,
    end_token: CancellationToken,
    caller: Arc<Caller>,
    created_at: Instant,
    state: Mutex<HttpSessionState>,
}

/// The session has ended.
#[derive(Debug, thiserror::Error)]
#[error("session ended")]
pub(super) struct SessionEnded;

struct HttpSessionState {
    peer_state: PeerState,
    streams: SessionStreams,
    last_used: Instant,
    liveness: Liveness,
    /// Whether its client has sent anything since `initialize`.
    is_initialized: bool,
}

impl HttpSession {
    /// A session, and what the handler takes for its transport.
    pub(super) fn new(
        shared_server: &SharedServer,
        is_single_stream: bool,
        end_token: CancellationToken,
    ) -> (Arc<HttpSession>, SessionTransport) {
        let (inbox, receiver) = mpsc::unbounded_channel();
        let peer_state = PeerState::new(shared_server.clone(), CallerKind::Session);
        let caller = peer_state.caller().clone();
        let created_at = Instant::now();
        let state = HttpSessionState {
            peer_state,
            streams: SessionStreams::new(is_single_stream, end_token.clone(), caller.clone()),
            last_used: created_at,
            liveness: Liveness::default(),
            is_initialized: false,
        };
        let session = Arc::new(HttpSession { inbox, end_token, caller, created_at, state: Mutex::new(state) });
        let transport = SessionTransport { session: session.clone(), inbox: receiver };
        (session, transport)
    }

    pub(super) fn has_single_stream(&self) -> bool {
        self.state().streams.is_single()
    }

    pub(super) fn caller(&self) -> &Arc<Caller> {
        &self.caller
    }

    /// When it was created, if its client has sent nothing since.
    pub(super) fn uninitialized_since(&self) -> Option<Instant> {
        (!self.state().is_initialized).then_some(self.created_at)
    }

    /// The version that was agreed on.
    pub(super) fn version(&self) -> Option<ProtocolVersion> {
        self.state().peer_state.version().cloned()
    }

    /// Whether a request of that id is not answered yet.
    pub(super) fn has_pending(&self, id: &RequestId) -> bool {
        self.state().peer_state.pending().contains(id)
    }

    /// Whether every request is answered.
    pub(super) fn is_answered(&self) -> bool {
        self.state().peer_state.pending().is_empty()
    }

    /// How many requests have no answer, or one that no one has read.
    pub(super) fn unread_answers(&self) -> usize {
        let state = self.state();
        state.peer_state.pending().len() + state.streams.unread_answers()
    }

    /// Ends it, and with it all that is running.
    pub(super) fn end(&self) {
        self.end_token.cancel();
    }

    /// Cancelled when the session ends; cancelling it ends the session.
    pub(super) fn end_token(&self) -> &CancellationToken {
        &self.end_token
    }

    /// Whether it was not used for this time.
    pub(super) fn is_idle(&self, idle: Duration) -> bool {
        let mut state = self.state();
        state.streams.remove_expired();
        state.peer_state.remove_ended();
        if !state.is_initialized && self.created_at.elapsed() >= INITIALIZED_TIMEOUT {
            return true;
        }
        if !state.peer_state.pending().is_empty() || state.streams.has_reader() {
            state.last_used = Instant::now();
        }
        state.last_used.elapsed() >= idle
    }

    /// When it was last used, if it began, no stream is read and no call runs.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let state = self.state();
        let in_use = !state.peer_state.pending().has_only_streams() || state.streams.has_reader();
        (state.is_initialized && !in_use).then_some(state.last_used)
    }

    /// Pings the client. False if it did not answer the last ping, or has closed its stream and was silent since.
    pub(super) fn ping(&self) -> bool {
        let mut state = self.state();
        if !state.streams.standalone().has_reader() {
            let likely = state.liveness.record_no_stream();
            return likely || !state.peer_state.pending().is_empty();
        }
        state.liveness.record_stream();
        if state.peer_state.version().is_none() {
            return true;
        }
        let Some(ping) = state.liveness.next_ping() else { return false };
        state.streams.standalone().push(EventPayload::message(ping), Vec::new());
        true
    }

    /// Takes a request, and returns the stream on which it is answered.
    ///
    /// The handler gets it before anything can be waited for: a request that is noted is always answered or cancelled.
    pub(super) fn submit_request(&self, mut request: Incoming) -> Result<EventReader, SessionEnded> {
        let reservation = self.message_reservation(&request);
        let mut state = self.state();
        state.record_message(&request);
        let (number, channel) = state.streams.open();
        let reader = channel.open_reader(None).ok_or(SessionEnded)?;
        match state.peer_state.receive_parsed(&mut request, reservation) {
            Ok(_) => {
                state.streams.register(&request, number);
                self.deliver(&mut state, request)?;
            }
            Err(error) => {
                channel.push(EventPayload::message(error.into_message()), Vec::new());
                state.streams.finish(number);
            }
        }
        Ok(reader)
    }

    /// What was reserved for a message when it was read.
    fn message_reservation(&self, message: &Incoming) -> Arc<Reservation> {
        let head = match message {
            JsonRpcMessage::Request(request) => request.request.extensions().get::<http::request::Parts>(),
            _ => None,
        };
        let reserved = head.and_then(|head| head.extensions.get::<Arc<Reservation>>());
        reserved.cloned().unwrap_or_else(|| Arc::new(self.caller.reserve(0)))
    }

    /// Takes a message that wants no answer.
    pub(super) fn submit_message(&self, mut message: Incoming) -> Result<(), SessionEnded> {
        let reservation = self.message_reservation(&message);
        let mut state = self.state();
        state.record_message(&message);
        if let Ok(outcome) = state.peer_state.receive_parsed(&mut message, reservation) {
            state.streams.push_batches(outcome.finished_batches);
        }
        state.release_cancelled(&message);
        self.deliver(&mut state, message)
    }

    /// Takes what a client has sent, a message or a batch. Returns the stream with the answers to a batch, where they
    /// have one of their own.
    pub(super) fn receive(&self, bytes: &[u8]) -> Result<Option<EventReader>, MessageError> {
        let payload = ReceivedPayload::parse(bytes, &self.caller)?;
        let mut messages = VecDeque::new();
        let mut state = self.state();
        state.last_used = Instant::now();
        let outcome = state.peer_state.receive(payload, &mut messages)?;
        let reader = match outcome.batch {
            Some(batch) if !state.streams.is_single() => {
                let (number, channel) = state.streams.open();
                state.streams.register_batch(batch, &messages, number);
                channel.open_reader(None)
            }
            _ => None,
        };
        state.streams.push_batches(outcome.finished_batches);
        for message in messages {
            state.record_message(&message);
            state.release_cancelled(&message);
            // If the session has ended, its stream ends too.
            let _ = self.deliver(&mut state, message);
        }
        Ok(reader)
    }

    /// Begins to read what belongs to no request.
    pub(super) fn listen(&self) -> Option<EventReader> {
        let mut state = self.state();
        state.record_activity();
        state.streams.standalone().open_reader(None)
    }

    /// Goes on to read behind an event.
    pub(super) fn resume(&self, channel: u64, after: u64) -> Option<EventReader> {
        let mut state = self.state();
        state.record_activity();
        state.streams.get(channel)?.open_reader(Some(after))
    }

    fn deliver(&self, state: &mut HttpSessionState, message: Incoming) -> Result<(), SessionEnded> {
        if state.take_pong(&message) {
            return Ok(());
        }
        self.inbox.send(message).map_err(|_| SessionEnded)
    }

    /// Sends a message of the handler. Returns it if it must wait until the client has read.
    pub(super) fn send(&self, message: TxJsonRpcMessage<RoleServer>) -> Option<DelayedEvent> {
        if batch::answered_request(&message).is_some() {
            let mut state = self.state();
            let channel = state.streams.route(&message);
            state.answer(message, &channel);
            return None;
        }
        let reservations = vec![Arc::new(self.caller.reserve(serialized_size(&message)))];
        let channel = self.state().streams.route(&message);
        let is_full = matches!(message, JsonRpcMessage::Notification(_)) && channel.is_full();
        let payload = EventPayload::message(message);
        if is_full {
            return Some(DelayedEvent { channel, payload, reservations });
        }
        channel.push(payload, reservations);
        None
    }

    /// Removes any request that is pending, and returns its id.
    pub(super) fn take_any_pending(&self) -> Option<RequestId> {
        self.state().peer_state.take_any_pending()
    }

    fn state(&self) -> MutexGuard<'_, HttpSessionState> {
        self.state.lock()
    }
}

/// An event that waits for its reader.
pub(super) struct DelayedEvent {
    channel: Arc<EventChannel>,
    payload: EventPayload,
    reservations: Vec<Arc<Reservation>>,
}

impl DelayedEvent {
    pub(super) async fn push_when_read(self) {
        self.channel.wait_for_room().await;
        self.channel.push(self.payload, self.reservations);
    }
}

impl HttpSessionState {
    /// Notes activity of the client.
    fn record_activity(&mut self) {
        self.last_used = Instant::now();
        self.liveness.record_message();
    }

    /// Notes a message of the client; `initialize` alone does not initialize the session.
    fn record_message(&mut self, message: &Incoming) {
        self.record_activity();
        let is_initialize = matches!(message, JsonRpcMessage::Request(asked) if asked.request.method() == "initialize");
        self.is_initialized |= !is_initialize;
    }

    fn answer(&mut self, message: TxJsonRpcMessage<RoleServer>, channel: &EventChannel) {
        self.last_used = Instant::now();
        let answered = batch::answered_request(&message).cloned();
        match self.peer_state.route_response(message) {
            ResponseRoute::Single(answer) => {
                channel.push(EventPayload::message(answer.message), answer.reservation.into_iter().collect());
            }
            ResponseRoute::BatchFinished(batch) => self.streams.push_batches(vec![batch]),
            ResponseRoute::Queued => {}
        }
        if let Some(id) = answered {
            self.streams.release_request(&id);
        }
    }

    fn release_cancelled(&mut self, message: &Incoming) {
        if let Some(id) = message::cancelled_request(message) {
            self.streams.release_request(id);
        }
    }

    /// Whether a message answers a ping of ours, which is not the business of the handler's.
    fn take_pong(&mut self, message: &Incoming) -> bool {
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        let Some(id) = id else { return false };
        self.streams.forget_question(id);
        self.liveness.take_pong(id)
    }
}

#[cfg(test)]
mod tests {
    use rmcp::{service::OriginatingRequestId, transport::Transport};

    use super::*;
    use crate::{
        server::testing::{TEST_MANIFEST, shared_server},
        transport::http::streams::MAX_FINISHED_STREAMS,
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
    fn read(reader: &mut EventReader) -> Vec<String> {
        let mut read = Vec::new();
        while let Some(Some(event)) = reader.next().now_or_never() {
            let message = serde_json::to_value(&event.payload).unwrap();
            read.push(message["method"].as_str().map_or_else(|| message["id"].to_string(), str::to_owned));
        }
        read
    }

    #[tokio::test]
    async fn messages_are_routed_to_request_or_standalone_stream() {
        for (is_single_stream, own) in [(false, true), (true, false)] {
            let (session, mut transport) =
                HttpSession::new(&shared_server(TEST_MANIFEST), is_single_stream, CancellationToken::new());
            let mut common = session.listen().unwrap();
            let mut stream = session.submit_request(call(7, "p")).unwrap();
            for message in [progress("p"), question(1), cancelled(1), progress("q"), log("x"), cancelled(7), answer(7)]
            {
                transport.send(message).await.unwrap();
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
    async fn session_end_cancels_pending_requests_only() {
        let (session, mut transport) = HttpSession::new(&shared_server(TEST_MANIFEST), false, CancellationToken::new());
        let _streams = [session.submit_request(call(7, "p")).unwrap(), session.submit_request(call(8, "q")).unwrap()];
        transport.send(answer(8)).await.unwrap();
        session.end();
        let told = transport.receive().await.unwrap();
        assert_eq!(message::cancelled_request(&told), Some(&RequestId::Number(7)), "{told:?}");
        assert!(transport.receive().await.is_none());
        assert!(session.submit_request(call(9, "r")).is_ok(), "it is taken, and its stream ends");
    }

    #[tokio::test]
    async fn full_channel_delays_notifications_not_answers() {
        let (session, mut transport) = HttpSession::new(&shared_server(TEST_MANIFEST), false, CancellationToken::new());
        let mut common = session.listen().unwrap();
        let mut payload = 0;
        let receiver = loop {
            let mut saying = Box::pin(transport.send(log("x")));
            if saying.as_mut().now_or_never().is_none() {
                break saying;
            }
            payload += 1;
            assert!(payload < 1000, "it is told on and on");
        };
        let mut stream = session.submit_request(call(7, "p")).unwrap();
        transport.send(answer(7)).await.unwrap();
        assert_eq!(read(&mut stream), ["7"]);
        assert_eq!(read(&mut common).len(), payload);
        receiver.await.unwrap();
        assert_eq!(read(&mut common).len(), 1);
    }

    #[tokio::test]
    async fn only_the_last_finished_streams_are_stored() {
        let (session, mut transport) = HttpSession::new(&shared_server(TEST_MANIFEST), false, CancellationToken::new());
        for id in 1..=20 {
            drop(session.submit_request(call(id, "p")).unwrap());
            transport.receive().await.unwrap();
            transport.send(answer(id)).await.unwrap();
        }
        let kept = (1..=20).filter(|channel| session.resume(*channel, 0).is_some()).count();
        let state = session.state();
        assert_eq!((kept, state.streams.pending_counts()), (MAX_FINISHED_STREAMS, (0, 0)));
    }
}
