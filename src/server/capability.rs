//! Server capabilities, derived from the current catalog.

use rmcp::model::{
    Implementation, PromptsCapability, ResourcesCapability, SKILLS_EXTENSION_ID, ServerCapabilities, ServerConfig,
    TASKS_EXTENSION_ID, ToolsCapability,
};
use serde_json::{Map, Value};

use crate::action::ListKind;
use crate::catalog::{Catalog, listing};

use super::{
    ServeOptions,
    snapshot::{convert_via_json, icons},
};

/// Views of tools, which hosts show (MCP Apps).
const APPS_EXTENSION_ID: &str = "io.modelcontextprotocol/ui";

/// A capability of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CapabilityKind {
    Tools,
    Prompts,
    Resources,
    Completions,
    Logging,
    Tasks,
    Skills,
    Apps,
}

impl CapabilityKind {
    const ALL: [CapabilityKind; 8] = [
        CapabilityKind::Tools,
        CapabilityKind::Prompts,
        CapabilityKind::Resources,
        CapabilityKind::Completions,
        CapabilityKind::Logging,
        CapabilityKind::Tasks,
        CapabilityKind::Skills,
        CapabilityKind::Apps,
    ];

    fn bit(self) -> u8 {
        1 << self as u8
    }

    /// The capability, or the extension, as MCP spells it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            CapabilityKind::Tools => "tools",
            CapabilityKind::Prompts => "prompts",
            CapabilityKind::Resources => "resources",
            CapabilityKind::Completions => "completions",
            CapabilityKind::Logging => "logging",
            CapabilityKind::Tasks => TASKS_EXTENSION_ID,
            CapabilityKind::Skills => SKILLS_EXTENSION_ID,
            CapabilityKind::Apps => APPS_EXTENSION_ID,
        }
    }
}

/// The declared capabilities, now or to a session: one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeclaredCapabilities(u8);

impl DeclaredCapabilities {
    pub(crate) fn from_catalog(catalog: &Catalog, options: ServeOptions) -> DeclaredCapabilities {
        let (lists, all) = (catalog.lists(), options.declare_all_capabilities);
        let has_resources = !(lists.resources.is_empty() && lists.resource_templates.is_empty());
        let is_declared = |kind: &CapabilityKind| match kind {
            CapabilityKind::Tools => all || !lists.tools.is_empty(),
            CapabilityKind::Prompts => all || !lists.prompts.is_empty(),
            // Skills consist of resources, so they imply that capability.
            CapabilityKind::Resources => all || has_resources || catalog.serves_skills(),
            CapabilityKind::Completions => all || catalog.has_completions(),
            CapabilityKind::Logging => all || catalog.sends_logs(),
            CapabilityKind::Tasks => catalog.has_tasks(),
            CapabilityKind::Skills => catalog.serves_skills(),
            CapabilityKind::Apps => lists.tools.iter().any(|tool| tool.has_view()),
        };
        let declared = CapabilityKind::ALL.into_iter().filter(is_declared);
        declared.fold(DeclaredCapabilities(0), DeclaredCapabilities::with)
    }

    pub(crate) fn with(self, kind: CapabilityKind) -> DeclaredCapabilities {
        DeclaredCapabilities(self.0 | kind.bit())
    }

    pub(crate) fn without(self, kind: CapabilityKind) -> DeclaredCapabilities {
        DeclaredCapabilities(self.0 & !kind.bit())
    }

    pub(crate) fn has(self, kind: CapabilityKind) -> bool {
        self.0 & kind.bit() != 0
    }

    /// The names of those that are not among `earlier`.
    pub(crate) fn new_since(self, earlier: DeclaredCapabilities) -> Vec<&'static str> {
        let is_new = |kind: &CapabilityKind| self.has(*kind) && !earlier.has(*kind);
        CapabilityKind::ALL.into_iter().filter(is_new).map(CapabilityKind::name).collect()
    }
}

