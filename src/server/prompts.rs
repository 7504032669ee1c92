//! `prompts/get`.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use rmcp::model::{ErrorData, GetPromptRequestParams};

use crate::action::CallContext;
use crate::catalog::result::call_result::{PromptResult, ResultMessage};

use super::{
    ConnectionHandler,
    call_log::CallTarget,
    error,
    request::McpRequest,
    run_call::{CallOutcome, EntryCall},
    version_keys::{self, Place},
};

pub(crate) async fn get(
    server: &ConnectionHandler,
    params: GetPromptRequestParams,
    request: &McpRequest,
) -> Result<Bytes, ErrorData> {
    let version = request.version;
    let outcome = render(server, params, request).await?;
    outcome.into_result(|mut answer: PromptResult| {
        let messages = answer.messages.into_iter().enumerate();
        let adapted = messages.map(|(nth, message)| ResultMessage {
            content: version_keys::adapt_block(message.content, nth, version),
            ..message
        });
        answer.messages = adapted.collect();
        let notes = request.snapshot.result_notes(version);
        version_keys::to_json(notes, answer, version, &[("messages", Place::Message)])
    })
}

/// Renders a prompt for a client.
pub(crate) async fn render(
    server: &ConnectionHandler,
    params: GetPromptRequestParams,
    request: &McpRequest,
) -> Result<CallOutcome<PromptResult>, ErrorData> {
    let (catalog, version, name) = (&request.snapshot.catalog, request.version, params.name.as_str());
    let runs_actions = catalog.prompt_runs_actions(name);
    server.charge_call(request, runs_actions).map_err(|wait| request.rate_limited(wait))?;
    let entry_call = EntryCall {
        target: CallTarget { method: "prompts/get", name, runs_actions },
        arguments: params.arguments,
        responses: params.input_responses,
        state: params.request_state,
        may_detach: false,
    };
    let call = |arguments, call: CallContext| -> BoxFuture<'_, _> {
        Box::pin(async move { catalog.get_prompt(name, arguments, &call).await })
    };
    let refuse = |refusal| error::refusal_error_for(version, refusal);
    server.run_call(entry_call, request, call, refuse).await
}
