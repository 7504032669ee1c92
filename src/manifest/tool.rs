//! `tools`, and `result`.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Argument, Arguments};
use crate::action::Run;
use crate::value_types::{Block, Duration, Icon, Json, Size, TextOrFile, yaml_kind_enum};
use crate::yaml::Spanned;

/// A tool: its arguments, its action and its result.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Tool {
    /// A name for users. Templates may use `env` and `server`.
    pub title: Option<String>,
    /// What it does, for models. Templates may use `env` and `server`.
    pub description: Option<Spanned<String>>,
    /// Hints about its behaviour: `{ readOnlyHint: true }`.
    pub annotations: Option<ToolAnnotations>,
    /// Its arguments, at most 256, by name: `{ path: { required: true } }`. Excludes `inputSchema`.
    #[schemars(with = "IndexMap<String, Argument>")]
    pub arguments: Option<Spanned<Arguments>>,
    /// Whether calls may have arguments beside those of `arguments`: `true`, or a JSON Schema that the value of each must
    /// match, such as `{ type: string }`. They are `{{arguments.NAME}}`, and part of `{{json arguments}}`; a script does not
    /// get them. The default is `false`. Excludes `inputSchema`.
    pub additional_properties: Option<Spanned<Json>>,
    /// The JSON Schema of its arguments, or `{ file: … }`. Excludes `arguments`.
    pub input_schema: Option<Spanned<Json>>,
    /// The JSON Schema of its result, or `{ file: … }`. Results are checked against it.
    pub output_schema: Option<Spanned<Json>>,
    /// One action, or a list of steps: `{ exec: [git, status] }`.
    pub run: Option<Spanned<Run>>,
    /// How the result is made from the outcome: `{ text: "{{result.stdout}}" }`.
    pub result: Option<Spanned<ResultSpec>>,
    /// The time limit of a call. The default is 30s.
    pub timeout: Option<Duration>,
    /// The output limit of one action. The default is 1MiB.
    pub max_output: Option<Size>,
    /// The scopes that a caller needs, all of them: `[desk.write, "issue:{{id}}"]`. They are templates over the arguments. It
    /// is listed for callers without them, who are told what is missing. Requires `http.auth`.
    #[schemars(with = "Option<Vec<String>>")]
    pub scopes: Option<Spanned<Vec<Spanned<String>>>>,
    /// The roles of which a caller needs one: `[ops, lead]`. Others neither see it nor find it. Requires `http.auth`.
    #[schemars(with = "Option<Vec<String>>")]
    pub roles: Option<Spanned<Vec<Spanned<String>>>>,
    /// Whether a call is permitted: exactly one `{{…}}` over the arguments and `caller`, such as
    /// `"{{eq caller.claims.team team}}"`. A claim that a caller lacks is null. Requires `http.auth`.
    pub permit: Option<Spanned<String>>,
    /// The rate limit of all clients together, or of each caller: `{ calls: 10, per: 1m, by: caller }`.
    pub rate_limit: Option<Spanned<RateLimit>>,
    /// The maximum number of concurrent calls, or `{ calls: 1, queue: 10 }` with how many more may wait.
    #[schemars(with = "Option<Concurrency>")]
    pub concurrency: Option<Spanned<Concurrency>>,
    /// The client capabilities that it requires, as in MCP: `{ sampling: { tools: {} } }`, `{ tasks: {} }`,
    /// `{ extensions: { com.example/maps: {} } }`. Calls of other clients are refused.
    pub requires: Option<Spanned<Map<String, Value>>>,
    /// Whether it runs as a task: `optional`, `required` or `{ support: required, after: STEP }`.
    pub task: Option<Spanned<Task>>,
    /// Whether it is only for steps of this server, as a function with parameters: `hidden: true`. Clients neither see nor
    /// call it.
    pub hidden: Option<Spanned<bool>>,
    /// Icons for clients to show: `[{ src: "https://example.com/icon.png" }]`.
    pub icons: Option<Vec<Icon>>,
    /// Metadata for the client, passed through unchanged: `{ com.example/color: red }`.
    #[serde(rename = "_meta")]
    pub meta: Option<Map<String, Value>>,
}

