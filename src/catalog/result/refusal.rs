//! Why a call has no result, and how errors of templates, budgets and actions become that.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::action::{ActionError, Checkpoint, ClientCapability, PendingQuestions};
use crate::budget::BudgetExceeded;
use crate::catalog::MAX_URI_DATA_CHARS;
use crate::diagnostic::truncate;
use crate::template::RenderError;
use crate::world::WorldError;

/// Why a call has no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    pub kind: RefusalKind,
    /// The message for the caller: lower case, no full stop, no secrets.
    pub message: String,
    /// Details for programs.
    pub data: Option<Value>,
}

/// Why a call has no result now.
#[derive(Debug, Clone, PartialEq)]
pub enum CallError {
    Refused(Refusal),
    /// The client is asked, and the call continues with its next request.
    InputRequired(Box<PendingQuestions>),
    /// The call continues as a task, from here.
    Detached(Box<Checkpoint>),
}

impl CallError {
    /// The refusal that it is where nothing may wait.
    pub fn into_refusal(self) -> Refusal {
        match self {
            CallError::Refused(refusal) => refusal,
            CallError::InputRequired(_) | CallError::Detached(_) => {
                Refusal::new(RefusalKind::Internal, "the call cannot wait for its client")
            }
        }
    }

    /// The kind of its refusal, if it is one.
    pub fn refusal_kind(&self) -> Option<RefusalKind> {
        match self {
            CallError::Refused(refusal) => Some(refusal.kind),
            CallError::InputRequired(_) | CallError::Detached(_) => None,
        }
    }
}

impl Refusal {
    /// Refuses with a message.
    pub fn new(kind: RefusalKind, message: impl Into<String>) -> Refusal {
        Refusal { kind, message: message.into(), data: None }
    }

    /// Nothing answers a URI.
    pub(in crate::catalog) fn not_found(uri: &str, message: impl Into<String>) -> Refusal {
        Refusal::new(RefusalKind::NotFound, message).with_data(json!({ "uri": truncate(uri, MAX_URI_DATA_CHARS) }))
    }

    /// The caller lacks some of the scopes that the request needs.
    pub(in crate::catalog) fn insufficient_scope(needed: &BTreeSet<String>) -> Refusal {
        let names: Vec<String> = needed.iter().map(|scope| format!("`{scope}`")).collect();
        let message = match needed.is_empty() {
            true => "this needs a caller who is known".to_owned(),
            false => format!("insufficient scope: this needs {}", names.join(", ")),
        };
        Refusal::new(RefusalKind::InsufficientScope, message).with_data(json!({ "requiredScopes": needed }))
    }

    /// All scopes that the request needs, where the caller lacks one of them.
    pub fn required_scopes(&self) -> BTreeSet<String> {
        let data = self.data.as_ref().filter(|_| self.kind == RefusalKind::InsufficientScope);
        let scopes = data.and_then(|data| data.get("requiredScopes")).and_then(Value::as_array);
        scopes.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// Adds details for programs.
    pub fn with_data(mut self, data: Value) -> Refusal {
        self.data = Some(data);
        self
    }
}

/// The kinds of [`Refusal`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusalKind {
    /// No tool has that name.
    UnknownTool,
    /// No prompt has that name.
    UnknownPrompt,
    /// No argument has that name, or the reference has no completion.
    UnknownReference,
    /// The arguments do not fit what is declared.
    BadArguments,
    /// The URI is invalid.
    BadUri,
    /// The resource does not exist.
    NotFound,
    /// An action timed out.
    TimedOut,
    /// The entry has too many calls, at once or in a period.
    LimitReached,
    /// The client lacks capabilities, which are the refusal's `data` as MCP writes them.
    MissingCapability,
    /// The caller lacks scopes: [`Refusal::required_scopes`] are all that the request needs.
    InsufficientScope,
    /// The caller may not do this, whatever it shows.
    NotPermitted,
    /// The entry changed while the call waited.
    EntryChanged,
    /// The manifest refuses with its own code.
    CustomCode(i32),
    /// The caller no longer wants the answer.
    Cancelled,
    /// Something failed on this side.
    Internal,
}

