//! `progress`: how far the work is, where the client gave a token. Checked whole; not yet sent.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Act, Written};
use crate::compile::{Compiler, Exposure};
use crate::diagnostic::Code;
use crate::notation::Scalar;
use crate::template::{Json, Shape, Template, Text};
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

pub struct Progress;

impl Act for Progress {
    type Spec = Spec;
    const NOT_YET: bool = true;

    fn shape() -> Shape {
        Shape::Any
    }

    fn compile(written: Written<'_, Spec>, compiler: &mut Compiler<'_>) -> Option<Progress> {
        let spec = &written.spec.value;
        if spec.progress.is_none() {
            compiler.error(Code::MissingKey, written.key, "`progress` needs a `progress`: how much is done");
        }
        for number in [&spec.progress, &spec.total].into_iter().flatten() {
            let text = Spanned::new(number.value.0.clone(), number.at);
            let _: Option<Template<Json>> = compiler.template(&text, Exposure::Client);
            if !text.contains("{{") && text.parse::<f64>().is_err() {
                compiler.error(Code::WrongType, number.at, "expected a number, or a template that gives one");
            }
        }
        let _: Option<Template<Text>> = compiler.optional(spec.message.as_ref(), Exposure::Client);
        Some(Progress)
    }
}
