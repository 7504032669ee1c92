//! `completion/complete`.

use rmcp::{
    RoleServer,
    model::{CompleteRequestParams, CompleteResult, CompletionInfo, ErrorData, Reference},
    service::RequestContext,
};

use crate::catalog::answer::{Completion, CompletionOf};

use super::{Server, capability::Kind, error, limit::Cost, session::Admitted};

pub(crate) async fn complete(
    server: &Server,
    request: CompleteRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CompleteResult, ErrorData> {
    let Admitted { served, era } = server.admit(Kind::Completions, context)?;
    server.allowance(era).take(Cost::Complete).map_err(error::too_early)?;
    let wish = wish(request)?;
    if served.catalog.completion_acts(&wish) {
        server.take(era, true).map_err(error::too_early)?;
    }
    let call = server.call(context, &served);
    let found = server.run(context, Box::pin(served.catalog.complete(&wish, &call))).await.map_err(error::refused)?;
    let mut info = CompletionInfo::default();
    info.has_more = Some(found.has_more || found.values.len() > CompletionInfo::MAX_VALUES);
    info.total = found.total.and_then(|total| u32::try_from(total).ok());
    info.values = found.values;
    info.values.truncate(CompletionInfo::MAX_VALUES);
    let mut result = CompleteResult::new(info);
    if era.is_modern() {
        result.meta = Some(served.meta.clone());
    }
    Ok(result)
}

fn wish(request: CompleteRequestParams) -> Result<Completion, ErrorData> {
    let of = match request.r#ref {
        Reference::Prompt(prompt) => CompletionOf::Prompt(prompt.name),
        Reference::Resource(resource) => CompletionOf::Template(resource.uri),
        _ => return Err(ErrorData::invalid_params("`ref` is neither of a prompt nor of a resource", None)),
    };
    let context = request.context.and_then(|context| context.arguments).unwrap_or_default();
    Ok(Completion {
        of,
        argument: request.argument.name,
        value: request.argument.value,
        context: context.into_iter().collect(),
    })
}
