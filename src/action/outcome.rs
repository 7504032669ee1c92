//! What an action gave, or why it gave nothing.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{Checkpoint, ClientCapability, McpClient, PackEntries, PendingQuestions};
use crate::budget::{ClientWait, Exhausted};
use crate::files::mime_of;
use crate::template::{RenderError, Scope};
use crate::world::{CapturedBytes, World, WorldError};

/// What all steps of a run share.
pub struct RunContext<'a> {
    /// Runs programs and sends requests.
    pub world: &'a Arc<dyn World>,
    /// Cancelled when the caller no longer wants the result.
    pub cancel: CancellationToken,
    /// How many bytes of output one action may keep.
    pub max_output: u64,
    /// The folder of the pack.
    pub pack_folder: &'a Path,
    /// The name of the entry that runs.
    pub entry_name: &'a str,
    /// The client of the call.
    pub client: &'a dyn McpClient,
    /// The other entries of the pack.
    pub entries: &'a dyn PackEntries,
    /// Counts the time spent waiting for the client.
    pub client_wait: &'a ClientWait,
    /// Whether a step of another entry gave the arguments, which may then contain the outcome of a step.
    pub called_by_step: bool,
    /// Whether the run may stop after the step that its plan names, to continue as a task.
    pub may_detach: bool,
}

/// What one action is run with.
#[derive(Clone, Copy)]
pub struct ActionContext<'a> {
    /// What it shares with the other steps of its run.
    pub run: &'a RunContext<'a>,
    /// The values that its templates see.
    pub scope: &'a Scope,
    /// How long it may take.
    pub timeout: Duration,
    /// The state in which it waited for the client, if it did.
    pub resume: Option<&'a Checkpoint>,
}

/// What an action gave.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionOutcome {
    /// The outcome's fields, as `steps.ID` and `result` show them.
    pub value: Value,
    /// What it speaks with when nothing else is said.
    pub body: OutcomeBody,
    /// Why it counts as failed, in words for the caller.
    pub failure: Option<String>,
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
}

/// What an action speaks with.
#[derive(Debug, Clone, PartialEq)]
pub enum OutcomeBody {
    /// Nothing.
    None,
    /// Text.
    Text(String),
    /// A JSON value, and the text that it was.
    Json(Value, String),
    /// Bytes, with their type.
    Bytes(Vec<u8>, String),
}

/// Why an action gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum ActionError {
    /// A template, or a value that may not stand where it would.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// The call may do no more.
    #[error(transparent)]
    Exhausted(#[from] Exhausted),
    /// The world.
    #[error(transparent)]
    World(#[from] WorldError),
    /// A value that would be taken for an option.
    #[error("the value of `{argument}` begins with `-` and would be read as an option")]
    LeadingDash {
        /// The argument that the element begins with.
        argument: String,
    },
    /// A value that no environment variable can hold.
    #[error("NUL character in `{argument}`, which an environment variable must not contain")]
    NulByte {
        /// The argument.
        argument: String,
    },
    /// A value that no program can be given.
    #[error("`{argument}` is too long: {place} must not exceed {limit} bytes; pass it by `stdin`")]
    ArgumentTooLong {
        /// The argument, or what else made it so long.
        argument: String,
        /// What is limited.
        place: &'static str,
        /// The most bytes.
        limit: usize,
    },
    /// JSON that was cut.
    #[error("truncated JSON: {missing} bytes over the limit of {limit}")]
    TruncatedJson {
        /// How many bytes are missing.
        missing: u64,
        /// The limit.
        limit: u64,
    },
    /// Text that was to be JSON.
    #[error("invalid JSON in the output: {message}")]
    InvalidJson {
        /// What the parser says.
        message: String,
    },
    /// A folder that an environment variable was to name.
    #[error("the value of `{variable}` is not a folder")]
    NotAFolder {
        /// The variable.
        variable: String,
    },
    /// The manifest's own words, or folio's about what a step came to.
    #[error("{message}")]
    Message {
        /// The words.
        message: String,
        /// The code of a JSON-RPC error, where one is to be sent.
        code: Option<i32>,
    },
    /// The client cannot be asked what has to be asked.
    #[error("{}", missing_capabilities_message(.0))]
    MissingCapabilities(Vec<ClientCapability>),
    /// What was written has changed since the run began to wait for its client.
    #[error("the definition changed after the question was asked: call it again")]
    RunChanged,
    /// The run goes on apart from the request, from here.
    #[error("the run continues as a task")]
    Detached(Box<Checkpoint>),
    /// The client has been asked, and the run goes on with its next request.
    #[error("waiting for the client to answer")]
    Asks(Box<PendingQuestions>),
}

fn missing_capabilities_message(needs: &[ClientCapability]) -> String {
    let names: Vec<String> = needs.iter().map(|need| format!("`{}`", need.name())).collect();
    format!("missing client capability: {}", names.join(", "))
}

impl ActionError {
    /// A failure in words of folio's own.
    pub(super) fn message(message: String) -> ActionError {
        ActionError::Message { message, code: None }
    }
}

impl OutcomeBody {
    /// About how many bytes it holds, without a look at each.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            OutcomeBody::None => 0,
            OutcomeBody::Text(text) | OutcomeBody::Json(_, text) => text.len(),
            OutcomeBody::Bytes(bytes, _) => bytes.len(),
        }
    }
}

