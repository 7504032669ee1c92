//! `resources/list`, `resources/templates/list` and `resources/read`.

use rmcp::{
    RoleServer,
    model::{
        ErrorData, ListResourceTemplatesResult, ListResourcesResult, PaginatedRequestParams, ReadResourceRequestParams,
        ReadResourceResponse, ReadResourceResult,
    },
    service::RequestContext,
};

use crate::catalog::answer::Call;

use super::{
    Server,
    asking::{self, Came},
    capability::Kind,
    content,
    dated::Dated,
    error,
    older::Older,
    served,
    session::Admitted,
};

pub(crate) fn list(
    server: &Server,
    request: Option<PaginatedRequestParams>,
    context: &RequestContext<RoleServer>,
) -> Result<ListResourcesResult, ErrorData> {
    let Admitted { served, era } = server.admit(Kind::Resources, context)?;
    let mut page = served.resources.page(request, served.page_size)?;
    page.items.leave_out(era);
    let result = ListResourcesResult { resources: page.items, next_cursor: page.next, ..Default::default() };
    Ok(result.dated(&served, era))
}

pub(crate) fn list_templates(
    server: &Server,
    request: Option<PaginatedRequestParams>,
    context: &RequestContext<RoleServer>,
) -> Result<ListResourceTemplatesResult, ErrorData> {
    let Admitted { served, era } = server.admit(Kind::Resources, context)?;
    let mut page = served.resource_templates.page(request, served.page_size)?;
    page.items.leave_out(era);
    let result =
        ListResourceTemplatesResult { resource_templates: page.items, next_cursor: page.next, ..Default::default() };
    Ok(result.dated(&served, era))
}

pub(crate) async fn read(
    server: &Server,
    request: ReadResourceRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<ReadResourceResponse, ErrorData> {
    let admitted = server.admit(Kind::Resources, context)?;
    let (served, era) = (&admitted.served, admitted.era);
    server.take(era, served.catalog.resource_acts(&request.uri)).map_err(error::too_early)?;
    let ReadResourceRequestParams { uri, input_responses, request_state, .. } = request;
    let asked = asking::Request {
        method: "resources/read",
        name: &uri,
        arguments: None,
        responses: input_responses,
        state: request_state,
        detach: false,
    };
    let call = |call: Call| {
        let uri = &uri;
        async move { served.catalog.read_resource(uri, &call).await }
    };
    let refuse = |refusal| error::refused_uri(era, refusal, &uri);
    let answer = match server.ask_or((asked, context), &admitted, call, refuse).await? {
        Came::To(answer) => answer,
        Came::Detached(_) => return Err(ErrorData::internal_error("only tools run as tasks", None)),
        Came::Waits(required) => return Ok(ReadResourceResponse::InputRequired(required)),
    };
    let mut result = ReadResourceResult::new(content::all(answer.contents, era));
    if era.is_modern() {
        let own_scope = answer.cache_scope.map(|scope| served::cache_scope(Some(scope)));
        result.meta = Some(served.meta.clone());
        result.ttl_ms = Some(answer.ttl_ms.unwrap_or(served.ttl_ms));
        result.cache_scope = Some(own_scope.unwrap_or_else(|| served.cache_scope));
    }
    Ok(ReadResourceResponse::Complete(result))
}
