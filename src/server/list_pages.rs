//! Lists as they are written: the pages of each version, made once, and their cursors.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use parking_lot::Mutex;
use rmcp::model::ErrorData;
use serde::Serialize;

use crate::action::ListKind;
use crate::catalog::{Catalog, listing::Lists};
use crate::digest::Digest;
use crate::identity::AccessControl;
use crate::spec_version::SpecVersion;

use super::{
    ConnectionHandler, bridge, output_shape,
    request::McpRequest,
    snapshot::CatalogSnapshot,
    version_keys::{Place, remove_unknown_keys},
};

/// A list that a client may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum List {
    Tools,
    Prompts,
    Resources,
    ResourceTemplates,
    Skills,
}

impl List {
    /// Its key in the result.
    fn key(self) -> &'static str {
        match self {
            List::Tools => "tools",
            List::Prompts => "prompts",
            List::Resources => "resources",
            List::ResourceTemplates => "resourceTemplates",
            List::Skills => "skills",
        }
    }

    fn place(self) -> Place {
        match self {
            List::Tools => Place::Tool,
            List::Prompts => Place::Prompt,
            List::Resources | List::ResourceTemplates => Place::Resource,
            List::Skills => Place::Skill,
        }
    }

    fn len(self, catalog: &Catalog) -> usize {
        let lists = catalog.lists();
        match self {
            List::Tools => catalog.visible_tools().len(),
            List::Prompts => lists.prompts.len(),
            List::Resources => lists.resources.len(),
            List::ResourceTemplates => lists.resource_templates.len(),
            List::Skills => lists.skills.len(),
        }
    }

    /// A number for its value. Sizes and times of resources may change between two pages; which there are may not.
    fn fingerprint(self, catalog: &Catalog) -> u64 {
        let lists = catalog.lists();
        match self {
            List::Tools => list_fingerprint(catalog.visible_tools()),
            List::Prompts => list_fingerprint(&lists.prompts),
            List::Resources => {
                let uris: Vec<_> = lists.resources.iter().map(|resource| resource.uri.as_str()).collect();
                list_fingerprint(&uris)
            }
            List::ResourceTemplates => list_fingerprint(&lists.resource_templates),
            List::Skills => list_fingerprint(&lists.skills),
        }
    }

    /// The entries at these places as a JSON array, in a version.
    fn write(self, places: &[usize], snapshot: &CatalogSnapshot, version: SpecVersion) -> Option<Vec<u8>> {
        let lists: &Lists = snapshot.catalog.lists();
        let place = self.place();
        match self {
            List::Tools => {
                let tools = entries_at(snapshot.catalog.visible_tools(), places)?;
                let tools: Vec<_> = tools
                    .into_iter()
                    .map(|tool| output_shape::listed_tool(tool, &snapshot.output_shapes, version))
                    .collect();
                write_entries(&tools, place, version)
            }
            List::Prompts => write_entries(&entries_at(&lists.prompts, places)?, place, version),
            List::Resources => write_entries(&entries_at(&lists.resources, places)?, place, version),
            List::ResourceTemplates => write_entries(&entries_at(&lists.resource_templates, places)?, place, version),
            List::Skills => write_entries(&entries_at(&lists.skills, places)?, place, version),
        }
    }

    /// Which list of the catalog it belongs to.
    fn kind(self) -> ListKind {
        match self {
            List::Tools => ListKind::Tools,
            List::Prompts => ListKind::Prompts,
            List::Resources | List::ResourceTemplates | List::Skills => ListKind::Resources,
        }
    }

    /// Where the entries stand that a caller sees.
    fn visible_places(self, catalog: &Catalog, access: &AccessControl) -> Arc<[usize]> {
        let lists = catalog.lists();
        let sees = |nth: &usize| match self {
            List::Tools => catalog.visible_tools().get(*nth).is_some_and(|tool| catalog.sees_tool(&tool.name, access)),
            List::Prompts => lists.prompts.get(*nth).is_some_and(|prompt| catalog.sees_prompt(&prompt.name, access)),
            List::Resources => {
                lists.resources.get(*nth).is_some_and(|resource| catalog.sees_resource(&resource.uri, access))
            }
            List::ResourceTemplates => {
                let template = lists.resource_templates.get(*nth);
                template.is_some_and(|template| catalog.sees_template(&template.uri_template, access))
            }
            List::Skills => lists.skills.get(*nth).is_some_and(|skill| catalog.sees_resource(&skill.uri, access)),
        };
        (0..self.len(catalog)).filter(sees).collect()
    }
}

