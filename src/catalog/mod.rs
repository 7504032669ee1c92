//! What is true: the checked, immutable catalog that is served.
//!
//! [`build`] makes it of what was loaded, or says everything that is wrong. A call begins and ends on one catalog.
//! What is not here: the protocol's versions and codes (server/), and when a catalog is replaced (reload/).

mod accept;
mod access;
pub mod answer;
mod apps;
mod block;
mod build;
mod argument_check;
mod complete;
mod redacting_client;
mod entry;
pub mod listing;
mod file;
mod mcp_header;
mod inputs;
mod tool_limit;
mod client_limits;
mod listed_text;
mod http_settings;
mod prompt;
mod rank;
mod reference;
mod requires;
mod resource;
mod result;
mod resource_root;
mod routes;
mod server_limits;
mod skill;
mod refusal;
mod tool;
mod manifest_tests;
mod confined_paths;
mod digests;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::json;

use crate::action::{ListKind, McpClient, RunPlan};
use crate::diagnostic::{one_line, truncate};
use crate::redact::Redactor;
use crate::template::{Template, Uri};
use crate::uri::check_uri;
use crate::world::TracePropagation;

use answer::{
    AnswerBlock, AnswerContents, AnswerMessage, CallContext, CompletionRequest, CompletionResult, CompletionTarget,
    EmbeddedBlock, PromptAnswer, Refusal, RefusalKind, ResourceAnswer, TaskPolicy, ToolAnswer,
};
use block::RenderedBlock;
use complete::{CompletionQuery, ResourceCompletion};
use entry::{EntryContext, PackContext};
use inputs::Inputs;
use listing::{Lists, Object, ServerInfo};
use resource::{ReadOutcome, not_found_refusal};
use routes::{Route, Routes};

pub use accept::{AcceptError, Candidate, HttpUsage, SettingsAtStart, Usage};
pub use access::{HttpAccess, TokenDigest, normalize_origin};
pub use build::{BuildOutcome, build};
pub use digests::EntryDigests;
pub use http_settings::{HttpLimits, HttpSettings};
pub(crate) use mcp_header::has_mcp_headers;
pub use server_limits::ServerLimits;
pub use tool_limit::format_wait;

/// How much of a name that is unknown is shown to whoever sent it, in characters.
const MAX_SHOWN_NAME_CHARS: usize = 64;
/// How much of a URI.
const MAX_SHOWN_URI_CHARS: usize = 256;
/// How much of a URI as data, which clients compare with the one that they sent.
const MAX_URI_DATA_CHARS: usize = 4096;

/// Everything that a server serves.
pub struct Catalog {
    server: ServerInfo,
    http_settings: HttpSettings,
    limits: ServerLimits,
    trace_propagation: TracePropagation,
    lists: Lists,
    tools: IndexMap<String, tool::CompiledTool>,
    prompts: IndexMap<String, prompt::CompiledPrompt>,
    resources: Vec<resource::CompiledResource>,
    routes: Routes,
    redactor: Arc<Redactor>,
    /// What of the served manifest is no entry, with digests of what was written.
    key_digests: Vec<(String, u64)>,
    /// Partials, with digests of their texts.
    partial_digests: Vec<(String, u64)>,
}

impl Catalog {
    /// What the server is called and says of itself.
    pub fn server(&self) -> &ServerInfo {
        &self.server
    }

    /// How it listens, as far as the manifest says.
    pub fn http_settings(&self) -> &HttpSettings {
        &self.http_settings
    }

    /// What the whole server may use at once.
    pub fn limits(&self) -> ServerLimits {
        self.limits
    }

    /// What of a caller's trace goes along to programs and requests beside `traceparent`.
    pub fn trace_propagation(&self) -> TracePropagation {
        self.trace_propagation
    }

    /// What keeps its secrets.
    pub fn redactor(&self) -> &Arc<Redactor> {
        &self.redactor
    }

    /// Every list that a client can ask for.
    pub fn lists(&self) -> &Lists {
        &self.lists
    }

    /// Whether anything can be completed.
    pub fn has_completions(&self) -> bool {
        self.prompts.values().any(|prompt| !prompt.completions.is_empty())
            || self.resources.iter().any(|resource| resource.completed_variables().next().is_some())
    }