impl ActionOutcome {
    /// The outcome of a step that gives nothing.
    pub(super) fn empty() -> ActionOutcome {
        ActionOutcome::success(Value::Null, OutcomeBody::None)
    }

    /// The outcome of a step that went well.
    pub fn success(value: Value, body: OutcomeBody) -> ActionOutcome {
        ActionOutcome { value, body, failure: None, status: None }
    }
}

/// What bytes mean: the JSON in them, and what they speak with.
///
/// # Errors
/// JSON that was cut, and text that was to be JSON and is not.
pub(super) fn parse_body(
    bytes: &CapturedBytes,
    mime_type: Option<&str>,
    wants_json: bool,
    limit: u64,
) -> Result<(Option<Value>, OutcomeBody), ActionError> {
    let Some(text) = bytes.text() else {
        if wants_json {
            return Err(ActionError::InvalidJson { message: "not UTF-8".to_owned() });
        }
        return Ok((None, binary_body(bytes, mime_type)));
    };
    let trimmed = text.trim();
    let says_json = mime_type.is_some_and(|mime| mime.contains("json"));
    let looks_json = wants_json || says_json || trimmed.starts_with(['{', '[']);
    if !looks_json || trimmed.is_empty() && !wants_json {
        return Ok((None, OutcomeBody::Text(bytes.to_display_text())));
    }
    match serde_json::from_str::<Value>(trimmed) {
        Ok(value) => Ok((Some(value.clone()), OutcomeBody::Json(value, trimmed.to_owned()))),
        // What is JSON as far as it goes was JSON.
        Err(error) if bytes.is_truncated() && (wants_json || says_json || error.is_eof()) => {
            Err(ActionError::TruncatedJson { missing: bytes.missing_bytes, limit })
        }
        Err(error) if wants_json => Err(ActionError::InvalidJson { message: error.to_string() }),
        Err(_) => Ok((None, OutcomeBody::Text(bytes.to_display_text()))),
    }
}

/// Bytes that are no text: what they are, or, where they were cut or nothing tells, marked text.
fn binary_body(bytes: &CapturedBytes, mime_type: Option<&str>) -> OutcomeBody {
    let sniffed = || sniff_image_type(&bytes.bytes).map_or_else(|| mime_of("", &bytes.bytes).to_owned(), str::to_owned);
    let mime_type = mime_type.filter(|mime| !mime.starts_with("text/")).map_or_else(sniffed, str::to_owned);
    if bytes.is_truncated() {
        OutcomeBody::Text(bytes.to_display_text())
    } else {
        OutcomeBody::Bytes(bytes.bytes.clone(), mime_type)
    }
}

/// The type of a picture, by the bytes that it begins with.
fn sniff_image_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xFF, 0xD8, 0xFF, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}
