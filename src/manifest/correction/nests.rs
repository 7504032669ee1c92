//! Keys beside the key below which they belong, such as `version` beside `server`.

use super::Corrector;
use super::kind::MapKind;
use super::suggestion::Suggestion;
use crate::action::Step;
use crate::diagnostic::{Code, Reporting};
use crate::manifest::{Expect, Manifest, Server};
use crate::yaml::{MapEntry, NodeId, struct_keys};

/// A place, the key below which keys belong, and these keys; those that are keys of the place itself stay.
struct Nest {
    place: &'static str,
    parent: &'static str,
    keys: fn() -> Vec<&'static str>,
    own: fn() -> &'static [&'static str],
}

const NESTS: &[Nest] = &[
    Nest {
        place: "manifest",
        parent: "server",
        keys: || struct_keys::<Server>().to_vec(),
        own: struct_keys::<Manifest>,
    },
    Nest {
        place: "tool",
        parent: "annotations",
        keys: || vec!["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"],
        own: || MapKind::Tool.keys(),
    },
    Nest {
        place: "tool",
        parent: "result",
        keys: || vec!["text", "select", "structuredContent"],
        own: || MapKind::Tool.keys(),
    },
    Nest { place: "tool", parent: "run", keys: run_keys, own: || MapKind::Tool.keys() },
    Nest {
        place: "prompt",
        parent: "run",
        // `prompt: Hello` is its text.
        keys: || run_keys().into_iter().filter(|key| *key != "prompt").collect(),
        own: || MapKind::Prompt.keys(),
    },
    Nest { place: "resource", parent: "run", keys: run_keys, own: || MapKind::Resource.keys() },
    Nest { place: "request", parent: "auth", keys: || vec!["bearer", "basic", "oauth2"], own: || &[] },
    Nest { place: "test", parent: "expect", keys: || struct_keys::<Expect>().to_vec(), own: || MapKind::Test.keys() },
];

/// Keys of a request, where it has a URL.
const REQUEST_KEYS: &[&str] =
    &["url", "method", "query", "headers", "auth", "json", "form", "body", "params", "data", "endpoint"];

/// Keys of a step, here and elsewhere.
fn run_keys() -> Vec<&'static str> {
    let mut keys = struct_keys::<Step>().to_vec();
    keys.extend(["command", "cmd", "program", "shell", "args", "argv"]);
    keys
}

impl Corrector<'_> {
    /// Reads the keys of a map that belong below one of its keys as those of that key, and reports them once.
    pub(super) fn nest_keys_of(&mut self, place: &str, map: NodeId) {
        for nest in NESTS.iter().filter(|nest| nest.place == place) {
            let (keys, own) = ((nest.keys)(), (nest.own)());
            let entries = self.document.entries_of(map).unwrap_or_default();
            let is_nested = |entry: &&MapEntry| {
                let key = self.document.key_text(entry.key);
                keys.contains(&key) && !own.contains(&key)
            };
            let moved: Vec<MapEntry> = entries.iter().filter(is_nested).copied().collect();
            self.nest(map, nest.parent, moved);
        }
        if place == "tool" {
            self.nest_request(map);
        }
    }

    /// `url` and what belongs to it in a tool, which belong in `http` of its `run`.
    fn nest_request(&mut self, tool: NodeId) {
        let has = |key: &str| self.document.entry_of(tool, key).is_some();
        if has("run") || !(has("url") || has("endpoint")) {
            return;
        }
        let entries = self.document.entries_of(tool).unwrap_or_default();
        let is_request = |entry: &&MapEntry| {
            let key = self.document.key_text(entry.key);
            REQUEST_KEYS.contains(&key) && !MapKind::Tool.keys().contains(&key)
        };
        let moved: Vec<MapEntry> = entries.iter().filter(is_request).copied().collect();
        let Some(first) = moved.first() else { return };
        let at = self.span(first.key);
        let request = self.document.add_map(moved.clone(), at);
        let http = MapEntry { key: self.document.add_string("http", at), value: request };
        self.nest_as(tool, "run", &moved, vec![http]);
    }

    pub(super) fn nest(&mut self, map: NodeId, parent: &str, moved: Vec<MapEntry>) {
        if parent == "run" && !self.is_action(map, &moved) {
            return;
        }
        let below = moved.clone();
        self.nest_as(map, parent, &moved, below);
    }

    /// Whether keys of a step in an entry are an action, and the entry has none.
    fn is_action(&self, entry: NodeId, moved: &[MapEntry]) -> bool {
        let run = self.document.entry_of(entry, "run");
        let is_action = |entry: &MapEntry| {
            let key = self.document.key_text(entry.key);
            ["command", "cmd", "program", "shell"].contains(&key)
                || crate::action::ACTIONS.iter().any(|action| action.key == key)
        };
        run.is_none_or(|run| self.is_null(run.value)) && moved.iter().any(is_action)
    }

    fn nest_as(&mut self, map: NodeId, parent: &str, moved: &[MapEntry], below: Vec<MapEntry>) {
        let Some(first) = moved.first().copied() else { return };
        let owner = self.document.entry_of(map, parent);
        if owner.is_some_and(|owner| self.document.items_of(owner.value).is_some()) {
            return;
        }
        let (at, name) = (self.span(first.key), self.document.key_text(first.key).to_owned());
        let mut inner = owner.and_then(|owner| self.document.entries_of(owner.value)).unwrap_or_default();
        let mut is_made_up = false;
        if parent == "server" && owner.is_none_or(|owner| self.document.scalar_of(owner.value).is_some()) {
            let named = owner.map(|owner| owner.value).filter(|name| self.document.string_of(*name).is_some());
            let lacks_name = !moved.iter().any(|entry| self.document.key_text(entry.key) == "name");
            is_made_up = named.is_none() && lacks_name;
            let value = named.or_else(|| is_made_up.then(|| self.document.add_string("my-server", at)));
            inner.extend(value.map(|value| MapEntry { key: self.document.add_string("name", at), value }));
        }
        let below_value = self.document.add_map(below.clone(), at);
        let mut reported = Vec::new();
        if parent == "run" {
            // What is wrong with a step beside `run` is told in place of where it belongs.
            self.parent = Some("run");
            ((), reported) = self.attempt(|corrector| corrector.visit("step", below_value));
            self.parent = None;
        }
        let is_reported = !reported.is_empty();
        self.report.extend(reported);
        let below = self.document.entries_of(below_value).unwrap_or_default();
        inner.extend(below.iter().copied());
        let value = self.document.add_map(inner, at);
        let key = self.document.add_string(parent, at);
        let shown = MapEntry { key, value: if owner.is_some() { below_value } else { value } };
        let Suggestion { shown, fix } = self.suggest_entries(map, moved, &[shown]);
        if !self.is_quiet && !is_reported {
            let words = if parent == "run" {
                "an action belongs in `run`".to_owned()
            } else {
                format!("it belongs to `{parent}`")
            };
            let help = match (shown.contains('\n'), owner) {
                (true, _) => format!("write it below `{parent}`"),
                (_, Some(_)) => format!("write `{}` in `{parent}`", self.entries_line(&below)),
                (_, None) => format!("write `{shown}`"),
            };
            let diagnostic =
                self.report.error(Code::UnknownKey, at, format!("unknown key `{name}`: {words}")).help(help);
            if let Some((span, text)) = fix.filter(|_| owner.is_none() && !is_made_up) {
                diagnostic.fix(span, text);
            }
        }
        let mut removed = moved.to_vec();
        removed.extend(owner);
        self.put_entries(map, &removed, vec![MapEntry { key, value }]);
    }
}
