//! `tools/list` and `tools/call`.

use rmcp::{
    RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, ListToolsResult, PaginatedRequestParams,
    },
    service::RequestContext,
};

use crate::catalog::answer::ToolAnswer;

use super::{
    Server,
    capability::Kind,
    content, error,
    session::{Admitted, Era},
    structured,
};

pub(crate) fn list(
    server: &Server,
    request: Option<PaginatedRequestParams>,
    context: &RequestContext<RoleServer>,
) -> Result<ListToolsResult, ErrorData> {
    let Admitted { served, era } = server.admit(Kind::Tools, context)?;
    let listing = if era.is_modern() { &served.tools } else { &served.session_tools };
    let page = listing.page(request, served.page_size)?;
    let mut result = ListToolsResult { tools: page.items, next_cursor: page.next, ..Default::default() };
    if era < Era::V2025_06_18 {
        result.tools.iter_mut().for_each(|tool| tool.output_schema = None);
    }
    if era.is_modern() {
        result.meta = Some(served.meta.clone());
        result.ttl_ms = Some(served.ttl_ms);
        result.cache_scope = Some(served.cache_scope);
    }
    Ok(result)
}

pub(crate) async fn call(
    server: &Server,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let admitted = server.admit(Kind::Tools, context)?;
    let call = server.call(context);
    let answer = admitted.served.catalog.call_tool(&request.name, request.arguments, &call);
    let answer = server.run(context, answer).await.map_err(error::refused)?;
    Ok(CallToolResponse::Complete(result(answer, &request.name, &admitted)))
}

fn result(answer: ToolAnswer, name: &str, admitted: &Admitted) -> CallToolResult {
    let era = admitted.era;
    let content = content::blocks(answer.content);
    let mut result = if answer.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
    result.structured_content = match answer.structured {
        Some(value) if era.is_modern() => Some(value),
        Some(value) if era >= Era::V2025_06_18 => {
            Some(structured::for_session(value, admitted.served.shapes.get(name).copied()))
        }
        _ => None,
    };
    if era.is_modern() {
        result.meta = Some(admitted.served.meta.clone());
    }
    result
}
