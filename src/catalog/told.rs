//! What went wrong, in words for whoever called.

use serde_json::Value;

use crate::action::{Asking, Failure, Need};
use crate::budget::Exhausted;
use crate::template::RenderError;
use crate::world::{WorldError, tail};

use super::answer::{Refusal, RefusalKind};

/// A value that a template refuses is the caller's fault.
pub(super) fn refused(error: RenderError) -> Refusal {
    match error {
        RenderError::Exhausted(why) => exhausted(why),
        error => Refusal::new(RefusalKind::BadArguments, error.to_string()),
    }
}

/// Why a call may do no more, as a refusal.
pub(super) fn exhausted(why: Exhausted) -> Refusal {
    let kind = match why {
        Exhausted::Work | Exhausted::Memory => RefusalKind::BadArguments,
        Exhausted::Time { .. } => RefusalKind::TimedOut,
        Exhausted::Cancelled => RefusalKind::Cancelled,
        Exhausted::Busy | Exhausted::Here => RefusalKind::Internal,
    };
    Refusal::new(kind, why.to_string())
}

/// Why an action gave nothing, as a refusal.
pub(super) fn failed(failure: Failure) -> Refusal {
    if let Failure::Exhausted(why) | Failure::Render(RenderError::Exhausted(why)) = failure {
        return exhausted(why);
    }
    let message = match &failure {
        Failure::World(WorldError::TimedOut { said, .. }) if !said.bytes.trim_ascii().is_empty() => {
            format!("{failure}:\n{}", tail(&said.to_text()))
        }
        _ => failure.to_string(),
    };
    let kind = match &failure {
        Failure::World(WorldError::Cancelled) => RefusalKind::Cancelled,
        Failure::World(WorldError::TimedOut { .. } | WorldError::TooManyPrograms { .. }) => RefusalKind::TimedOut,
        Failure::Render(_) | Failure::Dash { .. } | Failure::Nul { .. } | Failure::TooLong { .. } => {
            RefusalKind::BadArguments
        }
        Failure::Said { code: Some(code), .. } => RefusalKind::Own(*code),
        Failure::Needs(_) => RefusalKind::Needs,
        Failure::Asks(_) => RefusalKind::Asks,
        Failure::Changed => RefusalKind::Changed,
        Failure::Detached(_) => RefusalKind::Detached,
        _ => RefusalKind::Internal,
    };
    let refusal = Refusal::new(kind, message);
    match failure {
        Failure::Needs(needs) => refusal.with_data(Value::Object(Need::capabilities(&needs))),
        Failure::Asks(asking) => Refusal { asking: Some(asking), ..refusal },
        Failure::Detached(checkpoint) => {
            let asking = Asking { questions: Vec::new(), checkpoint: *checkpoint };
            Refusal { asking: Some(Box::new(asking)), ..refusal }
        }
        _ => refusal,
    }
}

/// Why an entry gave nothing, to the step that used it.
pub(super) fn told_to_step(refusal: Refusal) -> Failure {
    match (refusal.kind, refusal.asking) {
        (RefusalKind::Cancelled, _) => WorldError::Cancelled.into(),
        (RefusalKind::Asks, Some(asking)) => Failure::Asks(asking),
        (RefusalKind::Changed, _) => Failure::Changed,
        (RefusalKind::Needs, _) => Failure::Needs(Need::of(refusal.data.as_ref())),
        (RefusalKind::Own(code), _) => Failure::Said { message: refusal.message, code: Some(code) },
        _ => Failure::Said { message: refusal.message, code: None },
    }
}

/// Whether a tool tells its model what went wrong; the rest is the client's to know.
pub(super) fn is_for_the_model(kind: RefusalKind) -> bool {
    !matches!(
        kind,
        RefusalKind::Cancelled
            | RefusalKind::Asks
            | RefusalKind::Changed
            | RefusalKind::Detached
            | RefusalKind::Needs
            | RefusalKind::Own(_)
    )
}
