//! The places of a manifest that rules name, and how they are nested.

use super::Corrector;
use super::kind::MapKind;
use crate::yaml::{NodeId, correct_key};

/// A place, a key in it (`*` is any, `[]` each item of a list), and the place that its value is.
const PLACES: &[(&str, &str, &str)] = &[
    ("manifest", "folio", "version"),
    ("manifest", "server", "server"),
    ("manifest", "env", "variables"),
    ("manifest", "skills", "skills"),
    ("manifest", "packs", "packs"),
    ("manifest", "folders", "folders"),
    ("manifest", "tests", "tests"),
    ("manifest", "prompts", "prompts"),
    ("manifest", "tools", "tools"),
    ("manifest", "resources", "resources"),
    ("packs", "*", "pack"),
    ("pack", "allow", "grants"),
    ("tests", "*", "test"),
    ("test", "expect", "expect"),
    ("test", "cases", "cases"),
    ("cases", "[]", "test"),
    ("prompts", "*", "prompt"),
    ("tools", "*", "tool"),
    ("resources", "*", "resource"),
    ("prompt", "arguments", "arguments"),
    ("prompt", "messages", "messages"),
    ("prompt", "run", "run"),
    ("tool", "arguments", "arguments"),
    ("tool", "result", "result"),
    ("tool", "run", "run"),
    ("resource", "arguments", "arguments"),
    ("resource", "run", "run"),
    ("arguments", "*", "argument"),
    ("argument", "enum", "enum"),
    ("messages", "[]", "message"),
    ("run", "[]", "step"),
    ("step", "exec", "exec"),
    ("step", "script", "script"),
    ("step", "env", "values"),
    ("step", "okExit", "codes"),
    ("step", "http", "request"),
    ("step", "ask", "ask"),
    ("step", "tool", "reference"),
    ("step", "prompt", "reference"),
    ("exec", "[]", "element"),
    ("element", "then", "list"),
    ("element", "else", "list"),
    ("request", "auth", "auth"),
    ("request", "allow", "hosts"),
    ("request", "expect", "list"),
];

#[cfg(test)]
pub(super) fn is_place(name: &str) -> bool {
    PLACES.iter().any(|(place, _, child)| *place == name || *child == name)
}

/// The keys of the map at a place, so that a key with another name elsewhere is found.
fn keys_of(place: &str) -> &'static [&'static str] {
    match place {
        "prompt" => MapKind::Prompt.keys(),
        "tool" => MapKind::Tool.keys(),
        "resource" => MapKind::Resource.keys(),
        "argument" => MapKind::Argument.keys(),
        "step" => MapKind::Step.keys(),
        _ => &[],
    }
}

impl Corrector<'_> {
    /// The places within one, their values, and whether their key has its right name: a wrong one is reported by itself.
    pub(super) fn children(&self, place: &str, node: NodeId) -> Vec<(&'static str, NodeId, bool)> {
        let of_place = |key: &str| PLACES.iter().find(|(known, name, _)| *known == place && *name == key);
        if let (Some((_, _, child)), Some(items)) = (of_place("[]"), self.document.items_of(node)) {
            return items.into_iter().map(|item| (*child, item, true)).collect();
        }
        let entries = self.document.entries_of(node).unwrap_or_default();
        if place == "run" && !entries.is_empty() {
            return vec![("step", node, true)];
        }
        let child = |entry: &crate::yaml::MapEntry| {
            let key = self.document.key_text(entry.key);
            if let Some((_, _, child)) = of_place(key).or_else(|| of_place("*")) {
                return Some((*child, entry.value, true));
            }
            let meant =
                correct_key(key, keys_of(place)).filter(|meant| self.document.entry_of(node, meant).is_none())?;
            of_place(meant).map(|(_, _, child)| (*child, entry.value, false))
        };
        entries.iter().filter_map(child).collect()
    }
}
