//! A session that any replica serves: each holds it once a request of it has come, and tells the others what concerns them.

use std::sync::{Arc, atomic::Ordering};

use rmcp::model::{ClientNotification, RequestId};
use tokio::time::Instant;

use crate::{
    server::{RequestSender, SessionChange, SessionMessage, SessionRecord, SharedSession, announce_everything},
    store::StoreError,
    transport::{
        message::{Incoming, cancelled_request},
        peer_state::ReceivedPayload,
    },
};

use super::{liveness::is_ping, session::HttpSession, stream_name::StreamName};

/// How often the store is told that a session is used, in the time that it keeps it.
const RENEWALS: u32 = 4;

impl HttpSession {
    /// Goes on with a session of another replica.
    pub(super) fn restore(&self, record: SessionRecord) {
        self.has_listened.store(record.has_listened(), Ordering::Release);
        self.handler.restore_session(record);
        self.state().is_initialized = true;
    }

    /// Tells the store of it, where other replicas may serve it.
    pub(super) async fn keep(&self) -> Result<(), StoreError> {
        let Some(shared) = self.handler.shared_session() else { return Ok(()) };
        self.handler.keep_session(&self.owner).await?;
        match self.has_listened.load(Ordering::Acquire) {
            true => shared.publish_change(SessionChange::Listened).await,
            false => Ok(()),
        }
    }

    /// The shared session, where the store is due to be told that it is used.
    pub(super) fn due_renewal(&self) -> Option<SharedSession> {
        let shared = self.handler.shared_session()?;
        let mut state = self.state();
        let is_due = state.last_used > state.renewed_at && state.renewed_at.elapsed() > shared.lifetime / RENEWALS;
        is_due.then(|| state.renewed_at = Instant::now())?;
        Some(shared.clone())
    }

    /// Whether it writes a stream, which another replica may do.
    pub(super) fn writes(&self, name: &StreamName) -> bool {
        let own = self.handler.shared_session().map(SharedSession::replica);
        name.replica.as_deref() == own
    }

    /// Takes what another replica says of it.
    pub(super) fn take(&self, message: SessionMessage) {
        match message {
            SessionMessage::Changed(SessionChange::Listened) => self.has_listened.store(true, Ordering::Release),
            SessionMessage::Changed(change) => self.handler.apply_session_change(&change),
            SessionMessage::Received(json) => self.receive_forwarded(&json),
            SessionMessage::Ended => self.end(),
        }
    }

    /// Takes what its client has sent to another replica.
    fn receive_forwarded(&self, json: &str) {
        let payload = ReceivedPayload::parse(json.as_bytes(), &self.caller, &RequestSender::default());
        let Ok(payload @ ReceivedPayload::Message(_)) = payload else { return };
        let mut state = self.state();
        state.is_initialized = true;
        state.liveness.record_message();
        let Ok(outcome) = state.peer_state.receive(payload, self.version()) else { return };
        state.streams.push_batches(outcome.finished_batches);
        outcome.cancelled.iter().for_each(|id| state.streams.release_request(id));
        drop(state);
        for message in outcome.messages {
            match message {
                Incoming::Answer(id, answer) => self.handler.peer().take_answer(&id, answer),
                Incoming::Notification(notification) => self.handler.receive_notification(&notification),
                Incoming::Request(_) => {}
            }
        }
    }

    /// Tells a client that has read the stream of what belongs to no request before, or may have elsewhere, that it may have
    /// missed something.
    pub(super) async fn note_listening(self: &Arc<HttpSession>) {
        let Some(shared) = self.handler.shared_session() else { return };
        let is_first = !self.has_listened.swap(true, Ordering::AcqRel);
        // While the store is away nobody knows whether it is the first time.
        if is_first && shared.publish_change(SessionChange::Listened).await.is_ok() {
            return;
        }
        let session = self.clone();
        tokio::spawn(async move { announce_everything(&session.handler).await });
    }

    /// Where an answer with this id goes, if another replica may have asked.
    pub(super) fn asked_elsewhere(&self, id: &RequestId) -> Option<&SharedSession> {
        // Who pings is the replica on whose stream that goes out.
        let has_pinged = || is_ping(id) && self.state().streams.standalone().has_reader();
        self.handler.shared_session().filter(|_| !has_pinged() && !self.handler.peer().has_asked(id))
    }

    /// Tells other replicas of a notification that may be about what they do: a request that is not known here, or the whole
    /// session.
    pub(super) fn forward_if_shared(&self, notification: &ClientNotification, cancelled_here: &[RequestId]) {
        use ClientNotification as N;
        let concerns_others = match cancelled_request(notification) {
            Some(id) => !cancelled_here.contains(id),
            None => matches!(notification, N::InitializedNotification(_) | N::RootsListChangedNotification(_)),
        };
        if let Some(shared) = self.handler.shared_session().filter(|_| concerns_others) {
            shared.forward_notification(notification);
        }
    }
}
