//! One catalog as it is served: lists and capabilities in protocol types, built once.

use std::{
    collections::{BTreeMap, HashMap},
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use bytes::Bytes;
use rmcp::model::{CacheScope, JsonObject, MetaObject, ServerConfig};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use crate::action::{ChangeNotification, ListKind, LogLevel};
use crate::catalog::{BridgedLists, Catalog, Changes, has_mcp_headers, listing};
use crate::spec_version::SpecVersion;
use crate::uri::normalize_uri;
use crate::value_types;

use super::{
    ServeOptions,
    capability::{self, CapabilityKind, ChangeCapabilities, DeclaredCapabilities},
    list_pages::ListPages,
    output_shape::{self, OutputShape},
    version_keys,
};

/// What one request sees of the server, from its beginning to its end.
#[derive(Clone)]
pub(crate) struct CatalogSnapshot {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) revisions: Revisions,
    pub(crate) capabilities: DeclaredCapabilities,
    /// The changes that clients are notified of.
    pub(crate) change_capabilities: ChangeCapabilities,
    /// How often a step has announced a change of a resource, by its normalized URI.
    update_counts: Arc<HashMap<String, u64>>,
    /// How often every resource was announced, as messages of other replicas may have been lost.
    resource_announcements: u64,
    /// The last message for every session, and how many there were before it.
    pub(crate) last_log: Option<Arc<SessionLog>>,
    /// The response to `initialize` and `server/discover`.
    pub(crate) config: ServerConfig,
    /// The metadata of every result of 2026-07-28: who answers.
    pub(crate) meta: MetaObject,
    /// The same as JSON.
    meta_json: Box<RawValue>,
    pub(crate) ttl_ms: u64,
    pub(crate) cache_scope: CacheScope,
    pub(crate) page_size: usize,
    /// The pages of lists that were asked for.
    pub(crate) pages: Arc<ListPages>,
    /// The tools with an output schema, and whether a session sees it wrapped.
    pub(crate) output_shapes: HashMap<String, OutputShape>,
    /// The input schemas of tools with arguments that HTTP repeats in headers.
    pub(crate) header_schemas: HashMap<String, Arc<JsonObject>>,
}

/// What a result has beside its content: 2026-07-28 alone has any of it.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResultNotes<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    /// Who answers.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ttl_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cache_scope: Option<CacheScope>,
}

/// A message for every session.
pub(crate) struct SessionLog {
    pub(crate) number: u64,
    pub(crate) level: LogLevel,
    pub(crate) text: String,
}

/// How often each list has changed since the server started. A session compares them with those that it last announced,
/// so no change is lost or sent twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Revisions {
    /// Counts the catalogs.
    pub(crate) generation: u64,
    pub(crate) tools: u64,
    pub(crate) prompts: u64,
    pub(crate) resources: u64,
    /// Counts the changes of lists that steps announce.
    pub(crate) announced: u64,
}

impl Revisions {
    fn advance(self, changes: &Changes) -> Revisions {
        let resources = changes.resources.has_changes() || changes.resource_templates.has_changes();
        Revisions {
            generation: self.generation + 1,
            tools: self.tools + u64::from(changes.tools.has_changes()),
            prompts: self.prompts + u64::from(changes.prompts.has_changes()),
            resources: self.resources + u64::from(resources),
            announced: self.announced,
        }
    }
}

impl CatalogSnapshot {
    pub(crate) fn initial(catalog: Arc<Catalog>, options: ServeOptions) -> CatalogSnapshot {
        CatalogSnapshot::build(catalog, Revisions::default(), Arc::default(), options)
    }

