//! `tools/list` and `tools/call`.

use rmcp::{
    RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ErrorCode, ErrorData, ListToolsResult,
        PaginatedRequestParams,
    },
    service::RequestContext,
};

use crate::catalog::answer::{Call, ToolAnswer};

use super::{
    Server,
    asking::{self, Came},
    capability::Kind,
    content, error,
    limit::Cost,
    older::Older,
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
    result.tools.leave_out(era);
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
    let cost = if admitted.served.catalog.acts(&request.name) { Cost::Act } else { Cost::Say };
    if let Err(wait) = server.allowance(admitted.era).take(cost) {
        let refused = ToolAnswer::failure(error::too_early(wait).message);
        return Ok(CallToolResponse::Complete(result(refused, &request.name, &admitted)));
    }
    let CallToolRequestParams { name, arguments, input_responses, request_state, .. } = request;
    let asked = asking::Request {
        method: "tools/call",
        name: &name,
        arguments: arguments.as_ref().filter(|_| admitted.served.talks),
        responses: input_responses,
        state: request_state,
    };
    let (catalog, era) = (&admitted.served.catalog, admitted.era);
    let call = |call: Call| {
        let (name, arguments) = (&name, arguments.clone());
        async move { catalog.call_tool(name, arguments, &call).await }
    };
    match server.ask_or((asked, context), &admitted, call, error::refused).await {
        Ok(Came::To(answer)) => Ok(CallToolResponse::Complete(result(answer, &name, &admitted))),
        Ok(Came::Waits(required)) => Ok(CallToolResponse::InputRequired(required)),
        // A session's model is told in words what its client cannot do.
        Err(error) if error.code == ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY && !era.is_modern() => {
            Ok(CallToolResponse::Complete(result(ToolAnswer::failure(error.message), &name, &admitted)))
        }
        Err(error) => Err(error),
    }
}

fn result(answer: ToolAnswer, name: &str, admitted: &Admitted) -> CallToolResult {
    let era = admitted.era;
    let content = content::blocks(answer.content, era);
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
