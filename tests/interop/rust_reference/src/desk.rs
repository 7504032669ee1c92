//! The entries of the manifest, by hand.

#![allow(deprecated)] // Old versions have methods that the newest has not.

use std::{
    error::Error,
    sync::{Arc, Mutex},
};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult, CompletionInfo,
        ContentBlock, GetPromptRequestParams, GetPromptResponse, GetPromptResult, Implementation, JsonObject,
        ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, LoggingLevel,
        LoggingMessageNotificationParam, PaginatedRequestParams, ProgressNotificationParam, Prompt, PromptMessage,
        ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Reference, Resource,
        ResourceContents, ResourceTemplate, ResourceUpdatedNotificationParam, Role, ServerCapabilities, ServerConfig,
        SetLevelRequestMethod, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool,
        UnsubscribeRequestParams,
    },
    service::{RequestContext, SubscriptionContext},
};
use serde::Deserialize;
use serde_json::json;
use tokio::{sync::Notify, task::JoinHandle};

const PAGE_SIZE: usize = 2;
/// The resource whose changes are told.
const NOTES: &str = "desk://notes";
/// The resources' URIs, types and texts.
const TEXTS: [(&str, &str, &str); 4] = [
    ("desk://about", "text/plain", "The desk."),
    ("desk://hours", "text/markdown", "# Nine to five"),
    (NOTES, "text/plain", "Some notes."),
    ("desk://people", "application/json", "[]"),
];
/// What the templates' URIs begin with, and their texts.
const PLACES: [(&str, &str); 5] = [
    ("desk://page/", "Page"),
    ("desk://room/", "Room"),
    ("desk://shelf/", "Shelf"),
    ("desk://table/", "Table"),
    ("desk://visit/", "Visit"),
];

/// The lists, as clients see them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Lists {
    tools: Vec<Tool>,
    prompts: Vec<Prompt>,
    resources: Vec<Resource>,
    resource_templates: Vec<ResourceTemplate>,
}

/// The server of one session.
pub(crate) struct Desk {
    lists: Arc<Lists>,
    /// Told when the notes change, on behalf of whichever session.
    changes: Arc<Notify>,
    level: Mutex<LoggingLevel>,
    /// Tells a client with a session of each change, while it is subscribed.
    subscription: Mutex<Option<JoinHandle<()>>>,
}

type Context = RequestContext<RoleServer>;

impl Desk {
    pub(crate) fn new() -> Result<Desk, Box<dyn Error>> {
        let lists = serde_json::from_str(include_str!("catalog.json"))?;
        Ok(Desk::with(Arc::new(lists), Arc::default()))
    }

    /// The same entries for another session.
    pub(crate) fn of_a_session(&self) -> Desk {
        Desk::with(self.lists.clone(), self.changes.clone())
    }

    fn with(lists: Arc<Lists>, changes: Arc<Notify>) -> Desk {
        Desk { lists, changes, level: Mutex::new(LoggingLevel::Info), subscription: Mutex::default() }
    }

    fn subscribe_by(&self, task: Option<JoinHandle<()>>) {
        if let Ok(mut subscription) = self.subscription.lock()
            && let Some(earlier) = std::mem::replace(&mut *subscription, task)
        {
            earlier.abort();
        }
    }

    async fn log(&self, context: &Context) -> CallToolResult {
        let least =
            if is_modern(context) { context.meta.log_level() } else { self.level.lock().ok().map(|level| *level) };
        use LoggingLevel::{Debug, Info, Notice, Warning};
        if matches!(least, Some(Debug | Info | Notice | Warning)) {
            let message = LoggingMessageNotificationParam::new(LoggingLevel::Warning, json!({ "seen": 1 }));
            let _ = context.peer.notify_logging_message(message.with_logger("desk")).await;
        }
        said("logged")
    }

    async fn progress(&self, context: &Context) -> CallToolResult {
        for (progress, message) in [(1.0, "begun"), (2.0, "done")] {
            if let Some(token) = context.meta.get_progress_token() {
                let progress = ProgressNotificationParam::new(token, progress).with_total(2.0).with_message(message);
                let _ = context.peer.notify_progress(progress).await;
            }
        }
        said("done")
    }
}

