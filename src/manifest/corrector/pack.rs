//! Packs as a list, and their permissions.

use super::{Correction, Corrector};
use crate::diagnostic::Code;
use crate::yaml::{MapEntry, NodeId, flow_scalar};

/// What stands for every permission elsewhere.
const ALL_WORDS: &[&str] = &["all", "*", "any", "true", "everything"];

const ALL_HELP: &str =
    "name each action that it needs, of `exec`, `script`, `http`, `ask`, `files` and `read`: `allow: [exec]`";

impl Corrector<'_> {
    /// `[notes]` in the place of `{ notes: { path: notes } }`.
    pub(super) fn folder_list(&mut self, folders: NodeId) {
        self.path_list(folders);
    }

    pub(super) fn packs(&mut self, packs: NodeId) {
        self.path_list(packs);
        for pack in self.document.entries_of(packs).unwrap_or_default() {
            self.text_as_key(pack.value, "path");
            self.with_value_of(pack.value, "allow", Corrector::permissions);
        }
    }

    /// `[./review]`, and `- path: ./review`.
    fn path_list(&mut self, packs: NodeId) {
        let Some(items) = self.document.items_of(packs).filter(|items| !items.is_empty()) else { return };
        let mut entries = Vec::new();
        let mut suggestion_text = Vec::new();
        for item in items {
            let place = self.document.entry_of(item, "path").or_else(|| self.document.entry_of(item, "git"));
            let named = self.document.entry_of(item, "name").map(|entry| entry.value);
            let Some(path) = self.document.string_of(place.map_or(item, |entry| entry.value)) else { return };
            let path = path.to_owned();
            let name =
                named.and_then(|name| self.document.string_of(name)).map_or_else(|| name_of(&path), str::to_owned);
            let mut keys = self.document.entries_of(item).unwrap_or_default();
            keys.retain(|key| Some(key.value) != named);
            if keys.is_empty() {
                let key = if path.contains("://") { "git" } else { "path" };
                let key = self.document.add_string(key, self.span(item));
                keys.push(MapEntry { key, value: self.document.add_copy(item) });
            }
            let texts =
                keys.iter().map(|key| format!("{}: {}", self.document.key_text(key.key), self.flow_text(key.value)));
            suggestion_text.push(format!("{name}: {{ {} }}", texts.collect::<Vec<_>>().join(", ")));
            let value = self.document.add_map(keys, self.span(item));
            entries.push(MapEntry { key: self.document.add_string(&name, self.span(item)), value });
        }
        let suggestion_text = suggestion_text.join(", ");
        let is_certain = !self.raw(packs).contains(['\n', '#']) && !suggestion_text.contains('\n');
        let text = if suggestion_text.contains('\n') {
            "{ NAME: { path: … } }".to_owned()
        } else {
            format!("{{ {suggestion_text} }}")
        };
        let node = self.document.add_map(entries, self.span(packs));
        self.replace(packs, "a map", Correction { text, is_certain, node });
    }

    /// `allow: all`, and `allow: exec`.
    fn permissions(&mut self, allow: NodeId) {
        let items = self.document.items_of(allow).unwrap_or_else(|| vec![allow]);
        let is_all = |item: &NodeId| self.document.scalar_of(*item).is_some_and(|text| ALL_WORDS.contains(&text));
        if let Some(wrong) = items.iter().copied().find(is_all) {
            let (at, text) = (self.span(wrong), self.document.scalar_of(wrong).unwrap_or_default().to_owned());
            self.report.error(Code::BadValue, at, format!("invalid permission `{text}`")).help(ALL_HELP);
            let every = ["exec", "script", "http", "ask", "files"].map(|name| self.document.add_string(name, at));
            let list = self.document.add_list(every.to_vec(), at);
            return self.document.replace(allow, list);
        }
        let names = self.document.string_of(allow).filter(|text| text.contains(',')).map(str::to_owned);
        let Some(names) = names else { return self.scalar_as_list(allow) };
        let names: Vec<&str> = names.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        let span = self.span(allow);
        let items = names.iter().map(|name| self.document.add_string(name, span)).collect();
        let text = format!("[{}]", names.iter().map(|name| flow_scalar(name)).collect::<Vec<_>>().join(", "));
        let node = self.document.add_list(items, span);
        self.replace(allow, "a list", Correction { text, is_certain: true, node });
    }
}

/// The name of a pack after the last part of its path or URL.
fn name_of(path: &str) -> String {
    let last = path.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
    let stem = last.strip_suffix(".git").unwrap_or(last);
    let is_name = |character: char| character.is_ascii_alphanumeric() || character == '-' || character == '_';
    let name: String = stem.chars().map(|character| if is_name(character) { character } else { '-' }).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "pack".to_owned() } else { name.to_owned() }
}
