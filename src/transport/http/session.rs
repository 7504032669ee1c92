//! One session over HTTP: takes requests, and sends messages of the handler on streams.
//!
//! Since 2025-03-26 each request has a stream for its answer and related messages; all others go to the standalone
//! stream. An answer that is there at once is read from it and sent as JSON. In 2024-11-05 there is only the standalone
//! stream.

use std::{
    sync::{Arc, Weak, atomic::AtomicBool},
    time::Duration,
};

use axum::http::HeaderName;
use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use rmcp::model::{ErrorData, RequestId};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    budget::{Caller, CallerKind, Reservation},
    identity::AccessControl,
    server::{
        ConnectionHandler, ConnectionKind, MessageSink, OutgoingKind, OutgoingMessage, SharedServer, SharedSession,
        start_change_notifications,
    },
    spec_version::SpecVersion,
    transport::{
        batch::{AnswerRoute, FinishedBatch},
        message::{Incoming, MessageError},
        peer_state::{PeerState, ReceivedPayload},
    },
};

use super::{
    admission::AdmissionGuard,
    authentication::Sender,
    event_channel::{EventKeeper, EventPayload, EventReader},
    liveness::Liveness,
    sessions::SessionId,
    streams::SessionStreams,
};

/// The header with the id of a session.
pub(super) const SESSION_ID_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");

/// How long a session may do nothing but begin.
const INITIALIZED_TIMEOUT: Duration = Duration::from_secs(30);

pub(super) struct HttpSession {
    pub(super) id: SessionId,
    pub(super) handler: Arc<ConnectionHandler>,
    /// Whose it is: no other caller reaches it.
    pub(super) owner: AccessControl,
    end_token: CancellationToken,
    pub(super) caller: Arc<Caller>,
    created_at: Instant,
    /// Whether its client has opened the stream of what belongs to no request, here or elsewhere.
    pub(super) has_listened: AtomicBool,
    state: Mutex<HttpSessionState>,
}

pub(super) struct HttpSessionState {
    pub(super) peer_state: PeerState,
    pub(super) streams: SessionStreams,
    pub(super) last_used: Instant,
    /// When the store was last told that it is used.
    pub(super) renewed_at: Instant,
    pub(super) liveness: Liveness,
    /// Whether its client has sent anything since `initialize`.
    pub(super) is_initialized: bool,
}

impl HttpSession {
    pub(super) fn new(
        shared_server: &SharedServer,
        id: SessionId,
        is_single_stream: bool,
        sender: &Sender,
        end_token: CancellationToken,
        shared: Option<SharedSession>,
    ) -> Arc<HttpSession> {
        // However many sessions a caller has who is known, it is one caller.
        let caller = match sender.access().identity() {
            Some(_) => sender.account.caller().clone(),
            None => shared_server.new_caller(CallerKind::Session),
        };
        let peer_state = PeerState::new(shared_server, caller.clone());
        let created_at = Instant::now();
        let keeper = shared.clone().map(EventKeeper::start);
        let state = HttpSessionState {
            peer_state,
            streams: SessionStreams::new(is_single_stream, keeper, end_token.clone(), caller.clone()),
            last_used: created_at,
            renewed_at: created_at,
            liveness: Liveness::default(),
            is_initialized: false,
        };
        Arc::new_cyclic(|session| HttpSession {
            handler: shared_server.connect(
                Arc::new(SessionSink(session.clone())),
                shared_server.stop_token(),
                ConnectionKind::Session { id: Some(id.clone()), shared },
            ),
            id,
            owner: sender.access().clone(),
            end_token,
            caller,
            created_at,
            has_listened: AtomicBool::new(false),
            state: Mutex::new(state),
        })
    }

    pub(super) fn has_single_stream(&self) -> bool {
        self.state().streams.is_single()
    }

    /// When it was created, if its client has sent nothing since.
    pub(super) fn uninitialized_since(&self) -> Option<Instant> {
        (!self.state().is_initialized).then_some(self.created_at)
    }

    /// The version that was agreed on.
    pub(super) fn version(&self) -> Option<SpecVersion> {
        self.handler.session_version()
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
        self.state().peer_state.cancel_all();
    }

    /// Cancelled when the session ends; cancelling it ends the session.
    pub(super) fn end_token(&self) -> &CancellationToken {
        &self.end_token
    }

