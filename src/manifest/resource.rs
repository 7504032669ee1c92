//! `resources`.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Argument, Arguments, ResultSpec};
use crate::action::Run;
use crate::notation::{Annotations, CacheScope, Duration, Icon, Size, TextOrFile};
use crate::yaml::Spanned;

/// A resource, or a template of resources: exactly one of `text`, `blob`, `file`, `root`, `run`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Resource {
    /// Its URI, or a URI template (RFC 6570): `issue://{id}`, `src://{+path}`, `logs://recent{?since,limit}`.
    #[schemars(with = "String", extend("x-required" = true))]
    pub uri: Option<Spanned<String>>,
    /// Its name for people; knows `env` and `server`.
    pub title: Option<String>,
    /// What it is; knows `env` and `server`.
    pub description: Option<String>,
    /// Its type, such as `text/markdown`; guessed until told otherwise.
    pub mime_type: Option<Spanned<String>>,
    /// What its URI's variables are; each one that is not named here is a required text.
    #[schemars(with = "IndexMap<String, Argument>")]
    pub arguments: Arguments,
    /// Its text: a template, or `{ file: … }` for the file that holds one.
    pub text: Option<Spanned<TextOrFile>>,
    /// Its bytes in base64, or `{ file: … }`.
    pub blob: Option<Spanned<TextOrFile>>,
    /// The file that it is, sent as it is. In a URI template `{{name}}` may stand in the path.
    pub file: Option<Spanned<String>>,
    /// A folder of which every file is a resource: a path of the pack, or exactly one `{{env.NAME}}`.
    pub root: Option<Spanned<String>>,
    /// The files of the root, by glob; all until told otherwise.
    pub include: Option<Vec<Spanned<String>>>,
    /// The files that are left out, by glob.
    pub exclude: Option<Vec<Spanned<String>>>,
    /// An action that makes it.
    pub run: Option<Spanned<Run>>,
    /// What is made of the action's outcome.
    pub result: Option<Spanned<ResultSpec>>,
    /// How long the action may take; 30 s until told otherwise.
    pub timeout: Option<Duration>,
    /// How much it may put out; 1 MiB until told otherwise.
    pub max_output: Option<Size>,
    /// Hints for the client.
    pub annotations: Option<Annotations>,
    /// Its size in bytes, where it is not a file's.
    pub size: Option<u64>,
    /// For how many milliseconds clients may keep it.
    pub ttl_ms: Option<u64>,
    /// Who may keep it.
    pub cache_scope: Option<CacheScope>,
    /// Pictures of it.
    pub icons: Option<Vec<Icon>>,
    /// Metadata for the client, passed on as it is.
    #[serde(rename = "_meta")]
    pub meta: Option<Map<String, Value>>,
}
