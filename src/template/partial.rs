//! The partials of a pack, as the check walks them.

use std::collections::BTreeMap;

use super::syntax::TemplateNode;

/// A partial that was read.
#[derive(Debug)]
pub(super) struct Partial {
    pub text: String,
    pub nodes: Vec<TemplateNode>,
    /// It has errors of its own, which were reported once; nobody looks into it again.
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
