//! The requests of the page beside MCP, and what answers them.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::line_changes::{line_changes, new_items};
use super::markdown::{block_source, mark_changed, markdown_blocks};

/// A request of the page that is about the manifest.
#[derive(Debug)]
pub enum DevPageRequest {
    Source(PageEntry),
    Try(TryRequest),
    RunTests(RunTestsRequest),
    SaveTest(SaveTestRequest),
    Fix(FixRequest),
}

/// An entry as the page names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
pub struct PageEntry {
    pub kind: PageEntryKind,
    /// The name of a prompt or tool, the URI of a resource, or the URI template.
    pub id: String,
}

/// The kinds of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PageEntryKind {
    Prompt,
    Resource,
    Template,
    Tool,
}

/// A `select` or a template to evaluate on the outcomes of a call.
#[derive(Debug, Deserialize)]
pub struct TryRequest {
    pub tool: String,
    #[serde(default)]
    pub arguments: Map<String, Value>,
    /// The outcomes of its steps by id, where it has several.
    #[serde(default)]
    pub steps: Option<Map<String, Value>>,
    /// The outcome of its single action.
    #[serde(default)]
    pub result: Option<Value>,
    #[serde(default)]
    pub select: Option<String>,
    #[serde(default)]
    pub template: Option<String>,
}

/// Tests to run.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct RunTestsRequest {
    /// Their names; all tests without them.
    pub names: Option<BTreeSet<String>>,
    /// Whether those that act on the world are run too.
    pub live: bool,
}

/// A call to write as a test.
#[derive(Debug, Deserialize)]
pub struct SaveTestRequest {
    pub kind: PageEntryKind,
    pub id: String,
    /// The name of the test.
    pub name: String,
    /// The id of a call of the page that has ended.
    #[serde(default)]
    pub call: Option<Value>,
    /// Whether the call may be made again, with all that it does, to record its mocks.
    #[serde(default)]
    pub record: bool,
    /// Whether the file is written.
    pub write: bool,
}

/// A problem to fix.
#[derive(Debug, Deserialize)]
pub struct FixRequest {
    /// Its number in the state.
    pub problem: usize,
    /// The digest of that state.
    #[serde(default)]
    pub digest: Option<String>,
    /// Whether the file is written.
    pub write: bool,
}

/// Why a request of the page has no answer.
#[derive(Debug, thiserror::Error)]
pub enum DevPageError {
    #[error("unknown request `{0}`")]
    UnknownRequest(String),
    #[error("invalid body: {0}")]
    InvalidBody(String),
    #[error("no {} `{}`", .0.kind.as_str(), .0.id)]
    UnknownEntry(PageEntry),
    /// A mistake in a text that was sent, by its line and column from 1.
    #[error("{message}")]
    InText { message: String, line: u32, column: u32 },
    #[error("{0}")]
    Failed(String),
}

impl DevPageError {
    /// The status of HTTP. What an author can come to by a mistake is an answer: browsers write the others to their console.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            DevPageError::UnknownRequest(_) => 404,
            DevPageError::InvalidBody(_) => 400,
            DevPageError::UnknownEntry(_) | DevPageError::InText { .. } | DevPageError::Failed(_) => 200,
        }
    }

    /// What the page is sent.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match self {
            DevPageError::InText { message, line, column } => {
                json!({ "error": message, "line": line, "column": column })
            }
            other => json!({ "error": other.to_string() }),
        }
    }
}

/// What knows the manifest.
pub trait DevPageRequests: Send + Sync {
    /// Answers a request. It may take long: it reads files, and runs tests.
    ///
    /// # Errors
    /// There is no answer.
    fn answer(&self, request: DevPageRequest) -> Result<Value, DevPageError>;

    /// A page was opened.
    fn on_page_opened(&self);
}

/// Answers the request `name` with this body.
///
/// # Errors
/// It is unknown, its body is invalid, or there is no answer.
pub fn answer_page_request(name: &str, body: &[u8], requests: &dyn DevPageRequests) -> Result<Value, DevPageError> {
    requests.answer(match name {
        "render" => return Ok(render(&parse(body)?)),
        "source" => DevPageRequest::Source(parse(body)?),
        "try" => DevPageRequest::Try(parse(body)?),
        "test/run" => DevPageRequest::RunTests(parse(body)?),
        "test/save" => DevPageRequest::SaveTest(parse(body)?),
        "fix" => DevPageRequest::Fix(parse(body)?),
        _ => return Err(DevPageError::UnknownRequest(name.to_owned())),
    })
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, DevPageError> {
    serde_json::from_slice(body).map_err(|error| DevPageError::InvalidBody(error.to_string()))
}

/// Texts to show.
#[derive(Debug, Deserialize)]
struct RenderRequest {
    items: Vec<RenderItem>,
}

/// One text, and the one that was shown before it.
#[derive(Debug, Deserialize)]
struct RenderItem {
    text: String,
    #[serde(default)]
    previous: Option<String>,
    #[serde(default)]
    markdown: bool,
}

fn render(request: &RenderRequest) -> Value {
    let items: Vec<Value> = request.items.iter().map(RenderItem::render).collect();
    json!({ "items": items })
}

impl RenderItem {
    fn render(&self) -> Value {
        if !self.markdown {
            let previous = self.previous.as_ref().unwrap_or(&self.text);
            return json!({ "lines": line_changes(previous, &self.text) });
        }
        let mut blocks = markdown_blocks(&self.text);
        if let Some(previous) = &self.previous {
            let before = markdown_blocks(previous);
            let before: Vec<&str> = before.iter().map(|block| block_source(previous, block)).collect();
            mark_changed(&mut blocks, &self.text, |now| new_items(&before, now));
        }
        json!({ "blocks": blocks.into_iter().map(|block| block.node).collect::<Vec<_>>() })
    }
}

impl PageEntryKind {
    pub fn as_str(self) -> &'static str {
        match self {
            PageEntryKind::Prompt => "prompt",
            PageEntryKind::Resource => "resource",
            PageEntryKind::Template => "template",
            PageEntryKind::Tool => "tool",
        }
    }

    /// The key of an entry of this kind in events.
    #[must_use]
    pub fn key(self, id: &str) -> String {
        format!("{} {id}", self.as_str())
    }
}
