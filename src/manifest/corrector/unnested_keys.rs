//! Keys that stand beside the key below which they belong, such as `version` beside `server`.

use super::Corrector;
use crate::diagnostic::{Code, Span};
use crate::yaml::{MapEntry, NodeId};

impl Corrector<'_> {
    /// Reads these keys of a map as those of its key `parent`, and reports them once.
    pub(super) fn nest_keys(&mut self, map: NodeId, parent: &str, keys: &[&str]) {
        let entries = self.document.entries_of(map).unwrap_or_default();
        let moved: Vec<MapEntry> =
            entries.iter().copied().filter(|entry| keys.contains(&self.document.key_text(entry.key))).collect();
        let Some(first) = moved.first().copied() else { return };
        let owner = self.document.entry_of(map, parent);
        if owner.is_some_and(|owner| self.document.items_of(owner.value).is_some()) {
            return;
        }
        let (at, name) = (self.span(first.key), self.document.key_text(first.key).to_owned());
        let texts: Vec<String> = moved
            .iter()
            .map(|entry| format!("{}: {}", self.document.key_text(entry.key), self.flow_text(entry.value)))
            .collect();
        let mut suggestion_text = texts.join(", ");
        let lacks_name = parent == "server" && owner.is_none() && self.document.entry_of(map, "name").is_none();
        if lacks_name {
            suggestion_text = format!("name: my-server, {suggestion_text}");
        }
        let help = match suggestion_text.contains('\n') {
            true => format!("write it below `{parent}`"),
            false if owner.is_some() => format!("write `{suggestion_text}` in `{parent}`"),
            false => format!("write `{parent}: {{ {suggestion_text} }}`"),
        };
        let fix = self.nested_text(&entries, &moved, parent).filter(|_| owner.is_none() && !lacks_name);
        let message = format!("unknown key `{name}`: it belongs to `{parent}`");
        let diagnostic = self.report.error(Code::UnknownKey, at, message).help(help);
        if let Some((span, text)) = fix {
            diagnostic.fix(span, text);
        }
        self.nest(map, parent, &moved);
    }

    /// Neighbouring keys below another one, and where to write that.
    fn nested_text(&self, entries: &[MapEntry], moved: &[MapEntry], parent: &str) -> Option<(Span, String)> {
        let first = entries.iter().position(|entry| moved.iter().any(|moved| moved.key == entry.key))?;
        let is_run = entries.iter().skip(first).zip(moved).all(|(entry, moved)| entry.key == moved.key);
        is_run.then_some(())?;
        self.nested(entries, moved, &[parent])
    }

    fn nest(&mut self, map: NodeId, parent: &str, moved: &[MapEntry]) {
        let at = self.span(map);
        let owner = match self.document.entry_of(map, parent) {
            Some(owner) => owner.value,
            None => {
                let (key, value) = (self.document.add_string(parent, at), self.document.add_map(Vec::new(), at));
                let mut entries = self.document.entries_of(map).unwrap_or_default();
                entries.push(MapEntry { key, value });
                let all = self.document.add_map(entries, at);
                self.document.replace(map, all);
                value
            }
        };
        if parent == "server" {
            self.text_as_key(owner, "name");
        }
        self.move_entries(map, owner, moved);
    }
}
