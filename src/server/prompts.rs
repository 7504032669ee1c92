//! `prompts/get`.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use rmcp::model::{ErrorData, GetPromptRequestParams};

use crate::action::CallContext;
use crate::catalog::CallTraits;
use crate::catalog::result::call_result::PromptResult;

use super::{
    ConnectionHandler,
    call_log::CallTarget,
    client_rate_limit::RequestCost,
    error,
    request::McpRequest,
    run_call::{CallOutcome, EntryCall},
    version_keys::{self, Place},
};

pub(crate) fn get<'a>(
    server: &'a ConnectionHandler,
    mut params: GetPromptRequestParams,
    request: &'a McpRequest,
) -> BoxFuture<'a, Result<Bytes, ErrorData>> {
    Box::pin(async move {
        let version = request.version;
        let outcome = render(server, &mut params, request.traits, request).await?;
        outcome.into_result(|mut answer: PromptResult| {
            for (nth, message) in answer.messages.iter_mut().enumerate() {
                version_keys::adapt_block(&mut message.content, nth, version);
            }
            let notes = request.snapshot.result_notes(version);
            version_keys::to_json(notes, answer, version, &[("messages", Place::Message)])
        })
    })
}

/// Renders a prompt for a client. Takes all but the name from `params`.
pub(crate) async fn render(
    server: &ConnectionHandler,
    params: &mut GetPromptRequestParams,
    traits: CallTraits,
    request: &McpRequest,
) -> Result<CallOutcome<PromptResult>, ErrorData> {
    let (catalog, version, name) = (&request.snapshot.catalog, request.version, params.name.as_str());
    server.charge(request, RequestCost::of_call(traits))?;
    let entry_call = EntryCall {
        target: CallTarget { method: "prompts/get", name, traits },
        arguments: params.arguments.take(),
        responses: params.input_responses.take(),
        state: params.request_state.take(),
        may_detach: false,
    };
    let call = |arguments, call: CallContext| -> BoxFuture<'_, _> {
        Box::pin(async move { catalog.get_prompt(name, arguments, &call).await })
    };
    let refuse = |refusal| error::refusal_error_for(version, refusal);
    server.run_call(entry_call, request, call, refuse).await
}