/// A value that a template rejects is the caller's mistake.
impl From<RenderError> for Refusal {
    fn from(error: RenderError) -> Refusal {
        match error {
            RenderError::BudgetExceeded(why) => why.into(),
            error @ RenderError::OutputMismatch { .. } => Refusal::new(RefusalKind::Internal, error.to_string()),
            error => Refusal::new(RefusalKind::BadArguments, error.to_string()),
        }
    }
}

impl From<BudgetExceeded> for Refusal {
    fn from(why: BudgetExceeded) -> Refusal {
        let kind = match why {
            BudgetExceeded::Memory => RefusalKind::BadArguments,
            BudgetExceeded::Time { .. } => RefusalKind::TimedOut,
            BudgetExceeded::Cancelled => RefusalKind::Cancelled,
            BudgetExceeded::Busy => RefusalKind::Internal,
        };
        Refusal::new(kind, why.to_string())
    }
}

impl<E: Into<Refusal>> From<E> for CallError {
    fn from(error: E) -> CallError {
        CallError::Refused(error.into())
    }
}

impl From<ActionError> for CallError {
    fn from(failure: ActionError) -> CallError {
        let kind = match &failure {
            ActionError::BudgetExceeded(why) | ActionError::Render(RenderError::BudgetExceeded(why)) => {
                return CallError::Refused((*why).into());
            }
            ActionError::World(WorldError::Cancelled) => RefusalKind::Cancelled,
            ActionError::World(WorldError::TimedOut { .. } | WorldError::ProgramLimit { .. }) => RefusalKind::TimedOut,
            ActionError::Request(error) if matches!(error.source, WorldError::TimedOut { .. }) => RefusalKind::TimedOut,
            ActionError::Render(RenderError::OutputMismatch { .. }) => RefusalKind::Internal,
            ActionError::Render(_) | ActionError::BadArgument(_) => RefusalKind::BadArguments,
            ActionError::Message { code: Some(code), .. } => RefusalKind::CustomCode(*code),
            ActionError::MissingCapabilities(_) => RefusalKind::MissingCapability,
            ActionError::InsufficientScope { .. } => RefusalKind::InsufficientScope,
            ActionError::RunChanged => RefusalKind::EntryChanged,
            _ => RefusalKind::Internal,
        };
        let refusal = Refusal::new(kind, failure.to_string());
        CallError::Refused(match failure {
            ActionError::InputRequired(pending) => return CallError::InputRequired(pending),
            ActionError::Detached(checkpoint) => return CallError::Detached(checkpoint),
            ActionError::InsufficientScope { needed, .. } => refusal.with_data(json!({ "requiredScopes": needed })),
            ActionError::MissingCapabilities(needs) => {
                refusal.with_data(Value::Object(ClientCapability::capabilities(&needs)))
            }
            _ => refusal,
        })
    }
}

/// The error of the step that used an entry.
impl From<CallError> for ActionError {
    fn from(error: CallError) -> ActionError {
        let refusal = match error {
            CallError::Refused(refusal) => refusal,
            CallError::InputRequired(pending) => return ActionError::InputRequired(pending),
            CallError::Detached(checkpoint) => return ActionError::Detached(checkpoint),
        };
        match refusal.kind {
            RefusalKind::Cancelled => WorldError::Cancelled.into(),
            RefusalKind::EntryChanged => ActionError::RunChanged,
            RefusalKind::MissingCapability => {
                ActionError::MissingCapabilities(ClientCapability::from_capabilities(refusal.data.as_ref()))
            }
            RefusalKind::InsufficientScope => {
                ActionError::InsufficientScope { needed: refusal.required_scopes(), message: refusal.message }
            }
            RefusalKind::CustomCode(code) => ActionError::Message { message: refusal.message, code: Some(code) },
            _ => ActionError::Message { message: refusal.message, code: None },
        }
    }
}

impl RefusalKind {
    /// Whether a refused `tools/call` has a result for the model to read; the others are protocol errors.
    pub fn is_tool_error(self) -> bool {
        !matches!(
            self,
            RefusalKind::Cancelled
                | RefusalKind::EntryChanged
                | RefusalKind::MissingCapability
                | RefusalKind::InsufficientScope
                | RefusalKind::CustomCode(_)
        )
    }
}
