//! Tracks by pings whether the client of a session is alive.

use rmcp::model::RequestId;

use crate::server::OutgoingMessage;

/// The ids of our own requests begin with it; the handler's are numbers.
const PING_ID_PREFIX: &str = "folio-ping-";

/// Whether a client is alive.
#[derive(Default)]
pub(super) struct Liveness {
    sent: u64,
    /// Whether the client has said nothing since the last ping.
    is_silent: bool,
}

impl Liveness {
    /// Notes a message of the client, such as the answer to a ping.
    pub(super) fn record_message(&mut self) {
        self.is_silent = false;
    }

    /// The next ping; `None` where the client has said nothing since the last.
    pub(super) fn next_ping(&mut self) -> Option<OutgoingMessage> {
        if std::mem::replace(&mut self.is_silent, true) {
            return None;
        }
        self.sent += 1;
        let id = RequestId::String(format!("{PING_ID_PREFIX}{}", self.sent).into());
        Some(OutgoingMessage::question(id, "ping", None, None))
    }
}

/// Whether an id is that of a ping. Nobody waits for its answer, which shows that the client lives, as any message does.
pub(super) fn is_ping(id: &RequestId) -> bool {
    matches!(id, RequestId::String(id) if id.starts_with(PING_ID_PREFIX))
}
