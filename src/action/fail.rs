//! `fail`: ends a run with words of its own. Checked whole; not yet run.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Act, Written};
use crate::compile::{Compiler, Exposure};
use crate::diagnostic::Code;
use crate::notation::by_kind;
use crate::template::{Shape, Template, Text};
use crate::yaml::Spanned;

by_kind! {
    /// What went wrong, in words (a template), or words with a code.
    pub enum FailSpec {
        "text" => Text(String),
        "map" => Keys(Words),
    }
}

/// How a run ends without success.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Words {
    /// What went wrong, a template.
    #[schemars(with = "String", extend("x-required" = true))]
    pub message: Option<Spanned<String>>,
    /// The code of a JSON-RPC error, sent in place of a result.
    pub code: Option<Spanned<i64>>,
}

pub struct Fail;

impl Act for Fail {
    type Spec = FailSpec;
    const NOT_YET: bool = true;

    fn shape() -> Shape {
        Shape::Any
    }

    fn compile(written: Written<'_, FailSpec>, compiler: &mut Compiler<'_>) -> Option<Fail> {
        let message = match &written.spec.value {
            FailSpec::Text(text) => Spanned::new(text.clone(), written.spec.at),
            FailSpec::Keys(words) => match &words.message {
                Some(message) => message.clone(),
                None => {
                    compiler.error(Code::MissingKey, written.key, "`fail` needs a `message`");
                    return None;
                }
            },
        };
        let _: Template<Text> = compiler.template(&message, Exposure::Client)?;
        Some(Fail)
    }
}
