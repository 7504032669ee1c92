//! `tests`: checked, but not run yet.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::notation::{Json, NamedMap};
use crate::yaml::Spanned;

/// A test: exactly one of `prompt`, `tool`, `resource`, and the expected answer.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Test {
    /// The prompt to test.
    pub prompt: Option<Spanned<String>>,
    /// The tool to test.
    pub tool: Option<Spanned<String>>,
    /// The resource to test, by name.
    pub resource: Option<Spanned<String>>,
    /// The URI to read.
    pub uri: Option<Spanned<String>>,
    /// The arguments.
    #[schemars(with = "IndexMap<String, Json>")]
    pub arguments: NamedMap<Spanned<Json>>,
    /// Mocked outcomes, by step id, or by the name of a single action: `{ exec: { stdout: ok } }`.
    #[schemars(with = "IndexMap<String, Json>")]
    pub mock: NamedMap<Spanned<Json>>,
    /// Whether the test may run programs and send requests.
    pub live: Option<bool>,
    /// The expected answer.
    #[schemars(with = "Expect", extend("x-required" = true))]
    pub expect: Option<Spanned<Expect>>,
}

/// The expected answer.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Expect {
    /// A string that the answer contains.
    pub contains: Option<Value>,
    /// The exact text of the answer.
    pub equals: Option<Value>,
    /// A regular expression that the answer matches.
    pub matches: Option<Spanned<String>>,
    /// A value that the JSON of the answer contains.
    pub json: Option<Value>,
    /// Whether the tool reports an error.
    pub is_error: Option<bool>,
    /// A string that the error contains.
    pub error: Option<Value>,
    /// The messages of the prompt.
    pub messages: Option<Value>,
    /// Whether the answer equals the recorded one.
    pub snapshot: Option<bool>,
    /// The program or request that was sent: `argv url method headers json`.
    pub sent: Option<SentRequest>,
}

/// The parts of a program or a request that are checked.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct SentRequest {
    /// The program and its arguments.
    pub argv: Option<Value>,
    /// The URL of the request.
    pub url: Option<Value>,
    /// Its method.
    pub method: Option<Value>,
    /// Its headers.
    pub headers: Option<Value>,
    /// Its body.
    pub json: Option<Value>,
}
