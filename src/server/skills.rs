//! `skills/get` and `resources/directory/read`: the skills extension.

use std::collections::BTreeMap;

use bytes::Bytes;
use rmcp::model::{ErrorData, ReadResourceDirectoryRequestParams, skill_name_from_uri};
use serde_json::json;

use crate::diagnostic::truncate;
use crate::uri::normalize_uri;

use super::{
    list_pages::{list_fingerprint, page_range, write_entries},
    request::McpRequest,
    version_keys::{self, Place},
};

pub(crate) fn get(uri: &str, request: &McpRequest) -> Result<Bytes, ErrorData> {
    let (snapshot, version) = (&request.snapshot, request.version);
    if skill_name_from_uri(uri).is_none() {
        return Err(ErrorData::invalid_params(format!("{uri} is not the uri of a SKILL.md"), None));
    }
    let normalized = normalize_uri(uri);
    let mut skills = snapshot.catalog.lists().skills.iter();
    let sees = |uri: &str| snapshot.catalog.sees_resource(uri, &request.access);
    let Some(skill) = skills.find(|skill| normalize_uri(&skill.uri) == normalized && sees(&skill.uri)) else {
        let message = format!("unknown skill: {}", truncate(uri, 256));
        return Err(ErrorData::invalid_params(message, Some(json!({ "uri": truncate(uri, 4096) }))));
    };
    let content = BTreeMap::from([("skill", skill)]);
    version_keys::to_json(snapshot.cached_result_notes(version), content, version, &[("skill", Place::Skill)])
}

pub(crate) fn read_directory(
    params: &ReadResourceDirectoryRequestParams,
    request: &McpRequest,
) -> Result<Bytes, ErrorData> {
    let (snapshot, version, uri) = (&request.snapshot, request.version, &params.uri);
    let sees = |uri: &str| snapshot.catalog.sees_resource(uri, &request.access);
    let Some(children) = snapshot.catalog.skill_directory(uri).filter(|_| sees(uri)) else {
        let message = format!("unknown skill directory: {}", truncate(uri, 256));
        return Err(ErrorData::invalid_params(message, Some(json!({ "uri": truncate(uri, 4096) }))));
    };
    let whole = children.len();
    let children: Vec<_> = children.iter().filter(|child| sees(&child.uri)).collect();
    let children_differ = children.len() < whole;
    let uris: Vec<&str> = children.iter().map(|child| child.uri.as_str()).collect();
    let fingerprint = list_fingerprint(&uris);
    let page = page_range(children.len(), || fingerprint, snapshot.page_size, params.cursor.as_deref())?;
    let children = children.get(page.range).unwrap_or_default();
    let entries = write_entries(children, Place::Resource, version).unwrap_or_default();
    Ok(snapshot.list_result("resources", &entries, page.next.as_deref(), version, children_differ))
}
