//! The catalog: compiled, immutable tools, prompts and resources, built from loaded packs and called by the server.
//!
//! A call uses one catalog from beginning to end. Protocol versions and error codes are in server/, reloads in reload/.

pub mod listing;
pub mod result;
mod access;
mod access_checks;
mod call_traits;
mod clients;
mod entry;
mod inputs;
mod complete;
mod content;
mod resource;
mod prompt;
mod tool;
mod skill;
mod routes;
mod settings;
mod build;
mod changes;
mod read_resource;
mod complete_argument;
mod declared_questions;
mod try_result;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;

use crate::action::{CallContext, ListKind, McpClient, RunPlan};
use crate::diagnostic::{nearest, truncate};
use crate::identity::{AccessControl, CallerSecrets};
use crate::redact::Redactor;
use crate::world::TracePropagation;

use access::ensure_visible;
use listing::{Lists, Object, ServerInfo, ToolListing};
use result::call_result::{PromptResult, ResultBlock, ResultMessage, TaskPolicy, ToolResult};
use result::refusal::{CallError, Refusal, RefusalKind};
use routes::{Route, Routes};

pub use access_checks::AccessRow;
pub use build::entry_places::{EntryPlaces, PackPlace};
pub use build::included_files::{ReadFiles, ReadPacks, read_packs};
pub use build::serving_checks::{AcceptError, HttpServingMode, ServingMode, SettingsAtStart, UnacceptedCatalog};
pub use build::{BuildOutcome, build, build_for_clients};
pub use call_traits::CallTraits;
pub use changes::Changes;
pub use clients::{ClientProfile, KnownClient, missing_lists};
pub use listing::bridge::{BridgePolicy, BridgedLists};
pub use listing::entry_name::check_entry_name;
pub use listing::tool_search::{MAX_LIST_TOKENS, SearchTool, find_tools, token_count};
pub use result::media_block::{contents_block, embedded_block};
pub use settings::http_access::{HttpAccess, TokenDigest, normalize_origin};
pub use settings::http_auth::{AuthSettings, IntrospectionSettings, IssuerSettings};
pub use settings::http_limits::HttpLimits;
pub use settings::http_settings::HttpSettings;
pub use settings::operation_settings::{AuditSettings, OperationSettings, StoreSettings};
pub use settings::server_limits::ServerLimits;
pub use tool::call_limit::format_wait;
pub(crate) use tool::mcp_header::has_mcp_headers;
pub use try_result::{ResultTrial, TrialError};

/// How much of an unknown name is shown to its sender.
const MAX_SHOWN_NAME_CHARS: usize = 64;
/// How much of a URI.
const MAX_SHOWN_URI_CHARS: usize = 256;
/// How much of a URI is sent as data, which clients compare with their own.
const MAX_URI_DATA_CHARS: usize = 4096;

/// A compiled catalog.
pub struct Catalog {
    settings: ServerSettings,
    lists: Lists,
    tools: IndexMap<String, tool::CompiledTool>,
    prompts: IndexMap<String, prompt::CompiledPrompt>,
    resources: Vec<resource::CompiledResource>,
    routes: Routes,
    redactor: Arc<Redactor>,
}

/// What the served manifest says of the server as a whole.
struct ServerSettings {
    info: ServerInfo,
    /// What is listed in place of the tools, where these are searched.
    search_tools: Option<Vec<ToolListing>>,
    http: HttpSettings,
    operation: OperationSettings,
    limits: ServerLimits,
    trace_propagation: TracePropagation,
    /// Who makes calls whose server does not say it: with `--caller` and in tests.
    access: AccessControl,
    /// What the caller sends beside a call, where the command line or a test says so.
    caller_secrets: Arc<CallerSecrets>,
    /// What of the served manifest is not an entry, with digests of what was written.
    key_digests: Vec<(String, u64)>,
    /// Partials, with digests of their texts.
    partial_digests: Vec<(String, u64)>,
    /// A digest of all of it, once somebody asks.
    digest: OnceLock<String>,
}

impl Catalog {
    /// The server info.
    pub fn server(&self) -> &ServerInfo {
        &self.settings.info
    }

    /// What an operator sees of the server.
    pub fn operation_settings(&self) -> &OperationSettings {
        &self.settings.operation
    }

    pub fn http_settings(&self) -> &HttpSettings {
        &self.settings.http
    }

    /// The limits of the whole server.
    pub fn limits(&self) -> ServerLimits {
        self.settings.limits
    }

    /// The trace context that programs and requests get besides `traceparent`.
    pub fn trace_propagation(&self) -> TracePropagation {
        self.settings.trace_propagation
    }

    /// Redacts its secrets.
    pub fn redactor(&self) -> &Arc<Redactor> {
        &self.redactor
    }

    /// Every list that a client can ask for.
    pub fn lists(&self) -> &Lists {
        &self.lists
    }

    /// What `tools/list` lists: the tools, or those that find and call them.
    pub fn visible_tools(&self) -> &[ToolListing] {
        self.settings.search_tools.as_deref().unwrap_or(&self.lists.tools)
    }

