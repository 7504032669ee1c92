//! Length limits of the labels in a message: ids, tokens, cursors, names and URIs.

use rmcp::model::{ClientRequest, GetMeta, NumberOrString, PaginatedRequestParams, ProgressToken, Reference};

/// Ids, methods, names, progress tokens and cursors: hundreds of times the usual length.
pub(super) const MAX_LABEL_BYTES: usize = 1024;

/// URIs: the longest path that Linux knows, every byte of it percent-encoded, and more.
pub(super) const MAX_URI_BYTES: usize = 16 * 1024;

/// The parameters of `initialize`, which are kept as long as the session lives, and of methods that have no others but
/// metadata.
pub(super) const MAX_INITIALIZE_BYTES: usize = 64 * 1024;

/// Says that something is too long.
pub(super) fn too_long_message(name: &str, max: usize) -> String {
    format!("`{name}` is too long (limit {} KiB)", max / 1024)
}

/// Checks the labels of a request.
pub(super) fn check_request(request: &ClientRequest) -> Result<(), String> {
    if let Some(ProgressToken(NumberOrString::String(token))) = request.get_meta().get_progress_token() {
        check_label("progressToken", &token)?;
    }
    let cursor = |params: &Option<PaginatedRequestParams>| {
        let cursor = params.as_ref().and_then(|params| params.cursor.as_deref());
        cursor.map_or(Ok(()), |cursor| check_label("cursor", cursor))
    };
    match request {
        ClientRequest::CallToolRequest(call) => check_label("name", &call.params.name),
        ClientRequest::GetPromptRequest(get) => check_label("name", &get.params.name),
        ClientRequest::ReadResourceRequest(read) => check_uri_length("uri", &read.params.uri),
        ClientRequest::SubscribeRequest(subscribe) => check_uri_length("uri", &subscribe.params.uri),
        ClientRequest::UnsubscribeRequest(unsubscribe) => check_uri_length("uri", &unsubscribe.params.uri),
        ClientRequest::GetSkillRequest(get) => check_uri_length("uri", &get.params.uri),
        ClientRequest::ReadResourceDirectoryRequest(read) => check_uri_length("uri", &read.params.uri),
        ClientRequest::ListToolsRequest(list) => cursor(&list.params),
        ClientRequest::ListPromptsRequest(list) => cursor(&list.params),
        ClientRequest::ListResourcesRequest(list) => cursor(&list.params),
        ClientRequest::ListResourceTemplatesRequest(list) => cursor(&list.params),
        ClientRequest::GetTaskRequest(get) => check_label("taskId", &get.params.task_id),
        ClientRequest::UpdateTaskRequest(update) => check_label("taskId", &update.params.task_id),
        ClientRequest::CancelTaskRequest(cancel) => check_label("taskId", &cancel.params.task_id),
        ClientRequest::CompleteRequest(complete) => match &complete.params.r#ref {
            Reference::Prompt(prompt) => check_label("name", &prompt.name),
            Reference::Resource(resource) => check_uri_length("uri", &resource.uri),
            _ => Ok(()),
        },
        ClientRequest::SubscriptionsListenRequest(listen) => {
            let uris = listen.params.notifications.resource_subscriptions.iter().flatten();
            uris.map(String::as_str).try_for_each(|each| check_uri_length("resourceSubscriptions", each))
        }
        _ => Ok(()),
    }
}

fn check_label(name: &str, value: &str) -> Result<(), String> {
    check_length(name, value, MAX_LABEL_BYTES)
}

fn check_uri_length(name: &str, value: &str) -> Result<(), String> {
    check_length(name, value, MAX_URI_BYTES)
}

fn check_length(name: &str, value: &str, max: usize) -> Result<(), String> {
    if value.len() > max { Err(too_long_message(name, max)) } else { Ok(()) }
}
