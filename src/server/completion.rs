//! `completion/complete`.

use rmcp::{
    model::{CompleteRequestParams, CompleteResult, CompletionInfo, ErrorData, Reference},
};

use crate::catalog::result::call_result::{CompletionRequest, CompletionTarget};

use super::{
    ConnectionHandler, RequestContext, capability::CapabilityKind, client_rate_limit::RequestCost, error, session::AdmittedRequest,
};

pub(crate) async fn complete(
    server: &ConnectionHandler,
    request: CompleteRequestParams,
    context: &RequestContext,
) -> Result<CompleteResult, ErrorData> {
    let AdmittedRequest { snapshot, spec_version } = server.admit(CapabilityKind::Completions, context)?;
    server.rate_limiter(spec_version).take(RequestCost::Completion).map_err(error::rate_limited)?;
    let completion = completion_request(request)?;
    if snapshot.catalog.completion_runs_actions(&completion) {
        server.charge_call(spec_version, true).map_err(error::rate_limited)?;
    }
    let call = server.call_context(context, &snapshot);
    let completions = server
        .run(&call.cancel, Box::pin(snapshot.catalog.complete(&completion, &call)))
        .await
        .map_err(error::refusal_error)?;
    let mut info = CompletionInfo::default();
    info.has_more = Some(completions.has_more || completions.values.len() > CompletionInfo::MAX_VALUES);
    info.total = completions.total.and_then(|total| u32::try_from(total).ok());
    info.values = completions.values;
    info.values.truncate(CompletionInfo::MAX_VALUES);
    let mut result = CompleteResult::new(info);
    result.meta = snapshot.result_meta(spec_version);
    Ok(result)
}

fn completion_request(request: CompleteRequestParams) -> Result<CompletionRequest, ErrorData> {
    let of = match request.r#ref {
        Reference::Prompt(prompt) => CompletionTarget::Prompt(prompt.name),
        Reference::Resource(resource) => CompletionTarget::Template(resource.uri),
        _ => return Err(ErrorData::invalid_params("invalid `ref`, expected `ref/prompt` or `ref/resource`", None)),
    };
    let context = request.context.and_then(|context| context.arguments).unwrap_or_default();
    Ok(CompletionRequest {
        target: of,
        argument: request.argument.name,
        value: request.argument.value,
        context: context.into_iter().collect(),
    })
}