    /// Whether tools are searched instead of listed.
    pub fn searches_tools(&self) -> bool {
        self.settings.search_tools.is_some()
    }

    /// The tool of a name that finds or calls others, where these are searched.
    pub fn search_tool(&self, name: &str) -> Option<SearchTool> {
        if self.searches_tools() { SearchTool::from_name(name) } else { None }
    }

    /// The name of the tool that a call runs, which another may have been asked to call.
    pub fn called_tool<'a>(&self, name: &'a str, arguments: Option<&'a Object>) -> &'a str {
        let called = || arguments?.get("name")?.as_str();
        self.search_tool(name).filter(|tool| *tool != SearchTool::Search).and_then(|_| called()).unwrap_or(name)
    }

    /// Continues the rate and concurrency counts of an earlier catalog.
    pub fn inherit_tool_usage(&self, earlier: &Catalog) {
        for tool in self.tools.values() {
            let before = earlier.tools.get(&tool.listing.name);
            if let (Some(limit), Some(before)) = (&tool.limit, before.and_then(|tool| tool.limit.as_ref())) {
                limit.inherit_usage(before);
            }
        }
    }

    /// Refuses a tool to a client that has not declared what the tool requires.
    ///
    /// # Errors
    /// The client lacks capabilities, which are the data of the refusal.
    pub fn check_tool_requirements(&self, tool: &str, client: &dyn McpClient) -> Result<(), Refusal> {
        let tool = self.listed_tool(tool);
        let required = tool.and_then(|tool| Some((tool, tool.requires.as_ref()?)));
        required.map_or(Ok(()), |(tool, requires)| requires.check_client(&tool.listing.name, client))
    }

    /// Whether there is a tool or a prompt of this name, by the method that is about it.
    pub fn lists_entry(&self, method: &str, name: &str) -> bool {
        match method {
            "tools/call" => self.tools.contains_key(name),
            "prompts/get" => self.prompts.contains_key(name),
            _ => false,
        }
    }

    /// How many steps a call runs, by its method and the name or URI that is called.
    pub fn step_count(&self, method: &str, name: &str) -> usize {
        let plan = match method {
            "tools/call" => self.listed_tool(name).and_then(|tool| tool.plan.as_ref()),
            "prompts/get" => self.prompts.get(name).and_then(|prompt| prompt.plan.as_deref()),
            _ => self.find_resource(name).and_then(|(resource, _)| resource.plan()),
        };
        plan.map_or(0, RunPlan::step_count)
    }

    /// Whether skills are declared, even if there are none now.
    pub fn serves_skills(&self) -> bool {
        self.routes.skills.is_declared()
    }

    /// The entries of a skill directory, by its URI.
    pub fn skill_directory(&self, uri: &str) -> Option<&[listing::ResourceListing]> {
        self.routes.skills.folder(uri)
    }

    /// The JSON Schema of a tool's arguments.
    pub fn input_schema(&self, tool: &str) -> Option<&Object> {
        self.listed_tool(tool).map(|tool| &*tool.listing.input_schema)
    }

    /// The JSON Schemas of the arguments of prompts, by name.
    pub fn prompt_schemas(&self) -> impl Iterator<Item = (&str, &Object)> {
        self.prompts.iter().map(|(name, prompt)| (name.as_str(), prompt.inputs.schema()))
    }

    /// The JSON Schemas of the variables of resource templates, by template.
    pub fn template_schemas(&self) -> impl Iterator<Item = (&str, &Object)> {
        let templates = self.resources.iter().filter(|resource| !resource.template.is_literal());
        templates.map(|resource| (resource.template.as_str(), resource.inputs.schema()))
    }

    /// The URI of a resource template, as it is listed, with the values of its variables.
    pub fn expand_template(&self, template: &str, values: &dyn Fn(&str) -> Option<String>) -> Option<String> {
        let resource = self.resources.iter().find(|resource| resource.template.as_str() == template)?;
        (!resource.template.is_literal()).then(|| resource.template.expand(&|name| values(name)))
    }

    /// How a tool runs as a task, where it may.
    pub fn task_policy(&self, tool: &str) -> Option<TaskPolicy> {
        self.listed_tool(tool).and_then(|tool| tool.task)
    }

    /// A tool that clients may call.
    fn listed_tool(&self, name: &str) -> Option<&tool::CompiledTool> {
        self.tools.get(name).filter(|tool| !tool.is_hidden)
    }

    /// Whether a tool may run as a task.
    pub fn has_tasks(&self) -> bool {
        self.tools.values().any(|tool| tool.task.is_some())
    }

