//! Text with positions: YAML (and JSON) read into a tree in which every node knows its place.
//!
//! [`Document`] is the tree, [`read`] turns it into serde types and reports every fault instead of stopping at the
//! first. What is not here: what the keys mean (manifest/) and which files are read (load/).

mod access;
mod build;
mod document;
mod place;
mod quantity;
mod read;
mod scalar;
mod spanned;
#[cfg(test)]
mod tests;

pub use build::{decode, parse, parse_front_matter, parse_json};
pub use document::{At, Document, Documents, NodeId};
pub use quantity::milliseconds;
pub use read::{read, read_at};
pub use spanned::Spanned;
