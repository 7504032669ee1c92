//! `server` and `env`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::notation::{CacheScope, Icon, Scalar, TextOrFile, by_kind};
use crate::yaml::Spanned;

/// What the server is called and says of itself.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Server {
    /// Its name for clients: 1 to 64 of `a-z 0-9 -`.
    #[schemars(with = "String", regex(pattern = r"^[a-z0-9-]{1,64}$"), extend("x-required" = true))]
    pub name: Option<Spanned<String>>,
    /// Its name for people.
    pub title: Option<String>,
    /// Its version; quote it, as `"1.10"` is a number else.
    pub version: Option<Scalar>,
    /// What it is, in a sentence.
    pub description: Option<String>,
    /// What a model should know before it uses the server.
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
}

by_kind! {
    /// A variable; a bare value is taken only to say how a default is written.
    pub enum EnvEntry {
        "scalar" => Bare(Scalar),
        "map" => Keys(EnvVariable),
        "null" => Nothing(()),
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
