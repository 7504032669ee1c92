//! How many sessions there are, and for how long.
//!
//! rmcp would end a session that only listens as soon as one that is forgotten, so that is seen to here: a session
//! with an open stream is in use.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::{body::Body, http::HeaderValue, response::Response};
use futures_util::StreamExt;
use rmcp::transport::streamable_http_server::session::{
    SessionManager,
    local::{LocalSessionManager, SessionConfig},
};
use tokio::time::Instant;

/// The sessions of one server.
pub(super) struct Sessions {
    manager: Arc<LocalSessionManager>,
    used: Mutex<HashMap<String, Use>>,
    most: usize,
    idle: Duration,
}

struct Use {
    last: Instant,
    streams: usize,
}

impl Sessions {
    pub(super) fn new(most: usize, idle: Duration) -> Sessions {
        let mut manager = LocalSessionManager::default();
        let mut config = SessionConfig::default();
        config.keep_alive = None;
        manager.session_config = config;
        Sessions { manager: Arc::new(manager), used: Mutex::default(), most, idle }
    }

    pub(super) fn manager(&self) -> &Arc<LocalSessionManager> {
        &self.manager
    }

    pub(super) async fn is_full(&self) -> bool {
        self.manager.sessions.read().await.len() >= self.most
    }

    /// Counts a session as in use until its response is read or given up.
    pub(super) fn attend(self: &Arc<Self>, session: &HeaderValue, response: Response) -> Response {
        let Ok(session) = session.to_str() else { return response };
        self.begin(session);
        let stream = Stream { sessions: self.clone(), session: session.to_owned() };
        response.map(|body| {
            Body::from_stream(body.into_data_stream().map(move |chunk| {
                let _open = &stream;
                chunk
            }))
        })
    }

    /// Ends sessions that nobody uses any more, for ever.
    pub(super) async fn sweep(&self) {
        let every = (self.idle / 4).clamp(Duration::from_millis(10), Duration::from_secs(60));
        loop {
            tokio::time::sleep(every).await;
            for session in self.unused().await {
                tracing::debug!(session, "a session is ended that was not used");
                if let Err(error) = self.manager.close_session(&session.as_str().into()).await {
                    tracing::debug!(%error, "the session had ended");
                }
            }
        }
    }

    /// Forgets those that have ended by themselves, too.
    async fn unused(&self) -> Vec<String> {
        let alive = self.manager.sessions.read().await;
        let mut used = self.used();
        used.retain(|session, _| alive.contains_key(session.as_str()));
        let unused = used.iter().filter(|(_, use_)| use_.streams == 0 && use_.last.elapsed() >= self.idle);
        unused.map(|(session, _)| session.clone()).collect()
    }

    fn begin(&self, session: &str) {
        let mut used = self.used();
        let use_ = used.entry(session.to_owned()).or_insert(Use { last: Instant::now(), streams: 0 });
        use_.streams += 1;
    }

    fn end(&self, session: &str) {
        if let Some(use_) = self.used().get_mut(session) {
            use_.streams = use_.streams.saturating_sub(1);
            use_.last = Instant::now();
        }
    }

    fn used(&self) -> MutexGuard<'_, HashMap<String, Use>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A response that is being read.
struct Stream {
    sessions: Arc<Sessions>,
    session: String,
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.sessions.end(&self.session);
    }
}
