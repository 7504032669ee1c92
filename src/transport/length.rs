//! How long the labels in a message may be: ids, tokens, cursors, names and URIs, of which a server keeps some for as long
//! as a session lives.

use rmcp::model::{ClientRequest, GetMeta, NumberOrString, PaginatedRequestParams, ProgressToken, Reference};

/// Ids, methods, names, progress tokens and cursors: hundreds of times what anybody gives out.
pub(super) const LABEL: usize = 1024;

/// URIs: the longest path that Linux knows, every byte of it percent-encoded, and more.
pub(super) const URI: usize = 16 * 1024;

/// The parameters of `initialize`, which are kept as long as the session lives.
pub(super) const INTRODUCTION: usize = 64 * 1024;

/// Says that something is too long.
pub(super) fn too_long(name: &str, most: usize) -> String {
    format!("`{name}` must be at most {} KiB", most / 1024)
}

/// Checks the labels of a request.
pub(super) fn check(request: &ClientRequest) -> Result<(), String> {
    if let Some(ProgressToken(NumberOrString::String(token))) = request.get_meta().get_progress_token() {
        label("progressToken", &token)?;
    }
    let cursor = |params: &Option<PaginatedRequestParams>| {
        let cursor = params.as_ref().and_then(|params| params.cursor.as_deref());
        cursor.map_or(Ok(()), |cursor| label("cursor", cursor))
    };
    match request {
        ClientRequest::CallToolRequest(call) => label("name", &call.params.name),
        ClientRequest::GetPromptRequest(get) => label("name", &get.params.name),
        ClientRequest::ReadResourceRequest(read) => uri("uri", &read.params.uri),
        ClientRequest::SubscribeRequest(subscribe) => uri("uri", &subscribe.params.uri),
        ClientRequest::UnsubscribeRequest(unsubscribe) => uri("uri", &unsubscribe.params.uri),
        ClientRequest::GetSkillRequest(get) => uri("uri", &get.params.uri),
        ClientRequest::ReadResourceDirectoryRequest(read) => uri("uri", &read.params.uri),
        ClientRequest::ListToolsRequest(list) => cursor(&list.params),
        ClientRequest::ListPromptsRequest(list) => cursor(&list.params),
        ClientRequest::ListResourcesRequest(list) => cursor(&list.params),
        ClientRequest::ListResourceTemplatesRequest(list) => cursor(&list.params),
        ClientRequest::GetTaskRequest(get) => label("taskId", &get.params.task_id),
        ClientRequest::UpdateTaskRequest(update) => label("taskId", &update.params.task_id),
        ClientRequest::CancelTaskRequest(cancel) => label("taskId", &cancel.params.task_id),
        ClientRequest::CompleteRequest(complete) => match &complete.params.r#ref {
            Reference::Prompt(prompt) => label("name", &prompt.name),
            Reference::Resource(resource) => uri("uri", &resource.uri),
            _ => Ok(()),
        },
        ClientRequest::SubscriptionsListenRequest(listen) => {
            let uris = listen.params.notifications.resource_subscriptions.iter().flatten();
            uris.map(String::as_str).try_for_each(|each| uri("resourceSubscriptions", each))
        }
        _ => Ok(()),
    }
}

fn label(name: &str, value: &str) -> Result<(), String> {
    bounded(name, value, LABEL)
}

fn uri(name: &str, value: &str) -> Result<(), String> {
    bounded(name, value, URI)
}

fn bounded(name: &str, value: &str, most: usize) -> Result<(), String> {
    if value.len() > most { Err(too_long(name, most)) } else { Ok(()) }
}
