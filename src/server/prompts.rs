//! `prompts/list` and `prompts/get`.

use rmcp::{
    RoleServer,
    model::{
        ErrorData, GetPromptRequestParams, GetPromptResponse, GetPromptResult, ListPromptsResult,
        PaginatedRequestParams,
    },
    service::RequestContext,
};

use super::{Server, capability::Kind, content, error, session::Admitted};

pub(crate) fn list(
    server: &Server,
    request: Option<PaginatedRequestParams>,
    context: &RequestContext<RoleServer>,
) -> Result<ListPromptsResult, ErrorData> {
    let Admitted { served, era } = server.admit(Kind::Prompts, context)?;
    let page = served.prompts.page(request, served.page_size)?;
    let mut result = ListPromptsResult { prompts: page.items, next_cursor: page.next, ..Default::default() };
    if era.is_modern() {
        result.meta = Some(served.meta.clone());
        result.ttl_ms = Some(served.ttl_ms);
        result.cache_scope = Some(served.cache_scope);
    }
    Ok(result)
}

pub(crate) async fn get(
    server: &Server,
    request: GetPromptRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<GetPromptResponse, ErrorData> {
    let Admitted { served, era } = server.admit(Kind::Prompts, context)?;
    let call = server.call(context);
    let answer = served.catalog.get_prompt(&request.name, request.arguments, &call);
    let answer = server.run(context, answer).await.map_err(error::refused)?;
    let mut result = GetPromptResult::new(answer.messages.into_iter().map(content::message).collect());
    result.description = answer.description;
    if era.is_modern() {
        result.meta = Some(served.meta.clone());
    }
    Ok(GetPromptResponse::Complete(result))
}
