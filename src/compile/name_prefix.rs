//! The prefix of the names of a pack's entries.

use crate::yaml::{Location, Spanned};

/// What the names of a pack begin with for clients, joined by `-`; empty for the served pack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamePrefix {
    text: String,
    /// Where it is written: its first part that no name may have, or else its last one.
    at: Option<Location>,
}

impl NamePrefix {
    /// The prefix of a pack that a pack with this prefix imports.
    pub fn join(&self, inner: &Spanned<String>) -> NamePrefix {
        if inner.is_empty() {
            return self.clone();
        }
        let is_allowed = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
        let at = if self.text.chars().all(is_allowed) { Some(inner.location) } else { self.at };
        NamePrefix { text: self.qualify(inner), at }
    }

    /// The name for clients of an entry with this name in the pack.
    pub fn qualify(&self, name: &str) -> String {
        if self.text.is_empty() { name.to_owned() } else { format!("{}-{name}", self.text) }
    }

    /// The name in the pack of an entry with this name for clients.
    pub fn strip<'n>(&self, qualified: &'n str) -> Option<&'n str> {
        if self.text.is_empty() { Some(qualified) } else { qualified.strip_prefix(&self.text)?.strip_prefix('-') }
    }

    /// The prefix itself, without a `-` at its end.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Where it is written.
    pub fn location(&self) -> Option<Location> {
        self.at
    }
}
