//! JSON Schema: compiles schemas with precise errors, validates values and explains violations.
//!
//! References point into the same document and into files of the pack, never to the network. What is not here: keys of
//! the manifest beside a schema (`required: true`, `complete`, `allowDash`), and how clients get violations (server/).

mod branch;
mod bundle;
mod check;
mod coerce;
mod compile;
mod cycle;
mod explain;
mod integer;
mod absent;
mod keyword;
mod lint;
mod meter;
mod pattern;
mod simple_schema;
mod property;
mod local_ref;
mod secret;
mod describe;

#[cfg(test)]
mod tests;

pub use absent::EmptyText;
pub use coerce::Coercion;
pub use compile::Schema;
pub use integer::normalize_integers;
pub use keyword::unknown_keywords;
pub use lint::{LintKind, lint};
pub use property::{TextForm, allowed_values};

use serde_json::Value;

/// Loads a document by its URI without fragment: for files of the pack a path relative to the file of the schema,
/// such as `defs/common.json`.
pub type ReferenceLoader<'a> = dyn Fn(&str) -> Option<Value> + 'a;

/// An error in a schema, at a JSON pointer; for an error in a file that it refers to, at the `$ref`.
pub type SchemaError = crate::diagnostic::LocatedError<String>;

/// A violation of a schema by a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The JSON pointer into the value; for a missing property, where it should be.
    pub pointer: String,
    /// The top-level property: the name of an argument.
    pub name: Option<String>,
    /// The message, with the position and the expectation; without secrets and long values.
    pub message: String,
}
