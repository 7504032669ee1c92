//! The context of calls into a catalog, and their results, independent of protocol versions.
//!
//! Blocks serialize as MCP's JSON. Error codes are not here: server/ chooses them.

use std::{collections::BTreeMap, sync::Arc};

use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::action::{Checkpoint, McpClient, NoClient, PendingQuestions};
use crate::budget::{Budget, Capacity};
use crate::notation::{CacheScope, Role};
use crate::world::World;

use super::listing::{Annotations, Object, ResourceListing};

/// What goes along with every call, whoever makes it.
#[derive(Clone)]
pub struct CallContext {
    /// Ends the call when the caller no longer wants it.
    pub cancel: CancellationToken,
    /// Where programs are run and requests are sent.
    pub world: Arc<dyn World>,
    /// Who called, as far as it can be asked and told.
    pub client: Arc<dyn McpClient>,
    /// Where the call stood when it waited for the client.
    pub resume: Option<Checkpoint>,
    /// Whether a tool that says so goes on apart from the request, behind the step that it names.
    pub detach: bool,
    /// What all calls of the server use together.
    pub capacity: Arc<Capacity>,
}

impl CallContext {
    /// Makes a call that `cancel` ends, whose actions happen in `world`, and that shares `capacity` with all others. Its
    /// client can be asked nothing.
    pub fn new(cancel: CancellationToken, world: Arc<dyn World>, capacity: Arc<Capacity>) -> CallContext {
        CallContext { cancel, world, client: Arc::new(NoClient), resume: None, detach: false, capacity }
    }

    /// What it may use from now on.
    pub(super) fn budget(&self) -> Budget {
        Budget::new(self.cancel.clone(), self.capacity.clone())
    }

    /// The same call from this client.
    #[must_use]
    pub fn with_client(mut self, client: Arc<dyn McpClient>) -> CallContext {
        self.client = client;
        self
    }

    /// The same call, going on from where it waited for its client.
    #[must_use]
    pub fn with_checkpoint(mut self, checkpoint: Checkpoint) -> CallContext {
        self.resume = Some(checkpoint);
        self
    }
}

/// What a tool gave. A tool that failed has an answer too: the model is to read it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolAnswer {
    /// The answer for people and models.
    pub content: Vec<AnswerBlock>,
    /// The same for programs, of any JSON type; `content` then holds equal text.
    #[serde(rename = "structuredContent", skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// Whether it failed.
    pub is_error: bool,
}

impl ToolAnswer {
    /// Answers with one text.
    pub fn text(text: impl Into<String>) -> ToolAnswer {
        ToolAnswer { content: vec![AnswerBlock::text(text)], structured: None, is_error: false }
    }

    /// Answers that the tool failed, in words for the model.
    pub fn failure(text: impl Into<String>) -> ToolAnswer {
        ToolAnswer { is_error: true, ..ToolAnswer::text(text) }
    }
}

/// What a prompt came to.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PromptAnswer {
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What is to be said.
    pub messages: Vec<AnswerMessage>,
}

/// One message of a prompt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AnswerMessage {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub content: AnswerBlock,
}

/// What a resource holds.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceAnswer {
    /// Its contents, mostly one.
    pub contents: Vec<AnswerContents>,
    /// For how long it may be kept; the server's own `ttl_ms` where it says nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Who may keep it; the server's own `cache_scope` where it says nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
}

/// One piece of a resource.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AnswerContents {
    /// The URI of this piece.
    pub uri: String,
    /// Its type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// What it holds.
    #[serde(flatten)]
    pub body: TextOrBlob,
    /// The author's own metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Object>,
}

/// What a piece of a resource holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TextOrBlob {
    /// Text.
    Text(String),
    /// Bytes, in base64.
    Blob(String),
}

/// One block of content.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AnswerBlock {
    /// Text.
    Text(TextBlock),
    /// A picture.
    Image(MediaBlock),
    /// Sound.
    Audio(MediaBlock),
    /// A resource with its contents.
    Resource(EmbeddedBlock),
    /// A resource to be read by whoever wants it.
    ResourceLink(ResourceListing),
}

impl AnswerBlock {
    /// Makes a block of text without annotations.
    pub fn text(text: impl Into<String>) -> AnswerBlock {
        AnswerBlock::Text(TextBlock { text: text.into(), annotations: None, meta: None })
    }
}

/// A block of text.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TextBlock {
    /// The text.
    pub text: String,
    /// Hints about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// The author's own metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Object>,
}

/// A picture or a sound.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MediaBlock {
    /// Its bytes, in base64.
    pub data: String,
    /// Its type.
    pub mime_type: String,
    /// Hints about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// The author's own metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Object>,
}

/// A resource that travels with its contents.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EmbeddedBlock {
    /// The contents.
    pub resource: AnswerContents,
    /// Hints about them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// The author's own metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Object>,
}

/// A wish to have a value completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionRequest {
    /// Whose argument it is.
    pub target: CompletionTarget,
    /// The name of the argument.
    pub argument: String,
    /// What has been typed so far.
    pub value: String,
    /// The arguments that are filled in already.
    pub context: BTreeMap<String, String>,
}

/// Whose argument is to be completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompletionTarget {
    /// The prompt of this name.
    Prompt(String),
    /// The resource template that is written so, or one whose URI it is.
    Template(String),
}

/// Values that would complete an argument, best first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompletionResult {
    /// At most 100.
    pub values: Vec<String>,
    /// How many there are in all, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<usize>,
    /// Whether there are more than these.
    pub has_more: bool,
}

/// How a tool runs as a task (the extension `io.modelcontextprotocol/tasks`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskPolicy {
    /// Whether it runs in no other way.
    pub required: bool,
    /// Whether it begins behind a step, and the request waits for that one.
    pub starts_after_step: bool,
    /// How long its outcome is kept.
    pub ttl: Option<std::time::Duration>,
}

/// Why a call has no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// Of which sort it is.
    pub kind: RefusalKind,
    /// What was wrong, for the caller: lower case, no full stop, nothing secret.
    pub message: String,
    /// More of it for programs.
    pub data: Option<Value>,
    /// What the client is to answer first, where that is why.
    pub pending_questions: Option<Box<PendingQuestions>>,
}

impl Refusal {
    /// Refuses with a message.
    pub fn new(kind: RefusalKind, message: impl Into<String>) -> Refusal {
        Refusal { kind, message: message.into(), data: None, pending_questions: None }
    }

    /// Adds more for programs.
    pub fn with_data(mut self, data: Value) -> Refusal {
        self.data = Some(data);
        self
    }
}

/// The sorts of [`Refusal`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusalKind {
    /// No tool has that name.
    UnknownTool,
    /// No prompt has that name.
    UnknownPrompt,
    /// No argument has that name, or nothing is completed by that reference.
    UnknownReference,
    /// The arguments do not fit what is declared.
    BadArguments,
    /// What should be a URI is none.
    BadUri,
    /// Nothing answers the URI, or what it names is not there.
    NotFound,
    /// An action took longer than it may.
    TimedOut,
    /// The client lacks capabilities, which are the refusal's `data` as MCP writes them.
    MissingCapability,
    /// The client has been asked, and the call goes on with its next request.
    InputRequired,
    /// The call goes on apart from the request, from the checkpoint of what it asks.
    Detached,
    /// What the call waited in has changed meanwhile.
    EntryChanged,
    /// The manifest refuses with a code of its own.
    CustomCode(i32),
    /// The caller no longer wants the answer.
    Cancelled,
    /// Something failed on this side.
    Internal,
}
