//! `prompts/list` and `prompts/get`.

use rmcp::{
    RoleServer,
    model::{
        ErrorData, GetPromptRequestParams, GetPromptResponse, GetPromptResult, ListPromptsResult,
        PaginatedRequestParams,
    },
    service::RequestContext,
};

use crate::catalog::answer::CallContext;

use super::{
    ConnectionHandler,
    cache_hints::CacheHints,
    capability::CapabilityKind,
    content,
    downgrade::Downgrade,
    error,
    input_required::{self, CallOutcome},
    session::AdmittedRequest,
};

pub(crate) fn list(
    server: &ConnectionHandler,
    request: Option<PaginatedRequestParams>,
    context: &RequestContext<RoleServer>,
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
    context: &RequestContext<RoleServer>,
) -> Result<GetPromptResponse, ErrorData> {
    let admitted = server.admit(CapabilityKind::Prompts, context)?;
    let (served, spec_version) = (&admitted.snapshot, admitted.spec_version);
    server.charge_call(spec_version, served.catalog.prompt_runs_actions(&request.name)).map_err(error::rate_limited)?;
    let GetPromptRequestParams { name, mut arguments, input_responses, request_state, .. } = request;
    let may_ask = served.uses_client || request_state.is_some();
    let kept_arguments = if may_ask { arguments.take() } else { None };
    let resumable = input_required::ResumableRequest {
        method: "prompts/get",
        name: &name,
        arguments: kept_arguments.as_ref(),
        responses: input_responses,
        state: request_state,
        detach: false,
    };
    let call = |call: CallContext| {
        let (name, arguments) = (&name, if may_ask { kept_arguments.clone() } else { arguments.take() });
        async move { served.catalog.get_prompt(name, arguments, &call).await }
    };
    let refuse = |refusal| error::refusal_error_for(spec_version, refusal);
    let answer = match server.run_call((resumable, context), &admitted, call, refuse).await? {
        CallOutcome::Done(answer) => answer,
        CallOutcome::Detached(_) => return Err(ErrorData::internal_error("only tools can run as tasks", None)),
        CallOutcome::InputRequired(required) => return Ok(GetPromptResponse::InputRequired(required)),
    };
    let mut result = GetPromptResult::new(content::messages(answer.messages, spec_version));
    result.description = answer.description;
    if spec_version.is_sessionless() {
        result.meta = Some(served.meta.clone());
    }
    Ok(GetPromptResponse::Complete(result))
}
