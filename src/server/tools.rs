//! `tools/call`.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use rmcp::model::{CallToolRequestParams, ErrorCode, ErrorData};

use crate::action::CallContext;
use crate::catalog::result::call_result::ToolResult;
use crate::catalog::result::refusal::RefusalKind;
use crate::spec_version::SpecVersion;

use super::{
    ConnectionHandler, bridge,
    call_log::{CallTarget, LoggedResult},
    client::RequestClient,
    client_rate_limit::RequestCost,
    error, output_shape,
    request::McpRequest,
    run_call::{CallOutcome, EntryCall},
    snapshot::CatalogSnapshot,
    tasks::{self, TaskCall},
    tool_search,
    version_keys::{self, Place},
};

/// Calls a tool. What is rare is in boxes of its own: every call holds this future.
pub(crate) fn call<'a>(
    server: &'a ConnectionHandler,
    mut params: CallToolRequestParams,
    request: &'a McpRequest,
) -> BoxFuture<'a, Result<Bytes, ErrorData>> {
    Box::pin(async move {
        let catalog = &request.snapshot.catalog;
        if let Some(tool) = server.bridge_tool(&params.name, request) {
            return Box::pin(bridge::call(server, tool, params, request)).await;
        }
        if let Some(answer) = tool_search::resolve(&mut params, catalog, &request.access) {
            return respond(answer, &params.name, request);
        }
        let (name, arguments) = (&*params.name, params.arguments.take());
        if let Err(refused) = server.charge(request, RequestCost::of_call(request.traits)) {
            return respond(ToolResult::failure(refused.message), name, request);
        }
        let policy = match tasks::task_policy(server, name, arguments.as_ref(), request) {
            Ok(policy) => policy,
            Err(refusal) => {
                request.note_refusal(&refusal);
                return match refusal.kind.is_tool_error() && refusal.kind != RefusalKind::UnknownTool {
                    true => respond(refusal.into(), name, request),
                    false => error_response(error::refusal_error(refusal), name, request),
                };
            }
        };
        if let Some(policy) = policy.filter(|policy| !policy.starts_after_step) {
            catalog
                .check_tool_requirements(name, &RequestClient::new(server, request, None))
                .map_err(error::refusal_error)?;
            let task_call = TaskCall { name: name.to_owned(), arguments, checkpoint: None, policy };
            return Box::pin(tasks::start_task(server, task_call, request)).await;
        }
        let entry_call = EntryCall {
            target: CallTarget { method: "tools/call", name, traits: request.traits },
            arguments,
            responses: params.input_responses.take(),
            state: params.request_state.take(),
            may_detach: policy.is_some(),
        };
        let call = |arguments, call: CallContext| -> BoxFuture<'_, _> {
            Box::pin(async move { catalog.call_tool(name, arguments, &call).await })
        };
        match (server.run_call(entry_call, request, call, error::refusal_error).await, policy) {
            (Ok(CallOutcome::Detached(checkpoint, arguments)), Some(policy)) => {
                let task_call = TaskCall { name: name.to_owned(), arguments, checkpoint: Some(*checkpoint), policy };
                Box::pin(tasks::start_task(server, task_call, request)).await
            }
            (Ok(outcome), _) => outcome.into_result(|answer| respond(answer, name, request)),
            (Err(error), _) => error_response(error, name, request),
        }
    })
}

/// An error response; in a session, missing capabilities become a tool error for the model.
fn error_response(error: ErrorData, name: &str, request: &McpRequest) -> Result<Bytes, ErrorData> {
    if error.code == ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY && !request.version.is_sessionless() {
        let message = match request.session.is_lasting {
            true => error.message.into_owned(),
            false => format!("{}: this server keeps no sessions, in which it could ask", error.message),
        };
        return respond(ToolResult::failure(message), name, request);
    }
    Err(error)
}

/// The result of a request, whose observers are told if the tool failed.
pub(crate) fn respond(answer: ToolResult, name: &str, request: &McpRequest) -> Result<Bytes, ErrorData> {
    if let Some(reason) = answer.failure() {
        request.end_note.fail(reason);
    }
    tool_result(answer, name, &request.snapshot, request.version)
}

/// A tool's answer in the words of the version.
pub(crate) fn tool_result(
    mut answer: ToolResult,
    name: &str,
    snapshot: &CatalogSnapshot,
    version: SpecVersion,
) -> Result<Bytes, ErrorData> {
    for (nth, block) in answer.content.iter_mut().enumerate() {
        version_keys::adapt_block(block, nth, version);
    }
    answer.structured = match answer.structured {
        Some(value) if version.is_sessionless() => Some(value),
        Some(value) if version >= SpecVersion::V2025_06_18 => {
            Some(output_shape::session_value(value, snapshot.output_shapes.get(name).copied()))
        }
        _ => None,
    };
    version_keys::to_json(snapshot.result_notes(version), answer, version, &[("content", Place::Block)])
}
