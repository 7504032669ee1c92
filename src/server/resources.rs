//! `resources/read`.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use rmcp::model::{ErrorData, ReadResourceRequestParams};
use serde::Serialize;

use crate::catalog::result::call_result::{CallContext, ResourceResult, ResultContents};

use super::{
    ConnectionHandler, RequestContext,
    call_log::CallTarget,
    capability::CapabilityKind,
    error,
    run_call::{CallOutcome, CallRequest},
    session::AdmittedRequest,
    snapshot::{self, ResultNotes},
    version_keys::{self, Place},
};

/// The result of `resources/read`.
#[derive(Serialize)]
struct ReadResult<'a> {
    #[serde(flatten)]
    notes: ResultNotes<'a>,
    contents: &'a [ResultContents],
}

pub(crate) async fn read(
    server: &ConnectionHandler,
    request: ReadResourceRequestParams,
    context: &RequestContext,
) -> Result<Bytes, ErrorData> {
    let admitted = server.admit(CapabilityKind::Resources, context)?;
    let (served, version) = (&admitted.snapshot, admitted.spec_version);
    let outcome = read_contents(server, request, &admitted, context).await?;
    outcome.into_result(|answer: ResourceResult| {
        let mut notes = served.cached_result_notes(version);
        if version.is_sessionless() {
            notes.ttl_ms = answer.ttl_ms.or(notes.ttl_ms);
            notes.cache_scope = answer.cache_scope.map(snapshot::cache_scope).or(notes.cache_scope);
        }
        let result = ReadResult { notes, contents: &answer.contents };
        version_keys::to_json(&result, version, &[("contents", Place::Contents)])
    })
}

/// Reads a resource for a client.
pub(crate) async fn read_contents(
    server: &ConnectionHandler,
    request: ReadResourceRequestParams,
    admitted: &AdmittedRequest,
    context: &RequestContext,
) -> Result<CallOutcome<ResourceResult>, ErrorData> {
    let AdmittedRequest { snapshot: served, spec_version } = admitted;
    let (spec_version, uri) = (*spec_version, request.uri.as_str());
    let runs_actions = served.catalog.resource_runs_actions(uri);
    server.charge_call(spec_version, runs_actions).map_err(error::rate_limited)?;
    let call_request = CallRequest {
        target: CallTarget { method: "resources/read", name: uri, runs_actions },
        arguments: None,
        responses: request.input_responses,
        state: request.request_state,
        may_detach: false,
        context,
    };
    let call = |_, call: CallContext| -> BoxFuture<'_, _> {
        Box::pin(async move { served.catalog.read_resource(uri, &call).await })
    };
    let refuse = |refusal| error::resource_error(spec_version, refusal, uri);
    server.run_call(call_request, admitted, call, refuse).await
}
