//! One catalog as it is served: its lists and capabilities in the protocol's own types, made once.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use rmcp::model::{
    CacheScope, JsonObject, MetaObject, Prompt, PromptArgument, ProtocolVersion, Resource, ResourceTemplate,
    ServerConfig, Skill, Tool,
};
use serde::{Serialize, de::DeserializeOwned};

use crate::action::{ListKind, Notice};
use crate::catalog::{Catalog, face, mirrors};
use crate::digest::Digest;

use super::{
    Changes, Options,
    capability::{self, Kinds, Promised},
    listing::Listing,
    structured::{self, Shape},
};

/// What one request sees of the server, from its beginning to its end.
#[derive(Clone)]
pub(crate) struct Served {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) news: News,
    pub(crate) kinds: Kinds,
    /// Of what clients are told when it changes.
    pub(crate) promised: Promised,
    /// Whether entries speak with their client.
    pub(crate) talks: bool,
    /// How often a step has said that a resource changed, by its URI.
    touched: Arc<HashMap<String, u64>>,
    /// What `initialize` and `server/discover` say.
    pub(crate) config: ServerConfig,
    /// The metadata of every result of 2026-07-28: who answers.
    pub(crate) meta: MetaObject,
    pub(crate) ttl_ms: u64,
    pub(crate) cache_scope: CacheScope,
    pub(crate) page_size: usize,
    pub(crate) tools: Listing<Tool>,
    /// The same for sessions, which know no structured results but objects.
    pub(crate) session_tools: Listing<Tool>,
    pub(crate) prompts: Listing<Prompt>,
    pub(crate) resources: Listing<Resource>,
    pub(crate) resource_templates: Listing<ResourceTemplate>,
    pub(crate) skills: Listing<Skill>,
    /// The tools with an output schema, and whether a session sees it wrapped.
    pub(crate) shapes: HashMap<String, Shape>,
    /// The input schemas of tools with arguments that HTTP repeats in headers.
    pub(crate) mirrored: HashMap<String, Arc<JsonObject>>,
}

/// How often each list has become another since the server began: what is due to a session is told by
/// comparing these with the ones that it was last told of, so nothing is lost and nothing is said twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct News {
    /// Counts the catalogs.
    pub(crate) generation: u64,
    pub(crate) tools: u64,
    pub(crate) prompts: u64,
    pub(crate) resources: u64,
}

impl News {
    fn after(self, changes: &Changes) -> News {
        let resources = changes.resources.any() || changes.resource_templates.any();
        News {
            generation: self.generation + 1,
            tools: self.tools + u64::from(changes.tools.any()),
            prompts: self.prompts + u64::from(changes.prompts.any()),
            resources: self.resources + u64::from(resources),
        }
    }
}

impl Served {
    pub(crate) fn first(catalog: Arc<Catalog>, options: Options) -> Served {
        Served::build(catalog, News::default(), Arc::default(), options)
    }

    pub(crate) fn after(previous: &Served, catalog: Arc<Catalog>, options: Options) -> (Served, Changes) {
        let changes = Changes::between(&previous.catalog, &catalog);
        let news = previous.news.after(&changes);
        catalog.follow(&previous.catalog);
        (Served::build(catalog, news, previous.touched.clone(), options), changes)
    }

    /// The same catalog, of which a step says that something changed.
    pub(crate) fn noticed(&self, notice: Notice) -> Served {
        let mut next = self.clone();
        next.news.generation += 1;
        match notice {
            Notice::List(ListKind::Tools) => next.news.tools += 1,
            Notice::List(ListKind::Prompts) => next.news.prompts += 1,
            Notice::List(ListKind::Resources) => next.news.resources += 1,
            Notice::Updated(uri) => {
                let touched = Arc::make_mut(&mut next.touched);
                if touched.len() >= MOST_TOUCHED && !touched.contains_key(&uri) {
                    touched.clear();
                }
                *touched.entry(uri).or_default() += 1;
            }
        }
        next
    }

    /// A number that changes when what a URI answers changes, as far as that can be told; `None` where nothing
    /// answers it. It is compared in this process alone.
    pub(crate) fn print(&self, uri: &str) -> Option<u64> {
        let (own, touched) = (self.catalog.fingerprint(uri), self.touched.get(uri));
        let Some(touched) = touched else { return own };
        let mut hasher = DefaultHasher::new();
        (own, touched).hash(&mut hasher);
        Some(hasher.finish())
    }

    fn build(catalog: Arc<Catalog>, news: News, touched: Arc<HashMap<String, u64>>, options: Options) -> Served {
        let (server, lists) = (catalog.server(), catalog.lists());
        let kinds = Kinds::of(&catalog, options);
        let promised = Promised::of(&catalog, options);
        let shapes = structured::shapes(&lists.tools);
        let tools: Vec<Tool> = lists.tools.iter().map(tool).collect();
        let print = fingerprint(&lists.tools);
        let session_tools = structured::for_sessions(&tools, &shapes).map(|tools| Listing::new(tools, print));
        let tools = Listing::new(tools, print);
        Served {
            news,
            kinds,
            promised,
            talks: catalog.talks(),
            touched,
            config: capability::config(server, kinds, promised),
            meta: answerer(server),
            ttl_ms: server.ttl_ms.unwrap_or(0),
            cache_scope: cache_scope(server.cache_scope),
            page_size: server.page_size.unwrap_or(DEFAULT_PAGE).max(1),
            session_tools: session_tools.unwrap_or_else(|| tools.clone()),
            tools,
            prompts: Listing::new(lists.prompts.iter().map(prompt).collect(), fingerprint(&lists.prompts)),
            resources: Listing::new(lists.resources.iter().map(resource).collect(), fingerprint_of_uris(lists)),
            resource_templates: Listing::new(
                lists.resource_templates.iter().map(resource_template).collect(),
                fingerprint(&lists.resource_templates),
            ),
            skills: Listing::new(lists.skills.iter().filter_map(translate).collect(), fingerprint(&lists.skills)),
            mirrored: mirrored(&lists.tools),
            shapes,
            catalog,
        }
    }
}

