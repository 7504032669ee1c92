//! `server` and `env`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::value_types::{CacheScope, Icon, Scalar, Size, TextOrFile, yaml_kind_enum};
use crate::yaml::Spanned;

/// The name and the description of the server.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Server {
    /// Its name for clients: 1 to 64 of `a-z 0-9 -`, with `.` and one `/` between, as in `io.github.me/desk`.
    #[schemars(with = "String", length(max = 64), regex(pattern = r"^[a-z0-9-]+(\.[a-z0-9-]+)*(/[a-z0-9-]+(\.[a-z0-9-]+)*)?$"), extend("x-required" = true, "errorMessage" = "invalid name: use 1 to 64 of `a-z 0-9 -`, with `.` and one `/` between"))]
    pub name: Option<Spanned<String>>,
    /// A name for users. Templates may use `env` and `server`.
    pub title: Option<String>,
    /// Its version. Quote it, as `"1.10"`: without quotes it is a number.
    pub version: Option<Scalar>,
    /// A description in one sentence. Templates may use `env` and `server`.
    pub description: Option<String>,
    /// Instructions for a model that uses the server: a text, or `{ file: instructions.md }`. Templates may use `env` and
    /// `server`.
    pub instructions: Option<Spanned<TextOrFile>>,
    /// Icons for clients to show: `[{ src: "https://example.com/icon.png" }]`.
    pub icons: Option<Vec<Icon>>,
    /// The URL of its website.
    pub website_url: Option<Spanned<String>>,
    /// The number of entries on a page of a list. The default is 1000.
    #[schemars(with = "Option<u32>", range(min = 1))]
    pub page_size: Option<Spanned<u32>>,
    /// How many milliseconds clients may cache lists and resources.
    pub ttl_ms: Option<u64>,
    /// Who may cache them.
    pub cache_scope: Option<CacheScope>,
    /// Extensions of the protocol by identifier, passed through unchanged: `{ com.example/maps: {} }`.
    pub extensions: Option<Spanned<Map<String, Value>>>,
    /// Experimental capabilities, passed through unchanged: `{ sketches: {} }`.
    pub experimental: Option<Spanned<Map<String, Value>>>,
    /// The trace headers of the client that are passed to programs and HTTP requests in addition to `traceparent`:
    /// `[tracestate, baggage]` or one of them. Clients control their content, so the default is none.
    pub trace: Option<Vec<TraceKey>>,
    /// For clients that show a model nothing but tools: offers prompts as `list-prompts` and `get-prompt`, and resources as
    /// `list-resources` and `read-resource`. `auto` offers them to clients that are known to lack the lists or declare it,
    /// `[prompts, resources]` or one of them to every client, `none` to no client. The default is `auto`.
    pub bridge: Option<Bridge>,
    /// For servers with many tools: lists `search-tools`, `call-read-only-tool` and `call-tool` in place of them, with which
    /// a model finds and calls them. Calls by the name of a tool work as ever. `auto` does so where the list is above about
    /// 25,000 tokens (bytes of JSON / 4). The default is `never`.
    pub tool_search: Option<ToolSearch>,
    /// Limits of the whole server: `{ programs: 8 }`.
    pub limits: Option<Spanned<ServerLimits>>,
}

yaml_kind_enum! {
    /// Which lists are offered as tools, and to whom: `auto`, `none`, or a list such as `[prompts]`.
    pub enum Bridge {
        "text" => Mode(BridgeMode),
        "list" => Kinds(Vec<Spanned<BridgeKind>>),
    }
}

/// Which clients get tools in place of lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BridgeMode {
    /// Those that are known to lack the lists, or declare it.
    Auto,
    /// No one.
    None,
}

/// What is offered as tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BridgeKind {
    /// Prompts, as `list-prompts` and `get-prompt`.
    Prompts,
    /// Resources, as `list-resources` and `read-resource`.
    Resources,
}

/// When tools are searched instead of listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ToolSearch {
    /// All tools are listed.
    Never,
    /// Where the list is above about 25,000 tokens.
    Auto,
    /// However many there are.
    Always,
}

/// A trace header in addition to `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TraceKey {
    /// Vendor data of tracing systems.
    Tracestate,
    /// User-defined properties of the trace.
    Baggage,
}

/// Limits of the whole server. A call over a limit waits, or is refused with an error that says when to try again.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct ServerLimits {
    /// How many programs may run at once, for tools, prompts, resources and completions together. Waiting counts towards
    /// the `timeout` of a call. Over HTTP one session, or one address without sessions, gets at most half of them. The
    /// default is 64.
    #[schemars(with = "Option<u32>", range(min = 1))]
    pub programs: Option<Spanned<u32>>,
    /// How many bytes of requests and responses may be in flight at once. The minimum is 64MiB, the size of the largest
    /// response; the default is 256MiB.
    pub bytes_in_flight: Option<Spanned<Size>>,
    /// How many calls that run programs or send requests one client may make per second. Unused calls are saved for up to
    /// ten seconds. The default is 200.
    #[schemars(with = "Option<u32>", range(min = 1))]
    pub calls_per_second: Option<Spanned<u32>>,
}

yaml_kind_enum! {
    /// A declaration of a variable. A bare value is parsed only for a helpful error.
    pub enum EnvEntry {
        "scalar" => Bare(Scalar),
        "map" => Keys(EnvVariable),
        "null" => Null(()),
    }
}

/// An environment variable that the manifest may read.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct EnvVariable {
    /// A description.
    pub description: Option<String>,
    /// Whether the server refuses to start if it is not set.
    pub required: Option<bool>,
    /// Whether its value is a secret, which is never shown. The default is `false`; with `file` it is `true`, and
    /// with `command` always.
    pub secret: Option<bool>,
    /// Its value if it is not set: `{ default: info }`.
    pub default: Option<Spanned<Scalar>>,
    /// Its value in every test of the manifest that is not `live`, unless `mock` has another: `{ test: "https://api.example" }`.
    pub test: Option<Spanned<Scalar>>,
    /// The absolute path of a file with its value, such as a mounted secret: `{ file: /run/secrets/token }`. It is read at
    /// start and again when it changes, up to 64 KiB, without line breaks at its end. A variable of the environment does not
    /// replace it. Only the served manifest may have it; packs are passed the value.
    pub file: Option<Spanned<String>>,
    /// A program that prints its value, without a shell and without templates: `{ command: [op, read, "op://vault/item/token"] }`.
    /// `serve`, `call` and `read` run it in the folder of the manifest, with `PATH`, `HOME`, `LANG` and `TMPDIR`, for at most
    /// 10 s; `serve` again on SIGHUP. Elsewhere the variable is not set. If it fails, the server does not start, and keeps the
    /// last value on SIGHUP. Only the served manifest may have it; packs are passed the value.
    pub command: Option<Spanned<Vec<Spanned<Scalar>>>>,
}
