//! `resources/read`.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use rmcp::model::{ErrorData, ReadResourceRequestParams};

use crate::action::CallContext;
use crate::catalog::CallTraits;
use crate::catalog::result::call_result::ResourceResult;

use super::{
    ConnectionHandler,
    call_log::CallTarget,
    client_rate_limit::RequestCost,
    error,
    request::McpRequest,
    run_call::{CallOutcome, EntryCall},
    snapshot,
    version_keys::{self, Place},
};

pub(crate) fn read<'a>(
    server: &'a ConnectionHandler,
    mut params: ReadResourceRequestParams,
    request: &'a McpRequest,
) -> BoxFuture<'a, Result<Bytes, ErrorData>> {
    Box::pin(async move {
        let version = request.version;
        let outcome = read_contents(server, &mut params, request.traits, request).await?;
        outcome.into_result(|answer: ResourceResult| {
            let mut notes = request.snapshot.cached_result_notes(version);
            if version.is_sessionless() {
                notes.ttl_ms = answer.ttl_ms.or(notes.ttl_ms);
                notes.cache_scope = answer.cache_scope.map(snapshot::cache_scope).or(notes.cache_scope);
            }
            let content = BTreeMap::from([("contents", answer.contents)]);
            version_keys::to_json(notes, content, version, &[("contents", Place::Contents)])
        })
    })
}

/// Reads a resource for a client. Takes all but the URI from `params`.
pub(crate) async fn read_contents(
    server: &ConnectionHandler,
    params: &mut ReadResourceRequestParams,
    traits: CallTraits,
    request: &McpRequest,
) -> Result<CallOutcome<ResourceResult>, ErrorData> {
    let (catalog, version, uri) = (&request.snapshot.catalog, request.version, params.uri.as_str());
    server.charge(request, RequestCost::of_call(traits))?;
    let entry_call = EntryCall {
        target: CallTarget { method: "resources/read", name: uri, traits },
        arguments: None,
        responses: params.input_responses.take(),
        state: params.request_state.take(),
        may_detach: false,
    };
    let call =
        |_, call: CallContext| -> BoxFuture<'_, _> { Box::pin(async move { catalog.read_resource(uri, &call).await }) };
    let refuse = |refusal| error::resource_error(version, refusal, uri);
    server.run_call(entry_call, request, call, refuse).await
}
