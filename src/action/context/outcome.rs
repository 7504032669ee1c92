//! The outcome and the errors of an action.

use std::collections::BTreeSet;

use serde_json::Value;

use super::checkpoint::{Checkpoint, PendingQuestions};
use super::client::ClientCapability;
use super::request_error::RequestError;
use crate::budget::{BudgetExceeded, memory_size};
use crate::template::RenderError;
use crate::world::{CapturedBytes, WorldError};

/// The outcome of an action.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionOutcome {
    /// Its fields, as `steps.ID` and `result`.
    pub value: Value,
    /// The default content of a result.
    pub body: OutcomeBody,
    /// The error message for the caller, if it failed.
    pub failure: Option<String>,
    /// The HTTP status, if it was a request.
    pub status: Option<u16>,
    /// What the caller must know of the body, such as that it is not complete; without a body, what was done.
    pub note: Option<String>,
    /// The stdout, if it ran a program, for a later step.
    pub stdout: Option<CapturedBytes>,
}

/// The body of an outcome.
#[derive(Debug, Clone, PartialEq)]
pub enum OutcomeBody {
    /// Nothing.
    None,
    Text(String),
    /// A JSON value, and its text.
    Json(Value, String),
    /// Bytes, with their media type.
    Bytes(Vec<u8>, String),
}

/// Why an action has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum ActionError {
    /// A template could not be rendered.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// The budget of the call is exhausted.
    #[error(transparent)]
    BudgetExceeded(#[from] BudgetExceeded),
    /// A program or a request failed.
    #[error(transparent)]
    World(#[from] WorldError),
    /// A request got no response.
    #[error(transparent)]
    Request(#[from] Box<RequestError>),
    /// A part of a response could not be selected.
    #[error(transparent)]
    Select(#[from] crate::action::SelectError),
    /// The client did not say its roots.
    #[error("the client did not answer `roots/list` in time")]
    RootsUnanswered,
    /// A value that a program or a request cannot be given.
    #[error("{0}")]
    BadArgument(String),
    /// A message of the manifest or of a step.
    #[error("{message}")]
    Message {
        message: String,
        /// The code of the JSON-RPC error to send, if any.
        code: Option<i32>,
    },
    /// The client lacks required capabilities.
    #[error("{}", missing_capabilities_message(.0))]
    MissingCapabilities(Vec<ClientCapability>),
    /// The caller lacks scopes, of all these that the request needs.
    #[error("{message}")]
    InsufficientScope { message: String, needed: BTreeSet<String> },
    /// The definition changed while the run waited for its client.
    #[error("the definition changed after the question was asked: call it again")]
    RunChanged,
    /// The run continues as a task, from here.
    #[error("the run continues as a task")]
    Detached(Box<Checkpoint>),
    /// The client was asked, and its next request continues the run.
    #[error("waiting for the client to answer")]
    InputRequired(Box<PendingQuestions>),
}

fn missing_capabilities_message(needs: &[ClientCapability]) -> String {
    let names: Vec<String> = needs.iter().map(|capability| format!("`{}`", capability.name())).collect();
    format!("missing client capability: {}", names.join(", "))
}

impl ActionError {
    /// A limit that is exceeded when an action has done what it does; `effect` says so to the caller.
    pub(in crate::action) fn limit_error_after(why: BudgetExceeded, effect: &str) -> ActionError {
        match why {
            BudgetExceeded::Cancelled | BudgetExceeded::Time { .. } => why.into(),
            _ => ActionError::message(format!("{why}\n{effect}")),
        }
    }

    /// An error about the output of an action that has done what it does: `effect` says so, and the output is `shown`, as
    /// the caller would do it again for either.
    pub(in crate::action) fn about_output(self, effect: &str, shown: &str) -> ActionError {
        match self {
            ActionError::Message { code: None, .. } => {
                let separator = if shown.is_empty() { "" } else { "\n" };
                ActionError::message(format!("{effect}; {self}{separator}{shown}"))
            }
            other => other,
        }
    }

    /// An error about output of which more was written than is kept.
    pub(in crate::action) fn truncated(what: &str, output: &CapturedBytes, limit: u64) -> ActionError {
        let missing = output.missing_bytes;
        ActionError::message(format!("truncated {what}: {missing} bytes over the limit of {limit}; raise `maxOutput`"))
    }

    /// An error about output that is not JSON.
    pub(in crate::action) fn invalid_json(reason: &str) -> ActionError {
        ActionError::message(format!("invalid JSON in the output: {reason}"))
    }

    /// As `error.type` of a span names it; `None` where the run goes on later.
    pub(in crate::action) fn span_type(&self) -> Option<&'static str> {
        match self {
            ActionError::World(error) => Some(error.span_type()),
            ActionError::Detached(_) | ActionError::InputRequired(_) => None,
            _ => Some("_OTHER"),
        }
    }

    /// An error with a message.
    pub(in crate::action) fn message(message: String) -> ActionError {
        ActionError::Message { message, code: None }
    }
}

impl ActionOutcome {
    /// As `error.type` of a span names it.
    pub(in crate::action) fn span_type(&self) -> Option<&'static str> {
        self.failure.is_some().then_some("tool_error")
    }
}

impl OutcomeBody {
    /// The body as JSON, where it is a text that is JSON.
    #[must_use]
    pub fn into_json(self) -> OutcomeBody {
        match self {
            OutcomeBody::Text(text) => match serde_json::from_str(&text) {
                Ok(value) => OutcomeBody::Json(value, trimmed(text)),
                Err(_) => OutcomeBody::Text(text),
            },
            other => other,
        }
    }

    /// Its approximate size in bytes.
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
    /// The approximate size in bytes.
    pub(in crate::action) fn memory_size(&self) -> usize {
        let of_body = match &self.body {
            OutcomeBody::Json(value, _) => memory_size(value),
            _ => 0,
        };
        memory_size(&self.value).saturating_add(of_body).saturating_add(self.body.size())
    }

    /// The outcome of an action without output.
    pub(in crate::action) fn empty() -> ActionOutcome {
        ActionOutcome::success(Value::Null, OutcomeBody::None)
    }

    /// A successful outcome.
    pub fn success(value: Value, body: OutcomeBody) -> ActionOutcome {
        ActionOutcome { value, body, failure: None, status: None, note: None, stdout: None }
    }
}

/// A text without white space around it.
pub(in crate::action) fn trimmed(mut text: String) -> String {
    text.truncate(text.trim_end().len());
    let start = text.len() - text.trim_start().len();
    text.drain(..start);
    text
}
