//! `fail`: ends a run with an error message.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{ActionError, ActionKind, ActionNode, ActionOutcome, StepContext};
use crate::compile::{Compiler, Exposure};
use crate::diagnostic::Code;
use crate::template::{Template, TextSlot};
use crate::value_types::yaml_kind_enum;
use crate::yaml::Spanned;

yaml_kind_enum! {
    /// An error message (a template), or a message with a code: `{ message: "not found", code: 404 }`.
    pub enum FailSpec {
        "text" => Text(String),
        "map" => Keys(FailMessage),
    }
}

/// An error that ends the run.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FailMessage {
    /// The error message, a template.
    #[schemars(with = "String", extend("x-required" = true))]
    pub message: Option<Spanned<String>>,
    /// The code of a JSON-RPC error, which is sent instead of a result.
    pub code: Option<Spanned<i64>>,
}

pub struct FailAction {
    message: Template<TextSlot>,
    code: Option<i32>,
}

/// The codes that JSON-RPC and MCP reserve.
const RESERVED_CODES: std::ops::RangeInclusive<i64> = -32768..=-32000;
/// The reserved code that `fail` may use: an internal error of the server.
const INTERNAL_ERROR_CODE: i64 = -32603;

impl ActionKind for FailAction {
    type Spec = FailSpec;
    const IS_FOR_DISPLAY: bool = true;
    const ENDS_RUN: bool = true;

    fn compile(node: ActionNode<'_, FailSpec>, compiler: &mut Compiler<'_>) -> Option<FailAction> {
        let (message, code) = match &node.spec.value {
            FailSpec::Text(text) => (Spanned::new(text.clone(), node.spec.location), None),
            FailSpec::Keys(words) => match &words.message {
                Some(message) => (message.clone(), words.code.as_ref()),
                None => {
                    compiler.error(Code::MissingKey, node.key, "missing key `message` in `fail`");
                    return None;
                }
            },
        };
        let code = match code {
            Some(code) => Some(check_code(code, compiler)?),
            None => None,
        };
        Some(FailAction { message: compiler.template(&message, Exposure::Client)?, code })
    }

    async fn execute(&self, context: &StepContext<'_>) -> Result<ActionOutcome, ActionError> {
        Err(ActionError::Message { message: self.message.render(context.scope)?.0, code: self.code })
    }
}

fn check_code(code: &Spanned<i64>, compiler: &mut Compiler<'_>) -> Option<i32> {
    let own = !RESERVED_CODES.contains(&code.value) || code.value == INTERNAL_ERROR_CODE;
    let fits = i32::try_from(code.value).ok().filter(|_| own);
    if fits.is_none() {
        let words = format!("reserved error code `{}`", code.value);
        compiler
            .error(Code::BadValue, code.location, words)
            .help("use -32603, or a number outside -32768 to -32000, which JSON-RPC and MCP reserve");
    }
    fits
}