    /// Whether it was not used for this time.
    pub(super) fn is_idle(&self, idle: Duration) -> bool {
        let mut state = self.state();
        state.streams.remove_expired();
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

    /// Pings a client that has a stream for it. False if it has said nothing since the last ping.
    pub(super) fn ping(&self) -> bool {
        let mut state = self.state();
        if !state.streams.standalone().has_reader() || self.version().is_none() {
            return true;
        }
        let Some(ping) = state.liveness.next_ping() else { return false };
        state.streams.standalone().push(EventPayload::Message(ping), Vec::new());
        true
    }

    /// Takes what a client has sent, a message or a batch, whose requests hold this guard until they are answered. Returns the
    /// stream with the answers, where they have one of their own.
    ///
    /// # Errors
    /// The request cannot be taken: its id is in use, or there are too many.
    pub(super) fn receive(
        self: &Arc<HttpSession>,
        payload: ReceivedPayload,
        guard: Option<Arc<AdmissionGuard>>,
    ) -> Result<Option<EventReader>, MessageError> {
        let mut state = self.state();
        state.record_activity();
        let outcome = state.peer_state.receive(payload, self.version())?;
        let is_own = |finished: &FinishedBatch| Some(finished.batch) == outcome.batch;
        let (own_batch, other_batches) = outcome.finished_batches.into_iter().partition(is_own);
        state.streams.push_batches(other_batches);
        // Before others may have their ids.
        outcome.cancelled.iter().for_each(|id| state.streams.release_request(id));
        let requests = outcome.messages.iter().filter_map(Incoming::request);
        let requests = requests.filter(|request| !request.cancel.is_cancelled());
        let requests: Vec<RequestId> = requests.map(|request| request.id.clone()).collect();
        let reader = if (!requests.is_empty() || outcome.batch.is_some()) && !state.streams.is_single() {
            state.streams.open(requests, outcome.batch).open_reader(None)
        } else {
            None
        };
        state.streams.push_batches(own_batch);
        state.is_initialized |= outcome.messages.iter().any(|message| !is_initialize(message));
        drop(state);
        for message in outcome.messages {
            match message {
                Incoming::Request(request) => {
                    let (session, reservation, guard) = (self.clone(), request.reservation.clone(), guard.clone());
                    self.handler.begin(request, move |answer| {
                        drop(guard);
                        session.answer(answer, reservation);
                    });
                }
                Incoming::Answer(id, answer) => match self.asked_elsewhere(&id).cloned() {
                    Some(shared) => _ = tokio::spawn(async move { shared.forward_answer(&id, &answer).await }),
                    None => self.handler.peer().take_answer(&id, answer),
                },
                Incoming::Notification(notification) => {
                    self.forward_if_shared(&notification, &outcome.cancelled);
                    self.handler.receive_notification(&notification);
                }
            }
        }
        Ok(reader)
    }

    /// Answers a question that its client cannot be asked.
    pub(super) fn refuse_question(&self, id: &RequestId) {
        let message = "the client cannot be asked: it does not accept `text/event-stream`";
        self.handler.peer().take_answer(id, Err(ErrorData::internal_error(message, None)));
    }

    /// Begins to read what belongs to no request. Its client has begun then, even if what says so was lost.
    pub(super) fn listen(&self) -> Option<EventReader> {
        start_change_notifications(&self.handler);
        let mut state = self.state();
        state.record_activity();
        state.is_initialized = true;
        state.streams.standalone().open_reader(None)
    }

    /// Goes on to read behind an event.
    pub(super) fn resume(&self, channel: u64, after: u64) -> Option<EventReader> {
        let mut state = self.state();
        state.record_activity();
        state.streams.get(channel)?.open_reader(Some(after))
    }

    /// Sends the answer to a request.
    fn answer(&self, answer: OutgoingMessage, reservation: Arc<Reservation>) {
        let mut state = self.state();
        state.last_used = Instant::now();
        let answered = answer.answered_request().cloned();
        let channel = state.streams.route(&answer);
        match state.peer_state.route_answer(answer, &reservation) {
            AnswerRoute::Single(answer) => {
                if let Some(channel) = channel {
                    channel.push(EventPayload::Message(answer), vec![reservation]);
                }
            }
            AnswerRoute::BatchFinished(batch) => state.streams.push_batches(vec![batch]),
            AnswerRoute::Queued => {}
            AnswerRoute::Dropped => return,
        }
        answered.iter().for_each(|id| state.streams.release_request(id));
    }

    pub(super) fn state(&self) -> MutexGuard<'_, HttpSessionState> {
        self.state.lock()
    }
}

