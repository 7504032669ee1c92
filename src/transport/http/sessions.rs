//! The sessions of one server: their number and lifetime, and the session manager of rmcp.
//!
//! rmcp's own manager would end a session that only listens like one that is abandoned, and would wait for running
//! calls when a client ends its session.

use std::{collections::HashMap, sync::Arc, time::Duration};

use futures_util::{Stream, StreamExt, stream};
use parking_lot::{Mutex, MutexGuard};
use rmcp::{
    model::{ClientJsonRpcMessage, ProtocolVersion, ServerJsonRpcMessage},
    transport::{
        common::server_side_http::session_id,
        streamable_http_server::{SessionId, SessionManager, session::ServerSseMessage},
    },
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::server::SharedServer;

use super::{
    HttpOptions,
    event_channel::{self, Event, EventPayload, EventReader},
    session::{HttpSession, SessionEnded},
    session_transport::SessionTransport,
};

/// After how long a client may come again whose stream broke off.
const RECONNECT_DELAY: Duration = Duration::from_secs(3);

/// How often it is looked whether requests are answered, when the server stops.
const ANSWER_CHECK_INTERVAL: Duration = Duration::from_millis(5);

/// The sessions of one server.
pub(super) struct Sessions {
    shared_server: SharedServer,
    open: Mutex<HashMap<SessionId, Arc<HttpSession>>>,
    max_sessions: usize,
    idle: Duration,
    ping: Option<Duration>,
    shutdown: CancellationToken,
}

/// Why a session cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionError {
    #[error("too many sessions")]
    TooManySessions,
    #[error("session not found")]
    UnknownSession,
    #[error(transparent)]
    Ended(#[from] SessionEnded),
    #[error("event not found")]
    UnknownEvent,
}

impl Sessions {
    /// No sessions yet; `shutdown` ends them all.
    pub(super) fn new(shared_server: SharedServer, options: &HttpOptions, shutdown: CancellationToken) -> Sessions {
        Sessions {
            shared_server,
            open: Mutex::default(),
            max_sessions: options.max_sessions,
            idle: options.session_idle,
            ping: options.ping,
            shutdown,
        }
    }

    pub(super) fn shared_server(&self) -> &SharedServer {
        &self.shared_server
    }

    fn max_sessions(&self) -> usize {
        self.shared_server.catalog().http_settings().max_sessions.unwrap_or(self.max_sessions)
    }

    fn idle(&self) -> Duration {
        self.shared_server.catalog().http_settings().session_idle.unwrap_or(self.idle)
    }

    fn ping_interval(&self) -> Option<Duration> {
        self.shared_server.catalog().http_settings().ping.or(self.ping)
    }

    /// Begins one, unless there are too many. One that has not begun or is idle for longest makes room.
    pub(super) fn create(&self, is_single_stream: bool) -> Option<(SessionId, Arc<HttpSession>, SessionTransport)> {
        let max = self.max_sessions();
        let mut open = self.open();
        if open.len() >= max {
            let idle = evictable_session(&open)?;
            if let Some(session) = open.remove(&idle) {
                session.end();
            }
        }
        let id = session_id();
        let (session, transport) = HttpSession::new(&self.shared_server, is_single_stream, self.shutdown.child_token());
        open.insert(id.clone(), session.clone());
        Some((id, session, transport))
    }

    pub(super) fn is_full(&self) -> bool {
        let open = self.open();
        open.len() >= self.max_sessions() && evictable_session(&open).is_none()
    }

    pub(super) fn find(&self, id: &str, is_single_stream: bool) -> Option<Arc<HttpSession>> {
        let usable = |session: &&Arc<HttpSession>| {
            session.has_single_stream() == is_single_stream && !session.end_token().is_cancelled()
        };
        self.open().get(id).filter(usable).cloned()
    }

    /// Ends a session, and all that is running in it.
    pub(super) fn end(&self, id: &str) {
        let ended = self.open().remove(id);
        if let Some(session) = ended {
            session.end();
        }
    }

    /// Waits until every request in them is answered.
    pub(super) async fn wait_until_answered(&self) {
        while self.open().values().any(|session| !session.is_answered()) {
            tokio::time::sleep(ANSWER_CHECK_INTERVAL).await;
        }
    }

    /// Ends them all, and returns them. What is answered may still be read.
    pub(super) fn end_all(&self) -> Vec<Arc<HttpSession>> {
        let open = self.open();
        open.values().for_each(|session| session.end());
        open.values().cloned().collect()
    }

    /// Ends idle sessions; never returns.
    pub(super) async fn end_idle_sessions(&self) {
        loop {
            let idle = self.idle();
            tokio::time::sleep((idle / 4).clamp(Duration::from_millis(10), Duration::from_secs(5))).await;
            self.retain("idle", |session| !session.is_idle(idle));
        }
    }

    /// Pings clients, and ends the sessions of those that do not answer; never returns.
    pub(super) async fn ping_clients(&self) {
        let mut catalogs = self.shared_server.subscribe();
        let mut last = Instant::now();
        loop {
            let due = self.ping_interval().map(|every| last + every.max(Duration::from_millis(10)));
            tokio::select! {
                () = sleep_until_due(due) => {
                    last = Instant::now();
                    self.retain("no client", HttpSession::ping);
                }
                Ok(()) = catalogs.changed() => {}
            }
        }
    }

    fn retain(&self, reason: &str, keep: impl Fn(&HttpSession) -> bool) {
        let ended: Vec<SessionId> = {
            let open = self.open();
            open.iter().filter(|(_, session)| !keep(session)).map(|(id, _)| id.clone()).collect()
        };
        for id in ended {
            tracing::debug!(session = &*id, reason, "session ended");
            self.end(&id);
        }
    }

    fn require(&self, id: &str) -> Result<Arc<HttpSession>, SessionError> {
        self.find(id, false).ok_or(SessionError::UnknownSession)
    }

    fn open(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<HttpSession>>> {
        self.open.lock()
    }
}

/// How long a client may take to initialize before its session may be evicted.
const INITIALIZE_GRACE: Duration = Duration::from_secs(1);

/// Above this number of uninitialized sessions the oldest is evicted at once.
const MAX_UNINITIALIZED: usize = 64;

/// For how long a session must be silent to be evicted for another one.
const EVICTION_IDLE: Duration = Duration::from_secs(3);

/// The session that may be ended for another one: that has not begun for longest, or else that is idle for longest.
fn evictable_session(open: &HashMap<SessionId, Arc<HttpSession>>) -> Option<SessionId> {
    let uninitialized: Vec<_> =
        open.iter().filter_map(|(id, session)| Some((session.uninitialized_since()?, id))).collect();
    let oldest = uninitialized.iter().min_by_key(|(since, _)| *since);
    let overdue = |since: &Instant| since.elapsed() >= INITIALIZE_GRACE || uninitialized.len() > MAX_UNINITIALIZED;
    if let Some((_, id)) = oldest.filter(|(since, _)| overdue(since)) {
        return Some((*id).clone());
    }
    let idle = open.iter().filter_map(|(id, session)| Some((session.idle_since()?, id)));
    let (_, id) = idle.filter(|(since, _)| since.elapsed() >= EVICTION_IDLE).min_by_key(|(since, _)| *since)?;
    Some(id.clone())
}

impl SessionManager for Sessions {
    type Error = SessionError;
    type Transport = SessionTransport;

    async fn create_session(&self) -> Result<(SessionId, SessionTransport), SessionError> {
        let (id, _, transport) = self.create(false).ok_or(SessionError::TooManySessions)?;
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionError> {
        let answer = self.require(id)?.submit_request(message)?.next().await;
        match answer.map(|event| event.payload) {
            Some(EventPayload::Message(message)) => Ok(Arc::unwrap_or_clone(message)),
            _ => Err(SessionEnded.into()),
        }
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionError> {
        Ok(self.find(id, false).is_some())
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionError> {
        if self.find(id, false).is_some() {
            self.end(id);
        }
        Ok(())
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let session = self.require(id)?;
        Ok(sse_messages(&session, session.submit_request(message)?))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), SessionError> {
        Ok(self.require(id)?.submit_message(message)?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let session = self.require(id)?;
        let reader = session.listen().ok_or(SessionEnded)?;
        Ok(sse_messages(&session, reader))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let session = self.require(id)?;
        let (channel, after) = event_channel::parse_event_id(&last_event_id).ok_or(SessionError::UnknownEvent)?;
        let reader = session.resume(channel, after).ok_or(SessionError::UnknownEvent)?;
        Ok(sse_messages(&session, reader))
    }
}

/// Sleeps until an instant, or forever without one.
async fn sleep_until_due(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// What a reader reads, for rmcp to write. It begins with an empty event since 2025-11-25, so that a client knows
/// where to go on; to one of an older version that is a message that cannot be read.
fn sse_messages(
    session: &HttpSession,
    reader: EventReader,
) -> impl Stream<Item = ServerSseMessage> + Send + Sync + 'static + use<> {
    let knows = session.version().is_some_and(|version| version >= ProtocolVersion::V_2025_11_25);
    let priming = knows.then(|| ServerSseMessage::priming(reader.last_event_id(), RECONNECT_DELAY));
    let rest = stream::unfold(reader, |mut reader| async move {
        let event = reader.next().await?;
        Some((stream::iter(event_messages(event)), reader))
    });
    stream::iter(priming).chain(rest.flatten())
}

/// rmcp writes one message in an event.
fn event_messages(Event { id, payload, .. }: Event) -> Vec<ServerSseMessage> {
    let messages = match payload {
        EventPayload::Message(message) => vec![message],
        EventPayload::Batch(responses) => responses.iter().map(|response| response.message()).collect(),
    };
    let event = |message| {
        let mut event = ServerSseMessage::default();
        event.event_id = Some(id.clone());
        event.message = Some(message);
        event
    };
    messages.into_iter().map(event).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::server::testing::{TEST_MANIFEST, shared_server};

    fn from_client(message: Value) -> ClientJsonRpcMessage {
        serde_json::from_value(message).unwrap()
    }

    /// A session that its client has begun.
    fn begin(sessions: &Sessions) -> Option<(SessionId, Arc<HttpSession>, SessionTransport)> {
        let begun = sessions.create(false)?;
        begun
            .1
            .submit_message(from_client(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })))
            .unwrap();
        Some(begun)
    }

    #[tokio::test(start_paused = true)]
    async fn session_idle_for_longest_makes_room() {
        let options = HttpOptions { max_sessions: 4, ..HttpOptions::default() };
        let sessions = Sessions::new(shared_server(TEST_MANIFEST), &options, CancellationToken::new());
        let listening = begin(&sessions).unwrap();
        let _reader = listening.1.listen().unwrap();
        let calling = begin(&sessions).unwrap();
        let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": "wait" } });
        calling.1.submit_request(from_client(call)).unwrap();
        let idle = begin(&sessions).unwrap();
        tokio::time::advance(EVICTION_IDLE).await;
        let recent = begin(&sessions).unwrap();
        assert!(!sessions.is_full());
        let next = begin(&sessions).unwrap();
        assert!(sessions.find(&idle.0, false).is_none() && idle.1.end_token().is_cancelled());
        for kept in [&listening, &calling, &recent, &next] {
            assert!(sessions.find(&kept.0, false).is_some());
        }
        assert!(sessions.is_full() && begin(&sessions).is_none(), "the others are in use, or were a moment ago");
    }
}
