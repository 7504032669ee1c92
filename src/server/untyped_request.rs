//! Explains requests of no type: unknown methods, and invalid params.

use rmcp::model::{ErrorCode, ErrorData};
use serde_json::{Value, json};

use crate::diagnostic::truncate;
use crate::schema::Schema;

use super::error;

/// The error of such a request.
pub(crate) fn explain(method: &str, params: Option<&Value>) -> ErrorData {
    match params_error(method, params) {
        Some(complaint) => ErrorData::new(ErrorCode::INVALID_PARAMS, complaint, None),
        None => error::unknown_method(method),
    }
}

/// Says why parameters are not those of a method; `None` for an unknown method.
pub(crate) fn params_error(method: &str, params: Option<&Value>) -> Option<String> {
    let schema = params_schema(method)?;
    let none = json!({});
    let params = params.filter(|params| !params.is_null()).unwrap_or(&none);
    if !params.is_object() {
        return Some("`params` must be an object".to_owned());
    }
    let schema = Schema::compile(schema, &|_| None).ok();
    let violations = schema.and_then(|schema| schema.violations(params).ok()).unwrap_or_default();
    let messages: Vec<String> = violations.into_iter().map(|violation| violation.message).collect();
    let reason = if messages.is_empty() { String::new() } else { format!(": {}", messages.join("; ")) };
    Some(format!("invalid params{}", truncate(&reason, MAX_REASON_CHARS)))
}

/// How much of a reason is said.
const MAX_REASON_CHARS: usize = 256;

/// What the parameters of a method must be, in so far as a client may get it wrong. It only explains: rmcp's types decide.
fn params_schema(method: &str) -> Option<Value> {
    let text = || json!({ "type": "string" });
    let object = || json!({ "type": ["object", "null"] });
    let (required, mut properties) = match method {
        "initialize" => {
            let named = json!({ "type": "object", "required": ["name", "version"], "properties": { "name": text(), "version": text() } });
            let properties =
                json!({ "protocolVersion": text(), "capabilities": capabilities_schema(), "clientInfo": named });
            (json!(["protocolVersion", "capabilities", "clientInfo"]), properties)
        }
        "tools/call" | "prompts/get" => (
            json!(["name"]),
            json!({ "name": text(), "arguments": object(), "inputResponses": object(), "requestState": { "type": ["string", "null"] } }),
        ),
        "resources/read"
        | "resources/directory/read"
        | "resources/subscribe"
        | "resources/unsubscribe"
        | "skills/get" => (json!(["uri"]), json!({ "uri": text() })),
        "completion/complete" => {
            let argument = json!({ "type": "object", "required": ["name", "value"], "properties": { "name": text(), "value": text() } });
            let reference = json!({ "type": "object", "required": ["type"], "properties": { "type": { "enum": ["ref/prompt", "ref/resource"] }, "name": text(), "uri": text() } });
            let texts = json!({ "type": ["object", "null"], "additionalProperties": text() });
            let context = json!({ "type": ["object", "null"], "properties": { "arguments": texts } });
            (json!(["ref", "argument"]), json!({ "ref": reference, "argument": argument, "context": context }))
        }
        "logging/setLevel" => {
            let levels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
            (json!(["level"]), json!({ "level": { "enum": levels } }))
        }
        "tasks/get" | "tasks/update" | "tasks/cancel" => {
            (json!(["taskId"]), json!({ "taskId": text(), "inputResponses": object() }))
        }
        "subscriptions/listen" => {
            let uris = json!({ "type": ["array", "null"], "items": text() });
            let wanted = json!({ "type": "object", "properties": { "resourceSubscriptions": uris }, "additionalProperties": { "type": ["boolean", "null"] } });
            (json!(["notifications"]), json!({ "notifications": wanted }))
        }
        "ping" | "server/discover" => (json!([]), json!({})),
        "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" | "skills/list" => {
            (json!([]), json!({ "cursor": { "type": ["string", "null"] } }))
        }
        _ => return None,
    };
    let token = json!({ "type": ["string", "integer", "null"] });
    let meta = json!({ "type": ["object", "null"], "properties": {
        "progressToken": token,
        "io.modelcontextprotocol/clientCapabilities": capabilities_schema(),
    } });
    properties.as_object_mut()?.insert("_meta".to_owned(), meta);
    Some(json!({ "type": "object", "required": required, "properties": properties }))
}

/// Capabilities are objects, as are their modes; which there are, and what they hold, is up to the client.
fn capabilities_schema() -> Value {
    let (object, flag) = (json!({ "type": ["object", "null"] }), json!({ "type": ["boolean", "null"] }));
    let with = |members: Value| json!({ "type": ["object", "null"], "properties": members });
    let settings = json!({ "type": ["object", "null"], "additionalProperties": object });
    let form = with(json!({ "schemaValidation": flag }));
    let capabilities = json!({
        "experimental": settings,
        "extensions": settings,
        "roots": with(json!({ "listChanged": flag })),
        "sampling": with(json!({ "tools": object, "context": object })),
        "elicitation": with(json!({ "form": form, "url": object })),
    });
    json!({ "type": "object", "properties": capabilities, "additionalProperties": object })
}
