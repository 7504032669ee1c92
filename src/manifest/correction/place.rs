//! The places of a manifest that rules name, and how they are nested.

use super::Corrector;
use super::kind::MapKind;
use crate::yaml::{NodeId, correct_key};

/// The places, and what is within each: a key (`*` is any, `[]` each item of a list), and the place that its value is.
const PLACES: &[(&str, &[(&str, &str)])] = &[
    (
        "manifest",
        &[
            ("folio", "version"),
            ("server", "server"),
            ("env", "variables"),
            ("skills", "skills"),
            ("packs", "packs"),
            ("folders", "folders"),
            ("tests", "tests"),
            ("prompts", "prompts"),
            ("tools", "tools"),
            ("resources", "resources"),
        ],
    ),
    ("packs", &[("*", "pack")]),
    ("pack", &[("allow", "grants")]),
    ("tests", &[("*", "test")]),
    ("test", &[("expect", "expect"), ("cases", "cases")]),
    ("cases", &[("[]", "test")]),
    ("prompts", &[("*", "prompt")]),
    ("tools", &[("*", "tool")]),
    ("resources", &[("*", "resource")]),
    ("prompt", &[("arguments", "arguments"), ("messages", "messages"), ("run", "run")]),
    ("tool", &[("arguments", "arguments"), ("result", "result"), ("run", "run")]),
    ("resource", &[("arguments", "arguments"), ("run", "run")]),
    ("arguments", &[("*", "argument")]),
    ("argument", &[("enum", "enum")]),
    ("messages", &[("[]", "message")]),
    ("run", &[("[]", "step")]),
    (
        "step",
        &[
            ("exec", "exec"),
            ("script", "script"),
            ("env", "values"),
            ("okExit", "codes"),
            ("http", "request"),
            ("ask", "ask"),
            ("tool", "reference"),
            ("prompt", "reference"),
        ],
    ),
    ("exec", &[("[]", "element")]),
    ("element", &[("then", "list"), ("else", "list")]),
    ("request", &[("auth", "auth"), ("allow", "hosts"), ("expect", "list")]),
];

#[cfg(test)]
pub(super) fn is_place(name: &str) -> bool {
    PLACES.iter().any(|(place, within)| *place == name || within.iter().any(|(_, child)| *child == name))
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
        let places = PLACES.iter().find(|(known, _)| *known == place).map(|(_, within)| *within).unwrap_or_default();
        let of_place = |key: &str| places.iter().find(|(name, _)| *name == key);
        if let (Some((_, child)), Some(items)) = (of_place("[]"), self.document.items_of(node)) {
            return items.into_iter().map(|item| (*child, item, true)).collect();
        }
        let entries = self.document.entries_of(node).unwrap_or_default();
        if place == "run" && !entries.is_empty() {
            return vec![("step", node, true)];
        }
        let known = keys_of(place);
        let child = |entry: &crate::yaml::MapEntry| {
            let key = self.document.key_text(entry.key);
            if let Some((_, child)) = of_place(key).or_else(|| of_place("*")) {
                return Some((*child, entry.value, true));
            }
            // A key of this map is not another one under a wrong name.
            if known.contains(&key) {
                return None;
            }
            let meant = correct_key(key, known).filter(|meant| self.document.entry_of(node, meant).is_none())?;
            of_place(meant).map(|(_, child)| (*child, entry.value, false))
        };
        entries.iter().filter_map(child).collect()
    }
}
