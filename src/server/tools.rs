//! `tools/call`.

use std::ops::ControlFlow;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use rmcp::model::{CallToolRequestParams, ErrorCode, ErrorData};
use serde::Serialize;

use crate::catalog::result::call_result::{CallContext, ToolResult};
use crate::spec_version::SpecVersion;

use super::{
    ConnectionHandler, RequestContext, bridge,
    call_log::CallTarget,
    capability::CapabilityKind,
    client::RequestClient,
    error, output_shape,
    run_call::{CallOutcome, CallRequest},
    session::AdmittedRequest,
    snapshot::ResultNotes,
    tasks::{self, TaskCall},
    tool_search,
    version_keys::{self, Place},
};

pub(crate) async fn call(
    server: &ConnectionHandler,
    request: CallToolRequestParams,
    context: &RequestContext,
) -> Result<Bytes, ErrorData> {
    let admitted = server.admit(CapabilityKind::Tools, context)?;
    if let Some(tool) = server.bridge_tool(&request.name, &admitted.snapshot, context) {
        return bridge::call(server, tool, request, &admitted, context).await;
    }
    let name = request.name.clone();
    let request = match tool_search::resolve(request, &admitted.snapshot.catalog) {
        ControlFlow::Continue(request) => request,
        ControlFlow::Break(answer) => return tool_result(answer, &name, &admitted),
    };
    let runs_actions = admitted.snapshot.catalog.tool_runs_actions(&request.name);
    if let Err(wait) = server.charge_call(admitted.spec_version, runs_actions) {
        let answer = ToolResult::failure(error::rate_limited(wait).message);
        return tool_result(answer, &request.name, &admitted);
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
        (Ok(outcome), _) => outcome.into_result(|answer| tool_result(answer, &name, &admitted)),
        (Err(error), _) => error_response(error, &name, &admitted),
    }
}

/// Starts a task before anything of the call has run, if its client has what the tool requires.
fn start_task_at_once(
    server: &ConnectionHandler,
    task_call: TaskCall,
    context: &RequestContext,
) -> Result<Bytes, ErrorData> {
    let AdmittedRequest { snapshot, spec_version } = &task_call.admitted;
    let client = RequestClient::new(server, context, *spec_version, None);
    snapshot.catalog.check_tool_requirements(&task_call.name, &client).map_err(error::refusal_error)?;
    tasks::start_task(server, task_call, context)
}

/// An error response; in a session, missing capabilities become a tool error for the model.
fn error_response(error: ErrorData, name: &str, admitted: &AdmittedRequest) -> Result<Bytes, ErrorData> {
    if error.code == ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY && !admitted.spec_version.is_sessionless() {
        return tool_result(ToolResult::failure(error.message), name, admitted);
    }
    Err(error)
}

/// The result of a call of a tool.
#[derive(Serialize)]
struct CallResult<'a> {
    #[serde(flatten)]
    notes: ResultNotes<'a>,
    #[serde(flatten)]
    answer: &'a ToolResult,
}

/// A tool's answer in the words of the version.
pub(crate) fn tool_result(mut answer: ToolResult, name: &str, admitted: &AdmittedRequest) -> Result<Bytes, ErrorData> {
    let (snapshot, version) = (&admitted.snapshot, admitted.spec_version);
    answer.content = version_keys::adapt_blocks(answer.content, version);
    answer.structured = match answer.structured {
        Some(value) if version.is_sessionless() => Some(value),
        Some(value) if version >= SpecVersion::V2025_06_18 => {
            Some(output_shape::session_value(value, snapshot.output_shapes.get(name).copied()))
        }
        _ => None,
    };
    let result = CallResult { notes: snapshot.result_notes(version), answer: &answer };
    version_keys::to_json(&result, version, &[("content", Place::Block)])
}