yaml_kind_enum! {
    /// A number of calls, or the same with a queue.
    pub enum Concurrency {
        "number" => Calls(CallCount),
        "map" => Keys(ConcurrencyKeys),
    }
}

/// A number of calls.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(transparent)]
pub struct CallCount(pub u32);

impl JsonSchema for CallCount {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CallCount".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "integer", "minimum": 1 })
    }
}

/// How many calls may run at once, and how many may wait: `{ calls: 1, queue: 10 }`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct ConcurrencyKeys {
    /// The maximum number of concurrent calls.
    #[schemars(with = "u32", range(min = 1), extend("x-required" = true))]
    pub calls: Option<Spanned<u32>>,
    /// How many more calls may wait for their turn: first come, first served. Waiting counts towards the `timeout` of a call,
    /// and a client that asked for progress is told its position. The default is 0: more calls are refused at once.
    pub queue: Option<Spanned<u32>>,
}

/// Hints about the behaviour of a tool.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolAnnotations {
    /// A name for users, for clients that only read `title` here.
    pub title: Option<String>,
    /// Whether it changes nothing.
    pub read_only_hint: Option<bool>,
    /// Whether it may delete or overwrite something.
    pub destructive_hint: Option<bool>,
    /// Whether repeating a call has no further effect.
    pub idempotent_hint: Option<bool>,
    /// Whether it interacts with external systems.
    pub open_world_hint: Option<bool>,
}

/// A rate limit: `{ calls: 10, per: 1m, by: caller }`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct RateLimit {
    /// The number of calls.
    #[schemars(with = "u32", range(min = 1, max = 100000), extend("x-required" = true))]
    pub calls: Option<Spanned<u32>>,
    /// The time span.
    #[schemars(with = "Duration", extend("x-required" = true))]
    pub per: Option<Spanned<Duration>>,
    /// Whose calls are counted together. The default is `all`.
    pub by: Option<Spanned<RateLimitBy>>,
}

/// Whose calls a rate limit counts together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RateLimitBy {
    /// Those of all clients.
    All,
    /// Those of one caller, who is known by `http.auth`.
    Caller,
}

yaml_kind_enum! {
    /// Whether a tool runs as a task, and from which step on.
    pub enum Task {
        "text" => Support(TaskSupport),
        "map" => Keys(TaskKeys),
    }
}

/// Whether a tool runs as a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TaskSupport {
    /// If the client asks for it.
    Optional,
    /// Always.
    Required,
}

/// The settings of a task.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskKeys {
    /// Whether the tool runs as a task.
    #[schemars(with = "TaskSupport", extend("x-required" = true))]
    pub support: Option<TaskSupport>,
    /// The step after which the task begins.
    pub after: Option<Spanned<String>>,
    /// How long the result is kept, such as `1h`.
    pub ttl: Option<Duration>,
}

/// How a result is made from an outcome: at most one of `text` and `content`, for people and models, and
/// `structuredContent`, for programs, such as `{ text: "{{n}} files", structuredContent: { count: "{{n}}" } }`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-at-most-one" = ["text", "content"]))]
pub struct ResultSpec {
    /// A JMESPath into the JSON of the outcome, such as `items[].name`. Templates use its value as `{{result}}`.
    pub select: Option<Spanned<String>>,
    /// A text: a template, or `{ file: … }` for a file that contains it.
    pub text: Option<Spanned<TextOrFile>>,
    /// Content blocks: `[{ text: … }, { image: … }]`.
    pub content: Option<Spanned<Vec<Spanned<Block>>>>,
    /// A JSON value whose strings are templates: `{ count: "{{len steps.list.json}}" }`. A string that is exactly one
    /// `{{…}}` keeps the type of the value. Without `text` and `content`, the text is the value as JSON. Without this key,
    /// a result that is an object or a list is structured content too, unless it is a list that was cut: then a note says
    /// so in the text, and only a tool with an `outputSchema` has structured content.
    pub structured_content: Option<Spanned<Json>>,
}