fn is_modern(context: &Context) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

fn said(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

fn refused(text: &'static str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

fn invalid(message: &'static str) -> ErrorData {
    ErrorData::invalid_params(message, None)
}

/// One page of a list, and the cursor of the next.
fn page<T: Clone>(list: &[T], params: Option<PaginatedRequestParams>) -> Result<(Vec<T>, Option<String>), ErrorData> {
    let cursor = params.and_then(|params| params.cursor).filter(|cursor| !cursor.is_empty());
    let from = match cursor {
        Some(cursor) => cursor.parse().ok().filter(|from| (1..list.len()).contains(from)).ok_or(invalid("cursor"))?,
        None => 0,
    };
    let to = (from + PAGE_SIZE).min(list.len());
    Ok((list[from..to].to_vec(), (to < list.len()).then(|| to.to_string())))
}

/// The argument of a name, which is a text.
fn text_of<'a>(arguments: Option<&'a JsonObject>, name: &str) -> Option<&'a str> {
    arguments?.get(name)?.as_str()
}

impl ServerHandler for Desk {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_logging()
            .enable_completions()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("desk", "1.0.0"))
            .with_instructions("Ask the desk.")
    }

    async fn set_level(&self, request: SetLevelRequestParams, context: Context) -> Result<(), ErrorData> {
        if is_modern(&context) {
            return Err(ErrorData::method_not_found::<SetLevelRequestMethod>());
        }
        if let Ok(mut level) = self.level.lock() {
            *level = request.level;
        }
        Ok(())
    }

    async fn list_tools(
        &self,
        params: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        let (tools, next) = page(&self.lists.tools, params)?;
        Ok(ListToolsResult { next_cursor: next, ..ListToolsResult::with_all_items(tools) })
    }

    async fn list_prompts(
        &self,
        params: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        let (prompts, next) = page(&self.lists.prompts, params)?;
        Ok(ListPromptsResult { next_cursor: next, ..ListPromptsResult::with_all_items(prompts) })
    }

    async fn list_resources(
        &self,
        params: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        let (resources, next) = page(&self.lists.resources, params)?;
        Ok(ListResourcesResult { next_cursor: next, ..ListResourcesResult::with_all_items(resources) })
    }

    async fn list_resource_templates(
        &self,
        params: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let (templates, next) = page(&self.lists.resource_templates, params)?;
        Ok(ListResourceTemplatesResult { next_cursor: next, ..ListResourceTemplatesResult::with_all_items(templates) })
    }

    async fn call_tool(&self, call: CallToolRequestParams, context: Context) -> Result<CallToolResponse, ErrorData> {
        let arguments = call.arguments.as_ref();
        let allowed = usize::from(call.name == "echo");
        if self.lists.tools.iter().any(|tool| tool.name == call.name)
            && arguments.is_some_and(|given| given.len() > allowed)
        {
            return Ok(refused("unknown argument").into());
        }
        let result = match call.name.as_ref() {
            "echo" => text_of(arguments, "text").map_or_else(|| refused("`text` must be a text"), said),
            "fail" => refused("It failed."),
            "list" => CallToolResult::structured(json!({ "items": ["one", "two"] })),
            "log" => self.log(&context).await,
            "notify" => {
                self.changes.notify_waiters();
                said("notified")
            }
            "progress" => self.progress(&context).await,
            "slow" => {
                context.ct.cancelled().await;
                refused("cancelled")
            }
            _ => return Err(invalid("unknown tool")),
        };
        Ok(result.into())
    }

    async fn get_prompt(&self, get: GetPromptRequestParams, _: Context) -> Result<GetPromptResponse, ErrorData> {
        let arguments = get.arguments.as_ref();
        let user = |text: String| PromptMessage::new_text(Role::User, text);
        let messages = match get.name.as_str() {
            "draft" => vec![user("Write a draft.".to_owned())],
            "greet" => {
                let who = text_of(arguments, "who").ok_or(invalid("`who` is required"))?;
                vec![user(format!("Say hello to {who}."))]
            }
            "review" => {
                let kind = text_of(arguments, "kind").filter(|kind| ["bugs", "bytes", "style"].contains(kind));
                let kind = kind.ok_or(invalid("`kind` is one of bugs, bytes, style"))?;
                let text = text_of(arguments, "text").unwrap_or_default();
                let seen = PromptMessage::new_text(Role::Assistant, "Here is what I see.");
                vec![user(format!("Review for {kind}: {text}")), seen]
            }
            "shorten" => vec![user("Make it short.".to_owned())],
            "translate" => vec![user("Translate it.".to_owned())],
            _ => return Err(invalid("unknown prompt")),
        };
        let listed = self.lists.prompts.iter().find(|prompt| prompt.name == get.name);
        let described = listed.and_then(|prompt| prompt.description.clone()).unwrap_or_default();
        Ok(GetPromptResult::new(messages).with_description(described).into())
    }

    async fn read_resource(
        &self,
        read: ReadResourceRequestParams,
        _: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = read.uri.as_str();
        if let Some((_, mime_type, text)) = TEXTS.iter().find(|(of, ..)| *of == uri) {
            let contents = ResourceContents::text(*text, uri).with_mime_type(*mime_type);
            return Ok(ReadResourceResult::new(vec![contents]).into());
        }
        if uri == "desk://picture" {
            let contents = ResourceContents::blob("AAEC", uri).with_mime_type("application/octet-stream");
            return Ok(ReadResourceResult::new(vec![contents]).into());
        }
        let place = PLACES.iter().find_map(|(begin, text)| Some((*text, uri.strip_prefix(begin)?)));
        let is_id = |id: &str, text: &str| {
            !id.is_empty() && !id.contains('/') && (text != "Page" || ["first", "second"].contains(&id))
        };
        match place {
            Some((text, id)) if is_id(id, text) => {
                let contents = ResourceContents::text(format!("{text} {id}"), uri).with_mime_type("text/plain");
                Ok(ReadResourceResult::new(vec![contents]).into())
            }
            Some(("Page", id)) if !id.is_empty() => {
                Err(ErrorData::invalid_params("`id` is one of first, second", Some(json!({ "uri": uri }))))
            }
            _ => Err(ErrorData::resource_not_found("no such resource", Some(json!({ "uri": uri })))),
        }
    }

    async fn complete(&self, request: CompleteRequestParams, _: Context) -> Result<CompleteResult, ErrorData> {
        let of = |name: &str| match &request.r#ref {
            Reference::Prompt(prompt) => prompt.name == name,
            Reference::Resource(resource) => resource.uri == name,
            _ => false,
        };
        let all: &[&str] = match request.argument.name.as_str() {
            "kind" if of("review") => &["bugs", "bytes", "style"],
            "id" if of("desk://page/{id}") => &["first", "second"],
            _ if of("review") || of("greet") || of("desk://page/{id}") || of("desk://room/{id}") => &[],
            _ => return Err(invalid("unknown reference")),
        };
        let values: Vec<_> = all
            .iter()
            .filter(|value| value.starts_with(&request.argument.value))
            .map(|value| value.to_string())
            .collect();
        let (total, has_more) = (values.len() as u32, false);
        let completion = CompletionInfo::with_pagination(values, Some(total), has_more);
        Ok(CompleteResult::new(completion.map_err(|_| invalid("too many values"))?))
    }

    async fn subscribe(&self, subscribe: SubscribeRequestParams, context: Context) -> Result<(), ErrorData> {
        if subscribe.uri == NOTES {
            let changes = self.changes.clone();
            let task = tokio::spawn(async move {
                loop {
                    changes.notified().await;
                    let _ = context.peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(NOTES)).await;
                }
            });
            self.subscribe_by(Some(task));
        }
        Ok(())
    }

    async fn unsubscribe(&self, unsubscribe: UnsubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        if unsubscribe.uri == NOTES {
            self.subscribe_by(None);
        }
        Ok(())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                () = self.changes.notified() => drop(context.sink().notify_resource_updated(NOTES).await),
            }
        }
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }
}
