//! `onFail`: whether the run goes on after a step that fails.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::action::{ActionError, ActionOutcome, OutcomeBody, Step};
use crate::compile::Compiler;
use crate::diagnostic::Code;
use crate::template::{RenderError, Shape};
use crate::world::WorldError;
use crate::yaml::Spanned;

/// What the failure of a step does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnFail {
    /// Ends the run.
    #[default]
    Stop,
    /// Goes on; the outcome has an `error`: `{ status, exit, text }`.
    Continue,
}

/// The shape of an outcome that may be an error.
pub(in crate::action) fn shape_with_error(outcome: Shape, on_fail: Option<OnFail>) -> Shape {
    if on_fail != Some(OnFail::Continue) {
        return outcome;
    }
    let mut fields = match outcome {
        Shape::Object(fields) => fields,
        Shape::Any => Arc::new(BTreeMap::new()),
        other => return other,
    };
    let error = Shape::object([("status", Shape::Number), ("exit", Shape::Number), ("text", Shape::Text)]);
    Arc::make_mut(&mut fields).insert("error".to_owned(), error);
    Shape::Object(fields)
}

/// Reports `onFail` of an action that cannot go on.
pub(super) fn check(step: &Step, compiler: &mut Compiler<'_>) {
    let Some(on_fail) = &step.on_fail else { return };
    let action = step.actions().first().map_or("", |action| action.key);
    let help = match action {
        "ask" => "write `onDecline: continue` or `optional: true` beside the question",
        "fail" => "remove it: `fail` is there to end the run",
        _ => return,
    };
    compiler.error(Code::Conflict, on_fail.location, format!("`onFail` cannot be used with `{action}`")).help(help);
}

/// Whether the run goes on after a failure of the step.
pub(super) fn continues_on_failure(on_fail: Option<&Spanned<OnFail>>) -> bool {
    on_fail.is_some_and(|on_fail| on_fail.value == OnFail::Continue)
}

/// The outcome of a step whose failure is tolerated: one that says why.
pub(super) fn into_tolerated_outcome(ended: Result<ActionOutcome, ActionError>) -> Result<ActionOutcome, ActionError> {
    match ended {
        Ok(ActionOutcome { value, failure: Some(text), status, stdout, .. }) => {
            Ok(ActionOutcome { stdout, ..failed_outcome(value, status, text) })
        }
        Err(error) if is_failure_of_step(&error) => Ok(failed_outcome(Value::Null, None, error.to_string())),
        ended => ended,
    }
}

fn failed_outcome(value: Value, status: Option<u16>, text: String) -> ActionOutcome {
    let mut fields = match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    let exit = fields.get("exit").cloned().unwrap_or_default();
    fields.insert("error".to_owned(), json!({ "status": status, "exit": exit, "text": text }));
    ActionOutcome::success(Value::Object(fields), OutcomeBody::None)
}

/// Whether it is the step that failed, and not the call as a whole.
fn is_failure_of_step(error: &ActionError) -> bool {
    match error {
        ActionError::BudgetExceeded(_)
        | ActionError::Render(RenderError::BudgetExceeded(_))
        | ActionError::World(WorldError::Cancelled)
        | ActionError::MissingCapabilities(_)
        | ActionError::InsufficientScope { .. }
        | ActionError::RunChanged
        | ActionError::Detached(_)
        | ActionError::InputRequired(_) => false,
        ActionError::Render(_)
        | ActionError::World(_)
        | ActionError::Request(_)
        | ActionError::Select(_)
        | ActionError::RootsUnanswered
        | ActionError::BadArgument(_)
        | ActionError::Message { .. } => true,
    }
}
