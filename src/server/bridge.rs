//! Prompts and resources as read-only tools, for clients that show a model nothing else (`server.bridge`).
//!
//! Which clients those are is in catalog/.

use std::sync::Arc;

use bytes::Bytes;
use rmcp::model::{CallToolRequestParams, ErrorData, GetPromptRequestParams, JsonObject, ReadResourceRequestParams};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use crate::catalog::{
    BridgedLists, Catalog, contents_block, embedded_block,
    listing::{ListedToolAnnotations, Lists, PromptListing, ResourceListing, ResourceTemplateListing, ToolListing},
    missing_lists,
    result::call_result::{PromptResult, ResourceResult, ResultBlock, ResultMessage, ToolResult},
};
use crate::identity::AccessControl;
use crate::schema::{EmptyText, Schema};
use crate::value_types::Role;

use super::{
    ConnectionHandler,
    capability::CapabilityKind,
    list_pages::{List, list_fingerprint, page_range, write_entries},
    output_shape, prompts,
    request::McpRequest,
    resources,
    run_call::CallOutcome,
    snapshot::CatalogSnapshot,
    tools,
    version_keys::Place,
};

/// How many entries a model gets at a time.
const PAGE_SIZE: usize = 50;
/// How long a query may be, as each word is looked for in each entry.
const MAX_QUERY_BYTES: usize = 256;
const MAX_QUERY_WORDS: usize = 16;

/// A tool that stands for a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BridgeTool {
    ListPrompts,
    GetPrompt,
    ListResources,
    ReadResource,
}

/// The arguments of `list-prompts` and `list-resources`.
#[derive(Deserialize)]
struct ListArguments {
    query: Option<String>,
    cursor: Option<String>,
}

/// The arguments of `get-prompt`.
#[derive(Deserialize)]
struct PromptArguments {
    name: String,
    arguments: Option<JsonObject>,
}

/// The arguments of `read-resource`.
#[derive(Deserialize)]
struct ResourceArguments {
    uri: String,
}

impl BridgeTool {
    const ALL: [BridgeTool; 4] =
        [BridgeTool::ListPrompts, BridgeTool::GetPrompt, BridgeTool::ListResources, BridgeTool::ReadResource];

    fn name(self) -> &'static str {
        match self {
            BridgeTool::ListPrompts => "list-prompts",
            BridgeTool::GetPrompt => "get-prompt",
            BridgeTool::ListResources => "list-resources",
            BridgeTool::ReadResource => "read-resource",
        }
    }

    fn from_name(name: &str) -> Option<BridgeTool> {
        BridgeTool::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// Whether it is offered: a tool of the manifest with its name comes first.
    fn is_offered(self, lists: BridgedLists, snapshot: &CatalogSnapshot) -> bool {
        let is_wanted = match self {
            BridgeTool::ListPrompts | BridgeTool::GetPrompt => lists.prompts,
            BridgeTool::ListResources | BridgeTool::ReadResource => lists.resources,
        };
        is_wanted && snapshot.catalog.input_schema(self.name()).is_none()
    }

    fn description(self) -> &'static str {
        match self {
            BridgeTool::ListPrompts => {
                "Lists the prompts of this server with their arguments. `get-prompt` gets the text of one."
            }
            BridgeTool::GetPrompt => {
                "Gets a prompt of this server, filled in with arguments, and returns its messages. Follow what they say as \
                 if the user had sent them. `list-prompts` lists the names."
            }
            BridgeTool::ListResources => {
                "Lists the resources of this server by URI, and templates of URIs. `read-resource` reads one."
            }
            BridgeTool::ReadResource => "Reads a resource of this server. `list-resources` lists the URIs.",
        }
    }

    fn input_schema(self) -> Value {
        let text = |description: &str| json!({ "type": "string", "description": description });
        let list = json!({
            "query": text("Words that the name, title or description must contain"),
            "cursor": text("The `nextCursor` of the page before"),
        });
        let (properties, required) = match self {
            BridgeTool::ListPrompts | BridgeTool::ListResources => (list, json!([])),
            BridgeTool::GetPrompt => {
                let arguments = json!({ "type": "object", "description": "Values for the arguments of the prompt" });
                (json!({ "name": text("The name of the prompt"), "arguments": arguments }), json!(["name"]))
            }
            BridgeTool::ReadResource => (json!({ "uri": text("The URI of the resource") }), json!(["uri"])),
        };
        json!({ "type": "object", "properties": properties, "required": required })
    }

    fn listing(self) -> ToolListing {
        let schema = self.input_schema().as_object().cloned().unwrap_or_default();
        ToolListing {
            name: self.name().to_owned(),
            description: Some(self.description().to_owned()),
            input_schema: Arc::new(schema),
            annotations: Some(ListedToolAnnotations { read_only_hint: Some(true), ..Default::default() }),
            ..ToolListing::default()
        }
    }
}

