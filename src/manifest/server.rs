//! `server` and `env`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::notation::{CacheScope, Icon, Scalar, Size, TextOrFile, kind_enum};
use crate::yaml::Spanned;

/// What the server is called and says of itself.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Server {
    /// Its name for clients: 1 to 64 of `a-z 0-9 -`.
    #[schemars(with = "String", regex(pattern = r"^[a-z0-9-]{1,64}$"), extend("x-required" = true))]
    pub name: Option<Spanned<String>>,
    /// Its name for people; knows `env` and `server`.
    pub title: Option<String>,
    /// Its version; quote it, as `"1.10"` is a number else.
    pub version: Option<Scalar>,
    /// What it is, in a sentence; knows `env` and `server`.
    pub description: Option<String>,
    /// What a model should know before it uses the server; knows `env` and `server`.
    pub instructions: Option<Spanned<TextOrFile>>,
    /// Pictures of it.
    pub icons: Option<Vec<Icon>>,
    /// Where to read about it.
    pub website_url: Option<Spanned<String>>,
    /// How many entries a page of a list holds; 1000 until told otherwise.
    #[schemars(with = "Option<u32>", range(min = 1))]
    pub page_size: Option<Spanned<u32>>,
    /// For how many milliseconds clients may keep lists and what they read.
    pub ttl_ms: Option<u64>,
    /// Who may keep them.
    pub cache_scope: Option<CacheScope>,
    /// Extensions of the protocol, by their identifiers, passed on as they are.
    pub extensions: Option<Spanned<Map<String, Value>>>,
    /// Experimental capabilities, passed on as they are.
    pub experimental: Option<Spanned<Map<String, Value>>>,
    /// What of a caller's trace goes along to programs and HTTP requests beside `traceparent`: `tracestate`, `baggage`,
    /// both or none. They hold whatever the caller says, so none until told otherwise.
    pub trace: Option<Vec<TraceKey>>,
    /// What the server may use, whoever calls it.
    pub limits: Option<Spanned<ServerLimits>>,
}

/// What a caller may say of its trace beside `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TraceKey {
    /// What tracing systems keep of the trace.
    Tracestate,
    /// Whatever travels with the trace.
    Baggage,
}

/// What the whole server may use at once. A call that would need more waits for its turn, or is refused with words
/// that say when to try again.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct ServerLimits {
    /// How many programs may run at once, whatever starts them: tools, prompts, resources and completions. A call
    /// waits for a free place as part of its `timeout`. The default is 64.
    #[schemars(with = "Option<u32>", range(min = 1))]
    pub programs: Option<Spanned<u32>>,
    /// How many bytes of requests and answers may be on their way at once: 64MiB at least, so that the largest answer finds
    /// room. The default is 256MiB.
    pub bytes_in_flight: Option<Spanned<Size>>,
    /// How many calls that act on the world one client may make in a second. What it does not use is saved for up to
    /// ten seconds. The default is 200.
    #[schemars(with = "Option<u32>", range(min = 1))]
    pub calls_per_second: Option<Spanned<u32>>,
}

kind_enum! {
    /// A variable; a bare value is taken only to say how a default is written.
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
    /// What it is for.
    pub description: Option<String>,
    /// Whether the server refuses to start without it.
    pub required: Option<bool>,
    /// Whether its value must never be shown.
    pub secret: Option<bool>,
    /// Its value where it is not set.
    pub default: Option<Spanned<Scalar>>,
}
