//! `arguments`: JSON Schemas with `required`, `complete`, `allowDash` and `within`.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::action::Run;
use crate::value_types::{Duration, NamedMap, Scalar, Size, yaml_kind_enum};
use crate::yaml::Spanned;

/// Arguments by name.
pub type Arguments = NamedMap<Spanned<Argument>>;

/// How many arguments a prompt may have, and a tool or a resource of a pack from git or an archive.
pub const MAX_ARGUMENTS: usize = 256;

/// The keys of an argument that are not JSON Schema.
pub const ARGUMENT_KEYWORDS: &[&str] = &["required", "complete", "allowDash", "within"];

/// An argument: a JSON Schema (2020-12), with the extra keys `required`, `complete`, `allowDash` and `within`. The
/// default `type` is `string`.
// Most keywords are absent from most arguments: boxes keep what is moved and kept small.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Argument {
    /// A description for users and models. Templates may use `env` and `server`.
    pub description: Option<String>,
    /// A name for users. Templates may use `env` and `server`.
    pub title: Option<String>,
    /// Whether a call without it is refused: `required: true`.
    pub required: Option<bool>,
    /// Its value when a call gives none.
    pub default: Option<Box<Value>>,
    /// Its type. The default is that of its `enum` or `const`, or else `string`.
    #[serde(rename = "type")]
    #[schemars(with = "Option<TypeName>")]
    pub kind: Option<Box<Value>>,
    /// The allowed values, such as `[low, high]`. They are also offered as completions.
    #[serde(rename = "enum")]
    #[schemars(with = "Option<Vec<Value>>")]
    pub choices: Option<Box<Value>>,
    /// The only allowed value.
    #[serde(rename = "const")]
    pub constant: Option<Box<Value>>,
    /// The source of its completions, such as `[low, high]` or `{ glob: "docs/*.md" }`. Without it, completions are the
    /// values of an `enum` or a boolean, and the files that the path of a resource can name:
    /// `uri: "page://{name}"` with `file: "docs/{{name}}.md"`.
    pub complete: Option<Spanned<Complete>>,
    /// Whether its value may begin with `-` at the beginning of an element of `exec`.
    pub allow_dash: Option<bool>,
    /// Only allows paths inside of folders: `roots`, those that the client works on, or exactly one `"{{workspace}}"`, or
    /// `"{{env.DIR}}"` with one folder, or several separated by `:` as in `PATH`. The value is an absolute path or a `file:`
    /// URI without `..`, or a list of these; with `{{…}}` it may be relative to the (first) folder. Templates and programs see
    /// the absolute path, with all links resolved.
    #[schemars(with = "Option<String>")]
    pub within: Option<Spanned<String>>,
    /// A regular expression that a string must match.
    #[schemars(with = "Option<String>")]
    pub pattern: Option<Box<Value>>,
    /// The format of a string, such as `date`, `email`, `uri`.
    #[schemars(with = "Option<String>")]
    pub format: Option<Box<Value>>,
    /// The minimum length of a string.
    #[schemars(with = "Option<u64>")]
    pub min_length: Option<Box<Value>>,
    /// The maximum length of a string.
    #[schemars(with = "Option<u64>")]
    pub max_length: Option<Box<Value>>,
    /// The minimum of a number.
    #[schemars(with = "Option<f64>")]
    pub minimum: Option<Box<Value>>,
    /// The maximum of a number.
    #[schemars(with = "Option<f64>")]
    pub maximum: Option<Box<Value>>,
    /// The exclusive minimum of a number.
    #[schemars(with = "Option<f64>")]
    pub exclusive_minimum: Option<Box<Value>>,
    /// The exclusive maximum of a number.
    #[schemars(with = "Option<f64>")]
    pub exclusive_maximum: Option<Box<Value>>,
    /// The number that the value must be a multiple of.
    #[schemars(with = "Option<f64>")]
    pub multiple_of: Option<Box<Value>>,
    /// The schema of the items of a list: `{ type: string }`.
    #[schemars(with = "Option<Value>")]
    pub items: Option<Box<Value>>,
    /// The minimum number of items.
    #[schemars(with = "Option<u64>")]
    pub min_items: Option<Box<Value>>,
    /// The maximum number of items.
    #[schemars(with = "Option<u64>")]
    pub max_items: Option<Box<Value>>,
    /// Whether all items must be different.
    #[schemars(with = "Option<bool>")]
    pub unique_items: Option<Box<Value>>,
    /// The schemas of an object's properties: `{ name: { type: string } }`.
    #[schemars(with = "Option<IndexMap<String, Value>>")]
    pub properties: Option<Box<Value>>,
    /// The schema of properties that are not listed.
    pub additional_properties: Option<Box<Value>>,
    /// Examples for users and models: `[main, HEAD~1]`.
    #[schemars(with = "Option<Vec<Value>>")]
    pub examples: Option<Box<Value>>,
    /// Whether it is deprecated.
    #[schemars(with = "Option<bool>")]
    pub deprecated: Option<Box<Value>>,
    /// Whether its value is never shown in an error.
    #[schemars(with = "Option<bool>")]
    pub write_only: Option<Box<Value>>,
    /// A reference to a schema: `#/…`, or a file of the pack.
    #[serde(rename = "$ref")]
    #[schemars(with = "Option<String>")]
    pub reference: Option<Box<Value>>,
    /// Schemas for `$ref`.
    #[serde(rename = "$defs")]
    pub definitions: Option<Box<Value>>,
    /// A comment for other authors.
    #[serde(rename = "$comment")]
    pub comment: Option<Box<Value>>,
    /// The name of the HTTP header that carries the value (MCP 2026-07-28).
    #[serde(rename = "x-mcp-header")]
    #[schemars(with = "Option<String>")]
    pub header: Option<Box<Value>>,
    /// The value must match at least one of these schemas.
    pub any_of: Option<Box<Value>>,
    /// The value must match exactly one of these schemas.
    pub one_of: Option<Box<Value>>,
    /// The value must match all of these schemas.
    pub all_of: Option<Box<Value>>,
    /// The value must not match this schema.
    pub not: Option<Box<Value>>,
    /// If the value matches this schema it must match `then`, else `else`.
    #[serde(rename = "if")]
    pub condition: Option<Box<Value>>,
    /// The schema of values that match `if`.
    pub then: Option<Box<Value>>,
    /// The schema of values that do not match `if`.
    #[serde(rename = "else")]
    pub otherwise: Option<Box<Value>>,
    /// The schemas of the first items, in order.
    pub prefix_items: Option<Box<Value>>,
    /// At least one item must match this schema.
    pub contains: Option<Box<Value>>,
    /// The minimum number of items that match `contains`.
    pub min_contains: Option<Box<Value>>,
    /// The maximum number of items that match `contains`.
    pub max_contains: Option<Box<Value>>,
    /// The schemas of properties, by regular expressions of their names.
    pub pattern_properties: Option<Box<Value>>,
    /// The schema of the names of properties.
    pub property_names: Option<Box<Value>>,
    /// The minimum number of properties.
    pub min_properties: Option<Box<Value>>,
    /// The maximum number of properties.
    pub max_properties: Option<Box<Value>>,
    /// Properties that are required when another is present.
    pub dependent_required: Option<Box<Value>>,
    /// Schemas that apply when a property is present.
    pub dependent_schemas: Option<Box<Value>>,
    /// The schema of items that no other keyword covers.
    pub unevaluated_items: Option<Box<Value>>,
    /// The schema of properties that no other keyword covers.
    pub unevaluated_properties: Option<Box<Value>>,
    /// The encoding of bytes in the string, such as `base64`.
    pub content_encoding: Option<Box<Value>>,
    /// The media type of the string, such as `application/json`.
    pub content_media_type: Option<Box<Value>>,
    /// The schema of the content of the string.
    pub content_schema: Option<Box<Value>>,
    /// Whether the value is only returned, never given.
    pub read_only: Option<Box<Value>>,
}

