//! What is declared: the truth about the catalog at the time.

use rmcp::model::{
    Implementation, PromptsCapability, ResourcesCapability, SKILLS_EXTENSION_ID, ServerCapabilities, ServerConfig,
    TASKS_EXTENSION_ID, ToolsCapability,
};
use serde_json::{Map, Value};

use crate::action::ListKind;
use crate::catalog::{Catalog, face};

use super::{
    Options,
    served::{icons, translate},
};

/// The kinds of things that a client may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Tools,
    Prompts,
    Resources,
    Completions,
    Logging,
    Tasks,
    Skills,
}

/// Which kinds are declared, or were to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kinds {
    tools: bool,
    prompts: bool,
    resources: bool,
    completions: bool,
    logging: bool,
    tasks: bool,
    /// What skills are made of are resources: whoever declares them declares those.
    skills: bool,
}

impl Kinds {
    pub(crate) fn of(catalog: &Catalog, options: Options) -> Kinds {
        let (lists, all) = (catalog.lists(), options.declare_all);
        Kinds {
            tools: all || !lists.tools.is_empty(),
            prompts: all || !lists.prompts.is_empty(),
            resources: all
                || !(lists.resources.is_empty() && lists.resource_templates.is_empty())
                || catalog.serves_skills(),
            completions: all || catalog.completes(),
            logging: all || catalog.logs(),
            tasks: catalog.has_tasks(),
            skills: catalog.serves_skills(),
        }
    }

    /// What of them a session has: tasks are of 2026-07-28.
    pub(crate) fn in_session(self) -> Kinds {
        Kinds { tasks: false, ..self }
    }

    pub(crate) fn has(self, kind: Kind) -> bool {
        match kind {
            Kind::Tools => self.tools,
            Kind::Prompts => self.prompts,
            Kind::Resources => self.resources,
            Kind::Completions => self.completions,
            Kind::Logging => self.logging,
            Kind::Tasks => self.tasks,
            Kind::Skills => self.skills,
        }
    }
}

/// Of what clients are told when it changes: of everything where the catalog may be replaced, else of what a step can
/// say has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Promised {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
    pub(crate) updates: bool,
}

impl Promised {
    pub(crate) fn of(catalog: &Catalog, options: Options) -> Promised {
        let said = catalog.notices();
        let list = |kind| options.watching || said.contains(&Some(kind));
        Promised {
            tools: list(ListKind::Tools),
            prompts: list(ListKind::Prompts),
            resources: list(ListKind::Resources),
            updates: options.watching || said.contains(&None),
        }
    }

    pub(crate) fn any(self) -> bool {
        self.tools || self.prompts || self.resources || self.updates
    }
}

/// Writes down who answers and what can be asked.
pub(crate) fn config(server: &face::Server, kinds: Kinds, promised: Promised) -> ServerConfig {
    let mut config = ServerConfig::new(capabilities(server, kinds, promised));
    config.server_info = implementation(server);
    config.instructions = server.instructions.clone();
    config
}

pub(crate) fn implementation(server: &face::Server) -> Implementation {
    let mut implementation = Implementation::new(server.name.clone(), server.version.clone());
    implementation.title = server.title.clone();
    implementation.description = server.description.clone();
    implementation.icons = icons(&server.icons);
    implementation.website_url = server.website_url.clone();
    implementation
}

fn capabilities(server: &face::Server, kinds: Kinds, promised: Promised) -> ServerCapabilities {
    let yes = |promised: bool| promised.then_some(true);
    let mut capabilities = ServerCapabilities::default();
    capabilities.experimental = server.experimental.as_ref().and_then(translate);
    let mut extensions = server.extensions.clone().unwrap_or_default();
    if kinds.skills {
        let settings = Map::from_iter([("directoryRead".to_owned(), Value::Bool(true))]);
        extensions.insert(SKILLS_EXTENSION_ID.to_owned(), Value::Object(settings));
    }
    if kinds.tasks {
        extensions.entry(TASKS_EXTENSION_ID).or_insert_with(|| Value::Object(Map::new()));
    }
    capabilities.extensions = if extensions.is_empty() { None } else { translate(&extensions) };
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
