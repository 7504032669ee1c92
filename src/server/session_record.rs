//! Sessions that any replica serves: what they began with and how they changed is in the store, and replicas tell each other
//! what concerns a session that several of them hold.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ClientNotification, ErrorData, InitializeRequestParams, RequestId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::action::LogLevel;
use crate::identity::AccessControl;
use crate::spec_version::SpecVersion;
use crate::store::{ListLimit, ListPosition, Recipient, Store, StoreError};
use crate::uri::normalize_uri;

use super::{
    ConnectionHandler, SharedServer,
    replicas::{MAX_FORWARDED_BYTES, ReplicaMessage},
    request::McpRequest,
    session::NegotiatedSession,
    subscription,
};

/// How long the id of a session is at most.
const MAX_ID_BYTES: usize = 64;
/// What is kept of events for a client that lost them on the way.
const EVENTS: ListLimit = ListLimit { values: 64, bytes: 4 << 20, lifetime: Duration::from_secs(120) };
/// How long a notification of a client may be for another replica, in bytes.
const MAX_NOTIFICATION_BYTES: usize = 4096;
/// What a session began with.
#[derive(Debug, Serialize, Deserialize)]
struct SessionStart {
    /// The issuer and the id of whose it is, if anybody.
    caller: Option<(String, String)>,
    client: InitializeRequestParams,
    version: String,
}

/// What a session was told since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SessionChange {
    Level(LogLevel),
    Subscribed(String),
    Unsubscribed(String),
    /// Its client has opened the stream of what belongs to no request, and may have missed something on it.
    Listened,
}

/// A session as the store has it.
pub(crate) struct SessionRecord {
    start: SessionStart,
    changes: Vec<SessionChange>,
}

impl SessionRecord {
    /// Whether its client has opened the stream of what belongs to no request.
    pub(crate) fn has_listened(&self) -> bool {
        self.changes.contains(&SessionChange::Listened)
    }
}

/// A session in the store, which any replica may serve.
#[derive(Clone)]
pub(crate) struct SharedSession {
    shared_server: SharedServer,
    id: Arc<str>,
    /// How long the store keeps it, unless it is used again.
    pub(crate) lifetime: Duration,
}

/// What one replica tells the others that hold a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum SessionMessage {
    Changed(SessionChange),
    /// A notification or an answer of its client, as JSON: it may be about a request or a question elsewhere.
    Received(String),
    Ended,
}

/// An event of a session, for a client that reads it from another replica.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SessionEvent {
    pub(crate) index: u64,
    /// The message, or the list of them.
    pub(crate) json: String,
}

/// What takes the messages of other replicas about sessions.
pub(crate) trait SessionInbox: Send + Sync {
    fn take(&self, id: &str, message: SessionMessage);

    /// The store may have forgotten sessions: those that are held here are kept again.
    fn keep_all(&self);
}

fn key(id: &str) -> String {
    format!("session:{id}")
}

fn changes_key(id: &str) -> String {
    format!("session:{id}:changes")
}

/// Of each stream by itself: one that is full costs no other its events, and one that there is not costs nothing.
fn events_key(id: &str, stream: &str) -> String {
    format!("session:{id}:events:{stream}")
}

