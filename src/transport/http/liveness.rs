//! Tracks whether the client of a session is alive, by pings and streams.

use rmcp::model::RequestId;

use crate::server::OutgoingMessage;

/// The ids of our own requests begin with it; the handler's are numbers.
const PING_ID_PREFIX: &str = "folio-ping-";

/// Whether a client is alive.
#[derive(Default)]
pub(super) struct Liveness {
    sent: u64,
    is_ping_pending: bool,
    /// Whether the client has ever had a stream that waits for changes.
    had_stream: bool,
    /// Whether it had none when it was last looked at.
    lacked_stream: bool,
}

impl Liveness {
    /// Notes a message of the client.
    pub(super) fn record_message(&mut self) {
        self.lacked_stream = false;
    }

    /// Notes that the client has a stream.
    pub(super) fn record_stream(&mut self) {
        self.had_stream = true;
        self.lacked_stream = false;
    }

    /// Notes that the client has no stream. False if it once had one, and was silent since the last check.
    pub(super) fn record_no_stream(&mut self) -> bool {
        let there = !self.lacked_stream;
        self.lacked_stream = self.had_stream;
        there
    }

    /// The next ping; `None` if the last one is unanswered.
    pub(super) fn next_ping(&mut self) -> Option<OutgoingMessage> {
        if self.is_ping_pending {
            return None;
        }
        self.is_ping_pending = true;
        self.sent += 1;
        let id = RequestId::String(format!("{PING_ID_PREFIX}{}", self.sent).into());
        Some(OutgoingMessage::question(id, "ping", None, None))
    }

    /// Whether an id is that of the ping that waits for its answer.
    pub(super) fn has_pinged(&self, id: &RequestId) -> bool {
        self.is_ping_pending && is_ping(id)
    }

    /// Whether a response answers the ping that waits for it, which the handler must not see.
    pub(super) fn take_pong(&mut self, id: &RequestId) -> bool {
        let ours = self.has_pinged(id);
        if ours {
            self.is_ping_pending = false;
        }
        ours
    }
}

fn is_ping(id: &RequestId) -> bool {
    matches!(id, RequestId::String(id) if id.starts_with(PING_ID_PREFIX))
}