    pub(crate) fn after(
        previous: &CatalogSnapshot,
        catalog: Arc<Catalog>,
        options: ServeOptions,
    ) -> (CatalogSnapshot, Changes) {
        let mut changes = Changes::diff(&previous.catalog, &catalog);
        let mut revisions = previous.revisions.advance(&changes);
        revisions.tools += u64::from(previous.catalog.searches_tools() != catalog.searches_tools());
        catalog.inherit_tool_usage(&previous.catalog);
        let next = CatalogSnapshot::build(catalog, revisions, previous.update_counts.clone(), options);
        changes.new_capabilities = next.capabilities.new_since(previous.capabilities);
        let (last_log, resource_announcements) = (previous.last_log.clone(), previous.resource_announcements);
        (CatalogSnapshot { last_log, resource_announcements, ..next }, changes)
    }

    /// The same catalog with a message for every session.
    pub(crate) fn with_log(&self, level: LogLevel, text: String) -> CatalogSnapshot {
        let number = self.last_log.as_ref().map_or(1, |last| last.number + 1);
        CatalogSnapshot { last_log: Some(Arc::new(SessionLog { number, level, text })), ..self.clone() }
    }

    /// The same catalog after a change that a step announces.
    pub(crate) fn with_notification(&self, notification: ChangeNotification) -> CatalogSnapshot {
        let mut next = self.clone();
        next.revisions.generation += 1;
        next.revisions.announced += 1;
        match notification {
            ChangeNotification::ListChanged(ListKind::Tools) => next.revisions.tools += 1,
            ChangeNotification::ListChanged(ListKind::Prompts) => next.revisions.prompts += 1,
            ChangeNotification::ListChanged(ListKind::Resources) => next.revisions.resources += 1,
            ChangeNotification::ResourceUpdated(uri) => {
                let uri = normalize_uri(&uri).into_owned();
                let update_counts = Arc::make_mut(&mut next.update_counts);
                if update_counts.len() >= MAX_UPDATE_COUNTS && !update_counts.contains_key(&uri) {
                    update_counts.clear();
                }
                *update_counts.entry(uri).or_default() += 1;
            }
        }
        next
    }

    /// The same catalog, of which everything is announced as changed.
    pub(crate) fn with_everything_announced(&self) -> CatalogSnapshot {
        let mut next = self.clone();
        let Revisions { generation, tools, prompts, resources, announced } = &mut next.revisions;
        for count in [generation, tools, prompts, resources, announced, &mut next.resource_announcements] {
            *count += 1;
        }
        next
    }

    /// A number that changes when a resource changes, if that is known; `None` if no resource serves the URI. Only
    /// compared within this process.
    pub(crate) fn fingerprint(&self, uri: &str) -> Option<u64> {
        let fingerprint = self.catalog.fingerprint(uri);
        let updates = self.update_counts.get(&*normalize_uri(uri));
        if updates.is_none() && self.resource_announcements == 0 {
            return fingerprint;
        }
        let mut hasher = DefaultHasher::new();
        (fingerprint, updates, self.resource_announcements).hash(&mut hasher);
        Some(hasher.finish())
    }

    /// What is declared to a client that gets these lists as tools.
    pub(crate) fn capabilities_with(&self, bridged_lists: BridgedLists) -> DeclaredCapabilities {
        if bridged_lists.any() { self.capabilities.with(CapabilityKind::Tools) } else { self.capabilities }
    }

    /// The response to `initialize` and `server/discover` for such a client.
    pub(crate) fn config_with(&self, bridged_lists: BridgedLists) -> ServerConfig {
        let mut config = self.config.clone();
        if bridged_lists.any() {
            config.capabilities.tools = Some(capability::tools_capability(self.change_capabilities));
        }
        config
    }

