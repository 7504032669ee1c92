//! What a session knows of whether its client is there. When that is looked at, and what comes of it, is not in here.

use rmcp::{
    RoleServer,
    model::{JsonRpcMessage, PingRequest, RequestId, ServerRequest},
    service::TxJsonRpcMessage,
};

/// The ids of our own requests begin with it; the handler's are numbers.
const PING_ID_PREFIX: &str = "folio-ping-";

/// Whether a client is there, as far as it is known.
#[derive(Default)]
pub(super) struct Presence {
    sent: u64,
    is_ping_pending: bool,
    /// Whether the client has ever had a stream that waits for changes.
    had_stream: bool,
    /// Whether it had none when it was last looked at.
    lacked_stream: bool,
}

impl Presence {
    /// It has said something.
    pub(super) fn note_message(&mut self) {
        self.lacked_stream = false;
    }

    /// It has a stream on which it can be asked.
    pub(super) fn note_stream(&mut self) {
        self.had_stream = true;
        self.lacked_stream = false;
    }

    /// It has no stream. False where it had one once, and has not been heard of since it was last missed.
    pub(super) fn note_no_stream(&mut self) -> bool {
        let there = !self.lacked_stream;
        self.lacked_stream = self.had_stream;
        there
    }

    /// The question whether it is there; none where it has not answered the last one.
    pub(super) fn next_ping(&mut self) -> Option<TxJsonRpcMessage<RoleServer>> {
        if self.is_ping_pending {
            return None;
        }
        self.is_ping_pending = true;
        self.sent += 1;
        let id = RequestId::String(format!("{PING_ID_PREFIX}{}", self.sent).into());
        Some(JsonRpcMessage::request(ServerRequest::PingRequest(PingRequest::default()), id))
    }

    /// Whether an answer is one to a question of ours, which is no business of the handler's.
    pub(super) fn take_pong(&mut self, id: &RequestId) -> bool {
        let ours = matches!(id, RequestId::String(id) if id.starts_with(PING_ID_PREFIX));
        if ours {
            self.is_ping_pending = false;
        }
        ours
    }
}