    /// Goes on counting the calls of tools with limits where an earlier catalog is.
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
    /// It has not; the data of the refusal says what is missing.
    pub fn check_tool_requirements(&self, tool: &str, client: &dyn McpClient) -> Result<(), Refusal> {
        let tool = self.tools.get(tool);
        let required = tool.and_then(|tool| Some((tool, tool.requires.as_ref()?)));
        required.map_or(Ok(()), |(tool, requires)| requires.check_client(&tool.listing.name, client))
    }

    /// Whether a tool acts on the world when it is called.
    pub fn tool_runs_actions(&self, name: &str) -> bool {
        let tool = self.tools.get(name);
        tool.is_some_and(|tool| tool.plan.is_some() || self.any_resource_runs_actions(tool.resource_uris()))
    }

    /// Whether a prompt acts on the world when it is got.
    pub fn prompt_runs_actions(&self, name: &str) -> bool {
        let prompt = self.prompts.get(name);
        prompt.is_some_and(|prompt| prompt.plan.is_some() || self.any_resource_runs_actions(prompt.resource_uris()))
    }

    /// Whether what answers a URI acts on the world when it is read.
    pub fn resource_runs_actions(&self, uri: &str) -> bool {
        self.find_resource(uri).is_some_and(|(resource, _)| resource.plan().is_some())
    }

    /// Whether an argument is completed by acting on the world.
    pub fn completion_runs_actions(&self, request: &CompletionRequest) -> bool {
        let sources = match &request.target {
            CompletionTarget::Prompt(name) => {
                let prompt = self.prompts.get(name);
                prompt.map(|prompt| &prompt.completions)
            }
            CompletionTarget::Template(uri) => self.find_template(uri).map(|resource| &resource.completions),
        };
        sources.and_then(|sources| sources.get(&request.argument)).is_some_and(complete::CompletionSource::runs_actions)
    }