    /// What a result has beside its content.
    pub(crate) fn result_notes(&self, version: SpecVersion) -> ResultNotes<'_> {
        match version.is_sessionless() {
            true => {
                ResultNotes { result_type: Some("complete"), meta: Some(&self.meta_json), ..ResultNotes::default() }
            }
            false => ResultNotes::default(),
        }
    }

    /// The same for a result that may be kept for a while.
    pub(crate) fn cached_result_notes(&self, version: SpecVersion) -> ResultNotes<'_> {
        let notes = self.result_notes(version);
        match version.is_sessionless() {
            true => ResultNotes { ttl_ms: Some(self.ttl_ms), cache_scope: Some(self.cache_scope), ..notes },
            false => notes,
        }
    }

    /// The result for a list: some of its entries, which are a JSON array. One that depends on who calls is not for others.
    pub(crate) fn list_result(
        &self,
        key: &str,
        entries: &[u8],
        next: Option<&str>,
        version: SpecVersion,
        depends_on_caller: bool,
    ) -> Bytes {
        let head = BTreeMap::from_iter(next.map(|next| ("nextCursor", next)));
        let mut notes = self.cached_result_notes(version);
        notes.cache_scope = notes.cache_scope.map(|scope| if depends_on_caller { CacheScope::Private } else { scope });
        let head = version_keys::to_json(notes, head, version, &[]);
        let mut json = Vec::from(head.unwrap_or_default());
        // The array follows the members of the head.
        json.pop();
        let comma = if json.len() > 1 { "," } else { "" };
        json.extend_from_slice(format!("{comma}\"{key}\":").as_bytes());
        json.extend_from_slice(entries);
        json.push(b'}');
        json.into()
    }

    fn build(
        catalog: Arc<Catalog>,
        revisions: Revisions,
        update_counts: Arc<HashMap<String, u64>>,
        options: ServeOptions,
    ) -> CatalogSnapshot {
        let (server, lists) = (catalog.server(), catalog.lists());
        let capabilities = DeclaredCapabilities::from_catalog(&catalog, options);
        let change_capabilities = ChangeCapabilities::from_catalog(&catalog, options);
        let meta = server_info_meta(server);
        CatalogSnapshot {
            revisions,
            capabilities,
            change_capabilities,
            update_counts,
            resource_announcements: 0,
            last_log: None,
            config: capability::server_config(server, capabilities, change_capabilities),
            meta_json: serde_json::value::to_raw_value(&meta).unwrap_or_default(),
            meta,
            ttl_ms: server.ttl_ms.unwrap_or(0),
            cache_scope: server.cache_scope.map_or(CacheScope::Private, cache_scope),
            page_size: server.page_size.unwrap_or(DEFAULT_PAGE_SIZE).max(1),
            pages: Arc::default(),
            header_schemas: header_schemas(&lists.tools),
            output_shapes: output_shape::output_shapes(&lists.tools),
            catalog,
        }
    }
}

/// How many announced resources are remembered. Beyond that all are dropped, and announced once more.
const MAX_UPDATE_COUNTS: usize = 10_000;

/// Large, since some clients never ask for the second page.
const DEFAULT_PAGE_SIZE: usize = 1000;

fn server_info_meta(server: &listing::ServerInfo) -> MetaObject {
    let mut meta = MetaObject::default();
    let info = serde_json::to_value(capability::implementation(server)).unwrap_or_default();
    meta.insert("io.modelcontextprotocol/serverInfo".to_owned(), info);
    meta
}

pub(crate) fn cache_scope(scope: value_types::CacheScope) -> CacheScope {
    match scope {
        value_types::CacheScope::Public => CacheScope::Public,
        value_types::CacheScope::Private => CacheScope::Private,
    }
}

fn header_schemas(tools: &[listing::ToolListing]) -> HashMap<String, Arc<JsonObject>> {
    let tools = tools.iter().filter(|tool| has_mcp_headers(&tool.input_schema));
    tools.map(|tool| (tool.name.clone(), tool.input_schema.clone())).collect()
}

/// Both sides write MCP's JSON, so what one serialises the other reads.
pub(crate) fn convert_via_json<T: DeserializeOwned>(listing: &impl Serialize) -> Option<T> {
    let value = serde_json::to_value(listing).ok()?;
    serde_json::from_value(value).inspect_err(|error| tracing::error!(%error, "cannot convert listing")).ok()
}

pub(crate) fn icons(icons: &[listing::Icon]) -> Option<Vec<rmcp::model::Icon>> {
    if icons.is_empty() { None } else { convert_via_json(&icons) }
}
