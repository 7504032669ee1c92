//! `prompts/get`.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use rmcp::model::{ErrorData, GetPromptRequestParams};
use serde::Serialize;

use crate::catalog::result::call_result::{CallContext, PromptResult, ResultMessage};

use super::{
    ConnectionHandler, RequestContext,
    call_log::CallTarget,
    capability::CapabilityKind,
    error,
    run_call::{CallOutcome, CallRequest},
    session::AdmittedRequest,
    snapshot::ResultNotes,
    version_keys::{self, Place},
};

/// The result of `prompts/get`.
#[derive(Serialize)]
struct GetResult<'a> {
    #[serde(flatten)]
    notes: ResultNotes<'a>,
    #[serde(flatten)]
    answer: &'a PromptResult,
}

pub(crate) async fn get(
    server: &ConnectionHandler,
    request: GetPromptRequestParams,
    context: &RequestContext,
) -> Result<Bytes, ErrorData> {
    let admitted = server.admit(CapabilityKind::Prompts, context)?;
    let (served, version) = (&admitted.snapshot, admitted.spec_version);
    let outcome = render(server, request, &admitted, context).await?;
    outcome.into_result(|mut answer: PromptResult| {
        let messages = answer.messages.into_iter().enumerate();
        let adapted = messages.map(|(nth, message)| ResultMessage {
            content: version_keys::adapt_block(message.content, nth, version),
            ..message
        });
        answer.messages = adapted.collect();
        let result = GetResult { notes: served.result_notes(version), answer: &answer };
        version_keys::to_json(&result, version, &[("messages", Place::Message)])
    })
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
