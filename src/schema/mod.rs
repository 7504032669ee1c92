//! JSON Schema: checked as a text of its author, and held against values, with words for people and models.
//!
//! References reach into the same document and into files of the pack, never the network. Not here: the manifest's
//! own keys beside a schema (`required: true`, `complete`, `allowDash`), and what a violation becomes for a client.

mod branch;
mod bundle;
mod check;
mod coerce;
mod compile;
mod cost;
mod cycle;
mod explain;
mod keyword;
mod lint;
mod meter;
mod pattern;
mod simple;
mod pointer;
mod property;
mod secret;
mod describe;

#[cfg(test)]
mod tests;

pub use bundle::bundle;
pub use coerce::{Coercion, coerce, fill_defaults};
pub use compile::Schema;
pub use keyword::unknown_keywords;
pub use lint::{Lint, LintKind, lint};
pub use pointer::join as join_pointer;

use serde_json::Value;

/// Finds a document by its URI without fragment: for files of the pack a path relative to the file of the schema,
/// with `/`, such as `defs/common.json`.
pub type ReferenceLoader<'a> = dyn Fn(&str) -> Option<Value> + 'a;

/// A mistake in a schema.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SchemaError {
    /// The JSON pointer of the exact place in the schema; for a mistake in a file that it refers to, of the `$ref`.
    pub pointer: String,
    /// What is wrong: lower case, no full stop, names in back-ticks.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

/// Something about a value that its schema does not allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The JSON pointer of the place in the value; of what is missing, where it should be.
    pub pointer: String,
    /// The top-level property that it concerns: the name of an argument.
    pub name: Option<String>,
    /// The whole sentence, with the place and with what is allowed; without secrets and long values.
    pub message: String,
}
