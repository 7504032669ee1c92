//! The client that a run answers to, as far as actions may reach it: what it can be asked and what it can be told.
//!
//! Who the client is, in which words it is spoken to and whether it answers now or with its next request is the
//! server's to know (server/).

use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::log::LogLevel;
use super::notify::ListKind;

/// The client of one call.
pub trait McpClient: Send + Sync {
    /// Whether it says that it can be asked this.
    fn can(&self, need: ClientCapability) -> bool;

    /// All that it has declared, as MCP writes capabilities; `None` where there is no client.
    fn declared(&self) -> Option<Map<String, Value>>;

    /// Puts questions to it, all at once, and waits for the answers as far as this client can be waited for.
    ///
    /// The answers are results as MCP writes them (`ElicitResult`, `CreateMessageResult`, `ListRootsResult`), not yet
    /// compared with what was asked; some may be missing. A call that is cancelled is `AskError::CancelledRequest`.
    fn ask<'a>(&'a self, round: &'a QuestionRound) -> BoxFuture<'a, Result<Map<String, Value>, AskError>>;

    /// Sends it a log message, if it wants one of this level.
    fn log(&self, message: LogNotification) -> BoxFuture<'_, ()>;

    /// Tells it how far the work is, if it wants to know.
    fn progress(&self, progress: ProgressUpdate) -> BoxFuture<'_, ()>;

    /// Tells every client that something changed.
    fn notify(&self, notice: ChangeNotification);
}

/// A client that can be asked nothing and is told nothing.
pub struct NoClient;

impl McpClient for NoClient {
    fn can(&self, _: ClientCapability) -> bool {
        false
    }

    fn declared(&self) -> Option<Map<String, Value>> {
        None
    }

    fn ask<'a>(&'a self, _: &'a QuestionRound) -> BoxFuture<'a, Result<Map<String, Value>, AskError>> {
        Box::pin(std::future::ready(Err(AskError::Refused("no client connected".to_owned()))))
    }

    fn log(&self, _: LogNotification) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn progress(&self, _: ProgressUpdate) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn notify(&self, _: ChangeNotification) {}
}

/// What a client must be capable of to be asked something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClientCapability {
    /// To show a form.
    ElicitationForm,
    /// To lead the person to a page.
    ElicitationUrl,
    /// To ask its model.
    Sampling,
    /// To ask its model, with tools.
    SamplingTools,
    /// To tell its roots.
    Roots,
}

impl ClientCapability {
    /// The capability as MCP writes it.
    #[must_use]
    pub fn capability(self) -> (&'static str, Value) {
        match self {
            ClientCapability::ElicitationForm => ("elicitation", json!({ "form": {} })),
            ClientCapability::ElicitationUrl => ("elicitation", json!({ "url": {} })),
            ClientCapability::Sampling => ("sampling", json!({})),
            ClientCapability::SamplingTools => ("sampling", json!({ "tools": {} })),
            ClientCapability::Roots => ("roots", json!({})),
        }
    }

    /// Several capabilities as MCP writes them.
    #[must_use]
    pub fn capabilities(needs: &[ClientCapability]) -> Map<String, Value> {
        let mut all = Map::new();
        for need in needs {
            let (name, modes) = need.capability();
            let slot = all.entry(name).or_insert_with(|| json!({}));
            if let (Value::Object(slot), Value::Object(modes)) = (slot, modes) {
                slot.extend(modes);
            }
        }
        all
    }

    /// The needs that capabilities stand for, as [`ClientCapability::capabilities`] writes them.
    #[must_use]
    pub fn from_capabilities(capabilities: Option<&Value>) -> Vec<ClientCapability> {
        let all = [
            ClientCapability::ElicitationForm,
            ClientCapability::ElicitationUrl,
            ClientCapability::Sampling,
            ClientCapability::SamplingTools,
            ClientCapability::Roots,
        ];
        let written = |need: &ClientCapability| {
            let (name, modes) = need.capability();
            let there = capabilities?.get(name)?.as_object()?;
            let modes = modes.as_object()?;
            let plain = modes.is_empty() && (there.is_empty() || name != "sampling");
            (plain || modes.keys().any(|mode| there.contains_key(mode))).then_some(*need)
        };
        all.iter().filter_map(written).collect()
    }

    /// The path of the capability in what a client declares.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ClientCapability::ElicitationForm => "elicitation",
            ClientCapability::ElicitationUrl => "elicitation.url",
            ClientCapability::Sampling => "sampling",
            ClientCapability::SamplingTools => "sampling.tools",
            ClientCapability::Roots => "roots",
        }
    }
}

/// How an action uses the client of its call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientUse {
    /// Not at all.
    None,
    /// Asks it questions.
    Asks,
    /// Runs another entry, which may use it in any way.
    CallsEntry,
    /// Sends log messages.
    Logs,
    /// Reports progress.
    ReportsProgress,
    /// Notifies of a change: of a kind of list, or `None` for a resource.
    Notifies(Option<ListKind>),
}

/// Questions that are put together.
#[derive(Debug, Clone, PartialEq)]
pub struct QuestionRound {
    /// The questions.
    pub questions: Vec<ClientQuestion>,
    /// How long answers are waited for.
    pub timeout: Duration,
}

/// A question under its key.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientQuestion {
    /// The key under which its answer comes.
    pub key: String,
    /// What is asked.
    pub kind: QuestionKind,
}

/// What is asked, in the newest protocol's words.
#[derive(Debug, Clone, PartialEq)]
pub enum QuestionKind {
    /// A form: a message and the schema of its fields.
    Form {
        /// What the person is told.
        message: String,
        /// The flat schema.
        schema: Map<String, Value>,
    },
    /// A page to visit.
    Url {
        /// What the person is told.
        message: String,
        /// The page.
        url: String,
    },
    /// A message of the client's model: the parameters of `sampling/createMessage`.
    Sampling(Map<String, Value>),
    /// The client's roots.
    Roots,
}

impl QuestionKind {
    /// What the client must be capable of.
    #[must_use]
    pub fn required_capability(&self) -> ClientCapability {
        match self {
            QuestionKind::Form { .. } => ClientCapability::ElicitationForm,
            QuestionKind::Url { .. } => ClientCapability::ElicitationUrl,
            QuestionKind::Sampling(params) if params.contains_key("tools") || params.contains_key("toolChoice") => {
                ClientCapability::SamplingTools
            }
            QuestionKind::Sampling(_) => ClientCapability::Sampling,
            QuestionKind::Roots => ClientCapability::Roots,
        }
    }
}

/// Why there are no answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskError {
    /// They come, if at all, with another request: the run ends here and goes on there.
    Deferred,
    /// Nobody answered in time.
    TimedOut,
    /// The caller no longer wants the answer.
    Cancelled,
    /// The client refused to ask, in its words.
    Refused(String),
}

/// A log message.
#[derive(Debug, Clone, PartialEq)]
pub struct LogNotification {
    /// How grave it is.
    pub level: LogLevel,
    /// Who says it.
    pub logger: String,
    /// What is said.
    pub data: Value,
}

/// How far the work is.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgressUpdate {
    /// How much is done.
    pub progress: f64,
    /// How much there is in all.
    pub total: Option<f64>,
    /// What is being done.
    pub message: Option<String>,
}

/// Something that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeNotification {
    /// A list.
    ListChanged(ListKind),
    /// A resource, by its URI.
    ResourceUpdated(String),
}
