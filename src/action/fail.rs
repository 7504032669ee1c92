//! `fail`: ends a run with words of its own.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Act, Doing, Failure, Outcome, Written};
use crate::compile::{Compiler, Exposure};
use crate::diagnostic::Code;
use crate::notation::by_kind;
use crate::template::{Template, Text};
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

pub struct Fail {
    message: Template<Text>,
    code: Option<i32>,
}

/// Codes that JSON-RPC and MCP give a meaning of their own.
const RESERVED: std::ops::RangeInclusive<i64> = -32768..=-32000;
/// The one of them that says what `fail` says: an error inside the server.
const INTERNAL: i64 = -32603;

impl Act for Fail {
    type Spec = FailSpec;

    fn compile(written: Written<'_, FailSpec>, compiler: &mut Compiler<'_>) -> Option<Fail> {
        let (message, code) = match &written.spec.value {
            FailSpec::Text(text) => (Spanned::new(text.clone(), written.spec.at), None),
            FailSpec::Keys(words) => match &words.message {
                Some(message) => (message.clone(), words.code.as_ref()),
                None => {
                    compiler.error(Code::MissingKey, written.key, "`fail` needs a `message`");
                    return None;
                }
            },
        };
        let code = match code {
            Some(code) => Some(checked_code(code, compiler)?),
            None => None,
        };
        Some(Fail { message: compiler.template(&message, Exposure::Client)?, code })
    }

    async fn act(&self, doing: &Doing<'_>) -> Result<Outcome, Failure> {
        Err(Failure::Said { message: self.message.render(doing.scope)?.0, code: self.code })
    }
}

fn checked_code(code: &Spanned<i64>, compiler: &mut Compiler<'_>) -> Option<i32> {
    let own = !RESERVED.contains(&code.value) || code.value == INTERNAL;
    let fits = i32::try_from(code.value).ok().filter(|_| own);
    if fits.is_none() {
        let words = format!("{} is not a code of your own", code.value);
        compiler
            .error(Code::BadValue, code.at, words)
            .help("use -32603, or a number outside -32768 to -32000, which JSON-RPC and MCP keep for themselves");
    }
    fits
}
