//! `resources`.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Argument, Arguments, ResultSpec};
use crate::action::Run;
use crate::value_types::{Annotations, Blob, CacheScope, Duration, Icon, Size, TextOrFile};
use crate::yaml::Spanned;

/// A resource or a resource template: exactly one of `text`, `blob`, `file`, `root`, `run`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-exactly-one" = ["text", "blob", "file", "root", "run"]))]
pub struct Resource {
    /// Its URI, or a URI template (RFC 6570): `issue://{id}`, `src://{+path}`, `logs://recent{?since,limit}`.
    #[schemars(with = "String", extend("x-required" = true))]
    pub uri: Option<Spanned<String>>,
    /// Its name for clients, of any text: `name: "Policy: travel"`. The default is its key, by which steps and
    /// completions know it.
    pub name: Option<Spanned<String>>,
    /// A name for users. Templates may use `env` and `server`.
    pub title: Option<String>,
    /// A description. Templates may use `env` and `server`.
    pub description: Option<String>,
    /// Its media type, such as `text/markdown`. By default it is guessed.
    pub mime_type: Option<Spanned<String>>,
    /// The variables of its URI, by name: `{ id: { type: integer } }`. Those that are not listed are required strings.
    #[schemars(with = "IndexMap<String, Argument>")]
    pub arguments: Arguments,
    /// Its text: a template, or `{ file: … }` for a file that contains it.
    pub text: Option<Spanned<TextOrFile>>,
    /// Its bytes: base64, or `{ file: … }`, `{ base64: "{{…}}" }`, `{ text: "{{…}}" }`.
    pub blob: Option<Spanned<Blob>>,
    /// A file that is sent unchanged. The path may contain variables of a URI template: `docs/{{name}}.md`.
    pub file: Option<Spanned<String>>,
    /// A folder whose files are the resources: a path of the pack, or exactly one `{{env.NAME}}` or `{{workspace}}`.
    pub root: Option<Spanned<String>>,
    /// The files of the root, by glob: `["**/*.md"]`. The default is all. `*` and `?` stop at `/`, `**` does not, `[a-z]`
    /// is one character, `{a,b}` is either, `notes/` is all in that folder.
    pub include: Option<Vec<Spanned<String>>>,
    /// What of the root to leave out, by glob. A folder is left out with all in it: `[drafts, "**/node_modules"]`.
    pub exclude: Option<Vec<Spanned<String>>>,
    /// An action whose outcome is the content: `{ exec: [date] }`.
    pub run: Option<Spanned<Run>>,
    /// How the content is made from the outcome: `{ text: "{{result.stdout}}" }`.
    pub result: Option<Spanned<ResultSpec>>,
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
    /// Hints for the client: `{ audience: [user], priority: 0.5 }`.
    pub annotations: Option<Annotations>,
    /// Its size in bytes, if it is not a file.
    pub size: Option<u64>,
    /// How many milliseconds clients may cache it.
    pub ttl_ms: Option<u64>,
    /// Who may cache it.
    pub cache_scope: Option<CacheScope>,
    /// Icons for clients to show: `[{ src: "https://example.com/icon.png" }]`.
    pub icons: Option<Vec<Icon>>,
    /// Metadata for the client, passed through unchanged: `{ com.example/color: red }`.
    #[serde(rename = "_meta")]
    pub meta: Option<Map<String, Value>>,
}