    /// Calls a tool. Invalid arguments and failures are results for the model to read.
    ///
    /// # Errors
    /// There is no such tool, or the caller cancelled.
    pub async fn call_tool(
        &self,
        name: &str,
        arguments: Option<Object>,
        call: &CallContext,
    ) -> Result<ToolResult, CallError> {
        let Some(tool) = self.listed_tool(name) else {
            return Err(self.unknown_tool(name).into());
        };
        let mut result = tool.call(arguments, self, call).await?;
        if let Some(note) = result.note.take() {
            result.content.push(ResultBlock::text(note));
            // Some clients show the model nothing else, and there the list would look whole.
            result.structured = result.structured.filter(|_| tool.promises_structure());
        }
        result.content.retain(|block| !block.is_blank());
        Ok(result)
    }

    /// Refuses a name that no tool has. What is only seen with a role is not suggested.
    pub fn unknown_tool(&self, name: &str) -> Refusal {
        let is_public = |tool: &tool::CompiledTool| {
            !tool.is_hidden && tool.access.as_ref().is_none_or(|access| access.roles().is_empty())
        };
        let listed = self.tools.iter().filter(|(_, tool)| is_public(tool)).map(|(name, _)| name.as_str());
        let near = nearest(name, listed).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let message = format!("Unknown tool: {}{near}", truncate(name, MAX_SHOWN_NAME_CHARS));
        Refusal::new(RefusalKind::UnknownTool, message)
    }

    /// Renders a prompt.
    ///
    /// # Errors
    /// There is no such prompt, its arguments do not fit, or what it needs fails.
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: Option<Object>,
        call: &CallContext,
    ) -> Result<PromptResult, CallError> {
        let mut result = self.render_prompt(name, arguments, call).await?;
        result.messages.retain(|message| !message.content.is_blank());
        Ok(result)
    }

    /// Renders a prompt for a client or a step.
    async fn render_prompt(
        &self,
        name: &str,
        arguments: Option<Object>,
        call: &CallContext,
    ) -> Result<PromptResult, CallError> {
        let prompt = self.prompts.get(name).ok_or_else(|| unknown_prompt(name))?;
        ensure_visible(prompt.access.as_ref(), call, || unknown_prompt(name))?;
        prompt.check_scopes(arguments.as_ref(), call)?;
        let rendered = prompt.render(arguments, self, call).await?;
        let mut messages = Vec::with_capacity(rendered.len());
        for (role, made) in rendered {
            let blocks = self.resolve_blocks(made, &prompt.pack_context, call).await?;
            messages.extend(blocks.into_iter().map(|content| ResultMessage { role, content }));
        }
        Ok(PromptResult { description: prompt.listing.description.clone(), messages })
    }

    /// The resource that answers a URI to clients, and the values of its variables; `None` where none does.
    fn find_resource(&self, uri: &str) -> Option<(&resource::CompiledResource, IndexMap<String, String>)> {
        match self.routes.find(uri)? {
            Route::Resource(nth, values) => Some((self.resources.get(nth)?, values)),
            Route::Skill(_) => None,
        }
    }

    /// The URI template of the resource that answers a URI.
    pub fn answering_template(&self, uri: &str) -> Option<&str> {
        self.find_resource(uri).map(|(resource, _)| resource.template.as_str())
    }

    /// The file that a URI leads to by its variables, which a load does not read.
    pub fn path_from_variables(&self, uri: &str) -> Option<PathBuf> {
        let (resource, values) = self.find_resource(uri)?;
        resource.path_from_variables(&values)
    }

    /// A number that changes when the manifest or the file of a resource changes; `None` if no resource serves the URI.
    pub fn fingerprint(&self, uri: &str) -> Option<u64> {
        match self.routes.find(uri)? {
            Route::Skill(file) => Some(file.fingerprint()),
            Route::Resource(nth, values) => {
                let resource = self.resources.get(nth)?;
                resource.may_answer(&values).then(|| resource.fingerprint(&values))
            }
        }
    }

    /// Whether an entry asks its client.
    pub fn asks_client(&self) -> bool {
        self.plans().any(RunPlan::asks_client)
    }

    /// Whether an entry sends log messages.
    pub fn sends_logs(&self) -> bool {
        self.plans().any(RunPlan::sends_logs)
    }

    /// The changes that entries can announce: kinds of lists, and `None` for resources.
    pub fn change_notifications(&self) -> BTreeSet<Option<ListKind>> {
        self.plans().flat_map(RunPlan::change_notifications).collect()
    }

    fn plans(&self) -> impl Iterator<Item = &RunPlan> {
        let tools = self.tools.values().filter_map(|tool| tool.plan.as_ref());
        let prompts = self.prompts.values().filter_map(|prompt| prompt.plan.as_deref());
        tools.chain(prompts).chain(self.resources.iter().filter_map(resource::CompiledResource::plan))
    }
}

/// Refuses a name that no prompt has.
fn unknown_prompt(name: &str) -> Refusal {
    let message = format!("Unknown prompt: {}", truncate(name, MAX_SHOWN_NAME_CHARS));
    Refusal::new(RefusalKind::UnknownPrompt, message)
}

/// Turns a missing or compiled value inside out: `None` if it is present with errors.
fn none_if_invalid<T>(value: Option<Option<T>>) -> Option<Option<T>> {
    match value {
        Some(checked) => checked.map(Some),
        None => Some(None),
    }
}
