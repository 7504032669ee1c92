//! Messages of the server as they are written, and what their transport must know of them.

use bytes::Bytes;
use rmcp::model::{ErrorCode, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage, ServerNotification};
use serde::Serialize;
use serde_json::Value;

use crate::budget::block_if_large_with_secrets;
use crate::redact::{Redactor, Redactors};

/// A message in its JSON.
#[derive(Debug, Clone)]
pub(crate) struct OutgoingMessage {
    pub(crate) json: Bytes,
    pub(crate) kind: OutgoingKind,
}

/// What a message is to its transport.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum OutgoingKind {
    /// The answer to a request, whose id is unknown where the message was none; with the code of an error.
    Answer {
        id: Option<RequestId>,
        error: Option<ErrorCode>,
        /// Whether the request was not done, and may be sent again.
        is_unavailable: bool,
    },
    /// A request on behalf of one of the client's.
    Question { id: RequestId, origin: Option<RequestId> },
    /// Progress of a request, whose answer is not written together with it.
    Progress { origin: Option<RequestId> },
    /// A change of a list, or of the resource of a URI: announced twice it says no more than once.
    Change { method: &'static str, uri: Option<String> },
    /// Another notification, on behalf of a request where it has one.
    Notification { origin: Option<RequestId> },
}

/// An error as JSON-RPC has it: with an id that is null where it is unknown.
#[derive(Serialize)]
struct ErrorAnswer<'a> {
    jsonrpc: &'static str,
    id: Option<&'a RequestId>,
    error: &'a ErrorData,
}

/// A request as JSON-RPC has it: parameters that there are none of have no key, as null is none of MCP's.
#[derive(Serialize)]
struct Question<'a> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a Value>,
}

impl OutgoingMessage {
    /// The result of a request, which is JSON.
    pub(crate) fn result(id: RequestId, result: &[u8]) -> OutgoingMessage {
        let id_json = match &id {
            RequestId::Number(number) => number.to_string(),
            RequestId::String(text) => Value::from(&**text).to_string(),
        };
        let parts = [b"{\"jsonrpc\":\"2.0\",\"id\":", id_json.as_bytes(), b",\"result\":", result, b"}"];
        let kind = OutgoingKind::Answer { id: Some(id), error: None, is_unavailable: false };
        OutgoingMessage { json: parts.concat().into(), kind }
    }

    /// The error of a request, or of what was none.
    pub(crate) fn error(id: Option<RequestId>, error: &ErrorData) -> OutgoingMessage {
        let json = encode(&ErrorAnswer { jsonrpc: "2.0", id: id.as_ref(), error });
        OutgoingMessage { json, kind: OutgoingKind::Answer { id, error: Some(error.code), is_unavailable: false } }
    }

    /// The error of a request that was not done, and may be sent again.
    pub(crate) fn unavailable(id: RequestId, error: &ErrorData) -> OutgoingMessage {
        let OutgoingMessage { json, .. } = OutgoingMessage::error(Some(id.clone()), error);
        let kind = OutgoingKind::Answer { id: Some(id), error: Some(error.code), is_unavailable: true };
        OutgoingMessage { json, kind }
    }

    /// A request of the server, on behalf of one of the client's.
    pub(crate) fn question(
        id: RequestId,
        method: &str,
        params: Option<&Value>,
        origin: Option<RequestId>,
    ) -> OutgoingMessage {
        let json = encode(&Question { jsonrpc: "2.0", id: &id, method, params });
        OutgoingMessage { json, kind: OutgoingKind::Question { id, origin } }
    }

    /// A notification of the server, on behalf of a request where it has one: over HTTP that has a stream of its own.
    pub(crate) fn notification(notification: ServerNotification, origin: Option<RequestId>) -> OutgoingMessage {
        use ServerNotification as N;
        let change = |method, uri| OutgoingKind::Change { method, uri };
        let kind = match &notification {
            N::ProgressNotification(_) => OutgoingKind::Progress { origin },
            N::ToolListChangedNotification(_) => change("notifications/tools/list_changed", None),
            N::PromptListChangedNotification(_) => change("notifications/prompts/list_changed", None),
            N::ResourceListChangedNotification(_) => change("notifications/resources/list_changed", None),
            N::ResourceUpdatedNotification(updated) => {
                change("notifications/resources/updated", Some(updated.params.uri.clone()))
            }
            _ => OutgoingKind::Notification { origin },
        };
        let message: ServerJsonRpcMessage = JsonRpcMessage::notification(notification);
        OutgoingMessage { json: encode(&message), kind }
    }

    /// The message without secrets.
    #[must_use]
    pub(crate) fn redact(self, redactors: &Redactors) -> OutgoingMessage {
        if redactors.is_empty() {
            return self;
        }
        let json = block_if_large_with_secrets(self.bytes(), || redactors.redact_message(self.json.into()));
        OutgoingMessage { json: json.into(), kind: self.kind }
    }

    /// The message without what `redactor` finds, as of one request.
    #[must_use]
    pub(crate) fn redact_with(self, redactor: &Redactor) -> OutgoingMessage {
        let json = block_if_large_with_secrets(self.bytes(), || redactor.redact_message(self.json.into()));
        OutgoingMessage { json: json.into(), kind: self.kind }
    }

    /// The request that it answers.
    pub(crate) fn answered_request(&self) -> Option<&RequestId> {
        match &self.kind {
            OutgoingKind::Answer { id, .. } => id.as_ref(),
            _ => None,
        }
    }

    /// Whether it is an answer, a known request's or not.
    pub(crate) fn is_answer(&self) -> bool {
        matches!(self.kind, OutgoingKind::Answer { .. })
    }

    /// Whether both announce the same change.
    pub(crate) fn is_same_change(&self, other: &OutgoingMessage) -> bool {
        matches!(self.kind, OutgoingKind::Change { .. }) && self.kind == other.kind
    }

    /// How many bytes it takes.
    pub(crate) fn bytes(&self) -> u64 {
        self.json.len() as u64
    }
}

/// What has no maps but of texts is always serialized.
fn encode(message: &impl Serialize) -> Bytes {
    let json = serde_json::to_vec(message).inspect_err(|error| tracing::error!(%error, "cannot serialize message"));
    json.unwrap_or_default().into()
}
