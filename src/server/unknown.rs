//! Requests that rmcp has no type for: methods that nobody knows, and known ones whose parameters do not fit.

use rmcp::{
    RoleServer,
    model::{
        CallToolRequestParams, CancelTaskParams, CompleteRequestParams, CustomRequest, ErrorCode, ErrorData,
        GetPromptRequestParams, GetSkillRequestParams, GetTaskParams, InitializeRequestParams, PaginatedRequestParams,
        ReadResourceDirectoryRequestParams, ReadResourceRequestParams, SetLevelRequestParams, SubscribeRequestParams,
        SubscriptionsListenRequestParams, UpdateTaskParams,
    },
    service::RequestContext,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::diagnostic::cut;

use super::{Server, capability::Kind, error, session};

/// Says what is wrong with such a request.
pub(crate) fn explain(server: &Server, request: &CustomRequest, context: &RequestContext<RoleServer>) -> ErrorData {
    let method = request.method.as_str();
    if session::is_modern(context) && is_of_sessions(method) {
        return error::unknown_method(method);
    }
    if let Some(kind) = kind(method)
        && let Err(error) = server.admit(kind, context)
    {
        return error;
    }
    match complaint(method, request.params.as_ref()) {
        Some(complaint) => ErrorData::new(ErrorCode::INVALID_PARAMS, complaint, None),
        None => error::unknown_method(method),
    }
}

/// 2026-07-28 has no sessions, and none of their methods.
pub(crate) fn is_of_sessions(method: &str) -> bool {
    matches!(method, "initialize" | "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe")
}

fn kind(method: &str) -> Option<Kind> {
    if method == "resources/directory/read" {
        return Some(Kind::Skills);
    }
    match method.split('/').next() {
        Some("tools") => Some(Kind::Tools),
        Some("prompts") => Some(Kind::Prompts),
        Some("resources") => Some(Kind::Resources),
        Some("completion") => Some(Kind::Completions),
        Some("logging") => Some(Kind::Logging),
        Some("skills") => Some(Kind::Skills),
        Some("tasks") => Some(Kind::Tasks),
        _ => None,
    }
    .filter(|_| complaint(method, None).is_some() || is_list(method))
}

fn is_list(method: &str) -> bool {
    matches!(method, "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" | "skills/list")
}

/// Says why the parameters are not those of the method; `None` where the method is unknown or they are.
pub(crate) fn complaint(method: &str, params: Option<&Value>) -> Option<String> {
    match method {
        "initialize" => mismatch::<InitializeRequestParams>(params),
        "tools/call" => mismatch::<CallToolRequestParams>(params),
        "prompts/get" => mismatch::<GetPromptRequestParams>(params),
        "resources/read" => mismatch::<ReadResourceRequestParams>(params),
        "resources/directory/read" => mismatch::<ReadResourceDirectoryRequestParams>(params),
        "skills/get" => mismatch::<GetSkillRequestParams>(params),
        "resources/subscribe" | "resources/unsubscribe" => mismatch::<SubscribeRequestParams>(params),
        "logging/setLevel" => mismatch::<SetLevelRequestParams>(params),
        "tasks/get" => mismatch::<GetTaskParams>(params),
        "tasks/update" => mismatch::<UpdateTaskParams>(params),
        "tasks/cancel" => mismatch::<CancelTaskParams>(params),
        "completion/complete" => mismatch::<CompleteRequestParams>(params),
        "subscriptions/listen" => mismatch::<SubscriptionsListenRequestParams>(params),
        "ping" | "server/discover" => mismatch::<serde_json::Map<String, Value>>(params),
        _ if is_list(method) => mismatch::<PaginatedRequestParams>(params),
        _ => None,
    }
}

fn mismatch<P: DeserializeOwned>(params: Option<&Value>) -> Option<String> {
    let params = match params {
        None | Some(Value::Null) => Value::Object(serde_json::Map::new()),
        Some(Value::Object(params)) => Value::Object(params.clone()),
        Some(_) => return Some("`params` must be an object".to_owned()),
    };
    let error = serde_json::from_value::<P>(params).err()?;
    Some(format!("`params` do not fit the method: {}", cut(&error.to_string(), 256)))
}
