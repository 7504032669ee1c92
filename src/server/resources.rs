//! `resources/read`.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use rmcp::model::{ErrorData, ReadResourceRequestParams};

use crate::action::CallContext;
use crate::catalog::result::call_result::ResourceResult;

use super::{
    ConnectionHandler,
    call_log::CallTarget,
    error,
    request::McpRequest,
    run_call::{CallOutcome, EntryCall},
    snapshot,
    version_keys::{self, Place},
};

pub(crate) async fn read(
    server: &ConnectionHandler,
    params: ReadResourceRequestParams,
    request: &McpRequest,
) -> Result<Bytes, ErrorData> {
    let version = request.version;
    let outcome = read_contents(server, params, request).await?;
    outcome.into_result(|answer: ResourceResult| {
        let mut notes = request.snapshot.cached_result_notes(version);
        if version.is_sessionless() {
            notes.ttl_ms = answer.ttl_ms.or(notes.ttl_ms);
            notes.cache_scope = answer.cache_scope.map(snapshot::cache_scope).or(notes.cache_scope);
        }
        let content = BTreeMap::from([("contents", answer.contents)]);
        version_keys::to_json(notes, content, version, &[("contents", Place::Contents)])
    })
}

/// Reads a resource for a client.
pub(crate) async fn read_contents(
    server: &ConnectionHandler,
    params: ReadResourceRequestParams,
    request: &McpRequest,
) -> Result<CallOutcome<ResourceResult>, ErrorData> {
    let (catalog, version, uri) = (&request.snapshot.catalog, request.version, params.uri.as_str());
    let runs_actions = catalog.resource_runs_actions(uri);
    server.charge_call(request, runs_actions).map_err(|wait| request.rate_limited(wait))?;
    let entry_call = EntryCall {
        target: CallTarget { method: "resources/read", name: uri, runs_actions },
        arguments: None,
        responses: params.input_responses,
        state: params.request_state,
        may_detach: false,
    };
    let call =
        |_, call: CallContext| -> BoxFuture<'_, _> { Box::pin(async move { catalog.read_resource(uri, &call).await }) };
    let refuse = |refusal| error::resource_error(version, refusal, uri);
    server.run_call(entry_call, request, call, refuse).await
}