fn entries_at<'a, T>(entries: &'a [T], places: &[usize]) -> Option<Vec<&'a T>> {
    places.iter().map(|nth| entries.get(*nth)).collect()
}

/// What a caller sees of a list, where that depends on who calls.
#[derive(Clone)]
pub(crate) struct ListView {
    /// The roles that decide: callers with the same ones see the same entries.
    pub(crate) roles: Arc<str>,
    places: Arc<[usize]>,
    /// A number for these entries.
    digest: Arc<OnceLock<u64>>,
}

/// Entries of a list as a JSON array, with the keys that a version knows.
pub(crate) fn write_entries(entries: &[impl Serialize], place: Place, version: SpecVersion) -> Option<Vec<u8>> {
    if place.is_whole_in(version) {
        return serde_json::to_vec(entries).ok();
    }
    let mut entries = serde_json::to_value(entries).ok()?;
    remove_unknown_keys(&mut entries, place, version);
    Some(entries.to_string().into())
}

/// The pages of the lists of one catalog that were asked for.
#[derive(Default)]
pub(crate) struct ListPages {
    fingerprints: [OnceLock<u64>; 5],
    depend_on_caller: [OnceLock<bool>; 5],
    views: Mutex<HashMap<(List, Arc<str>), ListView>>,
    pages: Mutex<HashMap<PageKey, Bytes>>,
}

/// A page: of a list, in a version, from an entry on, as those see it who have these roles.
type PageKey = (List, SpecVersion, usize, Option<Arc<str>>);

/// How many views and their pages are kept: callers may have any roles.
const MAX_VIEWS: usize = 256;

impl ListPages {
    /// A number for the value of a list.
    pub(crate) fn fingerprint(&self, list: List, catalog: &Catalog) -> u64 {
        let fingerprint = || list.fingerprint(catalog);
        self.fingerprints.get(list as usize).map_or_else(fingerprint, |known| *known.get_or_init(fingerprint))
    }

    /// What a caller sees of a list; `None` for all of it.
    pub(crate) fn view(&self, list: List, catalog: &Catalog, access: &AccessControl) -> Option<ListView> {
        let AccessControl::Caller(identity) = access else { return None };
        let depends = || catalog.list_depends_on_caller(list.kind());
        let depends =
            self.depend_on_caller.get(list as usize).map_or_else(depends, |known| *known.get_or_init(depends));
        if !depends {
            return None;
        }
        let roles = identity.as_deref().map(|identity| catalog.deciding_roles(identity)).unwrap_or_default();
        let roles: Arc<str> = serde_json::to_string(&roles).unwrap_or_default().into();
        let mut views = self.views.lock();
        if let Some(view) = views.get(&(list, roles.clone())) {
            return Some(view.clone());
        }
        if views.len() >= MAX_VIEWS {
            views.clear();
            self.pages.lock().clear();
        }
        let view =
            ListView { roles: roles.clone(), places: list.visible_places(catalog, access), digest: Arc::default() };
        views.insert((list, roles), view.clone());
        Some(view)
    }
}

/// A number for what a caller sees of the lists of a kind; `None` where all callers see the same.
pub(crate) fn visible_digest(snapshot: &CatalogSnapshot, kind: ListKind, access: &AccessControl) -> Option<u64> {
    let lists: &[List] = match kind {
        ListKind::Tools => &[List::Tools],
        ListKind::Prompts => &[List::Prompts],
        ListKind::Resources => &[List::Resources, List::ResourceTemplates, List::Skills],
    };
    let mut digests = Vec::new();
    for list in lists {
        let view = snapshot.pages.view(*list, &snapshot.catalog, access)?;
        let entries = || list.write(&view.places, snapshot, SpecVersion::NEWEST).unwrap_or_default();
        digests.push(*view.digest.get_or_init(|| Digest::new("view").chain_update(&entries()).finish_u64()));
    }
    Some(list_fingerprint(&digests))
}

