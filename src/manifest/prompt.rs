//! `prompts`.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Argument, Arguments};
use crate::action::Run;
use crate::notation::{Block, Duration, Icon, Size, TextOrFile};
use crate::yaml::Spanned;

/// A prompt: one `text`, or `messages`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Prompt {
    /// Its name for people; knows `env` and `server`.
    pub title: Option<String>,
    /// What it is for; knows `env` and `server`.
    pub description: Option<String>,
    /// What it takes.
    #[schemars(with = "IndexMap<String, Argument>")]
    pub arguments: Arguments,
    /// One message of the user: a template, or `{ file: … }` for the file that holds one.
    pub text: Option<Spanned<TextOrFile>>,
    /// Several messages.
    pub messages: Option<Spanned<Vec<Spanned<Message>>>>,
    /// An action whose outcome the text needs.
    pub run: Option<Spanned<Run>>,
    /// How long the action may take; 30 s until told otherwise.
    pub timeout: Option<Duration>,
    /// How much it may put out; 1 MiB until told otherwise.
    pub max_output: Option<Size>,
    /// Pictures of it.
    pub icons: Option<Vec<Icon>>,
    /// Metadata for the client, passed on as it is.
    #[serde(rename = "_meta")]
    pub meta: Option<Map<String, Value>>,
}

/// One message: `user` or `assistant`. MCP has no `system`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Message {
    /// What the person says: a text (a template), or a block.
    pub user: Option<Spanned<Block>>,
    /// What the model says: a text (a template), or a block.
    pub assistant: Option<Spanned<Block>>,
    /// Taken only to say what to do instead.
    #[schemars(skip)]
    pub system: Option<Spanned<Value>>,
}
