//! The results of calls into a catalog, independent of protocol versions.
//!
//! Blocks serialize as MCP's JSON. Error codes are not here: server/ chooses them.

use crate::catalog::result::refusal::Refusal;
use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::catalog::listing::{Annotations, Object, ResourceListing};
use crate::value_types::{CacheScope, Role};

/// The result of a tool. A failed tool has a result too, for the model to read.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// The content for people and models.
    pub content: Vec<ResultBlock>,
    /// The same for programs, of any JSON type; `content` then holds equal text.
    #[serde(rename = "structuredContent", skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// What `structured` lacks, such as the end of a list that was cut.
    #[serde(skip)]
    pub note: Option<String>,
    /// Whether it failed.
    pub is_error: bool,
}

impl ToolResult {
    /// A result with one text.
    pub fn text(text: impl Into<String>) -> ToolResult {
        ToolResult { content: vec![ResultBlock::text(text)], ..ToolResult::default() }
    }

    /// A failure, with a message for the model.
    pub fn failure(text: impl Into<String>) -> ToolResult {
        let text = Some(text.into()).filter(|text| !text.trim().is_empty());
        // The APIs of models refuse an error without a text.
        let text = text.unwrap_or_else(|| "the tool failed without a message".to_owned());
        ToolResult { is_error: true, ..ToolResult::text(text) }
    }
}

/// A rendered prompt.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PromptResult {
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub messages: Vec<ResultMessage>,
}

/// One message of a prompt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ResultMessage {
    pub role: Role,
    pub content: ResultBlock,
}

/// The contents of a resource.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceResult {
    /// Its contents, usually one.
    pub contents: Vec<ResultContents>,
    /// How long it may be cached; the server's `ttl_ms` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Who may cache it; the server's `cache_scope` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// What `contents` lack, such as the end of a list that was cut.
    #[serde(skip)]
    pub(in crate::catalog) note: Option<String>,
}

/// One item of the contents of a resource.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResultContents {
    pub uri: String,
    /// Its type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Its content.
    #[serde(flatten)]
    pub body: TextOrBlob,
    /// The author's own metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Object>,
}

impl ResultContents {
    /// What other items of a URI lack.
    pub(in crate::catalog) fn note(uri: &str, note: String) -> ResultContents {
        let mime_type = Some("text/plain".to_owned());
        ResultContents { uri: uri.to_owned(), mime_type, body: TextOrBlob::Text(note), meta: None }
    }
}

/// The content of an item: text or bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TextOrBlob {
    Text(String),
    /// Bytes, in base64.
    Blob(String),
}

/// One block of content.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ResultBlock {
    Text(TextBlock),
    /// A picture.
    Image(MediaBlock),
    /// Sound.
    Audio(MediaBlock),
    /// A resource with its contents.
    Resource(EmbeddedBlock),
    /// A link to a resource.
    ResourceLink(ResourceListing),
}

impl ResultBlock {
    /// Whether it is a text without a letter, or a resource of such a text, which hosts pass on and the APIs of models
    /// refuse.
    pub fn is_blank(&self) -> bool {
        match self {
            ResultBlock::Text(block) => block.text.trim().is_empty(),
            ResultBlock::Resource(EmbeddedBlock { resource, .. }) => {
                matches!(&resource.body, TextOrBlob::Text(text) if text.trim().is_empty())
            }
            ResultBlock::Image(_) | ResultBlock::Audio(_) | ResultBlock::ResourceLink(_) => false,
        }
    }

    /// A text block without annotations.
    pub fn text(text: impl Into<String>) -> ResultBlock {
        ResultBlock::Text(TextBlock { text: text.into(), notes: BlockNotes::default() })
    }
}

/// A block of text.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TextBlock {
    pub text: String,
    #[serde(flatten)]
    pub notes: BlockNotes,
}

/// A picture or a sound.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MediaBlock {
    /// Its bytes, in base64.
    pub data: String,
    pub mime_type: String,
    #[serde(flatten)]
    pub notes: BlockNotes,
}

/// A resource embedded with its contents.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EmbeddedBlock {
    /// The contents.
    pub resource: ResultContents,
    #[serde(flatten)]
    pub notes: BlockNotes,
}

/// What a block has beside its content.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct BlockNotes {
    /// Hints about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// The author's own metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Object>,
}

/// A completion request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionRequest {
    /// The entry that has the argument.
    pub target: CompletionTarget,
    /// The name of the argument.
    pub argument: String,
    /// The text typed so far.
    pub value: String,
    /// The arguments already filled in.
    pub context: BTreeMap<String, String>,
}

/// The entry whose argument is completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompletionTarget {
    /// The prompt of this name.
    Prompt(String),
    /// The resource template with this text, or the one that matches this URI.
    Template(String),
}

/// Values that would complete an argument, best first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompletionResult {
    /// At most 100.
    pub values: Vec<String>,
    /// The total number, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<usize>,
    /// Whether there are more than these.
    pub has_more: bool,
}

/// How a tool runs as a task (the extension `io.modelcontextprotocol/tasks`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskPolicy {
    /// Whether it only runs as a task.
    pub required: bool,
    /// Whether it becomes a task after a step, for which the request waits.
    pub starts_after_step: bool,
    /// How long its result is kept.
    pub ttl: Option<std::time::Duration>,
}

/// The failure for the model to read.
impl From<Refusal> for ToolResult {
    fn from(refusal: Refusal) -> ToolResult {
        ToolResult::failure(refusal.message)
    }
}
