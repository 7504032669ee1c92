//! The client of a connection as the server reaches it: notifications, and requests that wait for an answer.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use rmcp::model::{CancelledNotification, CancelledNotificationParam, ErrorData, RequestId, ServerNotification};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::action::AskError;
use crate::redact::Redactors;

use super::outgoing::OutgoingMessage;

/// Where messages of the server go.
pub(crate) trait MessageSink: Send + Sync {
    /// Takes a message that is no answer. Messages go out in the order of these calls. A notification for a peer that
    /// does not read goes out when the future has run.
    fn send(&self, message: OutgoingMessage) -> Option<BoxFuture<'static, ()>>;
}

type Answer = Result<Value, ErrorData>;

/// The client of one connection.
pub(crate) struct Peer {
    sink: Arc<dyn MessageSink>,
    redactors: Redactors,
    last_id: AtomicI64,
    questions: Mutex<HashMap<RequestId, oneshot::Sender<Answer>>>,
}

impl Peer {
    /// The questions of one that other replicas have too begin with an id that those do not meet.
    pub(crate) fn new(sink: Arc<dyn MessageSink>, redactors: Redactors, is_shared: bool) -> Arc<Peer> {
        let last_id = if is_shared { first_shared_id() } else { -1 };
        Arc::new(Peer { sink, redactors, last_id: AtomicI64::new(last_id), questions: Mutex::default() })
    }

    fn send(&self, message: OutgoingMessage) -> Option<BoxFuture<'static, ()>> {
        self.sink.send(message.redact(&self.redactors))
    }

    /// Sends a notification that is on behalf of no request.
    pub(crate) async fn notify(&self, notification: impl Into<ServerNotification>) {
        self.deliver(OutgoingMessage::notification(notification.into(), None)).await;
    }

    /// Sends a message, and waits while the client does not read.
    pub(crate) async fn deliver(&self, message: OutgoingMessage) {
        if let Some(delayed) = self.send(message) {
            delayed.await;
        }
    }

    /// Sends a request on behalf of another, and waits for its result. `redact` hides what came beside that.
    ///
    /// # Errors
    /// The client refuses, there is no answer in time, or `cancel` is cancelled. The client is then told that no one waits.
    pub(crate) async fn ask(
        self: &Arc<Peer>,
        method: &str,
        params: Option<&Value>,
        origin: RequestId,
        timeout: Duration,
        cancel: &CancellationToken,
        redact: impl FnOnce(OutgoingMessage) -> OutgoingMessage,
    ) -> Result<Value, AskError> {
        let id = RequestId::Number(self.last_id.fetch_add(1, Ordering::Relaxed) + 1);
        let (sender, answer) = oneshot::channel();
        self.questions.lock().insert(id.clone(), sender);
        let (peer, reason) = (self.clone(), "call cancelled");
        let mut question = PendingQuestion { peer, id: Some(id.clone()), origin: origin.clone(), reason };
        self.deliver(redact(OutgoingMessage::question(id, method, params, Some(origin)))).await;
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(AskError::Cancelled),
            answered = tokio::time::timeout(timeout, answer) => match answered {
                Ok(Ok(answer)) => {
                    question.id = None;
                    answer.map_err(|error| AskError::Refused(error.message.into_owned()))
                }
                Ok(Err(_)) => Err(AskError::Cancelled),
                Err(_) => {
                    question.reason = "request timeout";
                    Err(AskError::TimedOut)
                }
            },
        }
    }

    /// Whether somebody here waits for the answer to a question.
    pub(crate) fn has_asked(&self, id: &RequestId) -> bool {
        self.questions.lock().contains_key(id)
    }

    /// Takes the answer to a question. One that no one waits for is dropped.
    pub(crate) fn take_answer(&self, id: &RequestId, answer: Answer) {
        if let Some(sender) = self.questions.lock().remove(id) {
            let _ = sender.send(answer);
        }
    }
}

/// A random number with room for as many questions as a session may ever have, which JSON of every client can hold.
fn first_shared_id() -> i64 {
    i64::from(uuid::Uuid::new_v4().as_fields().0) << 20
}

/// A question that is taken back when this is dropped, unless it was answered.
struct PendingQuestion {
    peer: Arc<Peer>,
    id: Option<RequestId>,
    /// The request on whose behalf it is asked.
    origin: RequestId,
    reason: &'static str,
}

impl Drop for PendingQuestion {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        self.peer.questions.lock().remove(&id);
        let params = CancelledNotificationParam::new(Some(id), Some(self.reason.to_owned()));
        let taken_back = ServerNotification::CancelledNotification(CancelledNotification::new(params));
        if let Some(delayed) = self.peer.send(OutgoingMessage::notification(taken_back, Some(self.origin.clone()))) {
            tokio::spawn(delayed);
        }
    }
}