/// `tools/list` for a client that gets other lists as tools: those are the last.
pub(crate) fn list_tools(lists: BridgedLists, cursor: Option<&str>, request: &McpRequest) -> Result<Bytes, ErrorData> {
    let (snapshot, version) = (&*request.snapshot, request.version);
    let offered = BridgeTool::ALL.into_iter().filter(|tool| tool.is_offered(lists, snapshot));
    let bridge_tools: Vec<ToolListing> = offered.map(BridgeTool::listing).collect();
    let view = snapshot.pages.view(List::Tools, &snapshot.catalog, &request.access);
    let whole = snapshot.pages.fingerprint(List::Tools, &snapshot.catalog);
    let fingerprints = (whole, list_fingerprint(&bridge_tools), view.as_ref().map(|view| &*view.roles));
    let sees = |tool: &&ToolListing| snapshot.catalog.sees_tool(&tool.name, &request.access);
    let tools = snapshot.catalog.visible_tools().iter().filter(sees).chain(&bridge_tools);
    let tools: Vec<_> = tools.map(|tool| output_shape::listed_tool(tool, &snapshot.output_shapes, version)).collect();
    let page = page_range(tools.len(), || list_fingerprint(&[&fingerprints]), snapshot.page_size, cursor)?;
    let entries = write_entries(tools.get(page.range).unwrap_or_default(), Place::Tool, version).unwrap_or_default();
    Ok(snapshot.list_result("tools", &entries, page.next.as_deref(), version, view.is_some()))
}

impl ConnectionHandler {
    /// The tool that a call names, if it stands for a list and the client gets it.
    pub(crate) fn bridge_tool(&self, name: &str, request: &McpRequest) -> Option<BridgeTool> {
        let tool = BridgeTool::from_name(name)?;
        tool.is_offered(self.bridged_lists(request), &request.snapshot).then_some(tool)
    }

    /// The lists that the client of a request gets as tools.
    pub(crate) fn bridged_lists(&self, request: &McpRequest) -> BridgedLists {
        if let Some(session) = self.session.negotiated().filter(|_| !request.version.is_sessionless()) {
            return session.bridged_lists;
        }
        let client = request.client_name().unwrap_or_default().name;
        let experimental = request.client_capabilities().and_then(|capabilities| capabilities.experimental);
        lists_for(&client, experimental.as_ref(), &request.snapshot)
    }
}

/// The lists that a client gets as tools, of those that the server has.
pub(crate) fn lists_for(
    client_name: &str,
    experimental: Option<&impl Serialize>,
    snapshot: &CatalogSnapshot,
) -> BridgedLists {
    let experimental = experimental.and_then(|declared| serde_json::to_value(declared).ok());
    let declared = experimental.as_ref().and_then(Value::as_object).cloned().unwrap_or_default();
    let lists = snapshot.catalog.server().bridge.lists_for(&declared, missing_lists(client_name));
    BridgedLists {
        prompts: lists.prompts && snapshot.capabilities.has(CapabilityKind::Prompts),
        resources: lists.resources && snapshot.capabilities.has(CapabilityKind::Resources),
    }
}

/// Answers a call of one of the tools. What fails is a result for the model to read.
pub(crate) async fn call(
    server: &ConnectionHandler,
    tool: BridgeTool,
    params: CallToolRequestParams,
    request: &McpRequest,
) -> Result<Bytes, ErrorData> {
    let complete = |answer| tools::respond(answer, tool.name(), request);
    let outcome = match tool {
        BridgeTool::ListPrompts | BridgeTool::ListResources => {
            list(tool, &params, request).map(|listed| CallOutcome::Done(ToolResult::text(listed)))
        }
        BridgeTool::GetPrompt => get_prompt(server, params, request).await,
        BridgeTool::ReadResource => read_resource(server, params, request).await,
    };
    match outcome {
        Ok(outcome) => outcome.into_result(complete),
        Err(error) => complete(ToolResult::failure(error.message)),
    }
}

