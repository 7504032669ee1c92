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
mod calls;
mod complete;
mod discreet;
mod entry;
pub mod face;
mod file;
mod header;
mod inputs;
mod limit;
mod lint;
mod listed_text;
mod listening;
mod prompt;
mod rank;
mod reference;
mod requires;
mod resource;
mod result;
mod root;
mod routes;
mod server_limits;
mod skill;
mod told;
mod tool;
mod trial;
mod within;
mod written;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::json;

use crate::action::{Client, ListKind, Plan};
use crate::diagnostic::{cut, one_line};
use crate::redact::Redactor;
use crate::template::{Template, Uri};
use crate::uri::check_uri;
use crate::world::HandOn;

use answer::{
    Block, Call, Completion, CompletionOf, Completions, Contents, Embedded, Message, PromptAnswer, Refusal,
    RefusalKind, ResourceAnswer, TaskRule, ToolAnswer,
};
use block::Made;
use complete::{Asking, ResourceValues};
use entry::{Calling, Home};
use face::{Lists, Object, Server};
use inputs::Inputs;
use resource::{Reading, not_found};
use routes::{Route, Routes};

pub use accept::{Candidate, Endpoint, NotAccepted, Started, Usage};
pub use access::{Access, Token, normal_origin};
pub use build::{Built, build};
pub(crate) use header::mirrors;
pub use limit::words_of;
pub use listening::{HttpLimits, Listening};
pub use server_limits::ServerLimits;
pub use written::Written;

/// How much of a name that is unknown is shown to whoever sent it, in characters.
const NAME: usize = 64;
/// How much of a URI.
const URI: usize = 256;
/// How much of a URI as data, which clients compare with the one that they sent.
const LONG_URI: usize = 4096;

/// Everything that a server serves.
pub struct Catalog {
    server: Server,
    listening: Listening,
    limits: ServerLimits,
    hand_on: HandOn,
    lists: Lists,
    tools: Vec<tool::Tool>,
    tool_names: HashMap<String, usize>,
    prompts: Vec<prompt::Prompt>,
    prompt_names: HashMap<String, usize>,
    resources: Vec<resource::Resource>,
    routes: Routes,
    redactor: Arc<Redactor>,
    /// What of the served manifest is no entry, with digests of what was written.
    keys: Vec<(String, u64)>,
    /// Partials, with digests of their texts.
    partials: Vec<(String, u64)>,
}

impl Catalog {
    /// What the server is called and says of itself.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// How it listens, as far as the manifest says.
    pub fn listening(&self) -> &Listening {
        &self.listening
    }

    /// What the whole server may use at once.
    pub fn limits(&self) -> ServerLimits {
        self.limits
    }

    /// What of a caller's trace goes along to programs and requests beside `traceparent`.
    pub fn hand_on(&self) -> HandOn {
        self.hand_on
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
    pub fn completes(&self) -> bool {
        self.prompts.iter().any(|prompt| !prompt.completions.is_empty())
            || self.resources.iter().any(|resource| resource.completed_variables().next().is_some())
    }

    /// Goes on counting the calls of tools with limits where an earlier catalog is.
    pub fn follow(&self, earlier: &Catalog) {
        for tool in &self.tools {
            let before = earlier.tool_names.get(&tool.face.name).and_then(|nth| earlier.tools.get(*nth));
            if let (Some(limit), Some(before)) = (&tool.limit, before.and_then(|tool| tool.limit.as_ref())) {
                limit.follow(before);
            }
        }
    }

    /// Refuses a tool to a client that has not declared what the tool requires.
    ///
    /// # Errors
    /// It has not; the data of the refusal says what is missing.
    pub fn meets(&self, tool: &str, client: &dyn Client) -> Result<(), Refusal> {
        let tool = self.tool_names.get(tool).and_then(|nth| self.tools.get(*nth));
        let required = tool.and_then(|tool| Some((tool, tool.requires.as_ref()?)));
        required.map_or(Ok(()), |(tool, requires)| requires.met(&tool.face.name, client))
    }

    /// Whether a tool acts on the world when it is called.
    pub fn tool_acts(&self, name: &str) -> bool {
        let tool = self.tool_names.get(name).and_then(|nth| self.tools.get(*nth));
        tool.is_some_and(|tool| tool.plan().is_some() || self.one_acts(tool.embeds()))
    }

    /// Whether a prompt acts on the world when it is got.
    pub fn prompt_acts(&self, name: &str) -> bool {
        let prompt = self.prompt_names.get(name).and_then(|nth| self.prompts.get(*nth));
        prompt.is_some_and(|prompt| prompt.plan().is_some() || self.one_acts(prompt.embeds()))
    }

    /// Whether what answers a URI acts on the world when it is read.
    pub fn resource_acts(&self, uri: &str) -> bool {
        self.resource(uri).is_some_and(|(resource, _)| resource.plan().is_some())
    }

    /// Whether an argument is completed by acting on the world.
    pub fn completion_acts(&self, wish: &Completion) -> bool {
        let sources = match &wish.of {
            CompletionOf::Prompt(name) => {
                let prompt = self.prompt_names.get(name).and_then(|nth| self.prompts.get(*nth));
                prompt.map(|prompt| &prompt.completions)
            }
            CompletionOf::Template(uri) => self.template(uri).map(|resource| &resource.completions),
        };
        sources.and_then(|sources| sources.get(&wish.argument)).is_some_and(complete::Source::acts)
    }

    /// Whether one of these resources acts, or might, where its URI is known only at a call.
    fn one_acts<'a>(&self, uris: impl IntoIterator<Item = &'a Template<Uri>>) -> bool {
        uris.into_iter().any(|uri| match uri.reads().is_empty() {
            true => self.resource_acts(uri.source()),
            false => self.resources.iter().any(|resource| resource.plan().is_some()),
        })
    }

