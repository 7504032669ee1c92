//! The parsed partials of a pack.

use std::collections::BTreeMap;

use super::syntax::TemplateNode;

/// A parsed partial.
#[derive(Debug)]
pub(super) struct Partial {
    pub text: String,
    pub nodes: Vec<TemplateNode>,
    /// Whether it has errors, which are reported; it is then not checked again.
    pub has_errors: bool,
}

/// All partials by name.
#[derive(Debug, Default)]
pub(super) struct Partials {
    pub by_name: BTreeMap<String, Partial>,
}

impl Partials {
    pub fn get(&self, name: &str) -> Option<(&str, &Partial)> {
        self.by_name.get_key_value(name).map(|(name, partial)| (name.as_str(), partial))
    }
}
