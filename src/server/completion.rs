//! `completion/complete`.

use std::collections::BTreeMap;

use bytes::Bytes;
use rmcp::model::{CompleteRequestParams, ErrorData, Reference};

use crate::catalog::result::call_result::{CompletionRequest, CompletionTarget};

use super::{ConnectionHandler, client_rate_limit::RequestCost, error, request::McpRequest, version_keys};

pub(crate) async fn complete(
    server: &ConnectionHandler,
    params: CompleteRequestParams,
    request: &McpRequest,
) -> Result<Bytes, ErrorData> {
    let (snapshot, version) = (&request.snapshot, request.version);
    server.charge(request, RequestCost::Completion)?;
    let asked = completion_request(params)?;
    if snapshot.catalog.completion_runs_actions(&asked) {
        server.charge(request, RequestCost::Action)?;
    }
    let call = server.call_context(request, &request.cancel);
    let completion = server
        .run(call.cancel(), Box::pin(async { Ok(snapshot.catalog.complete(&asked, &call).await?) }))
        .await
        .map_err(|error| error::refusal_error(error.into_refusal()))?;
    let content = BTreeMap::from([("completion", completion)]);
    version_keys::to_json(snapshot.result_notes(version), content, version, &[])
}

pub(super) fn completion_request(params: CompleteRequestParams) -> Result<CompletionRequest, ErrorData> {
    let of = match params.r#ref {
        Reference::Prompt(prompt) => CompletionTarget::Prompt(prompt.name),
        Reference::Resource(resource) => CompletionTarget::Template(resource.uri),
        _ => return Err(ErrorData::invalid_params("invalid `ref`, expected `ref/prompt` or `ref/resource`", None)),
    };
    let context = params.context.and_then(|context| context.arguments).unwrap_or_default();
    Ok(CompletionRequest {
        target: of,
        argument: params.argument.name,
        value: params.argument.value,
        context: context.into_iter().collect(),
    })
}
