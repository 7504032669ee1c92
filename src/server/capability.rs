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

/// The kinds of things that a client may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CapabilityKind {
    Tools,
    Prompts,
    Resources,
    Completions,
    Logging,
    Tasks,
    Skills,
}

impl CapabilityKind {
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
        }
    }
}

/// Which kinds are declared, or were to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeclaredCapabilities {
    tools: bool,
    prompts: bool,
    resources: bool,
    completions: bool,
    logging: bool,
    tasks: bool,
    /// What skills are made of are resources: whoever declares them declares those.
    skills: bool,
}

impl DeclaredCapabilities {
    pub(crate) fn from_catalog(catalog: &Catalog, options: ServeOptions) -> DeclaredCapabilities {
        let (lists, all) = (catalog.lists(), options.declare_all);
        DeclaredCapabilities {
            tools: all || !lists.tools.is_empty(),
            prompts: all || !lists.prompts.is_empty(),
            resources: all
                || !(lists.resources.is_empty() && lists.resource_templates.is_empty())
                || catalog.serves_skills(),
            completions: all || catalog.has_completions(),
            logging: all || catalog.sends_logs(),
            tasks: catalog.has_tasks(),
            skills: catalog.serves_skills(),
        }
    }

    /// What of them a session has: tasks are of 2026-07-28.
    pub(crate) fn session_tools(self) -> DeclaredCapabilities {
        DeclaredCapabilities { tasks: false, ..self }
    }

    pub(crate) fn has(self, kind: CapabilityKind) -> bool {
        match kind {
            CapabilityKind::Tools => self.tools,
            CapabilityKind::Prompts => self.prompts,
            CapabilityKind::Resources => self.resources,
            CapabilityKind::Completions => self.completions,
            CapabilityKind::Logging => self.logging,
            CapabilityKind::Tasks => self.tasks,
            CapabilityKind::Skills => self.skills,
        }
    }
}

/// Of what clients are told when it changes: of everything where the catalog may be replaced, else of what a step can
/// say has changed.
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

/// Writes down who answers and what can be asked.
pub(crate) fn server_config(
    server: &listing::ServerInfo,
    kinds: DeclaredCapabilities,
    promised: ChangeCapabilities,
) -> ServerConfig {
    let mut config = ServerConfig::new(capabilities(server, kinds, promised));
    config.server_info = implementation(server);
    config.instructions = server.instructions.clone();
    config
}

pub(crate) fn implementation(server: &listing::ServerInfo) -> Implementation {
    let mut implementation = Implementation::new(server.name.clone(), server.version.clone());
    implementation.title = server.title.clone();
    implementation.description = server.description.clone();
    implementation.icons = icons(&server.icons);
    implementation.website_url = server.website_url.clone();
    implementation
}

fn capabilities(
    server: &listing::ServerInfo,
    kinds: DeclaredCapabilities,
    promised: ChangeCapabilities,
) -> ServerCapabilities {
    let yes = |promised: bool| promised.then_some(true);
    let mut capabilities = ServerCapabilities::default();
    capabilities.experimental = server.experimental.as_ref().and_then(convert_via_json);
    let mut extensions = server.extensions.clone().unwrap_or_default();
    if kinds.skills {
        let settings = Map::from_iter([("directoryRead".to_owned(), Value::Bool(true))]);
        extensions.insert(SKILLS_EXTENSION_ID.to_owned(), Value::Object(settings));
    }
    if kinds.tasks {
        extensions.entry(TASKS_EXTENSION_ID).or_insert_with(|| Value::Object(Map::new()));
    }
    capabilities.extensions = if extensions.is_empty() { None } else { convert_via_json(&extensions) };
    capabilities.completions = kinds.completions.then(Map::new);
    capabilities.logging = kinds.logging.then(Map::new);
    capabilities.tools = kinds.tools.then(|| {
        let mut tools = ToolsCapability::default();
        tools.list_changed = yes(promised.tools);
        tools
    });
    capabilities.prompts = kinds.prompts.then(|| {
        let mut prompts = PromptsCapability::default();
        prompts.list_changed = yes(promised.prompts);
        prompts
    });
    capabilities.resources = kinds.resources.then(|| {
        let mut resources = ResourcesCapability::default();
        resources.list_changed = yes(promised.resources);
        resources.subscribe = yes(promised.updates);
        resources
    });
    capabilities
}
