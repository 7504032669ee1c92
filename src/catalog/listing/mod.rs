//! The server and the entries of its lists as clients see them.
//!
//! They serialize as MCP's JSON, and are compared by value to find the lists that a reload has changed.

pub(super) mod bridge;
pub(super) mod entry_name;
pub(super) mod icons;
pub(super) mod mcp_apps;
pub(super) mod tool_search;

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::catalog::listing::bridge::BridgePolicy;
use crate::manifest::ToolSearch;
use crate::value_types::{CacheScope, Role, Theme};

/// A JSON object.
pub type Object = Map<String, Value>;

/// The server: its info for `initialize` and `server/discover`, and its list settings.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerInfo {
    /// Its unique name.
    pub name: String,
    /// The display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The version of the server, in the author's counting.
    pub version: String,
    /// What the server is, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What a model should know before it uses the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Pictures of the server.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// Where to read about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub website_url: Option<String>,
    /// Entries on one page of a list; 1000 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_size: Option<usize>,
    /// How long a client may cache a list or a resource; 0 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Who may cache it; private by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// Extensions to the protocol that the server declares, by their names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Object>,
    /// Experimental capabilities that the server declares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experimental: Option<Object>,
    /// For whom prompts and resources are also offered as tools.
    #[serde(skip)]
    pub bridge: BridgePolicy,
    /// When tools are searched instead of listed, if the manifest says it.
    #[serde(skip)]
    pub tool_search: Option<ToolSearch>,
}

/// Every list that a client can ask for, in the order in which it is answered.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Lists {
    /// `tools/list`.
    pub tools: Vec<ToolListing>,
    /// `prompts/list`.
    pub prompts: Vec<Arc<PromptListing>>,
    /// `resources/list`.
    pub resources: Vec<ResourceListing>,
    /// `resources/templates/list`.
    pub resource_templates: Vec<ResourceTemplateListing>,
    /// `skills/list`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<SkillListing>,
}

impl Lists {
    /// The names by which a client asks for something, apart from resources.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        let properties = |tool: &ToolListing| tool.input_schema.get("properties").and_then(Value::as_object).cloned();
        let fields =
            self.tools.iter().filter_map(properties).flat_map(|fields| fields.into_iter().map(|(name, _)| name));
        let arguments = self.prompts.iter().flat_map(|prompt| &prompt.arguments).map(|argument| argument.name.clone());
        let tools = self.tools.iter().map(|tool| tool.name.clone());
        let prompts = self.prompts.iter().map(|prompt| prompt.name.clone());
        fields.chain(arguments).chain(tools).chain(prompts)
    }
}

/// A tool, as listed.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolListing {
    /// The name by which it is called.
    pub name: String,
    /// The display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does, for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The schema of its arguments; its root has type `object`.
    pub input_schema: Arc<Object>,
    /// The schema of its result, as written: of any type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Arc<Object>>,
    /// Hints about what it may do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<ListedToolAnnotations>,
    /// Pictures of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// The author's own metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Object>,
}

impl ToolListing {
    /// Whether it names a page that hosts show with its results (MCP Apps).
    pub fn has_view(&self) -> bool {
        let Some(meta) = &self.meta else { return false };
        meta.contains_key("ui/resourceUri") || meta.get("ui").is_some_and(|ui| ui.get("resourceUri").is_some())
    }
}

/// Hints about what a tool may do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedToolAnnotations {
    /// An older place of the title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// It changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// It may destroy something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Twice is the same as once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// It reaches beyond what the server knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

/// A prompt, as listed.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptListing {
    /// Its unique name.
    pub name: String,
    /// The display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it takes.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub arguments: Box<[PromptArgumentListing]>,
    /// Pictures of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// The author's own metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Object>,
}

/// An argument of a prompt, as listed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptArgumentListing {
    /// Its unique name.
    pub name: String,
    /// The display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the prompt needs it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
}

/// A resource, as listed and as linked to.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ResourceListing {
    /// The URI by which it is read.
    pub uri: String,
    /// Its description.
    #[serde(flatten)]
    pub info: ResourceInfo,
    /// Its length in bytes, before any base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// A template of resources, as listed.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceTemplateListing {
    /// The URI template (RFC 6570).
    pub uri_template: String,
    /// Its description.
    #[serde(flatten)]
    pub info: ResourceInfo,
}

/// The description of a resource or of a template of resources.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceInfo {
    pub name: String,
    /// The display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its content, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The type of its content, if it is always the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Its icons.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// Hints for the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// The author's own metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Object>,
}

/// A skill, as listed: its front matter, and all of its files.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SkillListing {
    /// The URI of its SKILL.md.
    pub uri: String,
    /// The whole front matter of its SKILL.md.
    pub frontmatter: Object,
    /// Its files, each once.
    pub resources: Vec<SkillFileListing>,
}

/// A file of a skill, as listed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SkillFileListing {
    /// The URI by which it is read.
    pub uri: String,
    /// `sha256:` and the digest of its bytes in 64 hexadecimal digits.
    pub digest: String,
    /// Its length in bytes.
    pub size: u64,
}

/// Hints about a resource or a block of content.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Annotations {
    /// The intended audience; empty if not declared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub audience: Vec<Role>,
    /// Its importance, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<f64>,
    /// When it last changed (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

/// A picture of something.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Icon {
    /// Where it is: an `https:` or `data:` URI.
    pub src: String,
    /// Its type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Its sizes, such as `48x48` or `any`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<String>,
    /// The background that it is drawn for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theme: Option<Theme>,
}
