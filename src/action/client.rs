//! The client that a run answers to, as far as actions may reach it: what it can be asked and what it can be told.
//!
//! Who the client is, in which words it is spoken to and whether it answers now or with its next request is the
//! server's to know (server/).

use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::log::Level;
use super::notify::ListKind;

/// The client of one call.
pub trait Client: Send + Sync {
    /// Whether it says that it can be asked this.
    fn can(&self, need: Need) -> bool;

    /// All that it has declared, as MCP writes capabilities; `None` where there is no client.
    fn declared(&self) -> Option<Map<String, Value>>;

    /// Puts questions to it, all at once, and waits for the answers as far as this client can be waited for.
    ///
    /// The answers are results as MCP writes them (`ElicitResult`, `CreateMessageResult`, `ListRootsResult`), not yet
    /// compared with what was asked; some may be missing. A call that is cancelled is [`Unanswered::Cancelled`].
    fn ask<'a>(&'a self, round: &'a Round) -> BoxFuture<'a, Result<Map<String, Value>, Unanswered>>;

    /// Sends it a log message, if it wants one of this level.
    fn log(&self, message: Message) -> BoxFuture<'_, ()>;

    /// Tells it how far the work is, if it wants to know.
    fn progress(&self, progress: Progressed) -> BoxFuture<'_, ()>;

    /// Tells every client that something changed.
    fn notify(&self, notice: Notice);
}

/// A client that can be asked nothing and is told nothing.
pub struct Nobody;

impl Client for Nobody {
    fn can(&self, _: Need) -> bool {
        false
    }

    fn declared(&self) -> Option<Map<String, Value>> {
        None
    }

    fn ask<'a>(&'a self, _: &'a Round) -> BoxFuture<'a, Result<Map<String, Value>, Unanswered>> {
        Box::pin(std::future::ready(Err(Unanswered::Failed("nobody is there to be asked".to_owned()))))
    }

    fn log(&self, _: Message) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn progress(&self, _: Progressed) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn notify(&self, _: Notice) {}
}

/// What a client must be capable of to be asked something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// To show a form.
    Form,
    /// To lead the person to a page.
    Page,
    /// To ask its model.
    Sampling,
    /// To ask its model, with tools.
    SamplingTools,
    /// To tell its roots.
    Roots,
}

impl Need {
    /// The capability as MCP writes it.
    #[must_use]
    pub fn capability(self) -> (&'static str, Value) {
        match self {
            Need::Form => ("elicitation", json!({ "form": {} })),
            Need::Page => ("elicitation", json!({ "url": {} })),
            Need::Sampling => ("sampling", json!({})),
            Need::SamplingTools => ("sampling", json!({ "tools": {} })),
            Need::Roots => ("roots", json!({})),
        }
    }

    /// Several capabilities as MCP writes them.
    #[must_use]
    pub fn capabilities(needs: &[Need]) -> Map<String, Value> {
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

    /// The needs that capabilities stand for, as [`Need::capabilities`] writes them.
    #[must_use]
    pub fn of(capabilities: Option<&Value>) -> Vec<Need> {
        let all = [Need::Form, Need::Page, Need::Sampling, Need::SamplingTools, Need::Roots];
        let written = |need: &Need| {
            let (name, modes) = need.capability();
            let there = capabilities?.get(name)?.as_object()?;
            let modes = modes.as_object()?;
            let plain = modes.is_empty() && (there.is_empty() || name != "sampling");
            (plain || modes.keys().any(|mode| there.contains_key(mode))).then_some(*need)
        };
        all.iter().filter_map(written).collect()
    }

    /// What the client would have to do, in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Need::Form => "show a form (`elicitation`)",
            Need::Page => "open a page (`elicitation.url`)",
            Need::Sampling => "ask its model (`sampling`)",
            Need::SamplingTools => "ask its model with tools (`sampling.tools`)",
            Need::Roots => "tell its roots (`roots`)",
        }
    }
}

/// Questions that are put together.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// The questions.
    pub questions: Vec<Question>,
    /// How long answers are waited for.
    pub timeout: Duration,
}

/// A question under its key.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The key under which its answer comes.
    pub key: String,
    /// What is asked.
    pub asks: Asks,
}

/// What is asked, in the newest protocol's words.
#[derive(Debug, Clone, PartialEq)]
pub enum Asks {
    /// A form: a message and the schema of its fields.
    Form {
        /// What the person is told.
        message: String,
        /// The flat schema.
        schema: Map<String, Value>,
    },
    /// A page to visit.
    Page {
        /// What the person is told.
        message: String,
        /// The page.
        url: String,
    },
    /// A message of the client's model: the parameters of `sampling/createMessage`.
    Sample(Map<String, Value>),
    /// The client's roots.
    Roots,
}

impl Asks {
    /// What the client must be capable of.
    #[must_use]
    pub fn need(&self) -> Need {
        match self {
            Asks::Form { .. } => Need::Form,
            Asks::Page { .. } => Need::Page,
            Asks::Sample(params) if params.contains_key("tools") || params.contains_key("toolChoice") => {
                Need::SamplingTools
            }
            Asks::Sample(_) => Need::Sampling,
            Asks::Roots => Need::Roots,
        }
    }
}

/// Why there are no answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unanswered {
    /// They come, if at all, with another request: the run ends here and goes on there.
    Later,
    /// Nobody answered in time.
    TimedOut,
    /// The caller no longer wants the answer.
    Cancelled,
    /// The client refused to ask, in its words.
    Failed(String),
}

/// A log message.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// How grave it is.
    pub level: Level,
    /// Who says it.
    pub logger: String,
    /// What is said.
    pub data: Value,
}

/// How far the work is.
#[derive(Debug, Clone, PartialEq)]
pub struct Progressed {
    /// How much is done.
    pub progress: f64,
    /// How much there is in all.
    pub total: Option<f64>,
    /// What is being done.
    pub message: Option<String>,
}

/// Something that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A list.
    List(ListKind),
    /// A resource, by its URI.
    Updated(String),
}
