//! `arguments`: JSON Schemas with `required`, `complete` and `allowDash`.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::action::Run;
use crate::notation::{Duration, NamedMap, Scalar, Size, kind_enum};
use crate::yaml::Spanned;

/// Arguments by name.
pub type Arguments = NamedMap<Spanned<Argument>>;

/// The keys of an argument that are not JSON Schema.
pub const ARGUMENT_KEYWORDS: &[&str] = &["required", "complete", "allowDash", "within"];

/// An argument: a JSON Schema (2020-12), with `required`, `complete` and `allowDash` beside it. No `type` means text.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Argument {
    /// What it is, for people and models.
    pub description: Option<String>,
    /// Its name for people.
    pub title: Option<String>,
    /// Whether a call without it is refused.
    pub required: Option<bool>,
    /// Its value where none is given.
    pub default: Option<Value>,
    /// Its type; text until told otherwise.
    #[serde(rename = "type")]
    #[schemars(with = "Option<TypeName>")]
    pub kind: Option<Value>,
    /// The values that it may have; they also complete it.
    #[serde(rename = "enum")]
    #[schemars(with = "Option<Vec<Value>>")]
    pub choices: Option<Value>,
    /// The one value that it may have.
    #[serde(rename = "const")]
    pub constant: Option<Value>,
    /// Where the values that complete it come from. Without it, what an `enum` or a boolean may be completes it, and
    /// so do the files that the path of a resource can name: `uri: "page://{name}"` with `file: "docs/{{name}}.md"`.
    pub complete: Option<Spanned<Complete>>,
    /// Whether its value may begin with `-` where it begins an argv element.
    pub allow_dash: Option<bool>,
    /// Only paths inside what is named: `roots`, the folders that the client works on. What is given is an absolute path
    /// or a `file:` URI without `..`, or a list of these; what templates and programs see is the absolute path to which
    /// it leads, with every link followed.
    pub within: Option<Spanned<Within>>,
    /// A regular expression that a text must match.
    #[schemars(with = "Option<String>")]
    pub pattern: Option<Value>,
    /// A format that a text must have, such as `date`, `email`, `uri`.
    #[schemars(with = "Option<String>")]
    pub format: Option<Value>,
    /// The least length of a text.
    #[schemars(with = "Option<u64>")]
    pub min_length: Option<Value>,
    /// The greatest length of a text.
    #[schemars(with = "Option<u64>")]
    pub max_length: Option<Value>,
    /// The least number.
    #[schemars(with = "Option<f64>")]
    pub minimum: Option<Value>,
    /// The greatest number.
    #[schemars(with = "Option<f64>")]
    pub maximum: Option<Value>,
    /// What a number must be greater than.
    #[schemars(with = "Option<f64>")]
    pub exclusive_minimum: Option<Value>,
    /// What a number must be less than.
    #[schemars(with = "Option<f64>")]
    pub exclusive_maximum: Option<Value>,
    /// What a number must be a multiple of.
    #[schemars(with = "Option<f64>")]
    pub multiple_of: Option<Value>,
    /// The schema of a list's items.
    #[schemars(with = "Option<Value>")]
    pub items: Option<Value>,
    /// The least number of items.
    #[schemars(with = "Option<u64>")]
    pub min_items: Option<Value>,
    /// The greatest number of items.
    #[schemars(with = "Option<u64>")]
    pub max_items: Option<Value>,
    /// Whether all items must differ.
    #[schemars(with = "Option<bool>")]
    pub unique_items: Option<Value>,
    /// The schemas of an object's properties.
    #[schemars(with = "Option<IndexMap<String, Value>>")]
    pub properties: Option<Value>,
    /// The schema of properties that are not named.
    pub additional_properties: Option<Value>,
    /// Examples, for people and models.
    #[schemars(with = "Option<Vec<Value>>")]
    pub examples: Option<Value>,
    /// Whether it is out of use.
    #[schemars(with = "Option<bool>")]
    pub deprecated: Option<Value>,
    /// Never shown in an error.
    #[schemars(with = "Option<bool>")]
    pub write_only: Option<Value>,
    /// A schema elsewhere: `#/…` or a file of the pack.
    #[serde(rename = "$ref")]
    #[schemars(with = "Option<String>")]
    pub reference: Option<Value>,
    /// Schemas for `$ref`.
    #[serde(rename = "$defs")]
    pub definitions: Option<Value>,
    /// A note among authors.
    #[serde(rename = "$comment")]
    pub comment: Option<Value>,
    /// MCP's own: the HTTP header that carries the value (2026-07-28).
    #[serde(rename = "x-mcp-header")]
    #[schemars(with = "Option<String>")]
    pub header: Option<Value>,
    /// At least one of these schemas holds.
    pub any_of: Option<Value>,
    /// Exactly one of these schemas holds.
    pub one_of: Option<Value>,
    /// All of these schemas hold.
    pub all_of: Option<Value>,
    /// This schema does not hold.
    pub not: Option<Value>,
    /// Where this schema holds, `then` must; else `else`.
    #[serde(rename = "if")]
    pub condition: Option<Value>,
    /// What must hold where `if` does.
    pub then: Option<Value>,
    /// What must hold where `if` does not.
    #[serde(rename = "else")]
    pub otherwise: Option<Value>,
    /// The schemas of the first elements, one each.
    pub prefix_items: Option<Value>,
    /// At least one element is like this.
    pub contains: Option<Value>,
    /// How many elements at least are as `contains` says.
    pub min_contains: Option<Value>,
    /// How many elements at most are as `contains` says.
    pub max_contains: Option<Value>,
    /// The schemas of fields, by regular expressions of their names.
    pub pattern_properties: Option<Value>,
    /// What the names of fields must be.
    pub property_names: Option<Value>,
    /// How many fields there are at least.
    pub min_properties: Option<Value>,
    /// How many fields there are at most.
    pub max_properties: Option<Value>,
    /// Fields that must be there when another is.
    pub dependent_required: Option<Value>,
    /// What must hold when a field is there.
    pub dependent_schemas: Option<Value>,
    /// The schema of elements that nothing else describes.
    pub unevaluated_items: Option<Value>,
    /// The schema of fields that nothing else describes.
    pub unevaluated_properties: Option<Value>,
    /// How the text encodes bytes, such as `base64`.
    pub content_encoding: Option<Value>,
    /// What the text is, such as `application/json`.
    pub content_media_type: Option<Value>,
    /// The schema of what the text holds.
    pub content_schema: Option<Value>,
    /// The value is told, and not to be given.
    pub read_only: Option<Value>,
}

