//! Length limits of the labels in a message: ids, tokens, cursors, names and URIs.

use rmcp::model::{ClientRequest, GetMeta, NumberOrString, PaginatedRequestParams, ProgressToken};

use crate::server::request_subject;

/// Ids, methods, names, progress tokens and cursors: hundreds of times the usual length.
pub(super) const MAX_LABEL_BYTES: usize = 1024;

/// URIs: the longest path that Linux knows, every byte of it percent-encoded, and more.
const MAX_URI_BYTES: usize = 16 * 1024;

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
        check_length("progressToken", &token, MAX_LABEL_BYTES)?;
    }
    let cursor = |params: &Option<PaginatedRequestParams>| {
        let cursor = params.as_ref().and_then(|params| params.cursor.as_deref());
        cursor.map_or(Ok(()), |cursor| check_length("cursor", cursor, MAX_LABEL_BYTES))
    };
    if let Some((key, value)) = request_subject(request) {
        check_length(key, value, if key == "uri" { MAX_URI_BYTES } else { MAX_LABEL_BYTES })?;
    }
    match request {
        ClientRequest::ListToolsRequest(list) => cursor(&list.params),
        ClientRequest::ListPromptsRequest(list) => cursor(&list.params),
        ClientRequest::ListResourcesRequest(list) => cursor(&list.params),
        ClientRequest::ListResourceTemplatesRequest(list) => cursor(&list.params),
        ClientRequest::SubscriptionsListenRequest(listen) => {
            let mut uris = listen.params.notifications.resource_subscriptions.iter().flatten();
            uris.try_for_each(|each| check_length("resourceSubscriptions", each, MAX_URI_BYTES))
        }
        _ => Ok(()),
    }
}

fn check_length(name: &str, value: &str, max: usize) -> Result<(), String> {
    if value.len() > max { Err(too_long_message(name, max)) } else { Ok(()) }
}
