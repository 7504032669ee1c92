//! The prefix of the names of a pack's entries.

/// What the names of a pack begin with for clients, joined by `-`; empty for the served pack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamePrefix(String);

impl NamePrefix {
    /// The prefix of a pack that a pack with this prefix imports.
    pub fn join(&self, inner: &str) -> NamePrefix {
        NamePrefix(if inner.is_empty() { self.0.clone() } else { self.qualify(inner) })
    }

    /// The name for clients of an entry with this name in the pack.
    pub fn qualify(&self, name: &str) -> String {
        if self.0.is_empty() { name.to_owned() } else { format!("{}-{name}", self.0) }
    }

    /// The name in the pack of an entry with this name for clients.
    pub fn strip<'n>(&self, qualified: &'n str) -> Option<&'n str> {
        if self.0.is_empty() { Some(qualified) } else { qualified.strip_prefix(&self.0)?.strip_prefix('-') }
    }

    /// The prefix itself, without a `-` at its end.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