/// What a path must be inside of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Within {
    /// The folders that the client works on.
    Roots,
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

kind_enum! {
    /// A list of values, or where they come from. What the argument would not take is left out.
    pub enum Complete {
        "list" => List(Vec<Spanned<Scalar>>),
        "map" => From(Box<CompleteBody>),
    }
}

/// Where the values come from: exactly one of `glob`, `resource`, `run`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct CompleteBody {
    /// The paths of files, relative to this file: `{ glob: "docs/*.md" }` offers `docs/a.md`.
    pub glob: Option<Spanned<String>>,
    /// The folder in which `glob` looks, and from which its paths are told: `{ glob: "*.md", base: docs }` offers
    /// `a.md`. It is a path of the pack, relative to this file.
    pub base: Option<Spanned<String>>,
    /// Whether the paths of `glob` are told without their extension: `{ glob: "*.md", base: docs, stem: true }`
    /// offers `a`.
    pub stem: Option<bool>,
    /// What a resource of this manifest answers: `{ resource: docs }` offers, for an argument that goes into
    /// `docs://{{path page}}`, exactly those pages that `docs` lists. The resource has a `root`, a `file` with
    /// variables in its path, or a `complete` of its own.
    pub resource: Option<Spanned<String>>,
    /// The variable of that resource's URI, where it has several; that with the argument's own name, or else the
    /// only one, until told otherwise: `{ resource: source, variable: path }`.
    pub variable: Option<Spanned<String>>,
    /// Whether the whole URI is offered instead of the variable's value, for an argument that is a URI:
    /// `{ resource: docs, uri: true }` offers `docs://a.md`.
    pub uri: Option<bool>,
    /// What an action puts out: a list, or one value a line.
    pub run: Option<Spanned<Run>>,
    /// A JMESPath to the values in what it put out.
    pub select: Option<Spanned<String>>,
    /// How long it may take.
    pub timeout: Option<Duration>,
    /// How much it may put out.
    pub max_output: Option<Size>,
}
