//! Serde types for values that several manifest keys share: text or file, durations, sizes, content blocks, icons.
//!
//! Their doc comments are user documentation, in the JSON Schema for editors. What is not here: the entries with these
//! values (manifest/, action/) and their meaning (catalog/).

mod block;
mod folder;
mod quantity;
mod entry_reference;
mod http_request;
mod sandbox;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::yaml::Spanned;

pub use block::{
    Annotations, Blob, BlobSource, Block, BlockBody, EmbeddedBody, LinkBody, Media, ResourceBody, ResourceLinkBody,
    Role,
};
pub use entry_reference::EntryReferenceSpec;
pub use folder::{FolderKeys, FolderSpec};
pub use http_request::{Auth, ClientAuthentication, Connection, ConnectionTls, Exchange, NameValue, OAuth2, Retry};
pub use quantity::{Duration, Size};
pub use sandbox::{Network, NetworkMode, Port, Sandbox};

/// A map keyed by name, in the order written, each name with its location.
pub type NamedMap<T> = IndexMap<Spanned<String>, T>;

/// Declares an enum whose variant is the kind of YAML value, with its JSON Schema.
macro_rules! yaml_kind_enum {
    ($(#[doc = $words:literal])+ pub enum $name:ident { $($(#[$doc:meta])* $kind:literal => $variant:ident($type:ty),)+ }) => {
        #[allow(missing_docs, reason = "a variant is named for what its kind of YAML holds")]
        $(#[doc = $words])+
        #[derive(Debug, Clone, serde::Deserialize)]
        #[serde(rename = "$kind")]
        pub enum $name { $($(#[$doc])* #[serde(rename = $kind)] $variant($type),)+ }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let description = concat!($($words, "\n"),+).trim();
                let choices = [$(generator.subschema_for::<$type>()),+];
                schemars::json_schema!({ "description": description, "anyOf": choices })
            }
        }
    };
}
pub(crate) use yaml_kind_enum;

/// The content of a file: `{ file: PATH }`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FileRef {
    /// The path of the file, relative to this one, such as `docs/intro.md`. It must stay inside the pack.
    #[schemars(with = "String", extend("x-required" = true))]
    pub file: Option<Spanned<String>>,
}

yaml_kind_enum! {
    /// A string, or `{ file: PATH }` for the content of a file.
    pub enum TextOrFile {
        "text" => Text(String),
        "map" => File(FileRef),
    }
}

yaml_kind_enum! {
    /// One value, or a list of values.
    pub enum OneOrMany {
        "scalar" => One(Spanned<Scalar>),
        "list" => Many(Vec<Spanned<Scalar>>),
    }
}

impl OneOrMany {
    /// The values as a slice.
    pub fn items(&self) -> &[Spanned<Scalar>] {
        match self {
            OneOrMany::One(one) => std::slice::from_ref(one),
            OneOrMany::Many(many) => many,
        }
    }
}

/// A string, a number or a boolean, used as written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Scalar(pub String);

impl Spanned<Scalar> {
    /// The text, with its place.
    pub fn to_text(&self) -> Spanned<String> {
        Spanned::new(self.value.0.clone(), self.location)
    }
}

impl JsonSchema for Scalar {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Scalar".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["string", "number", "boolean"] })
    }
}

/// A JSON value, or `{ file: PATH }` for the content of a file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Json(pub Value);

impl Json {
    /// The path, where the value is exactly `{ file: PATH }`.
    pub fn file(&self) -> Option<&str> {
        match &self.0 {
            Value::Object(map) if map.len() == 1 => map.get("file").and_then(Value::as_str),
            _ => None,
        }
    }
}

impl JsonSchema for Json {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Json".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!(true)
    }
}

/// A number, or a template with one: its schema.
#[derive(Debug)]
pub enum Number {}

impl JsonSchema for Number {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Number".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["number", "string"] })
    }
}

/// A whole number above zero, or a template with one: its schema.
#[derive(Debug)]
pub enum Count {}

impl JsonSchema for Count {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Count".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["integer", "string"], "minimum": 1 })
    }
}

/// An icon of a prompt, a resource, a tool or the server.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Icon {
    /// An `https:` or `data:` URI.
    #[schemars(with = "String", extend("x-required" = true))]
    pub src: Option<Spanned<String>>,
    /// Its type, such as `image/png`.
    pub mime_type: Option<String>,
    /// Its sizes, such as `[48x48]`, or `[any]`.
    #[schemars(with = "Option<Vec<String>>")]
    pub sizes: Option<Vec<String>>,
    /// The theme that the icon is drawn for.
    pub theme: Option<Theme>,
}

/// What an icon is drawn for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Theme {
    /// A light background.
    Light,
    /// A dark background.
    Dark,
}

/// For how long and for whom clients may keep what they were given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CacheScope {
    /// Shared caches.
    Public,
    /// Only the cache of the caller.
    Private,
}

/// Whether a name is `[A-Za-z_][A-Za-z0-9_]*`, as for arguments, steps and variables.
pub fn is_identifier(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|next| next.is_ascii_alphanumeric() || next == '_')
}
