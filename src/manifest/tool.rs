//! `tools`, and `result`.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Argument, Arguments};
use crate::action::Run;
use crate::notation::{Block, Duration, Icon, Json, Size, TextOrFile, kind_enum};
use crate::yaml::Spanned;

/// A tool: what it takes, what it does, and what it gives.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Tool {
    /// Its name for people; knows `env` and `server`.
    pub title: Option<String>,
    /// What it does, for models; knows `env` and `server`.
    pub description: Option<Spanned<String>>,
    /// Hints about what it does.
    pub annotations: Option<ToolAnnotations>,
    /// What it takes; or `inputSchema`.
    #[schemars(with = "IndexMap<String, Argument>")]
    pub arguments: Option<Spanned<Arguments>>,
    /// What it takes as a whole JSON Schema, or `{ file: … }`; or `arguments`.
    pub input_schema: Option<Spanned<Json>>,
    /// What it gives as a JSON Schema, or `{ file: … }`. What is sent is checked against it.
    pub output_schema: Option<Spanned<Json>>,
    /// What it does: one action, or a list of steps.
    pub run: Option<Spanned<Run>>,
    /// What is made of the outcome.
    pub result: Option<Spanned<ResultSpec>>,
    /// How long it may take; 30 s until told otherwise.
    pub timeout: Option<Duration>,
    /// How much one action may put out; 1 MiB until told otherwise.
    pub max_output: Option<Size>,
    /// How often it may be called, by all clients together.
    pub rate_limit: Option<Spanned<RateLimit>>,
    /// How many calls of it may run at once.
    #[schemars(with = "Option<u32>", range(min = 1))]
    pub concurrency: Option<Spanned<u32>>,
    /// What the client must be capable of, as MCP writes it: `{ sampling: { tools: {} } }`, `{ tasks: {} }`,
    /// `{ extensions: { com.example/maps: {} } }`. It is refused to any other.
    pub requires: Option<Spanned<Map<String, Value>>>,
    /// Whether it runs as a task.
    pub task: Option<Spanned<Task>>,
    /// Pictures of it.
    pub icons: Option<Vec<Icon>>,
    /// Metadata for the client, passed on as it is.
    #[serde(rename = "_meta")]
    pub meta: Option<Map<String, Value>>,
}

/// Hints about what a tool does.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolAnnotations {
    /// Its name for people, for clients that know no `title` beside it.
    pub title: Option<String>,
    /// It changes nothing.
    pub read_only_hint: Option<bool>,
    /// It may destroy something.
    pub destructive_hint: Option<bool>,
    /// To do it twice is to do it once.
    pub idempotent_hint: Option<bool>,
    /// It deals with the world outside.
    pub open_world_hint: Option<bool>,
}

/// How often something may be done.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct RateLimit {
    /// How often.
    #[schemars(with = "u32", range(min = 1, max = 100000), extend("x-required" = true))]
    pub calls: Option<Spanned<u32>>,
    /// In how long a time.
    #[schemars(with = "Duration", extend("x-required" = true))]
    pub per: Option<Spanned<Duration>>,
}

kind_enum! {
    /// Whether a tool runs as a task, or from which step on.
    pub enum Task {
        "text" => Support(TaskSupport),
        "map" => Keys(TaskKeys),
    }
}

/// Whether a tool runs as a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TaskSupport {
    /// Where the client wishes.
    Optional,
    /// Always.
    Required,
}

/// How a tool runs as a task.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskKeys {
    /// Whether it does.
    #[schemars(with = "TaskSupport", extend("x-required" = true))]
    pub support: Option<TaskSupport>,
    /// The step after which the task begins.
    pub after: Option<Spanned<String>>,
    /// How long its outcome is kept.
    pub ttl: Option<Duration>,
}

/// What is made of an outcome: at most one of `text`, `content`, `structuredContent`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct ResultSpec {
    /// A JMESPath into the outcome's JSON: what it finds is `{{result}}`.
    pub select: Option<Spanned<String>>,
    /// A text, a template, or `{ file: … }` for the file that holds one.
    pub text: Option<Spanned<TextOrFile>>,
    /// Blocks of content.
    pub content: Option<Spanned<Vec<Spanned<Block>>>>,
    /// A JSON value whose strings are templates; one that is exactly one `{{…}}` keeps the value's type.
    pub structured_content: Option<Spanned<Json>>,
}