/// The types of JSON.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TypeName {
    String,
    Integer,
    Number,
    Boolean,
    Array,
    Object,
    Null,
}

yaml_kind_enum! {
    /// A list of completions, or their source. Values that the argument does not allow are left out.
    pub enum Complete {
        "list" => List(Vec<Spanned<Scalar>>),
        "map" => From(Box<CompleteBody>),
    }
}

/// Which values match what the user has typed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CompletionMatch {
    /// Those that begin with it.
    Prefix,
    /// Those that have its letters in order; first those that begin with it.
    #[default]
    Fuzzy,
}

/// The source of completions: exactly one of `glob`, `resource`, `run`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-at-most-one" = ["glob", "resource", "run"]))]
pub struct CompleteBody {
    /// The paths of files, relative to this file: `{ glob: "docs/*.md" }` offers `docs/a.md`.
    pub glob: Option<Spanned<String>>,
    /// The folder that `glob` searches and that its paths are relative to: `{ glob: "*.md", base: docs }` offers
    /// `a.md`. A path of the pack, relative to this file.
    pub base: Option<Spanned<String>>,
    /// Whether the paths of `glob` are offered without their extension: `{ glob: "*.md", base: docs, stem: true }`
    /// offers `a`.
    pub stem: Option<bool>,
    /// The values of a variable in the URI of a resource: `{ resource: docs }` offers, for an argument used in
    /// `docs://{{path page}}`, the pages that `docs` lists. The resource must have a `root`, a `file` with variables in its
    /// path, or a `complete` of its own.
    pub resource: Option<Spanned<String>>,
    /// The variable of that resource's URI: `{ resource: source, variable: path }`. The default is the one named like the
    /// argument, or else the only one.
    pub variable: Option<Spanned<String>>,
    /// Whether the whole URI is offered instead of the value of the variable, for an argument that is a URI:
    /// `{ resource: docs, uri: true }` offers `docs://a.md`.
    pub uri: Option<bool>,
    /// Which values match what the user has typed, without regard to case: `prefix` for those that begin with it,
    /// `fuzzy` (the default) also for those that have its letters in order, after the others:
    /// `{ glob: "docs/*.md", match: prefix }`. Beside an `enum`, `{ match: prefix }` alone.
    #[serde(rename = "match")]
    pub matching: Option<CompletionMatch>,
    /// An action whose output is a list, or one value per line: `{ exec: [git, branch] }`. In its templates `{{typed}}`
    /// is what the user has typed: `{ exec: [./search, --, "{{typed}}"] }`. An argument of that name is
    /// `{{arguments.typed}}` there.
    pub run: Option<Spanned<Run>>,
    /// A JMESPath to the values in the output, such as `items[].name`.
    pub select: Option<Spanned<String>>,
    /// The time limit of the action, such as `5s`.
    pub timeout: Option<Duration>,
    /// The output limit of the action, such as `64KiB`.
    pub max_output: Option<Size>,
}
