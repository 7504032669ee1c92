//! How questions are written.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::notation::{Block, Json, NamedMap};
use crate::yaml::Spanned;

/// The questions of one round, by their keys.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(rename = "Ask")]
pub struct AskSpec(#[schemars(with = "IndexMap<String, Question>")] pub NamedMap<Question>);

/// One question: exactly one of `elicit`, `sample`, `roots`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Question {
    /// Asks the person: a form, or a page to visit.
    pub elicit: Option<Spanned<Elicit>>,
    /// Asks the client's model.
    pub sample: Option<Spanned<Sample>>,
    /// Asks for the folders that the client works on.
    pub roots: Option<Spanned<Roots>>,
    /// Goes on when the person says no.
    pub on_decline: Option<OnDecline>,
    /// Goes on when the client cannot be asked.
    pub optional: Option<bool>,
}

/// What happens when the person says no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnDecline {
    /// The steps go on.
    Continue,
    /// The tool ends with a plain sentence.
    End,
}

/// A question to the person.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Elicit {
    /// What is asked, a template.
    #[schemars(with = "String", extend("x-required" = true))]
    pub message: Option<Spanned<String>>,
    /// The fields of the form: flat, each a text, a number, a boolean or a choice, like `arguments`.
    #[schemars(with = "Option<IndexMap<String, Json>>")]
    pub schema: Option<Spanned<NamedMap<Spanned<Json>>>>,
    /// The form as raw JSON Schema.
    pub requested_schema: Option<Spanned<Json>>,
    /// A page to visit instead of a form, a template: of `https`, or of `http` on this machine.
    pub url: Option<Spanned<String>>,
}

/// A question to the client's model, in MCP's words.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Sample {
    /// One message of the user, a template.
    pub prompt: Option<Spanned<String>>,
    /// Several messages, as in a prompt.
    pub messages: Option<Spanned<Vec<SampleMessage>>>,
    /// How long the answer may be, in tokens.
    pub max_tokens: Option<Spanned<u32>>,
    /// What the model is told first, a template.
    pub system_prompt: Option<Spanned<String>>,
    /// Which model is wished for.
    pub model_preferences: Option<Value>,
    /// What context the client should add.
    pub include_context: Option<String>,
    /// How freely the model should answer.
    pub temperature: Option<f64>,
    /// Texts at which the answer ends.
    pub stop_sequences: Option<Vec<String>>,
    /// Tools that the model may call.
    pub tools: Option<Value>,
    /// Whether it must call one.
    pub tool_choice: Option<Value>,
    /// Metadata for the client.
    pub metadata: Option<Value>,
}

/// One message: `user` or `assistant`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct SampleMessage {
    /// What the person says.
    pub user: Option<Spanned<Block>>,
    /// What the model says.
    pub assistant: Option<Spanned<Block>>,
}

/// The folders that the client works on; nothing to say about them.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Roots {}
