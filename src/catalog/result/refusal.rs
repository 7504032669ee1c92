//! Why a call has no result, and how errors of templates, budgets and actions become that.

use serde_json::{Value, json};

use crate::action::{ActionError, ClientCapability, PendingQuestions};
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
    /// The questions to the client, if the call waits for answers.
    pub pending_questions: Option<Box<PendingQuestions>>,
}

impl Refusal {
    /// Refuses with a message.
    pub fn new(kind: RefusalKind, message: impl Into<String>) -> Refusal {
        Refusal { kind, message: message.into(), data: None, pending_questions: None }
    }

    /// Nothing answers a URI.
    pub(in crate::catalog) fn not_found(uri: &str, message: impl Into<String>) -> Refusal {
        Refusal::new(RefusalKind::NotFound, message).with_data(json!({ "uri": truncate(uri, MAX_URI_DATA_CHARS) }))
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
    /// The client is asked, and the call continues with its next request.
    InputRequired,
    /// The call continues as a task, from the checkpoint in `pending_questions`.
    Detached,
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

impl From<ActionError> for Refusal {
    fn from(failure: ActionError) -> Refusal {
        if let ActionError::BudgetExceeded(why) | ActionError::Render(RenderError::BudgetExceeded(why)) = failure {
            return why.into();
        }
        let kind = match &failure {
            ActionError::World(WorldError::Cancelled) => RefusalKind::Cancelled,
            ActionError::World(WorldError::TimedOut { .. } | WorldError::ProgramLimit { .. }) => RefusalKind::TimedOut,
            ActionError::Request(error) if matches!(error.source, WorldError::TimedOut { .. }) => RefusalKind::TimedOut,
            ActionError::Render(RenderError::OutputMismatch { .. }) => RefusalKind::Internal,
            ActionError::Render(_) | ActionError::BadArgument(_) => RefusalKind::BadArguments,
            ActionError::Message { code: Some(code), .. } => RefusalKind::CustomCode(*code),
            ActionError::MissingCapabilities(_) => RefusalKind::MissingCapability,
            ActionError::InputRequired(_) => RefusalKind::InputRequired,
            ActionError::RunChanged => RefusalKind::EntryChanged,
            ActionError::Detached(_) => RefusalKind::Detached,
            _ => RefusalKind::Internal,
        };
        let refusal = Refusal::new(kind, failure.to_string());
        match failure {
            ActionError::MissingCapabilities(needs) => {
                refusal.with_data(Value::Object(ClientCapability::capabilities(&needs)))
            }
            ActionError::InputRequired(asking) => Refusal { pending_questions: Some(asking), ..refusal },
            ActionError::Detached(checkpoint) => {
                let asking = PendingQuestions { questions: Vec::new(), checkpoint: *checkpoint };
                Refusal { pending_questions: Some(Box::new(asking)), ..refusal }
            }
            _ => refusal,
        }
    }
}

/// The error of the step that used an entry.
impl From<Refusal> for ActionError {
    fn from(refusal: Refusal) -> ActionError {
        match (refusal.kind, refusal.pending_questions) {
            (RefusalKind::Cancelled, _) => WorldError::Cancelled.into(),
            (RefusalKind::InputRequired, Some(asking)) => ActionError::InputRequired(asking),
            (RefusalKind::EntryChanged, _) => ActionError::RunChanged,
            (RefusalKind::MissingCapability, _) => {
                ActionError::MissingCapabilities(ClientCapability::from_capabilities(refusal.data.as_ref()))
            }
            (RefusalKind::CustomCode(code), _) => ActionError::Message { message: refusal.message, code: Some(code) },
            _ => ActionError::Message { message: refusal.message, code: None },
        }
    }
}

impl RefusalKind {
    /// Whether a refused `tools/call` has a result for the model to read; the others are protocol errors.
    pub(in crate::catalog) fn is_tool_error(self) -> bool {
        !matches!(
            self,
            RefusalKind::Cancelled
                | RefusalKind::InputRequired
                | RefusalKind::EntryChanged
                | RefusalKind::Detached
                | RefusalKind::MissingCapability
                | RefusalKind::CustomCode(_)
        )
    }
}
