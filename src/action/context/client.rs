//! The client of a run, as actions see it: what it can be asked and sent.
//!
//! What is not here: how a version of the protocol encodes requests to the client (server/).

use std::path::Path;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::action::log::LogLevel;
use crate::action::notify::ListKind;

/// The client of one call.
pub trait McpClient: Send + Sync {
    /// Whether it has declared a capability.
    fn has_capability(&self, capability: ClientCapability) -> bool;

    /// Its declared capabilities as in MCP, or `None` without a client.
    fn declared_capabilities(&self) -> Option<Map<String, Value>>;

    /// Whether a root that it names is on this machine, and its to give.
    fn allows_root(&self, root: &Path) -> bool;

    /// Asks all questions of a round, and waits for the answers if this client answers in place.
    ///
    /// The answers are MCP results (`ElicitResult`, `CreateMessageResult`, `ListRootsResult`), not yet checked; some may
    /// be missing, such as roots that the client was silent about beside other answers.
    fn ask<'a>(&'a self, round: &'a QuestionRound) -> BoxFuture<'a, Result<Map<String, Value>, AskError>>;

    /// Sends a log message, if the client asked for its level.
    fn log(&self, message: LogNotification) -> BoxFuture<'_, ()>;

    /// Whether it asked for progress.
    fn wants_progress(&self) -> bool {
        false
    }

    /// Reports progress, if the client asked for it.
    fn progress(&self, progress: ProgressUpdate) -> BoxFuture<'_, ()>;

    /// Notifies all clients of a change.
    fn notify(&self, notification: ChangeNotification);
}

/// No client: it has no capabilities, and ignores notifications.
pub struct NoClient;

impl McpClient for NoClient {
    fn has_capability(&self, _: ClientCapability) -> bool {
        false
    }

    fn declared_capabilities(&self) -> Option<Map<String, Value>> {
        None
    }

    fn allows_root(&self, _: &Path) -> bool {
        false
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

/// A client capability that a question requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClientCapability {
    /// Form-mode elicitation.
    ElicitationForm,
    /// URL-mode elicitation.
    ElicitationUrl,
    Sampling,
    /// Sampling with tools.
    SamplingTools,
    Roots,
}

impl ClientCapability {
    /// Every capability.
    pub const ALL: [ClientCapability; 5] = [
        ClientCapability::ElicitationForm,
        ClientCapability::ElicitationUrl,
        ClientCapability::Sampling,
        ClientCapability::SamplingTools,
        ClientCapability::Roots,
    ];

    /// The capability as in MCP.
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

    /// Several capabilities as in MCP.
    #[must_use]
    pub fn capabilities(needs: &[ClientCapability]) -> Map<String, Value> {
        let mut all = Map::new();
        for capability in needs {
            let (name, modes) = capability.capability();
            let slot = all.entry(name).or_insert_with(|| json!({}));
            if let (Value::Object(slot), Value::Object(modes)) = (slot, modes) {
                slot.extend(modes);
            }
        }
        all
    }

    /// The inverse of [`ClientCapability::capabilities`].
    #[must_use]
    pub fn from_capabilities(capabilities: Option<&Value>) -> Vec<ClientCapability> {
        let written = |capability: &ClientCapability| {
            let (name, modes) = capability.capability();
            let there = capabilities?.get(name)?.as_object()?;
            let modes = modes.as_object()?;
            let plain = modes.is_empty() && (there.is_empty() || name != "sampling");
            (plain || modes.keys().any(|mode| there.contains_key(mode))).then_some(*capability)
        };
        ClientCapability::ALL.iter().filter_map(written).collect()
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
    ReportsProgress,
    /// Notifies of a change: of a kind of list, or `None` for a resource.
    Notifies(Option<ListKind>),
}

/// Questions that are asked together.
#[derive(Debug, Clone, PartialEq)]
pub struct QuestionRound {
    pub questions: Vec<ClientQuestion>,
    /// How long to wait for a person or a model.
    pub timeout: Duration,
    /// How long to wait for roots, which a program answers.
    pub roots_timeout: Duration,
}

impl QuestionRound {
    /// How long to wait for the answer to a question.
    #[must_use]
    pub fn timeout_of(&self, question: &ClientQuestion) -> Duration {
        if question.kind == QuestionKind::Roots { self.roots_timeout } else { self.timeout }
    }

    /// The answers by key, from those to each question. Silence about roots spoils no other answer.
    ///
    /// # Errors
    /// An answer is an error, or the client was silent about all.
    pub fn collect(&self, answers: Vec<Result<Value, AskError>>) -> Result<Map<String, Value>, AskError> {
        let (mut collected, mut is_silent) = (Map::new(), false);
        for (question, answer) in self.questions.iter().zip(answers) {
            match answer {
                Err(AskError::RootsUnanswered) => is_silent = true,
                answer => drop(collected.insert(question.key.clone(), answer?)),
            }
        }
        if is_silent && collected.is_empty() { Err(AskError::RootsUnanswered) } else { Ok(collected) }
    }
}

/// A question under its key.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientQuestion {
    /// The key of its answer.
    pub key: String,
    /// The question.
    pub kind: QuestionKind,
}

/// A question, in terms of the newest protocol version.
#[derive(Debug, Clone, PartialEq)]
pub enum QuestionKind {
    /// A form: a message and the schema of its fields.
    Form {
        /// The message to the user.
        message: String,
        /// The flat schema.
        schema: Map<String, Value>,
    },
    /// A page to visit.
    Url {
        /// The message to the user.
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
    /// What a person is asked, if a person is.
    pub(in crate::action) fn message(&self) -> Option<&str> {
        match self {
            QuestionKind::Form { message, .. } | QuestionKind::Url { message, .. } => Some(message),
            QuestionKind::Sampling(_) | QuestionKind::Roots => None,
        }
    }

    /// The client capability that it requires.
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
    /// The answers come with a later request, which continues the run.
    InputRequired,
    /// The client did not answer in time.
    TimedOut,
    /// The client did not answer `roots/list` in time, now or earlier in its session.
    RootsUnanswered,
    /// The call was cancelled.
    Cancelled,
    /// The client refused, with this message.
    Refused(String),
}

/// A log message.
#[derive(Debug, Clone, PartialEq)]
pub struct LogNotification {
    /// Its severity.
    pub level: LogLevel,
    /// The name of the logger.
    pub logger: String,
    /// The logged value.
    pub data: Value,
}

/// Progress of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgressUpdate {
    /// How much is done; `None` for a message alone.
    pub progress: Option<f64>,
    pub total: Option<f64>,
    pub message: Option<String>,
}

/// A change that clients are notified of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChangeNotification {
    ListChanged(ListKind),
    /// A resource, by its URI.
    ResourceUpdated(String),
}
