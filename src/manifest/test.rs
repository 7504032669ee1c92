//! `tests`: checked as everything else is, and not yet run.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::notation::{Json, NamedMap};
use crate::yaml::Spanned;

/// A test: exactly one of `prompt`, `tool`, `resource`, and what is expected of it.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Test {
    /// The prompt that is tested.
    pub prompt: Option<Spanned<String>>,
    /// The tool that is tested.
    pub tool: Option<Spanned<String>>,
    /// The resource that is tested, by its name.
    pub resource: Option<Spanned<String>>,
    /// The URI that is read.
    pub uri: Option<Spanned<String>>,
    /// What it is given.
    #[schemars(with = "IndexMap<String, Json>")]
    pub arguments: NamedMap<Spanned<Json>>,
    /// What stands in for the outside: by step, or by the action's name where there is one.
    #[schemars(with = "IndexMap<String, Json>")]
    pub mock: NamedMap<Spanned<Json>>,
    /// Whether the test may act on the world.
    pub live: Option<bool>,
    /// What is expected.
    #[schemars(with = "Expect", extend("x-required" = true))]
    pub expect: Option<Spanned<Expect>>,
}

/// What is expected of an answer.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Expect {
    /// A text that it contains.
    pub contains: Option<Value>,
    /// The text that it is.
    pub equals: Option<Value>,
    /// A regular expression that it matches.
    pub matches: Option<Spanned<String>>,
    /// A value that its JSON holds.
    pub json: Option<Value>,
    /// Whether it is an error of the tool.
    pub is_error: Option<bool>,
    /// A text that the error contains.
    pub error: Option<Value>,
    /// The messages of a prompt.
    pub messages: Option<Value>,
    /// Whether it is what it was the last time.
    pub snapshot: Option<bool>,
    /// What was sent out: `argv url method headers json`.
    pub sent: Option<SentRequest>,
}

/// What was sent out, as far as it matters.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct SentRequest {
    /// The elements of a program.
    pub argv: Option<Value>,
    /// The URL of a request.
    pub url: Option<Value>,
    /// Its method.
    pub method: Option<Value>,
    /// Its headers.
    pub headers: Option<Value>,
    /// Its body.
    pub json: Option<Value>,
}
