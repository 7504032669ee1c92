//! The entries of this server that a run names.

use crate::value_types::{Json, NamedMap};
use crate::yaml::Spanned;

/// An entry of this server that a run names.
#[derive(Debug, Clone)]
pub enum EntryReference {
    /// A tool by its name, with its arguments.
    Tool(Spanned<String>, ArgumentTemplates),
    /// A prompt by its name, with its arguments.
    Prompt(Spanned<String>, ArgumentTemplates),
    /// A resource that is read, by its URI, which may be a template.
    Resource(Spanned<String>),
    /// A resource of which clients are notified, by its URI, which may be a template.
    Notified(Spanned<String>),
}

/// Arguments of an entry, whose strings are templates.
pub type ArgumentTemplates = NamedMap<Spanned<Json>>;