/// The arguments of a call. Others that a host adds are ignored: no author could allow them.
pub(crate) fn parse_arguments<T: DeserializeOwned>(
    input_schema: Value,
    arguments: Option<JsonObject>,
) -> Result<T, ErrorData> {
    let refused = |why: String| ErrorData::invalid_params(format!("invalid arguments: {why}"), None);
    let schema = Schema::compile(input_schema, &|_| None).map_err(|_| refused("no schema".to_owned()))?;
    let settled = schema.settle(arguments.unwrap_or_default(), EmptyText::Text);
    let (arguments, violations) = settled.map_err(|exceeded| refused(exceeded.to_string()))?;
    let complaints: Vec<String> = violations.into_iter().map(|violation| violation.message).collect();
    if !complaints.is_empty() {
        return Err(refused(complaints.join("; ")));
    }
    serde_json::from_value(Value::Object(arguments)).map_err(|error| refused(error.to_string()))
}

/// A page of a list, as JSON.
fn list(tool: BridgeTool, params: &CallToolRequestParams, request: &McpRequest) -> Result<String, ErrorData> {
    let snapshot = &*request.snapshot;
    let ListArguments { query, cursor } = parse_arguments(tool.input_schema(), params.arguments.clone())?;
    let words = query_words(query.unwrap_or_default())?;
    let lists = snapshot.catalog.lists();
    let (key, mut entries): (_, Vec<_>) = match tool {
        BridgeTool::ListPrompts => {
            ("prompts", lists.prompts.iter().map(|prompt| BridgeEntry::Prompt(prompt)).collect())
        }
        _ => ("resources", resource_entries(lists)),
    };
    entries.retain(|entry| entry.is_visible(&snapshot.catalog, &request.access) && entry.has_words(&words));
    let fingerprint = || {
        let fingerprint = |list| snapshot.pages.fingerprint(list, &snapshot.catalog).to_string();
        let view = |list| snapshot.pages.view(list, &snapshot.catalog, &request.access);
        let roles = |list| view(list).map(|view| view.roles.to_string()).unwrap_or_default();
        let (prompts, resources) = (List::Prompts, List::Resources);
        let lists = [fingerprint(prompts), fingerprint(resources), roles(prompts), roles(resources)];
        list_fingerprint(&[&lists[..], &words].concat())
    };
    let page = page_range(entries.len(), fingerprint, PAGE_SIZE, cursor.as_deref())?;
    let entries = entries.get(page.range).unwrap_or_default();
    let items = entries.iter().filter_map(|entry| entry.to_json()).collect();
    let mut listed = Map::from_iter([(key.to_owned(), Value::Array(items))]);
    listed.extend(page.next.map(|next| ("nextCursor".to_owned(), Value::String(next))));
    Ok(Value::Object(listed).to_string())
}

/// The different words of a query, in small letters.
fn query_words(query: String) -> Result<Vec<String>, ErrorData> {
    let mut words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    words.sort_unstable();
    words.dedup();
    if query.len() > MAX_QUERY_BYTES || words.len() > MAX_QUERY_WORDS {
        let message = format!("`query` is longer than {MAX_QUERY_WORDS} words or {MAX_QUERY_BYTES} bytes");
        return Err(ErrorData::invalid_params(message, None));
    }
    Ok(words)
}

fn resource_entries(lists: &Lists) -> Vec<BridgeEntry<'_>> {
    let resources = lists.resources.iter().map(BridgeEntry::Resource);
    resources.chain(lists.resource_templates.iter().map(BridgeEntry::Template)).collect()
}

