//! The sessions of one server: their number and lifetime.

use std::{collections::HashMap, sync::Arc, time::Duration};

use axum::http::HeaderMap;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    identity::AccessControl,
    server::{SessionInbox, SessionMessage, SessionRecord, SharedServer, SharedSession},
    store::StoreError,
};

use super::{
    SessionHome,
    authentication::Sender,
    response::RefusedRequest,
    session::{HttpSession, SESSION_ID_HEADER},
    sleep_until_due,
};

/// What a session is known by.
pub(super) type SessionId = Arc<str>;

/// How often it is looked whether requests are answered, when the server stops.
const ANSWER_CHECK_INTERVAL: Duration = Duration::from_millis(5);

/// How many sessions there may be, where the manifest does not say.
const MAX_SESSIONS: usize = 1000;

/// For how long a session without a word or an open stream is kept, where the manifest does not say.
const SESSION_IDLE: Duration = Duration::from_secs(3600);

/// The sessions of one server.
pub(super) struct Sessions {
    shared_server: SharedServer,
    open: Mutex<HashMap<SessionId, Arc<HttpSession>>>,
    shutdown: CancellationToken,
    /// Whether they are in the store, for any replica.
    are_shared: bool,
}

impl Sessions {
    /// No sessions yet; `shutdown` ends them all.
    pub(super) fn new(shared_server: SharedServer, home: SessionHome, shutdown: CancellationToken) -> Sessions {
        Sessions { shared_server, open: Mutex::default(), shutdown, are_shared: home == SessionHome::Store }
    }

    fn max_sessions(&self) -> usize {
        self.shared_server.catalog().http_settings().max_sessions.unwrap_or(MAX_SESSIONS)
    }

    fn idle(&self) -> Duration {
        self.shared_server.catalog().http_settings().session_idle.unwrap_or(SESSION_IDLE)
    }

    fn ping_interval(&self) -> Option<Duration> {
        self.shared_server.catalog().http_settings().ping
    }

    /// Begins one of this caller, unless there are too many. One that has not begun or is idle for longest makes room.
    pub(super) fn create(&self, is_single_stream: bool, sender: &Sender) -> Option<(SessionId, Arc<HttpSession>)> {
        let mut open = self.open();
        self.make_room(&mut open, sender)?;
        let id = SessionId::from(uuid::Uuid::new_v4().to_string());
        Some((id.clone(), self.insert(&mut open, id, is_single_stream, sender)))
    }

    fn insert(
        &self,
        open: &mut HashMap<SessionId, Arc<HttpSession>>,
        id: SessionId,
        is_single_stream: bool,
        sender: &Sender,
    ) -> Arc<HttpSession> {
        let end_token = self.shutdown.child_token();
        // Sessions that are used are renewed every quarter of their lifetime.
        let shared = self.are_shared.then(|| self.shared_server.shared_session(id.clone(), self.idle() * 5 / 4));
        let session = HttpSession::new(&self.shared_server, id.clone(), is_single_stream, sender, end_token, shared);
        open.insert(id, session.clone());
        session
    }

    /// Ends a session for another one of this caller, if there are too many. `None` where none can be ended.
    fn make_room(&self, open: &mut HashMap<SessionId, Arc<HttpSession>>, sender: &Sender) -> Option<()> {
        let max = self.max_sessions();
        let is_own = |session: &HttpSession| session.owner.is_same_caller(sender.access());
        let is_known = sender.access().identity().is_some();
        let own = open.values().filter(|session| is_known && is_own(session)).count();
        // Who is known has at most half, and makes room for itself.
        if open.len() >= max || own >= max.div_ceil(2) {
            let is_candidate = |session: &HttpSession| own < max.div_ceil(2) || is_own(session);
            let idle = evictable_session(open, is_candidate)?;
            if let Some(session) = open.remove(&idle) {
                session.end();
                // Nobody may fill the store with sessions. The lifetime of each ends in any case.
                if let Some(shared) = session.handler.shared_session().cloned() {
                    tokio::spawn(async move { shared.forget().await });
                }
            }
        }
        Some(())
    }

    /// The session that a request of this caller names, if it lives and is its own. Another replica may have begun it.
    pub(super) async fn named_by(
        &self,
        headers: &HeaderMap,
        sender: &Sender,
    ) -> Result<Option<Arc<HttpSession>>, RefusedRequest> {
        let Some(id) = headers.get(SESSION_ID_HEADER).and_then(|id| id.to_str().ok()) else { return Ok(None) };
        if let Some(session) = self.find(id, false, sender.access()) {
            return Ok(Some(session));
        }
        if !self.are_shared {
            return Ok(None);
        }
        let record = self.shared_server.find_session(id, sender.access()).await?;
        let Some(record) = record else { return Ok(None) };
        let session = self.restore(id, record, sender)?;
        // Whoever ended it before it was held here did not reach it.
        let is_kept = match session.handler.shared_session() {
            Some(shared) => shared.is_kept().await,
            None => Ok(true),
        };
        if is_kept != Ok(true) {
            self.end(id);
        }
        Ok(is_kept?.then_some(session))
    }