    /// The template that is written so, or whose URI it is.
    fn template(&self, uri: &str) -> Option<&resource::Resource> {
        let written = self.resources.iter().find(|resource| resource.template.as_str() == uri);
        written.or_else(|| self.resource(uri).map(|(resource, _)| resource))
    }

    /// Whether skills are served, though there may be none at the moment.
    pub fn serves_skills(&self) -> bool {
        self.routes.skills.are_served()
    }

    /// What stands in a folder of the skills, by its URI.
    pub fn directory(&self, uri: &str) -> Option<&[face::Resource]> {
        self.routes.skills.folder(uri)
    }

    /// The JSON Schema of a tool's arguments.
    pub fn input_schema(&self, tool: &str) -> Option<&Object> {
        self.tool_names.get(tool).and_then(|nth| self.tools.get(*nth)).map(|tool| &*tool.face.input_schema)
    }

    /// How a tool runs as a task, where it may.
    pub fn task(&self, tool: &str) -> Option<TaskRule> {
        self.tool_names.get(tool).and_then(|nth| self.tools.get(*nth)).and_then(|tool| tool.task)
    }

    /// Whether a tool may run as a task.
    pub fn has_tasks(&self) -> bool {
        self.tools.iter().any(|tool| tool.task.is_some())
    }

    /// Calls a tool. Arguments that do not fit, and whatever fails, are an answer for the model to read.
    ///
    /// # Errors
    /// There is no such tool, or the caller cancelled.
    pub async fn call_tool(&self, name: &str, arguments: Option<Object>, call: &Call) -> Result<ToolAnswer, Refusal> {
        let budget = call.budget();
        self.answer(name, arguments, &Calling::new(call, self, &budget)).await
    }

