//! What an operation found. It becomes an outcome only without secrets, so that neither a template nor a digest sees one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::action::{ActionError, ActionOutcome, OutcomeBody, StepContext};

use super::read::ReadOptions;

/// What an operation found, with secrets.
pub(super) struct OperationResult {
    pub(super) fields: Map<String, Value>,
    pub(super) body: ResultBody,
    /// What the caller must know of the body.
    pub(super) note: Option<String>,
}

/// Where the body of the outcome comes from.
pub(super) enum ResultBody {
    None,
    /// All fields, as JSON.
    Fields,
    /// One field, as JSON.
    Json(&'static str),
    /// One field, as text.
    Text(&'static str),
    /// What was read.
    Contents {
        bytes: Vec<u8>,
        mime_type: String,
        options: ReadOptions,
    },
}

impl OperationResult {
    /// Only fields, without a body.
    pub(super) fn fields<const N: usize>(fields: [(&str, Value); N]) -> OperationResult {
        let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        OperationResult { fields, body: ResultBody::None, note: None }
    }

    /// The outcome, in which secrets are hidden.
    pub(super) fn into_outcome(self, context: &StepContext<'_>) -> Result<ActionOutcome, ActionError> {
        let OperationResult { fields, body, note } = self;
        let redactor = context.call.world.redactor();
        let mut value = Value::Object(fields);
        redactor.iter().for_each(|redactor| redactor.redact_value(&mut value));
        let body = match body {
            ResultBody::None => OutcomeBody::None,
            ResultBody::Fields => json_body(&value),
            ResultBody::Json(name) => json_body(value.get(name).unwrap_or(&Value::Null)),
            ResultBody::Text(name) => {
                OutcomeBody::Text(value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned())
            }
            ResultBody::Contents { mut bytes, mime_type, options } => {
                // Secrets are hidden first: a line may hold a part of one.
                if let Some(redactor) = redactor {
                    let limit = usize::try_from(context.max_output).unwrap_or(usize::MAX);
                    options.redact(redactor, &mut bytes, limit);
                }
                let bytes = options.lines.apply(bytes);
                let (field, body) = options.contents(bytes, mime_type, context)?;
                if let Value::Object(fields) = &mut value {
                    fields.extend(field);
                }
                body
            }
        };
        Ok(ActionOutcome { note, ..ActionOutcome::success(value, body) })
    }
}

impl ReadOptions {
    /// The field of what was read, if a template reads it, and the body.
    fn contents(
        &self,
        bytes: Vec<u8>,
        mime_type: String,
        context: &StepContext<'_>,
    ) -> Result<(Option<(String, Value)>, OutcomeBody), ActionError> {
        let bytes = match String::from_utf8(bytes) {
            Ok(text) if !self.as_base64 => {
                let field = context.reads.has_field("text").then(|| ("text".to_owned(), text.clone().into()));
                return Ok((field, OutcomeBody::Text(text)));
            }
            bytes => bytes.map_or_else(std::string::FromUtf8Error::into_bytes, String::into_bytes),
        };
        context.scope.budget().hold(bytes.len().saturating_mul(2))?;
        // Without `text` there is this one, of which an error tells.
        let is_read = context.reads.has_field("base64") || context.reads.has_field("text");
        let field = is_read.then(|| ("base64".to_owned(), STANDARD.encode(&bytes).into()));
        Ok((field, OutcomeBody::Bytes(bytes, mime_type)))
    }
}

fn json_body(value: &Value) -> OutcomeBody {
    OutcomeBody::Json(value.clone(), value.to_string())
}