/// Of how many resources is remembered that a step said that they changed. Beyond that all are forgotten, and are said
/// to have changed once more.
const MOST_TOUCHED: usize = 10_000;

/// Large, since some clients never ask for the second page.
const DEFAULT_PAGE: usize = 1000;

fn answerer(server: &face::Server) -> MetaObject {
    let mut meta = MetaObject::default();
    let info = serde_json::to_value(capability::implementation(server)).unwrap_or_default();
    meta.insert("io.modelcontextprotocol/serverInfo".to_owned(), info);
    meta
}

pub(crate) fn cache_scope(scope: Option<face::CacheScope>) -> CacheScope {
    match scope {
        Some(face::CacheScope::Public) => CacheScope::Public,
        Some(face::CacheScope::Private) | None => CacheScope::Private,
    }
}

/// A cursor belongs to a list of one value, in whichever process.
pub(crate) fn fingerprint<T: Serialize>(list: &[T]) -> u64 {
    Digest::of("list").with(&serde_json::to_vec(list).unwrap_or_default()).number()
}

/// Sizes and times may change between two pages; which resources there are may not.
fn fingerprint_of_uris(lists: &face::Lists) -> u64 {
    let uris: Vec<_> = lists.resources.iter().map(|resource| resource.uri.as_str()).collect();
    fingerprint(&uris)
}

fn mirrored(tools: &[face::Tool]) -> HashMap<String, Arc<JsonObject>> {
    let tools = tools.iter().filter(|tool| mirrors(&tool.input_schema));
    tools.map(|tool| (tool.name.clone(), tool.input_schema.clone())).collect()
}

/// Both sides write MCP's JSON, so what one serialises the other reads.
pub(crate) fn translate<T: DeserializeOwned>(face: &impl Serialize) -> Option<T> {
    let value = serde_json::to_value(face).ok()?;
    serde_json::from_value(value)
        .inspect_err(|error| tracing::error!(%error, "the protocol's types cannot hold part of a list"))
        .ok()
}

pub(crate) fn icons(icons: &[face::Icon]) -> Option<Vec<rmcp::model::Icon>> {
    if icons.is_empty() { None } else { translate(&icons) }
}

fn tool(face: &face::Tool) -> Tool {
    let description = face.description.clone().map(Into::into);
    let mut tool = Tool::new_with_raw(face.name.clone(), description, face.input_schema.clone());
    tool.title = face.title.clone();
    tool.output_schema = face.output_schema.clone();
    tool.annotations = face.annotations.as_ref().and_then(translate);
    tool.icons = icons(&face.icons);
    tool.meta = face.meta.clone().map(MetaObject);
    tool
}

fn prompt(face: &face::Prompt) -> Prompt {
    let arguments: Vec<_> = face.arguments.iter().map(prompt_argument).collect();
    let arguments = (!arguments.is_empty()).then_some(arguments);
    let mut prompt = Prompt::new(face.name.clone(), face.description.clone(), arguments);
    prompt.title = face.title.clone();
    prompt.icons = icons(&face.icons);
    prompt.meta = face.meta.clone().map(MetaObject);
    prompt
}

fn prompt_argument(face: &face::PromptArgument) -> PromptArgument {
    let mut argument = PromptArgument::new(face.name.clone());
    argument.title = face.title.clone();
    argument.description = face.description.clone();
    argument.required = face.required.then_some(true);
    argument
}

pub(crate) fn resource(face: &face::Resource) -> Resource {
    let mut resource = Resource::new(face.uri.clone(), face.name.clone());
    resource.title = face.title.clone();
    resource.description = face.description.clone();
    resource.mime_type = face.mime_type.clone();
    resource.size = face.size;
    resource.icons = icons(&face.icons);
    resource.annotations = face.annotations.as_ref().and_then(translate);
    resource.meta = face.meta.clone().map(MetaObject);
    resource
}

fn resource_template(face: &face::ResourceTemplate) -> ResourceTemplate {
    let mut template = ResourceTemplate::new(face.uri_template.clone(), face.name.clone());
    template.title = face.title.clone();
    template.description = face.description.clone();
    template.mime_type = face.mime_type.clone();
    template.icons = icons(&face.icons);
    template.annotations = face.annotations.as_ref().and_then(translate);
    template.meta = face.meta.clone().map(MetaObject);
    template
}

/// Every version that is spoken here, oldest first.
pub(crate) const VERSIONS: &[ProtocolVersion] = &[
    ProtocolVersion::V_2024_11_05,
    ProtocolVersion::V_2025_03_26,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2026_07_28,
];