    /// Calls a tool for a client or a step.
    async fn answer(
        &self,
        name: &str,
        arguments: Option<Object>,
        calling: &Calling<'_>,
    ) -> Result<ToolAnswer, Refusal> {
        let Some(tool) = self.tool_names.get(name).and_then(|nth| self.tools.get(*nth)) else {
            return Err(Refusal::new(RefusalKind::UnknownTool, format!("Unknown tool: {}", cut(name, NAME))));
        };
        let given = match tool.call(arguments, calling).await? {
            Err(failure) => return Ok(failure),
            Ok(given) => given,
        };
        match self.blocks(given.content, tool.home(), calling).await {
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
        call: &Call,
    ) -> Result<PromptAnswer, Refusal> {
        let budget = call.budget();
        self.messages(name, arguments, &Calling::new(call, self, &budget)).await
    }

    /// Renders a prompt for a client or a step.
    async fn messages(
        &self,
        name: &str,
        arguments: Option<Object>,
        calling: &Calling<'_>,
    ) -> Result<PromptAnswer, Refusal> {
        let Some(prompt) = self.prompt_names.get(name).and_then(|nth| self.prompts.get(*nth)) else {
            return Err(Refusal::new(RefusalKind::UnknownPrompt, format!("Unknown prompt: {}", cut(name, NAME))));
        };
        let rendered = prompt.render(arguments, calling).await?;
        let mut messages = Vec::with_capacity(rendered.len());
        for (role, made) in rendered {
            let blocks = self.blocks(made, prompt.home(), calling).await?;
            messages.extend(blocks.into_iter().map(|content| Message { role, content }));
        }
        Ok(PromptAnswer { description: prompt.face.description.clone(), messages })
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// The URI is none, nothing answers it, its variables do not fit, or what it needs fails.
    pub async fn read_resource(&self, uri: &str, call: &Call) -> Result<ResourceAnswer, Refusal> {
        let budget = call.budget();
        let calling = Calling::new(call, self, &budget);
        self.reading(uri, self.routes.find(uri), &calling).await
    }

    async fn reading(
        &self,
        uri: &str,
        route: Option<Route<'_>>,
        calling: &Calling<'_>,
    ) -> Result<ResourceAnswer, Refusal> {
        let (resource, values) = match route {
            Some(Route::Skill(file)) => {
                return file.read(uri, calling.budget);
            }
            Some(Route::Resource(nth, values)) => (self.resources.get(nth), values),
            None => (None, IndexMap::new()),
        };
        let resource = resource.ok_or_else(|| unanswered(uri))?;
        let contents = match resource.read(uri, values, calling).await? {
            Reading::Contents(contents) => contents,
            Reading::Made(made) => self.embedded((uri, &resource.home), made, calling).await?,
        };
        Ok(ResourceAnswer { contents, ttl_ms: resource.ttl_ms, cache_scope: resource.cache_scope })
    }

    /// Whether a resource of a pack answers a URI.
    fn has_for(&self, home: &Home, uri: &str) -> bool {
        self.routes.find_for(home, uri).is_some()
    }

    /// Reads a resource for an entry of a pack.
    async fn contents(&self, uri: &str, home: &Home, calling: &Calling<'_>) -> Result<Vec<Contents>, Refusal> {
        let route = self.routes.find_for(home, uri);
        Ok(self.reading(uri, route, calling).await?.contents)
    }

    /// The resource that answers a URI to clients, and the values of its variables; `None` where none does.
    fn resource(&self, uri: &str) -> Option<(&resource::Resource, IndexMap<String, String>)> {
        match self.routes.find(uri)? {
            Route::Resource(nth, values) => Some((self.resources.get(nth)?, values)),
            Route::Skill(_) => None,
        }
    }

    /// Blocks whose resources are read.
    async fn blocks(&self, made: Vec<Made>, home: &Home, calling: &Calling<'_>) -> Result<Vec<Block>, Refusal> {
        let mut blocks = Vec::with_capacity(made.len());
        for one in made {
            match one {
                Made::Block(block) => blocks.push(block),
                Made::Link(link) => blocks.push(Block::ResourceLink(self.described(*link))),
                Made::Read { uri, annotations, meta } => {
                    let embedding = calling.embedding()?;
                    let contents = Box::pin(self.contents(&uri, home, &embedding)).await;
                    let contents = contents.map_err(|refusal| embeds_no_question(&uri, refusal))?;
                    let embed = |resource| Embedded { resource, annotations: annotations.clone(), meta: meta.clone() };
                    blocks.extend(contents.into_iter().map(|contents| Block::Resource(embed(contents))));
                }
            }
        }
        Ok(blocks)
    }

    /// A resource that was made of blocks: its texts, and what they embed.
    async fn embedded(
        &self,
        (uri, home): (&str, &Home),
        made: Vec<Made>,
        calling: &Calling<'_>,
    ) -> Result<Vec<Contents>, Refusal> {
        let blocks = self.blocks(made, home, calling).await?;
        let mut contents = Vec::with_capacity(blocks.len());
        for block in blocks {
            let (mime_type, body) = match block {
                Block::Text(text) => ("text/plain".to_owned(), answer::Body::Text(text.text)),
                Block::Image(media) | Block::Audio(media) => (media.mime_type, answer::Body::Blob(media.data)),
                Block::Resource(embedded) => {
                    contents.push(embedded.resource);
                    continue;
                }
                Block::ResourceLink(link) => ("text/uri-list".to_owned(), answer::Body::Text(link.uri)),
            };
            contents.push(Contents { uri: uri.to_owned(), mime_type: Some(mime_type), body, meta: None });
        }
        Ok(contents)
    }

    /// A link with what the catalog knows of the resource that it names.
    fn described(&self, link: face::Resource) -> face::Resource {
        let known = match self.routes.find(&link.uri) {
            Some(Route::Skill(file)) => Some(file.face.clone()),
            Some(Route::Resource(nth, _)) => self.resources.get(nth).map(|resource| resource.face(link.uri.clone())),
            None => None,
        };
        let last = || link.uri.rsplit('/').next().filter(|last| !last.is_empty()).unwrap_or(&link.uri).to_owned();
        let Some(known) = known else {
            let name = if link.name.is_empty() { last() } else { link.name.clone() };
            return face::Resource { name, ..link };
        };
        face::Resource {
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
    pub async fn complete(&self, wish: &Completion, call: &Call) -> Result<Completions, Refusal> {
        let budget = call.budget();
        let calling = &Calling::new(call, self, &budget);
        let asking = Asking { argument: &wish.argument, given: &wish.context, calling };
        let values = match &wish.of {
            CompletionOf::Prompt(name) => self.completed_prompt(name, &wish.argument)?.values(asking).await,
            CompletionOf::Template(uri) => self.completed_template(uri, &wish.argument)?.values(asking).await,
        };
        Ok(complete::ranked(&values.unwrap_or_default(), &wish.value, &budget))
    }

    /// The prompt of this name, which has this argument.
    fn completed_prompt(&self, name: &str, argument: &str) -> Result<complete::Owner<'_>, Refusal> {
        let unknown = |words: String| Refusal::new(RefusalKind::UnknownReference, words);
        let prompt = self.prompt_names.get(name).and_then(|nth| self.prompts.get(*nth));
        let prompt = prompt.ok_or_else(|| unknown(format!("Unknown prompt: {}", cut(name, NAME))))?;
        if prompt.face.arguments.iter().any(|known| known.name == argument) {
            return Ok(prompt.completed());
        }
        Err(unknown(format!("`{name}` has no argument `{}`", cut(argument, NAME))))
    }

    /// The resource that is written so, or answers this URI, and has this variable.
    fn completed_template(&self, uri: &str, variable: &str) -> Result<&resource::Resource, Refusal> {
        let unknown = |words: String| Refusal::new(RefusalKind::UnknownReference, words);
        let resource =
            self.template(uri).ok_or_else(|| unknown(format!("Unknown resource template: {}", cut(uri, URI))))?;
        if resource.template.variables().iter().any(|known| known.name == variable) {
            return Ok(resource);
        }
        Err(unknown(format!("`{}` has no variable `{}`", resource.template.as_str(), cut(variable, NAME))))
    }

    /// What a resource answers to an entry of a pack whose argument is completed by it.
    async fn values_of(&self, of: &ResourceValues, home: &Home, asking: Asking<'_>) -> Vec<String> {
        let Some(resource) = complete::resource_of(&self.resources, of, home) else { return Vec::new() };
        let Some(variable) = complete::variable_of(resource, of, asking.argument) else { return Vec::new() };
        let values = resource.values(Asking { argument: variable, ..asking }).await.unwrap_or_default();
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
                resource.admits(&values).then(|| resource.fingerprint(&values))
            }
        }
    }

    /// Whether an entry speaks with its client while it runs, or wants to know what it is capable of.
    pub fn talks(&self) -> bool {
        self.plans().any(Plan::talks)
            || self.tools.iter().any(|tool| tool.requires.is_some())
            || self.inputs().any(Inputs::is_confined)
    }

    fn inputs(&self) -> impl Iterator<Item = &Inputs> {
        let tools = self.tools.iter().map(tool::Tool::inputs);
        let prompts = self.prompts.iter().map(prompt::Prompt::inputs);
        tools.chain(prompts).chain(self.resources.iter().map(resource::Resource::inputs))
    }

    /// Whether an entry asks its client.
    pub fn asks(&self) -> bool {
        self.plans().any(Plan::asks)
    }

    /// Whether an entry sends log messages.
    pub fn logs(&self) -> bool {
        self.plans().any(Plan::logs)
    }

    /// What entries can say has changed: kinds of lists, and `None` for resources.
    pub fn notices(&self) -> BTreeSet<Option<ListKind>> {
        self.plans().flat_map(Plan::notices).collect()
    }

    fn plans(&self) -> impl Iterator<Item = &Plan> {
        let tools = self.tools.iter().filter_map(tool::Tool::plan);
        let prompts = self.prompts.iter().filter_map(prompt::Prompt::plan);
        tools.chain(prompts).chain(self.resources.iter().filter_map(resource::Resource::plan))
    }
}

/// Nothing answers what may not even be a URI.
fn unanswered(uri: &str) -> Refusal {
    match check_uri(uri) {
        Ok(()) => not_found(uri, &format!("Resource not found: {}", cut(uri, URI))),
        Err(fault) => {
            let words = format!("`{}` is no URI: {}", one_line(&cut(uri, URI)), fault.message);
            Refusal::new(RefusalKind::BadUri, words).with_data(json!({ "uri": cut(uri, LONG_URI) }))
        }
    }
}

/// A question cannot be put in the middle of a text: a client without a session would begin it again.
fn embeds_no_question(uri: &str, refusal: Refusal) -> Refusal {
    match refusal.kind {
        RefusalKind::Asks => {
            let words = format!("`{uri}` asks whoever reads it, and cannot be embedded; a `read` step can");
            Refusal::new(RefusalKind::Internal, words)
        }
        _ => refusal,
    }
}
