//! Explains requests that rmcp has no type for: unknown methods, and known methods with invalid params.

use rmcp::{
    RoleServer,
    model::{CustomRequest, ErrorCode, ErrorData},
    service::RequestContext,
};
use serde_json::{Value, json};

use crate::diagnostic::truncate;
use crate::schema::Schema;

use super::{ConnectionHandler, capability::CapabilityKind, error, session};

/// The error of such a request.
pub(crate) fn explain_untyped_request(
    server: &ConnectionHandler,
    request: &CustomRequest,
    context: &RequestContext<RoleServer>,
) -> ErrorData {
    let method = request.method.as_str();
    if session::is_sessionless_request(context) && is_session_method(method) {
        return error::unknown_method(method);
    }
    if let Some(kind) = method_capability(method)
        && let Err(error) = server.admit(kind, context)
    {
        return error;
    }
    match params_error(method, request.params.as_ref()) {
        Some(complaint) => ErrorData::new(ErrorCode::INVALID_PARAMS, complaint, None),
        None => error::unknown_method(method),
    }
}

/// 2026-07-28 has no sessions, and none of their methods.
pub(crate) fn is_session_method(method: &str) -> bool {
    matches!(method, "initialize" | "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe")
}

fn method_capability(method: &str) -> Option<CapabilityKind> {
    params_schema(method)?;
    if method == "resources/directory/read" {
        return Some(CapabilityKind::Skills);
    }
    match method.split('/').next() {
        Some("tools") => Some(CapabilityKind::Tools),
        Some("prompts") => Some(CapabilityKind::Prompts),
        Some("resources") => Some(CapabilityKind::Resources),
        Some("completion") => Some(CapabilityKind::Completions),
        Some("logging") => Some(CapabilityKind::Logging),
        Some("skills") => Some(CapabilityKind::Skills),
        Some("tasks") => Some(CapabilityKind::Tasks),
        _ => None,
    }
}

/// Says why rmcp does not take the parameters of a method; `None` for an unknown method.
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
