//! `tools/list` and `tools/call`.

use std::ops::ControlFlow;

use futures_util::future::BoxFuture;
use rmcp::{
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ErrorCode, ErrorData, ListToolsResult,
        PaginatedRequestParams,
    },
};

use crate::catalog::result::call_result::{CallContext, ToolResult};
use crate::spec_version::SpecVersion;

use super::{
    ConnectionHandler, RequestContext, bridge,
    cache_hints::CacheHints,
    call_log::CallTarget,
    capability::CapabilityKind,
    client::RequestClient,
    content,
    downgrade::Downgrade,
    error,
    run_call::{CallOutcome, CallRequest},
    session::AdmittedRequest,
    structured_content,
    tasks::{self, TaskCall},
    tool_search,
};

pub(crate) fn list(
    server: &ConnectionHandler,
    request: Option<PaginatedRequestParams>,
    context: &RequestContext,
) -> Result<ListToolsResult, ErrorData> {
    let AdmittedRequest { snapshot, spec_version } = server.admit(CapabilityKind::Tools, context)?;
    let listing = if spec_version.is_sessionless() { &snapshot.tools } else { &snapshot.session_tools };
    let lists = server.bridged_lists(&snapshot, context);
    let page = match lists.any() {
        true => bridge::with_tools(listing, lists, &snapshot).page(request, snapshot.page_size)?,
        false => listing.page(request, snapshot.page_size)?,
    };
    let mut result = ListToolsResult { tools: page.items, next_cursor: page.next, ..Default::default() };
    result.tools.downgrade(spec_version);
    Ok(result.with_cache_hints(&snapshot, spec_version))
}

pub(crate) async fn call(
    server: &ConnectionHandler,
    request: CallToolRequestParams,
    context: &RequestContext,
) -> Result<CallToolResponse, ErrorData> {
    let admitted = server.admit(CapabilityKind::Tools, context)?;
    if let Some(tool) = server.bridge_tool(&request.name, &admitted.snapshot, context) {
        return bridge::call(server, tool, request, &admitted, context).await;
    }
    let name = request.name.clone();
    let request = match tool_search::resolve(request, &admitted.snapshot.catalog) {
        ControlFlow::Continue(request) => request,
        ControlFlow::Break(answer) => return Ok(CallToolResponse::Complete(tool_result(answer, &name, &admitted))),
    };
    let runs_actions = admitted.snapshot.catalog.tool_runs_actions(&request.name);
    if let Err(wait) = server.charge_call(admitted.spec_version, runs_actions) {
        let answer = ToolResult::failure(error::rate_limited(wait).message);
        return Ok(CallToolResponse::Complete(tool_result(answer, &request.name, &admitted)));
    }
    let CallToolRequestParams { name, arguments, input_responses, request_state, .. } = request;
    let policy = match tasks::task_policy(&name, &admitted, context) {
        Ok(policy) => policy,
        Err(refusal) => return error_response(error::refusal_error(refusal), &name, &admitted),
    };
    if let Some(policy) = policy.filter(|policy| !policy.starts_after_step) {
        let task_call = TaskCall { name: name.into_owned(), arguments, checkpoint: None, policy, admitted };
        return start_task_at_once(server, task_call, context);
    }
    let call_request = CallRequest {
        target: CallTarget { method: "tools/call", name: &name, runs_actions },
        arguments,
        responses: input_responses,
        state: request_state,
        may_detach: policy.is_some(),
        context,
    };
    let (catalog, tool) = (&admitted.snapshot.catalog, &*name);
    let call = |arguments, call: CallContext| -> BoxFuture<'_, _> {
        Box::pin(async move { catalog.call_tool(tool, arguments, &call).await })
    };
    match (server.run_call(call_request, &admitted, call, error::refusal_error).await, policy) {
        (Ok(CallOutcome::Detached(checkpoint, arguments)), Some(policy)) => {
            let checkpoint = Some(*checkpoint);
            let task_call = TaskCall { name: name.into_owned(), arguments, checkpoint, policy, admitted };
            tasks::start_task(server, task_call, context)
        }
        (Ok(outcome), _) => outcome.into_response(
            |answer| CallToolResponse::Complete(tool_result(answer, &name, &admitted)),
            CallToolResponse::InputRequired,
        ),
        (Err(error), _) => error_response(error, &name, &admitted),
    }
}

/// Starts a task before anything of the call has run, if its client has what the tool requires.
fn start_task_at_once(
    server: &ConnectionHandler,
    task_call: TaskCall,
    context: &RequestContext,
) -> Result<CallToolResponse, ErrorData> {
    let AdmittedRequest { snapshot, spec_version } = &task_call.admitted;
    let client = RequestClient::new(server, context, *spec_version, None);
    snapshot.catalog.check_tool_requirements(&task_call.name, &client).map_err(error::refusal_error)?;
    tasks::start_task(server, task_call, context)
}

/// An error response; in a session, missing capabilities become a tool error for the model.
fn error_response(error: ErrorData, name: &str, admitted: &AdmittedRequest) -> Result<CallToolResponse, ErrorData> {
    if error.code == ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY && !admitted.spec_version.is_sessionless() {
        return Ok(CallToolResponse::Complete(tool_result(ToolResult::failure(error.message), name, admitted)));
    }
    Err(error)
}

/// A tool's answer in the words of the version.
pub(crate) fn tool_result(answer: ToolResult, name: &str, admitted: &AdmittedRequest) -> CallToolResult {
    let spec_version = admitted.spec_version;
    let content = content::blocks(answer.content, spec_version);
    let mut result = if answer.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
    result.structured_content = match answer.structured {
        Some(value) if spec_version.is_sessionless() => Some(value),
        Some(value) if spec_version >= SpecVersion::V2025_06_18 => {
            Some(structured_content::session_value(value, admitted.snapshot.output_shapes.get(name).copied()))
        }
        _ => None,
    };
    result.meta = admitted.snapshot.result_meta(spec_version);
    result
}
