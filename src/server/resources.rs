//! `resources/list`, `resources/templates/list` and `resources/read`.

use futures_util::future::BoxFuture;
use rmcp::{
    model::{
        ErrorData, ListResourceTemplatesResult, ListResourcesResult, PaginatedRequestParams, ReadResourceRequestParams,
        ReadResourceResponse, ReadResourceResult,
    },
};

use crate::catalog::result::call_result::{CallContext, ResourceResult};

use super::{
    ConnectionHandler, RequestContext,
    cache_hints::CacheHints,
    call_log::CallTarget,
    capability::CapabilityKind,
    content,
    downgrade::Downgrade,
    error,
    run_call::{CallOutcome, CallRequest},
    session::AdmittedRequest,
    snapshot,
};

pub(crate) fn list(
    server: &ConnectionHandler,
    request: Option<PaginatedRequestParams>,
    context: &RequestContext,
) -> Result<ListResourcesResult, ErrorData> {
    let AdmittedRequest { snapshot, spec_version } = server.admit(CapabilityKind::Resources, context)?;
    let mut page = snapshot.resources.page(request, snapshot.page_size)?;
    page.items.downgrade(spec_version);
    let result = ListResourcesResult { resources: page.items, next_cursor: page.next, ..Default::default() };
    Ok(result.with_cache_hints(&snapshot, spec_version))
}

pub(crate) fn list_templates(
    server: &ConnectionHandler,
    request: Option<PaginatedRequestParams>,
    context: &RequestContext,
) -> Result<ListResourceTemplatesResult, ErrorData> {
    let AdmittedRequest { snapshot, spec_version } = server.admit(CapabilityKind::Resources, context)?;
    let mut page = snapshot.resource_templates.page(request, snapshot.page_size)?;
    page.items.downgrade(spec_version);
    let result =
        ListResourceTemplatesResult { resource_templates: page.items, next_cursor: page.next, ..Default::default() };
    Ok(result.with_cache_hints(&snapshot, spec_version))
}

pub(crate) async fn read(
    server: &ConnectionHandler,
    request: ReadResourceRequestParams,
    context: &RequestContext,
) -> Result<ReadResourceResponse, ErrorData> {
    let admitted = server.admit(CapabilityKind::Resources, context)?;
    let (served, spec_version) = (&admitted.snapshot, admitted.spec_version);
    let outcome = read_contents(server, request, &admitted, context).await?;
    let complete = |answer: ResourceResult| {
        let mut result = ReadResourceResult::new(content::resource_contents(answer.contents, spec_version));
        if spec_version.is_sessionless() {
            let own_scope = answer.cache_scope.map(snapshot::cache_scope);
            result.meta = Some(served.meta.clone());
            result.ttl_ms = Some(answer.ttl_ms.unwrap_or(served.ttl_ms));
            result.cache_scope = Some(own_scope.unwrap_or_else(|| served.cache_scope));
        }
        ReadResourceResponse::Complete(result)
    };
    outcome.into_response(complete, ReadResourceResponse::InputRequired)
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
