//! `prompts/list` and `prompts/get`.

use rmcp::{
    RoleServer,
    model::{
        ErrorData, GetPromptRequestParams, GetPromptResponse, GetPromptResult, ListPromptsResult,
        PaginatedRequestParams,
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
    session::Admitted,
};

pub(crate) fn list(
    server: &Server,
    request: Option<PaginatedRequestParams>,
    context: &RequestContext<RoleServer>,
) -> Result<ListPromptsResult, ErrorData> {
    let Admitted { served, era } = server.admit(Kind::Prompts, context)?;
    let mut page = served.prompts.page(request, served.page_size)?;
    page.items.leave_out(era);
    let result = ListPromptsResult { prompts: page.items, next_cursor: page.next, ..Default::default() };
    Ok(result.dated(&served, era))
}

pub(crate) async fn get(
    server: &Server,
    request: GetPromptRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<GetPromptResponse, ErrorData> {
    let admitted = server.admit(Kind::Prompts, context)?;
    let (served, era) = (&admitted.served, admitted.era);
    server.take(era, served.catalog.prompt_acts(&request.name)).map_err(error::too_early)?;
    let GetPromptRequestParams { name, mut arguments, input_responses, request_state, .. } = request;
    let may_ask = served.talks || request_state.is_some();
    let kept = if may_ask { arguments.take() } else { None };
    let asked = asking::Request {
        method: "prompts/get",
        name: &name,
        arguments: kept.as_ref(),
        responses: input_responses,
        state: request_state,
        detach: false,
    };
    let call = |call: Call| {
        let (name, arguments) = (&name, if may_ask { kept.clone() } else { arguments.take() });
        async move { served.catalog.get_prompt(name, arguments, &call).await }
    };
    let refuse = |refusal| error::refused_in(era, refusal);
    let answer = match server.ask_or((asked, context), &admitted, call, refuse).await? {
        Came::To(answer) => answer,
        Came::Detached(_) => return Err(ErrorData::internal_error("only tools run as tasks", None)),
        Came::Waits(required) => return Ok(GetPromptResponse::InputRequired(required)),
    };
    let mut result = GetPromptResult::new(content::messages(answer.messages, era));
    result.description = answer.description;
    if era.is_modern() {
        result.meta = Some(served.meta.clone());
    }
    Ok(GetPromptResponse::Complete(result))
}
