//! The sessions of one server: how many there are, for how long, and rmcp's view of them.
//!
//! rmcp's own would end a session that only listens as soon as one that is forgotten, and wait for what is running
//! when a client ends one.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::{Stream, StreamExt, stream};
use rmcp::{
    model::{ClientJsonRpcMessage, ProtocolVersion, ServerJsonRpcMessage},
    transport::{
        common::server_side_http::session_id,
        streamable_http_server::{SessionId, SessionManager, session::ServerSseMessage},
    },
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::server::Live;

use super::{
    HttpOptions,
    channel::{self, Event, Reader, Said},
    session::{Over, Session, Wire},
};

/// After how long a client may come again whose stream broke off.
const RETRY: Duration = Duration::from_secs(3);

/// The sessions of one server.
pub(super) struct Sessions {
    live: Live,
    open: Mutex<HashMap<SessionId, Arc<Session>>>,
    most: usize,
    idle: Duration,
    ping: Option<Duration>,
    ending: CancellationToken,
}

/// Why a session cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unusable {
    #[error("there are as many sessions as the server allows")]
    Full,
    #[error("there is no such session")]
    Unknown,
    #[error(transparent)]
    Over(#[from] Over),
    #[error("there is no such event")]
    NoEvent,
}

impl Sessions {
    /// No sessions yet; `ending` ends them all.
    pub(super) fn new(live: Live, options: &HttpOptions, ending: CancellationToken) -> Sessions {
        Sessions {
            live,
            open: Mutex::default(),
            most: options.max_sessions,
            idle: options.session_idle,
            ping: options.ping,
            ending,
        }
    }

    pub(super) fn live(&self) -> &Live {
        &self.live
    }

    /// Cancelled when all of them end.
    pub(super) fn ending(&self) -> &CancellationToken {
        &self.ending
    }

    fn most(&self) -> usize {
        self.live.catalog().listening().max_sessions.unwrap_or(self.most)
    }

    fn idle(&self) -> Duration {
        self.live.catalog().listening().session_idle.unwrap_or(self.idle)
    }

    fn ping_interval(&self) -> Option<Duration> {
        self.live.catalog().listening().ping.or(self.ping)
    }

    /// Begins one, unless there are too many. One that has not begun for longest makes room.
    pub(super) fn begin(&self, single: bool) -> Option<(SessionId, Arc<Session>, Wire)> {
        let most = self.most();
        let mut open = self.open();
        if open.len() >= most {
            let idle = beginning(&open)?;
            if let Some(session) = open.remove(&idle) {
                session.end();
            }
        }
        let id = session_id();
        let (session, wire) = Session::new(&self.live, single, self.ending.child_token());
        open.insert(id.clone(), session.clone());
        Some((id, session, wire))
    }

    pub(super) fn is_full(&self) -> bool {
        let open = self.open();
        open.len() >= self.most() && beginning(&open).is_none()
    }

    pub(super) fn find(&self, id: &str, single: bool) -> Option<Arc<Session>> {
        let usable = |session: &&Arc<Session>| session.is_single() == single && !session.over().is_cancelled();
        self.open().get(id).filter(usable).cloned()
    }

    /// Ends a session, and all that is running in it.
    pub(super) fn end(&self, id: &str) {
        let ended = self.open().remove(id);
        if let Some(session) = ended {
            session.end();
        }
    }

    /// Ends sessions that nobody uses any more, for ever.
    pub(super) async fn sweep(&self) {
        loop {
            let idle = self.idle();
            tokio::time::sleep((idle / 4).clamp(Duration::from_millis(10), Duration::from_secs(5))).await;
            self.end_unless("was not used", |session| !session.is_unused(idle));
        }
    }

    /// Asks clients whether they are there, and ends the sessions of those who are not, for ever.
    pub(super) async fn ping(&self) {
        let mut catalogs = self.live.watch();
        let mut last = Instant::now();
        loop {
            let due = self.ping_interval().map(|every| last + every.max(Duration::from_millis(10)));
            tokio::select! {
                () = until(due) => {
                    last = Instant::now();
                    self.end_unless("has lost its client", Session::ping);
                }
                Ok(()) = catalogs.changed() => {}
            }
        }
    }

    fn end_unless(&self, why: &str, keep: impl Fn(&Session) -> bool) {
        let ended: Vec<SessionId> = {
            let open = self.open();
            open.iter().filter(|(_, session)| !keep(session)).map(|(id, _)| id.clone()).collect()
        };
        for id in ended {
            tracing::debug!(session = &*id, "a session is ended that {why}");
            self.end(&id);
        }
    }

    fn known(&self, id: &str) -> Result<Arc<Session>, Unusable> {
        self.find(id, false).ok_or(Unusable::Unknown)
    }

    fn open(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Session>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long a client may take to say that it is ready before its session makes room for another one.
const READY: Duration = Duration::from_secs(1);

/// More than so many sessions that have not begun are no crowd of clients that are about to: the oldest makes room.
const MOST_BEGINNING: usize = 64;

/// The session that has not begun for longest, where it may be ended for another one.
fn beginning(open: &HashMap<SessionId, Arc<Session>>) -> Option<SessionId> {
    let beginning: Vec<_> = open.iter().filter_map(|(id, session)| Some((session.begins_since()?, id))).collect();
    let (since, id) = beginning.iter().min_by_key(|(since, _)| *since)?;
    (since.elapsed() >= READY || beginning.len() > MOST_BEGINNING).then(|| (*id).clone())
}

impl SessionManager for Sessions {
    type Error = Unusable;
    type Transport = Wire;

    async fn create_session(&self) -> Result<(SessionId, Wire), Unusable> {
        let (id, _, wire) = self.begin(false).ok_or(Unusable::Full)?;
        Ok((id, wire))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Unusable> {
        let answer = self.known(id)?.ask(message)?.next().await;
        match answer.map(|event| event.said) {
            Some(Said::Message(message)) => Ok(Arc::unwrap_or_clone(message)),
            _ => Err(Over.into()),
        }
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Unusable> {
        Ok(self.find(id, false).is_some())
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Unusable> {
        if self.find(id, false).is_some() {
            self.end(id);
        }
        Ok(())
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Unusable> {
        let session = self.known(id)?;
        Ok(events(&session, session.ask(message)?))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Unusable> {
        Ok(self.known(id)?.accept(message)?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Unusable> {
        let session = self.known(id)?;
        let reader = session.listen().ok_or(Over)?;
        Ok(events(&session, reader))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Unusable> {
        let session = self.known(id)?;
        let (channel, after) = channel::parse(&last_event_id).ok_or(Unusable::NoEvent)?;
        let reader = session.resume(channel, after).ok_or(Unusable::NoEvent)?;
        Ok(events(&session, reader))
    }
}

/// Waits until it is time; for ever where there is none.
async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// What a reader reads, for rmcp to write. It begins with an empty event since 2025-11-25, so that a client knows
/// where to go on; to one of an older version that is a message that cannot be read.
fn events(session: &Session, reader: Reader) -> impl Stream<Item = ServerSseMessage> + Send + Sync + 'static + use<> {
    let knows = session.version().is_some_and(|version| version >= ProtocolVersion::V_2025_11_25);
    let priming = knows.then(|| ServerSseMessage::priming(reader.place(), RETRY));
    let rest = stream::unfold(reader, |mut reader| async move {
        let event = reader.next().await?;
        Some((stream::iter(messages(event)), reader))
    });
    stream::iter(priming).chain(rest.flatten())
}

/// rmcp writes one message in an event.
fn messages(Event { id, said, .. }: Event) -> Vec<ServerSseMessage> {
    let messages = match said {
        Said::Message(message) => vec![message],
        Said::Batch(replies) => replies.iter().map(|reply| reply.message()).collect(),
    };
    let event = |message| {
        let mut event = ServerSseMessage::default();
        event.event_id = Some(id.clone());
        event.message = Some(message);
        event
    };
    messages.into_iter().map(event).collect()
}
