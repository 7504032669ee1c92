//! The notation of `ask`.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::value_types::{Block, Json, NamedMap, Number};
use crate::yaml::Spanned;

/// The questions of one round, by their keys.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(rename = "Ask")]
pub struct AskSpec(#[schemars(with = "IndexMap<String, Question>")] pub NamedMap<Question>);

/// One question: exactly one of `elicit`, `sample`, `roots`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-exactly-one" = ["elicit", "sample", "roots"]))]
pub struct Question {
    /// Asks the user, by a form or on a page: `{ message: "Which name?", schema: { name: {} } }`.
    pub elicit: Option<Spanned<Elicit>>,
    /// Asks the client's model: `{ prompt: "Summarize {{text}}", maxTokens: 500 }`.
    pub sample: Option<Spanned<Sample>>,
    /// Asks for the folders that the client works on: `{}`. The answer is what the client says: over HTTP it may also
    /// name folders outside of `--workspace`, which count neither for `within: roots` nor for `roots: client`.
    pub roots: Option<Spanned<RootsQuestion>>,
    /// Whether the run continues if the user declines: `continue` or `end`, the default.
    pub on_decline: Option<OnDecline>,
    /// Whether the run continues if the client does not support the question, or does not say its roots. Its answer is then
    /// null.
    pub optional: Option<bool>,
}

/// Whether a run continues if the user declines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnDecline {
    /// The run continues.
    Continue,
    /// The run ends with an error.
    End,
}

/// A question to the user: a form or a page.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-exactly-one" = ["schema", "requestedSchema", "url"]))]
pub struct Elicit {
    /// The message to the user, a template.
    #[schemars(with = "String", extend("x-required" = true))]
    pub message: Option<Spanned<String>>,
    /// The fields of the form, written like `arguments`: `{ name: { required: true } }`. Each is a string, a number, a boolean
    /// or a choice.
    #[schemars(with = "Option<IndexMap<String, Json>>")]
    pub schema: Option<Spanned<NamedMap<Spanned<Json>>>>,
    /// The form as a JSON Schema of an object: `{ type: object, properties: { name: { type: string } } }`.
    pub requested_schema: Option<Spanned<Json>>,
    /// A page instead of a form, a template: an `https` URL, or an `http` URL of this machine.
    pub url: Option<Spanned<String>>,
}

/// A question to the client's model, as in MCP's `sampling/createMessage`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-exactly-one" = ["prompt", "messages"]))]
pub struct Sample {
    /// One user message, a template.
    pub prompt: Option<Spanned<String>>,
    /// Several messages, as in a prompt: `[{ user: … }, { assistant: … }]`.
    pub messages: Option<Spanned<Vec<SampleMessage>>>,
    /// The maximum length of the answer, in tokens: a number, or exactly one `{{…}}`, such as `"{{limit}}"`.
    #[schemars(with = "Option<Number>")]
    pub max_tokens: Option<Spanned<Json>>,
    /// The system prompt, a template.
    pub system_prompt: Option<Spanned<String>>,
    /// Preferences for the model: `{ hints: [{ name: claude }], costPriority: 0.2, speedPriority: "{{speed}}" }`. Each priority
    /// is a number from 0 to 1, or exactly one `{{…}}`.
    #[schemars(with = "Option<Value>")]
    pub model_preferences: Option<Spanned<Json>>,
    /// The context that the client should add, such as `thisServer`.
    pub include_context: Option<String>,
    /// The sampling temperature: a number, or exactly one `{{…}}`, such as `"{{temperature}}"`.
    #[schemars(with = "Option<Number>")]
    pub temperature: Option<Spanned<Json>>,
    /// Strings at which the answer stops: `["\n\n"]`.
    pub stop_sequences: Option<Vec<String>>,
    /// Tools that the model may call.
    pub tools: Option<Value>,
    /// How the model uses tools: `{ mode: required }`.
    pub tool_choice: Option<Value>,
    /// Metadata for the client.
    pub metadata: Option<Value>,
}

/// One message: `user` or `assistant`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-exactly-one" = ["user", "assistant"]))]
pub struct SampleMessage {
    /// A message of the user: a template, or a content block, such as `{ image: chart.png }`.
    pub user: Option<Spanned<Block>>,
    /// A message of the model: a template, or a content block, such as `{ image: chart.png }`.
    pub assistant: Option<Spanned<Block>>,
}

/// The folders that the client works on. It has no keys.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RootsQuestion {}
