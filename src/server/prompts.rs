//! `prompts/list` and `prompts/get`.

use futures_util::future::BoxFuture;
use rmcp::{
    model::{
        ErrorData, GetPromptRequestParams, GetPromptResponse, GetPromptResult, ListPromptsResult,
        PaginatedRequestParams,
    },
};

use crate::catalog::result::call_result::{CallContext, PromptResult};

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
};

pub(crate) fn list(
    server: &ConnectionHandler,
    request: Option<PaginatedRequestParams>,
    context: &RequestContext,
) -> Result<ListPromptsResult, ErrorData> {
    let AdmittedRequest { snapshot, spec_version } = server.admit(CapabilityKind::Prompts, context)?;
    let mut page = snapshot.prompts.page(request, snapshot.page_size)?;
    page.items.downgrade(spec_version);
    let result = ListPromptsResult { prompts: page.items, next_cursor: page.next, ..Default::default() };
    Ok(result.with_cache_hints(&snapshot, spec_version))
}

pub(crate) async fn get(
    server: &ConnectionHandler,
    request: GetPromptRequestParams,
    context: &RequestContext,
) -> Result<GetPromptResponse, ErrorData> {
    let admitted = server.admit(CapabilityKind::Prompts, context)?;
    let (served, spec_version) = (&admitted.snapshot, admitted.spec_version);
    let outcome = render(server, request, &admitted, context).await?;
    let complete = |answer: PromptResult| {
        let mut result = GetPromptResult::new(content::messages(answer.messages, spec_version));
        result.description = answer.description;
        result.meta = served.result_meta(spec_version);
        GetPromptResponse::Complete(result)
    };
    outcome.into_response(complete, GetPromptResponse::InputRequired)
}

/// Renders a prompt for a client.
pub(crate) async fn render(
    server: &ConnectionHandler,
    request: GetPromptRequestParams,
    admitted: &AdmittedRequest,
    context: &RequestContext,
) -> Result<CallOutcome<PromptResult>, ErrorData> {
    let AdmittedRequest { snapshot: served, spec_version } = admitted;
    let (spec_version, name) = (*spec_version, request.name.as_str());
    let runs_actions = served.catalog.prompt_runs_actions(name);
    server.charge_call(spec_version, runs_actions).map_err(error::rate_limited)?;
    let call_request = CallRequest {
        target: CallTarget { method: "prompts/get", name, runs_actions },
        arguments: request.arguments,
        responses: request.input_responses,
        state: request.request_state,
        may_detach: false,
        context,
    };
    let call = |arguments, call: CallContext| -> BoxFuture<'_, _> {
        Box::pin(async move { served.catalog.get_prompt(name, arguments, &call).await })
    };
    let refuse = |refusal| error::refusal_error_for(spec_version, refusal);
    server.run_call(call_request, admitted, call, refuse).await
}
