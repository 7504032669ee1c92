//! `skills/list`, `skills/get` and `resources/directory/read`: the skills extension.

use rmcp::{
    RoleServer,
    model::{
        ErrorData, GetSkillResult, ListResourcesResult, ListSkillsResult, PaginatedRequestParams,
        ReadResourceDirectoryRequestParams, ReadResourceDirectoryResult, Resource,
    },
    service::RequestContext,
};
use serde_json::json;

use crate::diagnostic::cut;

use super::{
    Server,
    capability::Kind,
    dated::Dated,
    listing::Listing,
    older::Older,
    served::{self, fingerprint},
    session::Admitted,
};

pub(crate) fn list(
    server: &Server,
    request: Option<PaginatedRequestParams>,
    context: &RequestContext<RoleServer>,
) -> Result<ListSkillsResult, ErrorData> {
    let Admitted { served, era } = server.admit(Kind::Skills, context)?;
    let page = served.skills.page(request, served.page_size)?;
    let result = ListSkillsResult { skills: page.items, next_cursor: page.next, ..Default::default() };
    Ok(result.dated(&served, era))
}

pub(crate) fn get(
    server: &Server,
    uri: &str,
    context: &RequestContext<RoleServer>,
) -> Result<GetSkillResult, ErrorData> {
    let Admitted { served, era } = server.admit(Kind::Skills, context)?;
    let Some(skill) = served.skills.find(|skill| skill.uri == uri) else {
        let message = format!("no skill is served at {}", cut(uri, 256));
        return Err(ErrorData::invalid_params(message, Some(json!({ "uri": cut(uri, 4096) }))));
    };
    let result = GetSkillResult::new(skill.clone());
    Ok(result.dated(&served, era))
}

pub(crate) fn directory(
    server: &Server,
    request: ReadResourceDirectoryRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<ReadResourceDirectoryResult, ErrorData> {
    let Admitted { served, era } = server.admit(Kind::Skills, context)?;
    let uri = request.uri;
    let Some(children) = served.catalog.directory(&uri) else {
        let message = format!("{} is no folder of a skill", cut(&uri, 256));
        return Err(ErrorData::invalid_params(message, Some(json!({ "uri": cut(&uri, 4096) }))));
    };
    let uris: Vec<&str> = children.iter().map(|child| child.uri.as_str()).collect();
    let print = fingerprint(&uris);
    let children: Vec<Resource> = children.iter().map(served::resource).collect();
    let pages = PaginatedRequestParams::default().with_cursor(request.cursor);
    let mut page = Listing::new(children, print).page(Some(pages), served.page_size)?;
    page.items.leave_out(era);
    let result = ListResourcesResult { resources: page.items, next_cursor: page.next, ..Default::default() };
    Ok(result.dated(&served, era))
}