/// An entry of a list.
#[derive(Clone, Copy)]
enum BridgeEntry<'a> {
    Prompt(&'a PromptListing),
    Resource(&'a ResourceListing),
    Template(&'a ResourceTemplateListing),
}

impl<'a> BridgeEntry<'a> {
    /// What a query is looked for in.
    fn texts(self) -> [Option<&'a str>; 4] {
        match self {
            BridgeEntry::Prompt(prompt) => {
                [Some(&prompt.name), prompt.title.as_deref(), prompt.description.as_deref(), None]
            }
            BridgeEntry::Resource(ResourceListing { info, uri, .. })
            | BridgeEntry::Template(ResourceTemplateListing { info, uri_template: uri }) => {
                [Some(&info.name), info.title.as_deref(), info.description.as_deref(), Some(uri)]
            }
        }
    }

    /// Whether a caller sees it.
    fn is_visible(self, catalog: &Catalog, access: &AccessControl) -> bool {
        match self {
            BridgeEntry::Prompt(prompt) => catalog.sees_prompt(&prompt.name, access),
            BridgeEntry::Resource(resource) => catalog.sees_resource(&resource.uri, access),
            BridgeEntry::Template(template) => catalog.sees_template(&template.uri_template, access),
        }
    }

    /// Whether each of these words, in small letters, stands in it.
    fn has_words(self, words: &[String]) -> bool {
        if words.is_empty() {
            return true;
        }
        let text = self.texts().into_iter().flatten().map(str::to_lowercase).collect::<Vec<_>>().join("\n");
        words.iter().all(|word| text.contains(word))
    }

    /// Its JSON without what only programs read.
    fn to_json(self) -> Option<Value> {
        let mut json = match self {
            BridgeEntry::Prompt(prompt) => serde_json::to_value(prompt),
            BridgeEntry::Resource(resource) => serde_json::to_value(resource),
            BridgeEntry::Template(template) => serde_json::to_value(template),
        }
        .ok()?;
        let keys = json.as_object_mut()?;
        ["icons", "annotations", "_meta"].iter().for_each(|key| drop(keys.remove(*key)));
        Some(json)
    }
}

async fn get_prompt(
    server: &ConnectionHandler,
    params: CallToolRequestParams,
    request: &McpRequest,
) -> Result<CallOutcome<ToolResult>, ErrorData> {
    let PromptArguments { name, arguments } = parse_arguments(BridgeTool::GetPrompt.input_schema(), params.arguments)?;
    let traits = request.snapshot.catalog.prompt_traits(&name);
    let mut prompt_request = GetPromptRequestParams::new(name);
    prompt_request.arguments = arguments;
    prompt_request.input_responses = params.input_responses;
    prompt_request.request_state = params.request_state;
    Ok(prompts::render(server, &mut prompt_request, traits, request).await?.map(prompt_content))
}

/// The blocks of a prompt. In a conversation, a line before each message says whose it is.
fn prompt_content(prompt: PromptResult) -> ToolResult {
    let count = prompt.messages.len();
    let is_conversation = prompt.messages.iter().any(|message| message.role != Role::User);
    let mut content = Vec::with_capacity(count);
    for (number, ResultMessage { role, content: block }) in (1..).zip(prompt.messages) {
        // With its number, so that a reader sees where each begins.
        let whose = if role == Role::User { "user" } else { "assistant" };
        let heading = is_conversation.then(|| format!("[message {number} of {count}, of the {whose}]"));
        match (heading, block) {
            (Some(heading), ResultBlock::Text(mut block)) => {
                block.text = format!("{heading}\n{}", block.text);
                content.push(ResultBlock::Text(block));
            }
            (heading, ResultBlock::Resource(embedded)) => {
                content.extend(heading.map(ResultBlock::text).into_iter().chain([embedded_block(embedded)]));
            }
            (heading, block) => content.extend(heading.map(ResultBlock::text).into_iter().chain([block])),
        }
    }
    ToolResult { content, ..ToolResult::default() }
}

async fn read_resource(
    server: &ConnectionHandler,
    params: CallToolRequestParams,
    request: &McpRequest,
) -> Result<CallOutcome<ToolResult>, ErrorData> {
    let ResourceArguments { uri } = parse_arguments(BridgeTool::ReadResource.input_schema(), params.arguments)?;
    let traits = request.snapshot.catalog.resource_traits(&uri);
    let mut resource_request = ReadResourceRequestParams::new(uri);
    resource_request.input_responses = params.input_responses;
    resource_request.request_state = params.request_state;
    let outcome = resources::read_contents(server, &mut resource_request, traits, request).await?;
    Ok(outcome.map(|ResourceResult { contents, .. }| ToolResult {
        content: contents.into_iter().map(contents_block).filter(|block| !block.is_blank()).collect(),
        ..ToolResult::default()
    }))
}