    /// Goes on with a session of another replica, unless another request has done so meanwhile.
    fn restore(&self, id: &str, record: SessionRecord, sender: &Sender) -> Result<Arc<HttpSession>, RefusedRequest> {
        let mut open = self.open();
        if let Some(session) = open.get(id).filter(|session| !session.end_token().is_cancelled()) {
            return Ok(session.clone());
        }
        self.make_room(&mut open, sender).ok_or_else(|| RefusedRequest::too_many_sessions(None))?;
        let session = self.insert(&mut open, id.into(), false, sender);
        session.restore(record);
        Ok(session)
    }

    /// Ends a session for good, wherever it is held.
    pub(super) async fn end_everywhere(&self, session: &HttpSession) -> Result<(), StoreError> {
        if let Some(shared) = session.handler.shared_session() {
            shared.forget().await?;
        }
        self.end(&session.id);
        Ok(())
    }

    /// A session of this caller. That of another is as if there were none.
    pub(super) fn find(&self, id: &str, is_single_stream: bool, access: &AccessControl) -> Option<Arc<HttpSession>> {
        let usable = |session: &&Arc<HttpSession>| {
            let is_own = session.owner.is_same_caller(access);
            is_own && session.has_single_stream() == is_single_stream && !session.end_token().is_cancelled()
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
            self.renew().await;
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

    /// Tells the store which sessions are used.
    async fn renew(&self) {
        let used: Vec<SharedSession> = self.open().values().filter_map(|session| session.due_renewal()).collect();
        for session in used {
            let _ = session.renew().await;
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

    fn open(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<HttpSession>>> {
        self.open.lock()
    }
}

impl SessionInbox for Sessions {
    fn take(&self, id: &str, message: SessionMessage) {
        if matches!(message, SessionMessage::Ended) {
            return self.end(id);
        }
        let session = self.open().get(id).cloned();
        session.into_iter().for_each(|session| session.take(message.clone()));
    }

    fn keep_all(&self) {
        if !self.are_shared {
            return;
        }
        let sessions: Vec<Arc<HttpSession>> = self.open().values().cloned().collect();
        tokio::spawn(async move {
            for session in sessions {
                if session.keep().await.is_err() {
                    // The next gap tells of it again.
                    return;
                }
            }
        });
    }
}

/// How long a client may take to initialize before its session may be evicted.
const INITIALIZE_GRACE: Duration = Duration::from_secs(1);

/// Above this number of uninitialized sessions the oldest is evicted at once.
const MAX_UNINITIALIZED: usize = 64;

/// For how long a session must be silent to be evicted for another one.
const EVICTION_IDLE: Duration = Duration::from_secs(3);

/// The candidate that may be ended for another one: that has not begun for longest, or else that is idle for longest.
fn evictable_session(
    open: &HashMap<SessionId, Arc<HttpSession>>,
    is_candidate: impl Fn(&HttpSession) -> bool,
) -> Option<SessionId> {
    let open = || open.iter().filter(|(_, session)| is_candidate(session));
    let uninitialized: Vec<_> = open().filter_map(|(id, session)| Some((session.uninitialized_since()?, id))).collect();
    let oldest = uninitialized.iter().min_by_key(|(since, _)| *since);
    let overdue = |since: &Instant| since.elapsed() >= INITIALIZE_GRACE || uninitialized.len() > MAX_UNINITIALIZED;
    if let Some((_, id)) = oldest.filter(|(since, _)| overdue(since)) {
        return Some((*id).clone());
    }
    let idle = open().filter_map(|(id, session)| Some((session.idle_since()?, id)));
    let (_, id) = idle.filter(|(since, _)| since.elapsed() >= EVICTION_IDLE).min_by_key(|(since, _)| *since)?;
    Some(id.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::server::RequestSender;
    use crate::server::testing::{TEST_MANIFEST, shared_server};
    use crate::transport::peer_state::ReceivedPayload;

    fn receive(session: &Arc<HttpSession>, message: Value) {
        let payload =
            ReceivedPayload::parse(message.to_string().as_bytes(), &session.caller, &RequestSender::default()).unwrap();
        session.receive(payload, None).unwrap();
    }

    /// A session that its client has begun.
    fn begin(sessions: &Sessions) -> Option<(SessionId, Arc<HttpSession>)> {
        let (id, session) = sessions.create(false, &Sender::default())?;
        let client = json!({ "name": "t", "version": "1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        receive(&session, json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }));
        receive(&session, json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        Some((id, session))
    }

    #[tokio::test(start_paused = true)]
    async fn session_idle_for_longest_makes_room() {
        let shared_server = shared_server(&format!("{TEST_MANIFEST}http: {{ maxSessions: 4 }}\n"));
        let sessions = Sessions::new(shared_server, SessionHome::Memory, CancellationToken::new());
        let listening = begin(&sessions).unwrap();
        let _reader = listening.1.listen().unwrap();
        let calling = begin(&sessions).unwrap();
        let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": "wait" } });
        receive(&calling.1, call);
        let idle = begin(&sessions).unwrap();
        tokio::time::advance(EVICTION_IDLE).await;
        let recent = begin(&sessions).unwrap();
        let next = begin(&sessions).unwrap();
        assert!(
            sessions.find(&idle.0, false, &AccessControl::default()).is_none() && idle.1.end_token().is_cancelled()
        );
        for kept in [&listening, &calling, &recent, &next] {
            assert!(sessions.find(&kept.0, false, &AccessControl::default()).is_some());
        }
        assert!(begin(&sessions).is_none(), "the others are in use, or were a moment ago");
    }
}
