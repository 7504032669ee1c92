//! `log`: sends a log message to the client.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionError, ActionKind, ActionNode, ActionOutcome, ClientUse, LogNotification, StepContext};
use crate::compile::{Compiler, Exposure, JsonTemplate, ShellVariableContext};
use crate::diagnostic::Code;
use crate::template::{Shape, Template, TextSlot};
use crate::value_types::{Json, yaml_kind_enum};
use crate::yaml::Spanned;

yaml_kind_enum! {
    /// A message (a template), or a message with its level: `{ level: warning, data: "…" }`.
    pub enum LogSpec {
        "text" => Text(String),
        "map" => Keys(LogMessage),
    }
}

/// A log message.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct LogMessage {
    /// Its severity. The default is `info`.
    pub level: Option<LogLevel>,
    /// The name of the logger. The default is the name of the tool. That of a pack begins with the name of the pack.
    pub logger: Option<Spanned<String>>,
    /// The logged value: any JSON, whose strings are templates.
    #[schemars(with = "Json", extend("x-required" = true))]
    pub data: Option<Spanned<Json>>,
}

/// A severity of RFC 5424.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// For debugging.
    Debug,
    /// Normal operation.
    #[default]
    Info,
    /// Normal, but significant.
    Notice,
    /// Something may go wrong.
    Warning,
    /// Something failed.
    Error,
    /// A component failed.
    Critical,
    /// Action is needed immediately.
    Alert,
    /// The system is unusable.
    Emergency,
}

pub struct LogAction {
    level: LogLevel,
    logger: Option<String>,
    data: LogPayload,
}

enum LogPayload {
    Text(Template<TextSlot>),
    Json(JsonTemplate),
}

impl ActionKind for LogAction {
    type Spec = LogSpec;
    const IS_FOR_DISPLAY: bool = true;

    fn outcome_shape() -> Shape {
        Shape::Object(std::sync::Arc::default())
    }

    fn compile(node: ActionNode<'_, LogSpec>, compiler: &mut Compiler<'_>) -> Option<LogAction> {
        let message = match &node.spec.value {
            LogSpec::Text(text) => {
                let text = Spanned::new(text.clone(), node.spec.location);
                let data = LogPayload::Text(compiler.template(&text, Exposure::Client)?);
                return Some(LogAction { level: LogLevel::default(), logger: None, data });
            }
            LogSpec::Keys(message) => message,
        };
        let Some(data) = &message.data else {
            compiler
                .error(Code::MissingKey, node.key, "missing key `data` in `log`")
                .help("write the logged value under `data`");
            return None;
        };
        message
            .logger
            .iter()
            .for_each(|logger| compiler.warn_shell_variables(logger, ShellVariableContext::NoTemplate));
        Some(LogAction {
            level: message.level.unwrap_or_default(),
            logger: message.logger.as_ref().map(|logger| logger.value.clone()),
            data: LogPayload::Json(compiler.json_template(&data.0, data.location, Exposure::Client)),
        })
    }

    fn client_use(&self) -> ClientUse {
        ClientUse::Logs
    }

    async fn execute(&self, context: &StepContext<'_>) -> Result<ActionOutcome, ActionError> {
        let data = match &self.data {
            LogPayload::Text(text) => text.render(context.scope)?.0.into(),
            LogPayload::Json(data) => data.render(context.scope)?,
        };
        let logger = self.logger.clone().unwrap_or_else(|| context.entry.name().to_owned());
        context.entry.client().log(LogNotification { level: self.level, logger, data }).await;
        Ok(ActionOutcome::empty())
    }
}
