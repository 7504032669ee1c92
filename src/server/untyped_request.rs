//! Explains requests that rmcp has no type for: unknown methods, and known methods with invalid params.

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

use crate::diagnostic::truncate;

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
    .filter(|_| params_error(method, None).is_some() || is_list_method(method))
}

fn is_list_method(method: &str) -> bool {
    matches!(method, "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" | "skills/list")
}

/// Says why the parameters are not those of the method; `None` where the method is unknown or they are.
pub(crate) fn params_error(method: &str, params: Option<&Value>) -> Option<String> {
    match method {
        "initialize" => deserialize_error::<InitializeRequestParams>(params),
        "tools/call" => deserialize_error::<CallToolRequestParams>(params),
        "prompts/get" => deserialize_error::<GetPromptRequestParams>(params),
        "resources/read" => deserialize_error::<ReadResourceRequestParams>(params),
        "resources/directory/read" => deserialize_error::<ReadResourceDirectoryRequestParams>(params),
        "skills/get" => deserialize_error::<GetSkillRequestParams>(params),
        "resources/subscribe" | "resources/unsubscribe" => deserialize_error::<SubscribeRequestParams>(params),
        "logging/setLevel" => deserialize_error::<SetLevelRequestParams>(params),
        "tasks/get" => deserialize_error::<GetTaskParams>(params),
        "tasks/update" => deserialize_error::<UpdateTaskParams>(params),
        "tasks/cancel" => deserialize_error::<CancelTaskParams>(params),
        "completion/complete" => deserialize_error::<CompleteRequestParams>(params),
        "subscriptions/listen" => deserialize_error::<SubscriptionsListenRequestParams>(params),
        "ping" | "server/discover" => deserialize_error::<serde_json::Map<String, Value>>(params),
        _ if is_list_method(method) => deserialize_error::<PaginatedRequestParams>(params),
        _ => None,
    }
}

fn deserialize_error<P: DeserializeOwned>(params: Option<&Value>) -> Option<String> {
    let params = match params {
        None | Some(Value::Null) => Value::Object(serde_json::Map::new()),
        Some(Value::Object(params)) => Value::Object(params.clone()),
        Some(_) => return Some("`params` must be an object".to_owned()),
    };
    let error = serde_json::from_value::<P>(params).err()?;
    Some(format!("invalid params: {}", truncate(&error.to_string(), 256)))
}