impl Drop for HttpSession {
    fn drop(&mut self) {
        self.end_token.cancel();
    }
}

/// Where a session's handler sends messages.
struct SessionSink(Weak<HttpSession>);

impl MessageSink for SessionSink {
    /// A notification for a reader that has much to read waits. What comes too late for its request is dropped.
    fn send(&self, message: OutgoingMessage) -> Option<BoxFuture<'static, ()>> {
        let session = self.0.upgrade()?;
        let reservations = vec![Arc::new(session.caller.reserve(message.bytes()))];
        let channel = session.state().streams.route(&message)?;
        let waits = !matches!(message.kind, OutgoingKind::Question { .. }) && channel.is_full();
        let payload = EventPayload::Message(message);
        if waits {
            return Some(Box::pin(async move {
                channel.wait_for_room().await;
                channel.push(payload, reservations);
            }));
        }
        channel.push(payload, reservations);
        None
    }
}

impl HttpSessionState {
    /// Notes activity of the client.
    fn record_activity(&mut self) {
        self.last_used = Instant::now();
        self.liveness.record_message();
    }
}

/// Whether a message begins the session, which is not yet in use with it.
fn is_initialize(message: &Incoming) -> bool {
    message.request().is_some_and(|asked| asked.message.method() == "initialize")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::{RequestSender, SessionMessage};
    use crate::{
        server::testing::{TEST_MANIFEST, shared_server},
        transport::http::streams::MAX_FINISHED_STREAMS,
    };
    use futures_util::FutureExt;
    use rmcp::model::{
        CancelledNotification, CancelledNotificationParam, NumberOrString, ProgressNotification,
        ProgressNotificationParam, ProgressToken,
    };
    use serde_json::{Value, json};

    /// A session that has begun.
    fn begun(is_single_stream: bool) -> Arc<HttpSession> {
        begun_as(is_single_stream, false)
    }

    fn begun_as(is_single_stream: bool, is_shared: bool) -> Arc<HttpSession> {
        let (shared_server, id) = (shared_server(TEST_MANIFEST), SessionId::from("s"));
        let shared = is_shared.then(|| shared_server.shared_session(id.clone(), Duration::MAX));
        let session = HttpSession::new(
            &shared_server,
            id,
            is_single_stream,
            &Sender::default(),
            CancellationToken::new(),
            shared,
        );
        let client = json!({ "name": "t", "version": "1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        receive(&session, json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }));
        session
    }

    fn receive(session: &Arc<HttpSession>, message: Value) -> Option<EventReader> {
        let payload =
            ReceivedPayload::parse(message.to_string().as_bytes(), &session.caller, &RequestSender::default()).unwrap();
        session.receive(payload, None).unwrap()
    }

    /// A call of a tool that runs until it is cancelled.
    fn call(session: &Arc<HttpSession>, id: i64, token: &str) -> Option<EventReader> {
        let params = json!({ "name": "wait", "_meta": { "progressToken": token } });
        receive(session, json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }))
    }

    /// A request that is answered at once.
    fn ping(session: &Arc<HttpSession>, id: i64) -> Option<EventReader> {
        receive(session, json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }))
    }

    fn send(session: &Arc<HttpSession>, message: OutgoingMessage) -> Option<BoxFuture<'static, ()>> {
        SessionSink(Arc::downgrade(session)).send(message)
    }

    /// A question, asked on behalf of request 7.
    fn question(id: i64) -> OutgoingMessage {
        let json = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"roots/list"}}"#).into();
        let kind = OutgoingKind::Question { id: RequestId::Number(id), origin: Some(RequestId::Number(7)) };
        OutgoingMessage { json, kind }
    }

    fn log(text: &str) -> OutgoingMessage {
        let message = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "data": text } });
        OutgoingMessage { json: message.to_string().into(), kind: OutgoingKind::Notification { origin: None } }
    }

    fn progress(origin: i64) -> OutgoingMessage {
        let token = ProgressToken(NumberOrString::String("p".into()));
        let progress = ProgressNotification::new(ProgressNotificationParam::new(token, 1.0));
        OutgoingMessage::notification(progress.into(), Some(RequestId::Number(origin)))
    }

    /// A question that is taken back, asked on behalf of a request.
    fn cancelled(id: i64, origin: i64) -> OutgoingMessage {
        let params = CancelledNotificationParam::new(Some(RequestId::Number(id)), None);
        OutgoingMessage::notification(CancelledNotification::new(params).into(), Some(RequestId::Number(origin)))
    }

    /// What a reader reads without waiting: methods, and the ids of answers.
    fn read(reader: &mut EventReader) -> Vec<String> {
        let mut read = Vec::new();
        while let Some(Some(event)) = reader.next().now_or_never() {
            let message: Value = serde_json::from_slice(&event.payload.json()).unwrap();
            read.push(message["method"].as_str().map_or_else(|| message["id"].to_string(), str::to_owned));
        }
        read
    }

    #[tokio::test]
    async fn messages_are_routed_to_request_or_standalone_stream() {
        for (is_single_stream, own) in [(false, true), (true, false)] {
            let session = begun(is_single_stream);
            let mut common = session.listen().unwrap();
            read(&mut common);
            let stream = call(&session, 7, "p");
            for message in [progress(7), question(1), cancelled(1, 7), progress(6), log("x"), cancelled(2, 6)] {
                assert!(send(&session, message).is_none());
            }
            // Progress of a request that is over is nobody's.
            let rest = ["notifications/message", "notifications/cancelled"];
            if own {
                let of_request = ["notifications/progress", "roots/list", "notifications/cancelled"];
                assert_eq!(read(&mut stream.unwrap()), of_request);
                assert_eq!(read(&mut common), rest);
                let mut answered = ping(&session, 8).unwrap();
                assert_eq!(read(&mut answered), ["8"]);
                assert!(answered.next().now_or_never().unwrap().is_none(), "it ends with the answer");
            } else {
                assert!(stream.is_none() && ping(&session, 8).is_none());
                assert_eq!(read(&mut common).len(), 7);
            }
        }
    }

    #[tokio::test]
    async fn session_end_cancels_pending_requests() {
        let session = begun(false);
        let mut stream = call(&session, 7, "p").unwrap();
        assert!(!session.is_answered());
        session.end();
        assert!(session.is_answered() && stream.next().await.is_none());
    }

    #[tokio::test]
    async fn client_lives_whose_pong_reaches_another_replica() {
        let [here, elsewhere] = [(); 2].map(|()| begun_as(false, true));
        let _stream = here.listen().unwrap();
        assert!(here.ping() && elsewhere.ping());
        let pong = RequestId::String("folio-ping-1".into());
        assert!(elsewhere.asked_elsewhere(&pong).is_some() && here.asked_elsewhere(&pong).is_none());
        here.take(SessionMessage::Received(json!({ "jsonrpc": "2.0", "id": pong, "result": {} }).to_string()));
        assert!(here.ping() && !here.ping(), "it was silent after the second");
    }

    #[tokio::test]
    async fn full_channel_delays_notifications_not_answers() {
        let session = begun(true);
        let mut common = session.listen().unwrap();
        read(&mut common);
        let mut sent = 0;
        let delayed = loop {
            match send(&session, log("x")) {
                Some(delayed) => break delayed,
                None => sent += 1,
            }
            assert!(sent < 1000, "it is told on and on");
        };
        ping(&session, 7);
        let heard = read(&mut common);
        assert_eq!((heard.len(), heard.last().unwrap().as_str()), (sent + 1, "7"));
        delayed.await;
        assert_eq!(read(&mut common).len(), 1);
    }

    #[tokio::test]
    async fn only_the_last_finished_streams_are_stored() {
        let session = begun(false);
        for id in 1..=20 {
            drop(ping(&session, id).unwrap());
        }
        let kept = (1..=21).filter(|channel| session.resume(*channel, 0).is_some()).count();
        let state = session.state();
        assert_eq!((kept, state.streams.open_request_count()), (MAX_FINISHED_STREAMS, 0));
    }
}