/// The changes that clients are notified of: all if the catalog may be replaced, else those that a step can announce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChangeCapabilities {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
    pub(crate) updates: bool,
}

impl ChangeCapabilities {
    pub(crate) fn from_catalog(catalog: &Catalog, options: ServeOptions) -> ChangeCapabilities {
        let notified = catalog.change_notifications();
        let list = |kind| options.watching || notified.contains(&Some(kind));
        ChangeCapabilities {
            tools: list(ListKind::Tools),
            prompts: list(ListKind::Prompts),
            resources: list(ListKind::Resources),
            updates: options.watching || notified.contains(&None),
        }
    }

    pub(crate) fn any(self) -> bool {
        self.tools || self.prompts || self.resources || self.updates
    }
}

/// The server info and capabilities.
pub(crate) fn server_config(
    server: &listing::ServerInfo,
    kinds: DeclaredCapabilities,
    changes: ChangeCapabilities,
) -> ServerConfig {
    let mut config = ServerConfig::new(capabilities(server, kinds, changes));
    config.server_info = implementation(server);
    config.instructions = server.instructions.clone();
    config
}

/// Takes back what needs a session: change notices, subscriptions and log messages.
pub(crate) fn remove_session_capabilities(capabilities: &mut ServerCapabilities) {
    capabilities.logging = None;
    capabilities.tools.iter_mut().for_each(|tools| tools.list_changed = None);
    capabilities.prompts.iter_mut().for_each(|prompts| prompts.list_changed = None);
    if let Some(resources) = &mut capabilities.resources {
        (resources.list_changed, resources.subscribe) = (None, None);
    }
}

pub(crate) fn implementation(server: &listing::ServerInfo) -> Implementation {
    let mut implementation = Implementation::new(server.name.clone(), server.version.clone());
    implementation.title = server.title.clone();
    implementation.description = server.description.clone();
    implementation.icons = icons(&server.icons);
    implementation.website_url = server.website_url.clone();
    implementation
}

pub(crate) fn tools_capability(changes: ChangeCapabilities) -> ToolsCapability {
    let mut tools = ToolsCapability::default();
    tools.list_changed = changes.tools.then_some(true);
    tools
}

fn capabilities(
    server: &listing::ServerInfo,
    kinds: DeclaredCapabilities,
    changes: ChangeCapabilities,
) -> ServerCapabilities {
    let flag = |changes: bool| changes.then_some(true);
    let mut capabilities = ServerCapabilities::default();
    capabilities.experimental = server.experimental.as_ref().and_then(convert_via_json);
    let mut extensions = server.extensions.clone().unwrap_or_default();
    if kinds.has(CapabilityKind::Skills) {
        let settings = Map::from_iter([("directoryRead".to_owned(), Value::Bool(true))]);
        extensions.insert(SKILLS_EXTENSION_ID.to_owned(), Value::Object(settings));
    }
    for (kind, id) in [(CapabilityKind::Tasks, TASKS_EXTENSION_ID), (CapabilityKind::Apps, APPS_EXTENSION_ID)] {
        if kinds.has(kind) {
            extensions.entry(id).or_insert_with(|| Value::Object(Map::new()));
        }
    }
    capabilities.extensions = if extensions.is_empty() { None } else { convert_via_json(&extensions) };
    capabilities.completions = kinds.has(CapabilityKind::Completions).then(Map::new);
    capabilities.logging = kinds.has(CapabilityKind::Logging).then(Map::new);
    capabilities.tools = kinds.has(CapabilityKind::Tools).then(|| tools_capability(changes));
    capabilities.prompts = kinds.has(CapabilityKind::Prompts).then(|| {
        let mut prompts = PromptsCapability::default();
        prompts.list_changed = flag(changes.prompts);
        prompts
    });
    capabilities.resources = kinds.has(CapabilityKind::Resources).then(|| {
        let mut resources = ResourcesCapability::default();
        resources.list_changed = flag(changes.resources);
        resources.subscribe = flag(changes.updates);
        resources
    });
    capabilities
}
