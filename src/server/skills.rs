//! `skills/list`, `skills/get` and `resources/directory/read`: the skills extension.

use rmcp::{
    model::{
        ErrorData, GetSkillResult, ListResourcesResult, ListSkillsResult, PaginatedRequestParams, skill_name_from_uri,
        ReadResourceDirectoryRequestParams, ReadResourceDirectoryResult, Resource,
    },
};
use serde_json::json;

use crate::diagnostic::truncate;
use crate::uri::normalize_uri;

use super::{
    ConnectionHandler, RequestContext,
    cache_hints::CacheHints,
    capability::CapabilityKind,
    downgrade::Downgrade,
    list_pages::{PagedList, list_fingerprint},
    session::AdmittedRequest,
    snapshot,
};

pub(crate) fn list(
    server: &ConnectionHandler,
    request: Option<PaginatedRequestParams>,
    context: &RequestContext,
) -> Result<ListSkillsResult, ErrorData> {
    let AdmittedRequest { snapshot, spec_version } = server.admit(CapabilityKind::Skills, context)?;
    let page = snapshot.skills.page(request, snapshot.page_size)?;
    let result = ListSkillsResult { skills: page.items, next_cursor: page.next, ..Default::default() };
    Ok(result.with_cache_hints(&snapshot, spec_version))
}

pub(crate) fn get(
    server: &ConnectionHandler,
    uri: &str,
    context: &RequestContext,
) -> Result<GetSkillResult, ErrorData> {
    let AdmittedRequest { snapshot, spec_version } = server.admit(CapabilityKind::Skills, context)?;
    if skill_name_from_uri(uri).is_none() {
        return Err(ErrorData::invalid_params(format!("{uri} is not the uri of a SKILL.md"), None));
    }
    let normalized = normalize_uri(uri);
    let Some(skill) = snapshot.skills.find(|skill| normalize_uri(&skill.uri) == normalized) else {
        let message = format!("unknown skill: {}", truncate(uri, 256));
        return Err(ErrorData::invalid_params(message, Some(json!({ "uri": truncate(uri, 4096) }))));
    };
    let result = GetSkillResult::new(skill.clone());
    Ok(result.with_cache_hints(&snapshot, spec_version))
}

pub(crate) fn read_directory(
    server: &ConnectionHandler,
    request: ReadResourceDirectoryRequestParams,
    context: &RequestContext,
) -> Result<ReadResourceDirectoryResult, ErrorData> {
    let AdmittedRequest { snapshot, spec_version } = server.admit(CapabilityKind::Skills, context)?;
    let uri = request.uri;
    let Some(children) = snapshot.catalog.skill_directory(&uri) else {
        let message = format!("unknown skill directory: {}", truncate(&uri, 256));
        return Err(ErrorData::invalid_params(message, Some(json!({ "uri": truncate(&uri, 4096) }))));
    };
    let uris: Vec<&str> = children.iter().map(|child| child.uri.as_str()).collect();
    let fingerprint = list_fingerprint(&uris);
    let children: Vec<Resource> = children.iter().map(snapshot::resource).collect();
    let pages = PaginatedRequestParams::default().with_cursor(request.cursor);
    let mut page = PagedList::new(children, fingerprint).page(Some(pages), snapshot.page_size)?;
    page.items.downgrade(spec_version);
    let result = ListResourcesResult { resources: page.items, next_cursor: page.next, ..Default::default() };
    Ok(result.with_cache_hints(&snapshot, spec_version))
}
