//! `prompts`.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Argument, Arguments};
use crate::action::Run;
use crate::value_types::{Block, Duration, Icon, Size, TextOrFile};
use crate::yaml::Spanned;

/// The message for a role that MCP does not have.
pub const SYSTEM_ROLE: &str = "unknown role `system`, expected `user` or `assistant`";
/// What to do instead.
pub const SYSTEM_ROLE_HELP: &str = "write it in the first `user` message, or in `server.instructions` for every client";

/// A prompt: one `text`, or `messages`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-exactly-one" = ["text", "messages"]))]
pub struct Prompt {
    /// A name for users. Templates may use `env` and `server`.
    pub title: Option<String>,
    /// What it is for. Templates may use `env` and `server`.
    pub description: Option<String>,
    /// Its arguments, at most 256, by name: `{ who: { required: true } }`. Forms send an empty text for a field that was left empty: it
    /// counts as no value for an optional argument that has a default, or that an empty text does not fit.
    #[schemars(with = "IndexMap<String, Argument>")]
    pub arguments: Arguments,
    /// The text of one user message: a template, or `{ file: … }` for a file that contains it.
    pub text: Option<Spanned<TextOrFile>>,
    /// Several messages: `[{ user: … }, { assistant: … }]`.
    pub messages: Option<Spanned<Vec<Spanned<Message>>>>,
    /// An action whose outcome the text uses: `{ exec: [git, diff] }`.
    pub run: Option<Spanned<Run>>,
    /// The time limit of the action. The default is 30s.
    pub timeout: Option<Duration>,
    /// The output limit of the action. The default is 1MiB.
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
    /// Icons for clients to show: `[{ src: "https://example.com/icon.png" }]`.
    pub icons: Option<Vec<Icon>>,
    /// Metadata for the client, passed through unchanged: `{ com.example/color: red }`.
    #[serde(rename = "_meta")]
    pub meta: Option<Map<String, Value>>,
}

/// One message: `user` or `assistant`. MCP has no `system`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-exactly-one" = ["user", "assistant"]))]
pub struct Message {
    /// A message of the user: a template, or a content block, such as `{ image: chart.png }`.
    pub user: Option<Spanned<Block>>,
    /// A message of the model: a template, or a content block, such as `{ image: chart.png }`.
    pub assistant: Option<Spanned<Block>>,
    /// Parsed only for a helpful error.
    #[schemars(skip)]
    pub system: Option<Spanned<Value>>,
}
