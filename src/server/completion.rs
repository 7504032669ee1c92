//! `completion/complete`.

use bytes::Bytes;
use rmcp::model::{CompleteRequestParams, CompletionInfo, ErrorData, Reference};
use serde::Serialize;

use crate::catalog::result::call_result::{CompletionRequest, CompletionResult, CompletionTarget};

use super::{
    ConnectionHandler, client_rate_limit::RequestCost, error, request::McpRequest, snapshot::ResultNotes, version_keys,
};

/// The result of `completion/complete`.
#[derive(Serialize)]
struct CompleteResult<'a> {
    #[serde(flatten)]
    notes: ResultNotes<'a>,
    completion: CompletionResult,
}

pub(crate) async fn complete(
    server: &ConnectionHandler,
    params: CompleteRequestParams,
    request: &McpRequest,
) -> Result<Bytes, ErrorData> {
    let (snapshot, version) = (&request.snapshot, request.version);
    server.rate_limiter(version).take(RequestCost::Completion).map_err(error::rate_limited)?;
    let completion = completion_request(params)?;
    if snapshot.catalog.completion_runs_actions(&completion) {
        server.charge_call(version, true).map_err(error::rate_limited)?;
    }
    let call = server.call_context(request, request.cancel.child_token());
    let completions = server
        .run(call.cancel(), Box::pin(async { Ok(snapshot.catalog.complete(&completion, &call).await?) }))
        .await
        .map_err(|error| error::refusal_error(error.into_refusal()))?;
    let has_more = completions.has_more || completions.values.len() > CompletionInfo::MAX_VALUES;
    let mut values = completions.values;
    values.truncate(CompletionInfo::MAX_VALUES);
    let completion = CompletionResult { values, has_more, ..completions };
    let result = CompleteResult { notes: snapshot.result_notes(version), completion };
    version_keys::to_json(&result, version, &[])
}

fn completion_request(params: CompleteRequestParams) -> Result<CompletionRequest, ErrorData> {
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