/// Whether this may be the id of a session, and no other key of the store.
fn is_id(id: &str) -> bool {
    id.len() <= MAX_ID_BYTES && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn encode(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

impl SharedServer {
    /// A session of this caller in the store.
    pub(crate) async fn find_session(
        &self,
        id: &str,
        access: &AccessControl,
    ) -> Result<Option<SessionRecord>, StoreError> {
        if !is_id(id) {
            return Ok(None);
        }
        let Some(start) = self.store().get(&key(id)).await? else {
            self.check_memory().await?;
            return Ok(None);
        };
        let start: Option<SessionStart> = serde_json::from_slice(&start).ok();
        let Some(start) = start.filter(|start| start.caller == access.caller_key()) else { return Ok(None) };
        let changes = self.store().fields(&changes_key(id)).await?;
        let changes = changes.iter().filter_map(|change| serde_json::from_slice(change).ok()).collect();
        Ok(Some(SessionRecord { start, changes }))
    }

    /// The session of this id in the store.
    pub(crate) fn shared_session(&self, id: Arc<str>, lifetime: Duration) -> SharedSession {
        SharedSession { shared_server: self.clone(), id, lifetime }
    }

    /// What takes messages about sessions from now on. Only the first such call has an effect.
    pub(crate) fn set_session_inbox(&self, inbox: Arc<dyn SessionInbox>) {
        self.replicas().set_inbox(inbox);
    }
}

impl SharedSession {
    fn store(&self) -> &Arc<dyn Store> {
        self.shared_server.store()
    }

    /// The id of this replica.
    pub(crate) fn replica(&self) -> &str {
        self.store().replica()
    }

    /// Whether the store has it still.
    pub(crate) async fn is_kept(&self) -> Result<bool, StoreError> {
        Ok(self.store().get(&key(&self.id)).await?.is_some())
    }

    /// Has the store forget it, and replicas that hold it.
    pub(crate) async fn forget(&self) -> Result<(), StoreError> {
        // Its events expire soon.
        self.store().remove(&[&key(&self.id), &changes_key(&self.id)]).await?;
        self.tell(SessionMessage::Ended).await
    }

    /// Has the store keep it for longer.
    pub(crate) async fn renew(&self) -> Result<(), StoreError> {
        self.store().extend(&[&key(&self.id), &changes_key(&self.id)], self.lifetime).await
    }

    /// Keeps an event of one of its streams for a while.
    pub(crate) async fn keep_event(&self, stream: &str, event: &SessionEvent) -> Result<(), StoreError> {
        self.store().append(&events_key(&self.id, stream), &encode(event), EVENTS).await
    }

    /// The next events of a stream behind `position`, in their order.
    pub(crate) async fn events(
        &self,
        stream: &str,
        position: &mut ListPosition,
    ) -> Result<Vec<SessionEvent>, StoreError> {
        let events = self.store().read(&events_key(&self.id, stream), position).await?;
        Ok(events.iter().filter_map(|event| serde_json::from_slice(event).ok()).collect())
    }

    /// Tells the store and the other replicas of a change.
    pub(crate) async fn publish_change(&self, change: SessionChange) -> Result<(), StoreError> {
        self.keep_change(&change).await?;
        self.tell(SessionMessage::Changed(change)).await
    }

    /// Keeps a change in place of an earlier one of the same thing.
    async fn keep_change(&self, change: &SessionChange) -> Result<(), StoreError> {
        let json = encode(change);
        let (field, value) = match change {
            SessionChange::Level(_) => ("level".to_owned(), Some(&*json)),
            SessionChange::Listened => ("listened".to_owned(), Some(&*json)),
            SessionChange::Subscribed(uri) => (format!("subscribed {}", normalize_uri(uri)), Some(&*json)),
            SessionChange::Unsubscribed(uri) => (format!("subscribed {}", normalize_uri(uri)), None),
        };
        self.store().set_field(&changes_key(&self.id), &field, value, self.lifetime).await
    }

    /// Tells replicas that hold it of a notification, which may be about a request elsewhere.
    pub(crate) fn forward_notification(&self, notification: &ClientNotification) {
        let mut notification = notification.clone();
        if let ClientNotification::CancelledNotification(cancelled) = &mut notification {
            cancelled.params.reason = None;
        }
        let mut message = serde_json::to_value(notification).unwrap_or_default();
        message.as_object_mut().into_iter().for_each(|message| drop(message.insert("jsonrpc".into(), "2.0".into())));
        let message = message.to_string();
        // One that is longer is about no request.
        if message.len() > MAX_NOTIFICATION_BYTES {
            return;
        }
        let shared = self.clone();
        tokio::spawn(async move {
            if shared.tell(SessionMessage::Received(message)).await.is_err() {
                tracing::warn!(target: "folio::store", "a notification of a client does not reach the other replicas");
            }
        });
    }

    /// Tells replicas that hold it of the answer to a question that one of them has asked.
    pub(crate) async fn forward_answer(
        &self,
        question: &RequestId,
        answer: &Result<Value, ErrorData>,
    ) -> Result<(), StoreError> {
        let message = match answer {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": question, "result": result }),
            Err(error) => json!({ "jsonrpc": "2.0", "id": question, "error": error }),
        };
        let mut message = message.to_string();
        if message.len() > MAX_FORWARDED_BYTES {
            let error = ErrorData::internal_error("the answer is too long to reach the replica that asked", None);
            message = json!({ "jsonrpc": "2.0", "id": question, "error": error }).to_string();
        }
        self.tell(SessionMessage::Received(message)).await
    }

    async fn tell(&self, message: SessionMessage) -> Result<(), StoreError> {
        let message = ReplicaMessage::Session { id: (*self.id).to_owned(), message };
        self.shared_server.replicas().send(Recipient::Others, &message).await
    }
}

impl ConnectionHandler {
    /// The session in the store, where other replicas may serve it too.
    pub(crate) fn shared_session(&self) -> Option<&SharedSession> {
        self.shared_session.as_ref()
    }

    /// Tells the store what the session of this caller began with, and how it has changed so far.
    pub(crate) async fn keep_session(&self, access: &AccessControl) -> Result<(), StoreError> {
        let (Some(shared), Some(negotiated)) = (&self.shared_session, self.session.negotiated()) else { return Ok(()) };
        let NegotiatedSession { client, spec_version, .. } = negotiated;
        let version = spec_version.as_str().to_owned();
        let start = SessionStart { caller: access.caller_key(), client: client.clone(), version };
        shared.store().put(&key(&shared.id), &encode(&start), shared.lifetime).await?;
        for change in self.changes_so_far() {
            shared.keep_change(&change).await?;
        }
        Ok(())
    }

    /// But for whether its client has listened, which the session knows.
    fn changes_so_far(&self) -> Vec<SessionChange> {
        let level = self.session.log_level();
        let level = (level != LogLevel::Info).then_some(SessionChange::Level(level));
        let subscribed: Vec<String> = self.session.subscribed().keys().cloned().collect();
        let subscribed = subscribed.into_iter().map(SessionChange::Subscribed);
        level.into_iter().chain(subscribed).collect()
    }

    /// Goes on with a session of another replica.
    pub(crate) fn restore_session(&self, record: SessionRecord) {
        let SessionRecord { start, changes } = record;
        let version = SpecVersion::parse(&start.version).unwrap_or(SpecVersion::NEWEST_WITH_SESSIONS);
        self.begin_session(start.client, version);
        changes.iter().for_each(|change| self.apply_session_change(change));
        subscription::start_change_notifications(self);
    }

    /// Takes over what the session was told by another replica.
    pub(crate) fn apply_session_change(&self, change: &SessionChange) {
        match change {
            SessionChange::Level(level) => self.session.set_log_level(*level),
            SessionChange::Subscribed(uri) => subscription::add(self, uri),
            SessionChange::Unsubscribed(uri) => subscription::remove(self, uri),
            SessionChange::Listened => {}
        }
    }

    /// Tells the store and the other replicas of a change of the session that this request makes, if they share it.
    pub(crate) async fn keep_session_change(
        &self,
        change: SessionChange,
        request: &McpRequest,
    ) -> Result<(), ErrorData> {
        let Some(shared) = &self.shared_session else { return Ok(()) };
        shared.publish_change(change).await.map_err(|StoreError| request.store_is_away())
    }
}