    /// Whether one of these resources acts, or might, where its URI is known only at a call.
    fn any_resource_runs_actions<'a>(&self, uris: impl IntoIterator<Item = &'a Template<Uri>>) -> bool {
        uris.into_iter().any(|uri| match uri.read_paths().is_empty() {
            true => self.resource_runs_actions(uri.source()),
            false => self.resources.iter().any(|resource| resource.plan().is_some()),
        })
    }

    /// The template that is written so, or whose URI it is.
    fn find_template(&self, uri: &str) -> Option<&resource::CompiledResource> {
        let written = self.resources.iter().find(|resource| resource.template.as_str() == uri);
        written.or_else(|| self.find_resource(uri).map(|(resource, _)| resource))
    }

    /// Whether skills are served, though there may be none at the moment.
    pub fn serves_skills(&self) -> bool {
        self.routes.skills.is_declared()
    }

    /// What stands in a folder of the skills, by its URI.
    pub fn skill_directory(&self, uri: &str) -> Option<&[listing::ResourceListing]> {
        self.routes.skills.folder(uri)
    }

    /// The JSON Schema of a tool's arguments.
    pub fn input_schema(&self, tool: &str) -> Option<&Object> {
        self.tools.get(tool).map(|tool| &*tool.listing.input_schema)
    }

    /// How a tool runs as a task, where it may.
    pub fn task_policy(&self, tool: &str) -> Option<TaskPolicy> {
        self.tools.get(tool).and_then(|tool| tool.task)
    }

    /// Whether a tool may run as a task.
    pub fn has_tasks(&self) -> bool {
        self.tools.values().any(|tool| tool.task.is_some())
    }

    /// Calls a tool. Arguments that do not fit, and whatever fails, are an answer for the model to read.
    ///
    /// # Errors
    /// There is no such tool, or the caller cancelled.
    pub async fn call_tool(
        &self,
        name: &str,
        arguments: Option<Object>,
        call: &CallContext,
    ) -> Result<ToolAnswer, Refusal> {
        let budget = call.budget();
        self.run_tool(name, arguments, &EntryContext::new(call, self, &budget)).await
    }

    /// Calls a tool for a client or a step.
    async fn run_tool(
        &self,
        name: &str,
        arguments: Option<Object>,
        entry_context: &EntryContext<'_>,
    ) -> Result<ToolAnswer, Refusal> {
        let Some(tool) = self.tools.get(name) else {
            return Err(Refusal::new(
                RefusalKind::UnknownTool,
                format!("Unknown tool: {}", truncate(name, MAX_SHOWN_NAME_CHARS)),
            ));
        };
        let given = match tool.call(arguments, entry_context).await? {
            Err(failure) => return Ok(failure),
            Ok(given) => given,
        };
        match self.resolve_blocks(given.content, &tool.pack_context, entry_context).await {
            Ok(content) => Ok(ToolAnswer { content, structured: given.structured, is_error: false }),
            Err(refusal) if refusal.kind == RefusalKind::Cancelled => Err(refusal),
            Err(refusal) => Ok(ToolAnswer::failure(refusal.message)),
        }
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
    ) -> Result<PromptAnswer, Refusal> {
        let budget = call.budget();
        self.render_prompt(name, arguments, &EntryContext::new(call, self, &budget)).await
    }

    /// Renders a prompt for a client or a step.
    async fn render_prompt(
        &self,
        name: &str,
        arguments: Option<Object>,
        entry_context: &EntryContext<'_>,
    ) -> Result<PromptAnswer, Refusal> {
        let Some(prompt) = self.prompts.get(name) else {
            return Err(Refusal::new(
                RefusalKind::UnknownPrompt,
                format!("Unknown prompt: {}", truncate(name, MAX_SHOWN_NAME_CHARS)),
            ));
        };
        let rendered = prompt.render(arguments, entry_context).await?;
        let mut messages = Vec::with_capacity(rendered.len());
        for (role, made) in rendered {
            let blocks = self.resolve_blocks(made, &prompt.pack_context, entry_context).await?;
            messages.extend(blocks.into_iter().map(|content| AnswerMessage { role, content }));
        }
        Ok(PromptAnswer { description: prompt.listing.description.clone(), messages })
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// The URI is none, nothing answers it, its variables do not fit, or what it needs fails.
    pub async fn read_resource(&self, uri: &str, call: &CallContext) -> Result<ResourceAnswer, Refusal> {
        let budget = call.budget();
        let entry_context = EntryContext::new(call, self, &budget);
        self.read_route(uri, self.routes.find(uri), &entry_context).await
    }

    async fn read_route(
        &self,
        uri: &str,
        route: Option<Route<'_>>,
        entry_context: &EntryContext<'_>,
    ) -> Result<ResourceAnswer, Refusal> {
        let (resource, values) = match route {
            Some(Route::Skill(file)) => {
                return file.read(uri, entry_context.budget);
            }
            Some(Route::Resource(nth, values)) => (self.resources.get(nth), values),
            None => (None, IndexMap::new()),
        };
        let resource = resource.ok_or_else(|| no_resource_refusal(uri))?;
        let contents = match resource.read(uri, values, entry_context).await? {
            ReadOutcome::Contents(contents) => contents,
            ReadOutcome::Blocks(made) => {
                self.blocks_to_contents((uri, &resource.pack_context), made, entry_context).await?
            }
        };
        Ok(ResourceAnswer { contents, ttl_ms: resource.ttl_ms, cache_scope: resource.cache_scope })
    }

    /// Whether a resource of a pack answers a URI.
    fn has_for(&self, pack_context: &PackContext, uri: &str) -> bool {
        self.routes.find_in_pack(pack_context, uri).is_some()
    }

    /// Reads a resource for an entry of a pack.
    async fn read_for_pack(
        &self,
        uri: &str,
        pack_context: &PackContext,
        entry_context: &EntryContext<'_>,
    ) -> Result<Vec<AnswerContents>, Refusal> {
        let route = self.routes.find_in_pack(pack_context, uri);
        Ok(self.read_route(uri, route, entry_context).await?.contents)
    }

    /// The resource that answers a URI to clients, and the values of its variables; `None` where none does.
    fn find_resource(&self, uri: &str) -> Option<(&resource::CompiledResource, IndexMap<String, String>)> {
        match self.routes.find(uri)? {
            Route::Resource(nth, values) => Some((self.resources.get(nth)?, values)),
            Route::Skill(_) => None,
        }
    }

    /// Blocks whose resources are read.
    async fn resolve_blocks(
        &self,
        made: Vec<RenderedBlock>,
        pack_context: &PackContext,
        entry_context: &EntryContext<'_>,
    ) -> Result<Vec<AnswerBlock>, Refusal> {
        let mut blocks = Vec::with_capacity(made.len());
        for one in made {
            match one {
                RenderedBlock::Block(block) => blocks.push(block),
                RenderedBlock::Link(link) => blocks.push(AnswerBlock::ResourceLink(self.complete_link(*link))),
                RenderedBlock::ServerResource { uri, annotations, meta } => {
                    let embedding = entry_context.nested()?;
                    let contents = Box::pin(self.read_for_pack(&uri, pack_context, &embedding)).await;
                    let contents = contents.map_err(|refusal| reject_embedded_question(&uri, refusal))?;
                    let embed =
                        |resource| EmbeddedBlock { resource, annotations: annotations.clone(), meta: meta.clone() };
                    blocks.extend(contents.into_iter().map(|contents| AnswerBlock::Resource(embed(contents))));
                }
            }
        }
        Ok(blocks)
    }

    /// A resource that was made of blocks: its texts, and what they embed.
    async fn blocks_to_contents(
        &self,
        (uri, pack_context): (&str, &PackContext),
        made: Vec<RenderedBlock>,
        entry_context: &EntryContext<'_>,
    ) -> Result<Vec<AnswerContents>, Refusal> {
        let blocks = self.resolve_blocks(made, pack_context, entry_context).await?;
        let mut contents = Vec::with_capacity(blocks.len());
        for block in blocks {
            let (mime_type, body) = match block {
                AnswerBlock::Text(text) => ("text/plain".to_owned(), answer::TextOrBlob::Text(text.text)),
                AnswerBlock::Image(media) | AnswerBlock::Audio(media) => {
                    (media.mime_type, answer::TextOrBlob::Blob(media.data))
                }
                AnswerBlock::Resource(embedded) => {
                    contents.push(embedded.resource);
                    continue;
                }
                AnswerBlock::ResourceLink(link) => ("text/uri-list".to_owned(), answer::TextOrBlob::Text(link.uri)),
            };
            contents.push(AnswerContents { uri: uri.to_owned(), mime_type: Some(mime_type), body, meta: None });
        }
        Ok(contents)
    }

    /// A link with what the catalog knows of the resource that it names.
    fn complete_link(&self, link: listing::ResourceListing) -> listing::ResourceListing {
        let known = match self.routes.find(&link.uri) {
            Some(Route::Skill(file)) => Some(file.listing.clone()),
            Some(Route::Resource(nth, _)) => self.resources.get(nth).map(|resource| resource.listing(link.uri.clone())),
            None => None,
        };
        let last = || link.uri.rsplit('/').next().filter(|last| !last.is_empty()).unwrap_or(&link.uri).to_owned();
        let Some(known) = known else {
            let name = if link.name.is_empty() { last() } else { link.name.clone() };
            return listing::ResourceListing { name, ..link };
        };
        listing::ResourceListing {
            name: if link.name.is_empty() { known.name } else { link.name },
            title: link.title.or(known.title),
            description: link.description.or(known.description),
            mime_type: link.mime_type.or(known.mime_type),
            size: link.size.or(known.size),
            ..link
        }
    }

    /// Completes an argument of a prompt or of a resource template.
    ///
    /// # Errors
    /// There is no such prompt, template or argument.
    pub async fn complete(&self, request: &CompletionRequest, call: &CallContext) -> Result<CompletionResult, Refusal> {
        let budget = call.budget();
        let entry_context = &EntryContext::new(call, self, &budget);
        let query = CompletionQuery { argument: &request.argument, given: &request.context, entry_context };
        let values = match &request.target {
            CompletionTarget::Prompt(name) => self.find_completed_prompt(name, &request.argument)?.values(query).await,
            CompletionTarget::Template(uri) => {
                self.find_completed_template(uri, &request.argument)?.completion_values(query).await
            }
        };
        Ok(complete::rank_values(&values.unwrap_or_default(), &request.value, &budget))
    }

    /// The prompt of this name, which has this argument.
    fn find_completed_prompt(&self, name: &str, argument: &str) -> Result<complete::CompletionOwner<'_>, Refusal> {
        let unknown = |words: String| Refusal::new(RefusalKind::UnknownReference, words);
        let prompt = self.prompts.get(name);
        let prompt =
            prompt.ok_or_else(|| unknown(format!("Unknown prompt: {}", truncate(name, MAX_SHOWN_NAME_CHARS))))?;
        if prompt.listing.arguments.iter().any(|known| known.name == argument) {
            return Ok(prompt.completion_owner());
        }
        Err(unknown(format!("unknown argument `{}` of prompt `{name}`", truncate(argument, MAX_SHOWN_NAME_CHARS))))
    }

    /// The resource that is written so, or answers this URI, and has this variable.
    fn find_completed_template(&self, uri: &str, variable: &str) -> Result<&resource::CompiledResource, Refusal> {
        let unknown = |words: String| Refusal::new(RefusalKind::UnknownReference, words);
        let resource = self
            .find_template(uri)
            .ok_or_else(|| unknown(format!("Unknown resource template: {}", truncate(uri, MAX_SHOWN_URI_CHARS))))?;
        if resource.template.variables().iter().any(|known| known.name == variable) {
            return Ok(resource);
        }
        Err(unknown(format!(
            "unknown variable `{}` of `{}`",
            truncate(variable, MAX_SHOWN_NAME_CHARS),
            resource.template.as_str()
        )))
    }

    /// What a resource answers to an entry of a pack whose argument is completed by it.
    async fn resource_values(
        &self,
        of: &ResourceCompletion,
        pack_context: &PackContext,
        query: CompletionQuery<'_>,
    ) -> Vec<String> {
        let Some(resource) = complete::find_resource(&self.resources, of, pack_context) else { return Vec::new() };
        let Some(variable) = complete::find_variable(resource, of, query.argument) else { return Vec::new() };
        let values =
            resource.completion_values(CompletionQuery { argument: variable, ..query }).await.unwrap_or_default();
        if !of.uri {
            return values;
        }
        let uri = |value: String| resource.template.expand(&|name| (name == variable).then(|| value.clone()));
        values.into_iter().map(uri).collect()
    }

    /// A number that changes when what a URI answers changes, as far as the manifest and files go; `None` where
    /// nothing answers it.
    pub fn fingerprint(&self, uri: &str) -> Option<u64> {
        match self.routes.find(uri)? {
            Route::Skill(file) => Some(file.fingerprint()),
            Route::Resource(nth, values) => {
                let resource = self.resources.get(nth)?;
                resource.may_answer(&values).then(|| resource.fingerprint(&values))
            }
        }
    }

    /// Whether an entry speaks with its client while it runs, or wants to know what it is capable of.
    pub fn uses_client(&self) -> bool {
        self.plans().any(RunPlan::uses_client)
            || self.tools.values().any(|tool| tool.requires.is_some())
            || self.inputs().any(Inputs::has_confined_arguments)
    }

    fn inputs(&self) -> impl Iterator<Item = &Inputs> {
        let tools = self.tools.values().map(|tool| &tool.inputs);
        let prompts = self.prompts.values().map(|prompt| &prompt.inputs);
        tools.chain(prompts).chain(self.resources.iter().map(|resource| &resource.inputs))
    }

    /// Whether an entry asks its client.
    pub fn asks_client(&self) -> bool {
        self.plans().any(RunPlan::asks_client)
    }

    /// Whether an entry sends log messages.
    pub fn sends_logs(&self) -> bool {
        self.plans().any(RunPlan::sends_logs)
    }

    /// What entries can say has changed: kinds of lists, and `None` for resources.
    pub fn change_notifications(&self) -> BTreeSet<Option<ListKind>> {
        self.plans().flat_map(RunPlan::change_notifications).collect()
    }

    fn plans(&self) -> impl Iterator<Item = &RunPlan> {
        let tools = self.tools.values().filter_map(|tool| tool.plan.as_ref());
        let prompts = self.prompts.values().filter_map(|prompt| prompt.plan.as_ref());
        tools.chain(prompts).chain(self.resources.iter().filter_map(resource::CompiledResource::plan))
    }
}

/// Nothing answers what may not even be a URI.
fn no_resource_refusal(uri: &str) -> Refusal {
    match check_uri(uri) {
        Ok(()) => not_found_refusal(uri, &format!("Resource not found: {}", truncate(uri, MAX_SHOWN_URI_CHARS))),
        Err(fault) => {
            let words = format!("invalid URI `{}`: {}", one_line(&truncate(uri, MAX_SHOWN_URI_CHARS)), fault.message);
            Refusal::new(RefusalKind::BadUri, words).with_data(json!({ "uri": truncate(uri, MAX_URI_DATA_CHARS) }))
        }
    }
}

/// A question cannot be put in the middle of a text: a client without a session would begin it again.
fn reject_embedded_question(uri: &str, refusal: Refusal) -> Refusal {
    match refusal.kind {
        RefusalKind::InputRequired => {
            let words = format!("cannot embed `{uri}`: it asks the client; use a `read` step");
            Refusal::new(RefusalKind::Internal, words)
        }
        _ => refusal,
    }
}
