//! `log`: a log message to the client, by the level that it asked for. Checked whole; not yet sent.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Act, Written};
use crate::compile::{Compiler, Exposure};
use crate::diagnostic::Code;
use crate::notation::{Json, by_kind};
use crate::template::{Shape, Template, Text};
use crate::yaml::Spanned;

by_kind! {
    /// A message (a template), or one with its level.
    pub enum LogSpec {
        "text" => Text(String),
        "map" => Keys(LogMessage),
    }
}

/// A log message.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct LogMessage {
    /// How grave it is; `info` until told otherwise.
    pub level: Option<Level>,
    /// Who says it; the tool's name until told otherwise.
    pub logger: Option<Spanned<String>>,
    /// What is said: any JSON value whose strings are templates.
    #[schemars(with = "Json", extend("x-required" = true))]
    pub data: Option<Spanned<Json>>,
}

/// The levels of RFC 5424.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

pub struct Log;

impl Act for Log {
    type Spec = LogSpec;
    const NOT_YET: bool = true;

    fn shape() -> Shape {
        Shape::Any
    }

    fn compile(written: Written<'_, LogSpec>, compiler: &mut Compiler<'_>) -> Option<Log> {
        match &written.spec.value {
            LogSpec::Text(text) => {
                let _: Template<Text> =
                    compiler.template(&Spanned::new(text.clone(), written.spec.at), Exposure::Client)?;
            }
            LogSpec::Keys(message) => match &message.data {
                Some(data) => {
                    compiler.json(&data.0, data.at, Exposure::Client);
                }
                None => {
                    compiler.error(Code::MissingKey, written.key, "`log` needs `data`");
                }
            },
        }
        Some(Log)
    }
}
