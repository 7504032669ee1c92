//! Parses YAML and JSON into a tree with source positions, and deserializes it.
//!
//! [`Document`] is the tree; [`from_document`] turns it into serde types and reports every error instead of stopping at the
//! first. What is not here: what the keys mean (manifest/) and which files are read (load/).

mod access;
mod parse;
pub(crate) mod pointer;
mod document;
mod value_span;
mod write;
mod quantity;
mod remove;
mod deserialize;
mod tree_edit;
mod insert;
mod key_synonyms;
mod map_edit;
mod missing_space;
mod scalar;
mod spanned;
mod struct_keys;
mod syntax_error;
mod syntax_indentation;
mod syntax_quote;
#[cfg(test)]
mod tests;

pub use deserialize::{from_document, from_document_with_examples};
pub use document::{Document, Documents, Location, MapEntry, NodeId};
pub use key_synonyms::correct_key;

pub use insert::{InsertError, Insertion, NewEntry, insert_entry};
pub use map_edit::{NewPair, add_pair, json_of, replace_pair};
pub use missing_space::report_missing_space;
pub use parse::{decode, find_misplaced_front_matter, parse, parse_front_matter, parse_front_matter_at, parse_json};
pub use quantity::{nearest_duration, parse_milliseconds};
pub use remove::remove_entry;
pub use spanned::Spanned;
pub use struct_keys::struct_keys;
pub use write::{entry, entry_with_lines, flow, flow_entry, flow_scalar, scalar};
