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
    client::Caller,
    content,
    dated::Dated,
    error,
    limit::Cost,
    older::Older,
    session::{Admitted, Era},
    structured, tasks,
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
    Ok(result.dated(&served, era))
}

pub(crate) async fn call(
    server: &Server,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let admitted = server.admit(Kind::Tools, context)?;
    let catalog = &admitted.served.catalog;
    let cost = if catalog.acts(&request.name) { Cost::Act(catalog.limits().calls_per_second) } else { Cost::Say };
    if let Err(wait) = server.allowance(admitted.era).take(cost) {
        let refused = ToolAnswer::failure(error::too_early(wait).message);
        return Ok(CallToolResponse::Complete(result(refused, &request.name, &admitted)));
    }
    let CallToolRequestParams { name, mut arguments, input_responses, request_state, .. } = request;
    let rule = match tasks::rule(&name, &admitted, context) {
        Ok(rule) => rule,
        Err(refusal) => return refused(error::refused(refusal), &name, &admitted),
    };
    if let Some(rule) = rule.filter(|rule| !rule.later) {
        let caller = Caller::new(server, context, admitted.era, None);
        admitted.served.catalog.meets(&name, &caller).map_err(error::refused)?;
        return tasks::begin(server, (name.into_owned(), arguments), None, rule, (admitted, context));
    }
    let may_ask = admitted.served.talks || rule.is_some() || request_state.is_some();
    let kept = if may_ask { arguments.take() } else { None };
    let asked = asking::Request {
        method: "tools/call",
        name: &name,
        arguments: kept.as_ref(),
        responses: input_responses,
        state: request_state,
        detach: rule.is_some(),
    };
    let catalog = &admitted.served.catalog;
    let call = |call: Call| {
        let (name, arguments) = (&name, if may_ask { kept.clone() } else { arguments.take() });
        async move { catalog.call_tool(name, arguments, &call).await }
    };
    match (server.ask_or((asked, context), &admitted, call, error::refused).await, rule) {
        (Ok(Came::To(answer)), _) => Ok(CallToolResponse::Complete(result(answer, &name, &admitted))),
        (Ok(Came::Waits(required)), _) => Ok(CallToolResponse::InputRequired(required)),
        (Ok(Came::Detached(checkpoint)), Some(rule)) => {
            tasks::begin(server, (name.into_owned(), kept), Some(*checkpoint), rule, (admitted, context))
        }
        (Ok(Came::Detached(_)), None) => Err(ErrorData::internal_error("the tool is no task", None)),
        (Err(error), _) => refused(error, &name, &admitted),
    }
}

/// An error; in a session the model is told in words what its client cannot do.
fn refused(error: ErrorData, name: &str, admitted: &Admitted) -> Result<CallToolResponse, ErrorData> {
    if error.code == ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY && !admitted.era.is_modern() {
        return Ok(CallToolResponse::Complete(result(ToolAnswer::failure(error.message), name, admitted)));
    }
    Err(error)
}

/// A tool's answer in the words of the version.
pub(crate) fn result(answer: ToolAnswer, name: &str, admitted: &Admitted) -> CallToolResult {
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