/// Answers the request for a list.
pub(crate) fn list(
    server: &ConnectionHandler,
    list: List,
    cursor: Option<&str>,
    request: &McpRequest,
) -> Result<Bytes, ErrorData> {
    let (snapshot, version) = (&request.snapshot, request.version);
    if list == List::Tools {
        let bridged = server.bridged_lists(request);
        if bridged.any() {
            return bridge::list_tools(bridged, cursor, request);
        }
    }
    let view = snapshot.pages.view(list, &snapshot.catalog, &request.access);
    let fingerprint = || {
        let whole = snapshot.pages.fingerprint(list, &snapshot.catalog);
        view.as_ref().map_or(whole, |view| list_fingerprint(&[&whole.to_string(), &*view.roles]))
    };
    let count = view.as_ref().map_or_else(|| list.len(&snapshot.catalog), |view| view.places.len());
    let page = page_range(count, fingerprint, snapshot.page_size, cursor)?;
    // Others are of cursors that no page has.
    let is_kept = page.range.start % snapshot.page_size == 0;
    let place = (list, version, page.range.start, view.as_ref().map(|view| view.roles.clone()));
    if let Some(page) = snapshot.pages.pages.lock().get(&place) {
        return Ok(page.clone());
    }
    let places = match &view {
        Some(view) => view.places.get(page.range).unwrap_or_default().to_vec(),
        None => page.range.collect(),
    };
    let entries = list.write(&places, snapshot, version).ok_or_else(invalid_cursor)?;
    let page = snapshot.list_result(list.key(), &entries, page.next.as_deref(), version, view.is_some());
    if is_kept {
        snapshot.pages.pages.lock().insert(place, page.clone());
    }
    Ok(page)
}

/// The entries of a list on one page, and the cursor of the next.
#[derive(Debug, PartialEq)]
pub(crate) struct PageRange {
    pub(crate) range: Range<usize>,
    pub(crate) next: Option<String>,
}

/// The page that a cursor means. It is only valid for the list that it was issued for: another would skip or repeat
/// entries. Clients pass an empty cursor for none.
pub(crate) fn page_range(
    count: usize,
    fingerprint: impl Fn() -> u64,
    size: usize,
    cursor: Option<&str>,
) -> Result<PageRange, ErrorData> {
    let from = match cursor.filter(|cursor| !cursor.is_empty()) {
        Some(cursor) => parse_cursor(cursor, count, fingerprint())?,
        None => 0,
    };
    let to = from.saturating_add(size).min(count);
    let next = (to < count).then(|| URL_SAFE_NO_PAD.encode(format!("{:x}:{to}", fingerprint())));
    Ok(PageRange { range: from..to, next })
}

fn parse_cursor(cursor: &str, count: usize, expected: u64) -> Result<usize, ErrorData> {
    let text = URL_SAFE_NO_PAD.decode(cursor).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let text = text.ok_or_else(invalid_cursor)?;
    let (fingerprint, at) = text.split_once(':').ok_or_else(invalid_cursor)?;
    let fingerprint = u64::from_str_radix(fingerprint, 16).map_err(|_| invalid_cursor())?;
    let at = at.parse().map_err(|_| invalid_cursor())?;
    if fingerprint != expected {
        let message = "expired `cursor`: the list has changed; start again without one";
        return Err(ErrorData::invalid_params(message, None));
    }
    if at == 0 || at >= count { Err(invalid_cursor()) } else { Ok(at) }
}

/// A number for the value of a list, the same in every process: a cursor belongs to it.
pub(crate) fn list_fingerprint<T: Serialize>(list: &[T]) -> u64 {
    Digest::new("list").chain_update(&serde_json::to_vec(list).unwrap_or_default()).finish_u64()
}

fn invalid_cursor() -> ErrorData {
    ErrorData::invalid_params("invalid `cursor`", None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pages_hold_every_entry_once_and_in_order(count in 0_usize..50, size in 1_usize..20) {
            let (mut seen, mut cursor) = (Vec::new(), None);
            loop {
                let page = page_range(count, || 7, size, cursor.as_deref()).unwrap();
                prop_assert!(page.range.len() <= size);
                seen.extend(page.range);
                cursor = page.next;
                if cursor.is_none() {
                    break;
                }
            }
            prop_assert_eq!(seen, (0..count).collect::<Vec<_>>());
        }

        #[test]
        fn forged_cursor_is_refused(cursor in ".+") {
            prop_assert!(page_range(3, || 7, 1, Some(&cursor)).is_err());
        }
    }

    #[test]
    fn cursor_of_changed_list_is_refused() {
        let next = page_range(3, || 7, 1, None).unwrap().next.unwrap();
        let refused = page_range(3, || 8, 1, Some(&next)).unwrap_err();
        assert_eq!(refused.code.0, -32602);
        assert!(refused.message.contains("has changed"));
    }
}
