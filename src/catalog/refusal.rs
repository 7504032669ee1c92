//! Converts errors of templates, budgets and actions into refusals.

use serde_json::Value;

use crate::action::{ActionError, ClientCapability, PendingQuestions};
use crate::budget::BudgetExceeded;
use crate::template::RenderError;
use crate::world::{WorldError, excerpt};

use super::call_result::{Refusal, RefusalKind};

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
            BudgetExceeded::Work | BudgetExceeded::Memory => RefusalKind::BadArguments,
            BudgetExceeded::Time { .. } => RefusalKind::TimedOut,
            BudgetExceeded::Cancelled => RefusalKind::Cancelled,
            BudgetExceeded::Busy | BudgetExceeded::NeedsBlockingThread => RefusalKind::Internal,
        };
        Refusal::new(kind, why.to_string())
    }
}

impl From<ActionError> for Refusal {
    fn from(failure: ActionError) -> Refusal {
        if let ActionError::BudgetExceeded(why) | ActionError::Render(RenderError::BudgetExceeded(why)) = failure {
            return why.into();
        }
        let message = match &failure {
            ActionError::World(WorldError::TimedOut { stderr, .. }) if !stderr.bytes.trim_ascii().is_empty() => {
                format!("{failure}:\n{}", excerpt(&stderr.to_display_text()))
            }
            _ => failure.to_string(),
        };
        let kind = match &failure {
            ActionError::World(WorldError::Cancelled) => RefusalKind::Cancelled,
            ActionError::World(WorldError::TimedOut { .. } | WorldError::ProgramLimit { .. }) => RefusalKind::TimedOut,
            ActionError::Request(error) if matches!(error.world_error(), WorldError::TimedOut { .. }) => {
                RefusalKind::TimedOut
            }
            ActionError::Render(RenderError::OutputMismatch { .. }) => RefusalKind::Internal,
            ActionError::Render(_)
            | ActionError::LeadingDash { .. }
            | ActionError::NulByte { .. }
            | ActionError::ArgumentTooLong { .. } => RefusalKind::BadArguments,
            ActionError::Message { code: Some(code), .. } => RefusalKind::CustomCode(*code),
            ActionError::MissingCapabilities(_) => RefusalKind::MissingCapability,
            ActionError::Asks(_) => RefusalKind::InputRequired,
            ActionError::RunChanged => RefusalKind::EntryChanged,
            ActionError::Detached(_) => RefusalKind::Detached,
            _ => RefusalKind::Internal,
        };
        let refusal = Refusal::new(kind, message);
        match failure {
            ActionError::MissingCapabilities(needs) => {
                refusal.with_data(Value::Object(ClientCapability::capabilities(&needs)))
            }
            ActionError::Asks(asking) => Refusal { pending_questions: Some(asking), ..refusal },
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
            (RefusalKind::InputRequired, Some(asking)) => ActionError::Asks(asking),
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
    pub(super) fn is_tool_error(self) -> bool {
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
