//! `progress`: how far the work is, where the client gave a token.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Act, Doing, Failure, Outcome, Progressed, Written};
use crate::compile::{Compiler, Exposure};
use crate::diagnostic::Code;
use crate::notation::Scalar;
use crate::template::{Json, Scope, Template, Text, text_of};
use crate::yaml::Spanned;

/// How far the work is.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Progress")]
pub struct Spec {
    /// How much is done: a number, or a template that gives one.
    #[schemars(with = "Scalar", extend("x-required" = true))]
    pub progress: Option<Spanned<Scalar>>,
    /// How much there is in all.
    pub total: Option<Spanned<Scalar>>,
    /// What is being done, a template.
    pub message: Option<Spanned<String>>,
}

pub struct Progress {
    progress: Template<Json>,
    total: Option<Template<Json>>,
    message: Option<Template<Text>>,
}

impl Act for Progress {
    type Spec = Spec;

    fn compile(written: Written<'_, Spec>, compiler: &mut Compiler<'_>) -> Option<Progress> {
        let spec = &written.spec.value;
        if spec.progress.is_none() {
            compiler.error(Code::MissingKey, written.key, "`progress` needs a `progress`: how much is done");
        }
        let progress = spec.progress.as_ref().and_then(|progress| number(progress, compiler));
        let total = spec.total.as_ref().and_then(|total| number(total, compiler));
        let message = compiler.optional(spec.message.as_ref(), Exposure::Client);
        Some(Progress { progress: progress?, total, message })
    }

    async fn act(&self, doing: &Doing<'_>) -> Result<Outcome, Failure> {
        let progress = value(&self.progress, doing.scope)?
            .ok_or_else(|| Failure::words("how much is done is not said: `progress` is no number".to_owned()))?;
        let total = match &self.total {
            Some(total) => value(total, doing.scope)?,
            None => None,
        };
        let message = match &self.message {
            Some(message) => Some(message.render(doing.scope)?.0),
            None => None,
        };
        doing.client.progress(Progressed { progress, total, message }).await;
        Ok(Outcome::nothing())
    }
}

fn number(written: &Spanned<Scalar>, compiler: &mut Compiler<'_>) -> Option<Template<Json>> {
    let text = Spanned::new(written.value.0.clone(), written.at);
    if !text.contains("{{") && text.parse::<f64>().is_err() {
        compiler.error(Code::WrongType, written.at, "expected a number, or a template that gives one");
    }
    compiler.template(&text, Exposure::Client)
}

fn value(template: &Template<Json>, scope: &Scope) -> Result<Option<f64>, Failure> {
    let value = template.render(scope)?.0.unwrap_or_default();
    let number = value.as_f64().or_else(|| text_of(&value).trim().parse().ok());
    Ok(number.filter(|number| number.is_finite()))
}
