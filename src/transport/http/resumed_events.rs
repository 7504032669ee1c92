//! Goes on with a stream that another replica writes, from the events that the store has.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use futures_util::{Stream, StreamExt, stream};
use rmcp::model::{ErrorData, RequestId};
use serde_json::Value;

use crate::server::{OutgoingMessage, SessionEvent, SharedServer};
use crate::store::ListPosition;

use super::{event_stream, session::HttpSession, stream_name::StreamName};

/// How often it is looked for more events.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Why a request has no answer whose replica is no more. It may have acted, so no other one runs it again.
const REPLICA_ENDED: &str = "the replica that answered the request has ended; what the request had done stays done";

/// A stream of another replica on its way to its end.
struct ResumedStream {
    shared_server: SharedServer,
    session: Arc<HttpSession>,
    name: StreamName,
    /// The last event that its client has.
    after: u64,
    /// What was seen of its events.
    position: ListPosition,
    /// The requests without an answer.
    unanswered: Vec<RequestId>,
}

/// The events after one of them, as they are written, until all requests are answered. Those that cannot be any more are
/// answered with an error.
pub(super) fn resume(
    shared_server: &SharedServer,
    session: Arc<HttpSession>,
    name: StreamName,
    after: u64,
) -> impl Stream<Item = Bytes> + Send + 'static {
    let unanswered = name.requests.clone();
    let position = ListPosition::default();
    let resumed = ResumedStream { shared_server: shared_server.clone(), session, name, after, position, unanswered };
    let batches = stream::unfold(Some(resumed), |resumed| async move {
        let mut resumed = resumed?;
        let end = resumed.session.end_token().clone();
        let events = end.run_until_cancelled_owned(resumed.next_events()).await?;
        let is_over = resumed.unanswered.is_empty();
        Some((stream::iter(events), (!is_over).then_some(resumed)))
    });
    batches.flatten()
}

impl ResumedStream {
    /// The next events, once there are any.
    async fn next_events(&mut self) -> Vec<Bytes> {
        let name = self.name.to_string();
        loop {
            // What ends after this look is seen by the next one.
            let has_ended = match self.name.replica.as_deref() {
                Some(replica) => self.shared_server.replica_has_ended(replica).await,
                None => true,
            };
            let events = match self.session.handler.shared_session() {
                Some(shared) => shared.events(&name, &mut self.position).await.unwrap_or_default(),
                None => Vec::new(),
            };
            if !events.is_empty() {
                return events.iter().filter_map(|event| self.take(event)).collect();
            }
            if has_ended {
                let lost = std::mem::take(&mut self.unanswered).into_iter();
                let answers = lost
                    .map(|id| OutgoingMessage::error(Some(id), &ErrorData::internal_error(REPLICA_ENDED, None)).json);
                return answers.map(|json| event_stream::encode_message(&json, None)).collect();
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// An event as it is written, unless its client has it; its answers are noted in any case.
    fn take(&mut self, event: &SessionEvent) -> Option<Bytes> {
        let SessionEvent { index, json } = event;
        let message: Value = serde_json::from_str(json).unwrap_or_default();
        let answers = message.as_array().map_or(std::slice::from_ref(&message), Vec::as_slice);
        for answer in answers.iter().filter(|answer| answer.get("method").is_none()) {
            let id: Option<RequestId> = answer.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
            self.unanswered.retain(|waiting| Some(waiting) != id.as_ref());
        }
        let id = format!("{}-{index}", self.name);
        (*index > self.after).then(|| event_stream::encode_message(json.as_bytes(), Some(&id)))
    }
}
