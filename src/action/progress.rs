//! `progress`: reports progress to a client that sent a progress token.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{ActionError, ActionKind, ActionNode, ActionOutcome, ClientUse, ProgressUpdate, StepContext};
use crate::compile::{Compiler, Exposure};
use crate::diagnostic::Code;
use crate::template::{JsonSlot, Scope, Shape, Template, TextSlot, value_to_text};
use crate::value_types::Scalar;
use crate::yaml::Spanned;

/// The progress of the run.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Progress")]
pub struct ProgressSpec {
    /// How much is done: a number, or a template that renders to one.
    #[schemars(with = "Scalar", extend("x-required" = true))]
    pub progress: Option<Spanned<Scalar>>,
    /// The total: a number, or a template that renders to one.
    pub total: Option<Spanned<Scalar>>,
    /// A message, a template.
    pub message: Option<Spanned<String>>,
}

pub struct ProgressAction {
    progress: Template<JsonSlot>,
    total: Option<Template<JsonSlot>>,
    message: Option<Template<TextSlot>>,
}

impl ActionKind for ProgressAction {
    type Spec = ProgressSpec;
    const IS_FOR_DISPLAY: bool = true;
    const TALKS_TO_CLIENT: bool = true;

    fn outcome_shape() -> Shape {
        Shape::Object(std::sync::Arc::default())
    }

    fn compile(node: ActionNode<'_, ProgressSpec>, compiler: &mut Compiler<'_>) -> Option<ProgressAction> {
        let spec = &node.spec.value;
        if spec.progress.is_none() {
            compiler
                .error(Code::MissingKey, node.key, "missing key `progress` in `progress`")
                .help("write how much is done: a number, or a template");
        }
        let progress = spec.progress.as_ref().and_then(|progress| compile_number(progress, compiler));
        let total = spec.total.as_ref().and_then(|total| compile_number(total, compiler));
        let message = compiler.optional_template(spec.message.as_ref(), Exposure::Client);
        Some(ProgressAction { progress: progress?, total, message })
    }

    fn client_use(&self) -> ClientUse {
        ClientUse::ReportsProgress
    }

    async fn execute(&self, context: &StepContext<'_>) -> Result<ActionOutcome, ActionError> {
        let progress = render_number(&self.progress, context.scope)?;
        if progress.is_none() {
            return Err(ActionError::message("invalid `progress`, expected a number".to_owned()));
        }
        let total = match &self.total {
            Some(total) => render_number(total, context.scope)?,
            None => None,
        };
        let message = match &self.message {
            Some(message) => Some(message.render(context.scope)?.0),
            None => None,
        };
        context.entry.client().progress(ProgressUpdate { progress, total, message }).await;
        Ok(ActionOutcome::empty())
    }
}

fn compile_number(number: &Spanned<Scalar>, compiler: &mut Compiler<'_>) -> Option<Template<JsonSlot>> {
    let text = number.to_text();
    if !text.contains("{{") && text.parse::<f64>().is_err() {
        compiler.error(Code::WrongType, number.location, "expected a number, or a template that gives one");
    }
    compiler.template(&text, Exposure::Client)
}

fn render_number(template: &Template<JsonSlot>, scope: &Scope) -> Result<Option<f64>, ActionError> {
    let value = template.render(scope)?.0.unwrap_or_default();
    let number = value.as_f64().or_else(|| value_to_text(&value).trim().parse().ok());
    Ok(number.filter(|number| number.is_finite()))
}
