//! Keys that are indented too far or too little, and so belong to another map than they were meant for.
//!
//! They are recognized by what they hold: `text` beside prompts is a key of the one above, a map of the keys of a prompt
//! in a prompt is the next one.

use super::Corrector;
use super::kind::MapKind;
use super::type_expression::type_of;
use crate::diagnostic::{Code, count_noun};
use crate::manifest::Manifest;
use crate::yaml::{MapEntry, NodeId, struct_keys};

/// Keys of a tool, a prompt or a resource that nothing in a run is called.
const LISTED_KEYS: &[&str] =
    &["title", "description", "annotations", "inputSchema", "rateLimit", "concurrency", "hidden"];

impl Corrector<'_> {
    /// Moves what is indented wrongly to where it belongs, in the sections of a manifest and in their entries.
    pub(super) fn indentation(&mut self, root: NodeId) {
        for kind in MapKind::SECTIONS {
            self.unindented_entries(root, kind);
            if let Some(section) = self.document.entry_of(root, kind.section()) {
                self.unindented_keys(section.value, kind);
                self.nested_sections(root, section, kind);
                self.nested_entries(section.value, kind);
            }
        }
        self.entries_without_section(root);
    }

    /// Entries at the top of a file that has none of these sections.
    fn entries_without_section(&mut self, root: NodeId) {
        let manifest_keys = struct_keys::<Manifest>();
        for kind in [MapKind::Prompt, MapKind::Tool, MapKind::Resource] {
            let is_entry = |entry: &MapEntry| {
                let key = self.document.key_text(entry.key);
                let has_content =
                    kind.content_keys().iter().any(|key| self.document.entry_of(entry.value, key).is_some());
                !manifest_keys.contains(&key)
                    && !key.starts_with("x-")
                    && has_content
                    && self.looks_like(entry.value, kind)
            };
            let entries = self.document.entries_of(root).unwrap_or_default();
            let moved: Vec<MapEntry> = entries.iter().filter(|entry| is_entry(entry)).copied().collect();
            self.nest(root, kind.section(), moved);
        }
    }

    /// Keys that are indented wrongly in an entry.
    pub(super) fn indentation_of(&mut self, place: &str, entry: NodeId) {
        let Some(kind) =
            [MapKind::Prompt, MapKind::Tool, MapKind::Resource].into_iter().find(|kind| kind.place() == place)
        else {
            return;
        };
        if let Some(arguments) = self.document.entry_of(entry, "arguments")
            && !["properties", "type"].iter().all(|key| self.document.entry_of(arguments.value, key).is_some())
        {
            self.argument_indentation(entry, arguments, kind);
        }
        let Some(run) = self.document.entry_of(entry, "run") else { return };
        if self.is_null(run.value) {
            self.unindented_values(entry, run, |corrector, key| {
                let text = corrector.document.key_text(key.key);
                MapKind::Step.keys().contains(&text) && !kind.keys().contains(&text)
            });
        }
        self.nested_keys(entry, run, run.value, |corrector, key| {
            let key = corrector.document.key_text(key.key);
            let is_free = corrector.document.entry_of(entry, key).is_none();
            is_free && LISTED_KEYS.contains(&key) && kind.keys().contains(&key)
        });
    }

    /// Arguments, and keys of the entry beside and below `arguments`, that are not indented as they should be.
    fn argument_indentation(&mut self, entry: NodeId, arguments: MapEntry, kind: MapKind) {
        if self.is_null(arguments.value) {
            self.unindented_values(entry, arguments, |corrector, key| {
                let is_key = kind.keys().contains(&corrector.document.key_text(key.key));
                !is_key && corrector.looks_like(key.value, MapKind::Argument)
            });
        }
        self.unindented_keys(arguments.value, MapKind::Argument);
        self.nested_entries(arguments.value, MapKind::Argument);
        let content = kind.content_keys();
        if content.iter().any(|key| self.document.entry_of(entry, key).is_some()) {
            return;
        }
        self.nested_keys(entry, arguments, arguments.value, |corrector, key| {
            content.contains(&corrector.document.key_text(key.key)) && corrector.is_content(key.value)
        });
        for argument in self.document.entries_of(arguments.value).unwrap_or_default() {
            self.nested_keys(entry, arguments, argument.value, |corrector, key| {
                content.contains(&corrector.document.key_text(key.key))
            });
        }
    }

    /// Entries beside the key without a value that they belong to.
    fn unindented_values(&mut self, map: NodeId, owner: MapEntry, is_value: impl Fn(&Self, MapEntry) -> bool) {
        let entries = self.document.entries_of(map).unwrap_or_default();
        let after = entries.iter().skip_while(|entry| entry.key != owner.key).skip(1);
        let run: Vec<MapEntry> = after.take_while(|entry| is_value(self, **entry)).copied().collect();
        self.move_unindented(map, owner, &run, self.column_of(owner.key).map(|column| column + 2));
    }

    /// Whether a value below `arguments` is that of the entry, and no argument.
    fn is_content(&self, value: NodeId) -> bool {
        match self.document.string_of(value) {
            Some(text) => type_of(text).is_none(),
            None => self.document.items_of(value).is_some() || self.looks_like(value, MapKind::Step),
        }
    }

    /// Entries beside their section: `greet:` in the column of `prompts:`.
    fn unindented_entries(&mut self, root: NodeId, kind: MapKind) {
        let manifest_keys = struct_keys::<Manifest>();
        let entries = self.document.entries_of(root).unwrap_or_default();
        let Some(at) = entries.iter().position(|entry| self.document.key_text(entry.key) == kind.section()) else {
            return;
        };
        let is_entry = |entry: &&MapEntry| {
            let key = self.document.key_text(entry.key);
            !manifest_keys.contains(&key) && !key.starts_with("x-") && self.looks_like(entry.value, kind)
        };
        let run: Vec<MapEntry> = entries.iter().skip(at + 1).take_while(is_entry).copied().collect();
        let Some(section) = entries.get(at).copied() else { return };
        let inside = self.document.entries_of(section.value).unwrap_or_default();
        let is_map = self.is_null(section.value) || self.document.entries_of(section.value).is_some();
        let column = inside
            .first()
            .map_or_else(|| self.column_of(section.key).map(|column| column + 2), |first| self.column_of(first.key));
        if is_map {
            self.move_unindented(root, section, &run, column);
        }
    }

    /// Keys of an entry beside its name.
    pub(super) fn unindented_keys(&mut self, map: NodeId, kind: MapKind) {
        let Some(entries) = self.document.entries_of(map) else { return };
        for (at, owner) in entries.iter().enumerate() {
            if !self.is_null(owner.value) {
                continue;
            }
            let is_key = |entry: &&MapEntry| {
                let key = self.document.key_text(entry.key);
                let is_entry = match kind {
                    MapKind::Argument => self.document.entries_of(entry.value).is_some(),
                    _ => self.looks_like(entry.value, kind),
                };
                kind.keys().contains(&key) && !self.is_null(entry.value) && !is_entry
            };
            let run: Vec<MapEntry> = entries.iter().skip(at + 1).take_while(is_key).copied().collect();
            if self.move_unindented(map, *owner, &run, self.column_of(owner.key).map(|column| column + 2)) {
                return self.unindented_keys(map, kind);
            }
        }
    }

    /// A section in another one, or in an entry of it: `tools:` below `prompts:`.
    fn nested_sections(&mut self, root: NodeId, section: MapEntry, kind: MapKind) {
        let mut maps = vec![section.value];
        maps.extend(self.document.entries_of(section.value).unwrap_or_default().iter().map(|entry| entry.value));
        for map in maps {
            let keys = self.document.entries_of(map).unwrap_or_default();
            let nested = |entry: &&MapEntry| {
                let key = self.document.key_text(entry.key);
                let other = MapKind::SECTIONS.into_iter().find(|other| other.section() == key && *other != kind);
                other.is_some_and(|other| self.holds_entries(entry.value, other, kind))
            };
            let Some(inner) = keys.iter().find(nested).copied() else { continue };
            let is_last = keys.last().is_some_and(|last| last.key == inner.key);
            self.move_nested(map, root, &[inner], section, is_last);
        }
    }

    /// Whether a map holds entries of a kind, and is not itself an entry of the other kind.
    fn holds_entries(&self, map: NodeId, kind: MapKind, outer: MapKind) -> bool {
        let entries = self.document.entries_of(map).unwrap_or_default();
        let is_entry = |entry: &MapEntry| {
            !outer.keys().contains(&self.document.key_text(entry.key)) && self.looks_like(entry.value, kind)
        };
        !entries.is_empty() && entries.iter().all(is_entry)
    }

    /// Entries in the entry above: `thank:` in the column of the `text` of `greet`.
    pub(super) fn nested_entries(&mut self, section: NodeId, kind: MapKind) {
        for outer in self.document.entries_of(section).unwrap_or_default() {
            let keys = self.document.entries_of(outer.value).unwrap_or_default();
            let is_entry = |entry: &MapEntry| {
                let key = self.document.key_text(entry.key);
                !kind.keys().contains(&key) && !key.starts_with("x-") && self.looks_like(entry.value, kind)
            };
            let Some(at) = keys.iter().position(is_entry) else { continue };
            let nested: Vec<MapEntry> = keys.iter().skip(at).copied().collect();
            let is_last = nested.iter().all(is_entry);
            let nested: Vec<MapEntry> = nested.into_iter().filter(is_entry).collect();
            if self.lines_of(&nested).is_some() {
                self.move_nested(outer.value, section, &nested, outer, is_last);
            }
        }
    }

    /// Keys of an entry that are in a map of it, such as `text` below `arguments`: the last ones of the map.
    pub(super) fn nested_keys(
        &mut self,
        entry: NodeId,
        outer: MapEntry,
        map: NodeId,
        is_key: impl Fn(&Self, MapEntry) -> bool,
    ) {
        let keys = self.document.entries_of(map).unwrap_or_default();
        let Some(at) = keys.iter().position(|key| is_key(self, *key)) else { return };
        let rest: Vec<MapEntry> = keys.iter().skip(at).copied().collect();
        let nested: Vec<MapEntry> = rest.iter().copied().filter(|key| is_key(self, *key)).collect();
        if self.lines_of(&nested).is_some() {
            self.move_nested(map, entry, &nested, outer, nested.len() == rest.len());
        }
    }

    /// Moves entries that belong beside `outer` and are in it.
    fn move_nested(&mut self, from: NodeId, to: NodeId, entries: &[MapEntry], outer: MapEntry, are_last: bool) {
        let Some(first) = entries.first() else { return };
        let (name, owner) = (self.document.key_text(first.key), self.document.key_text(outer.key));
        let message = format!("`{name}` is indented too far: it is in `{owner}`");
        let help = format!("write it in the column of `{owner}`");
        self.report_indentation(entries, self.column_of(outer.key).filter(|_| are_last), message, help);
        self.move_entries(from, to, entries);
    }

    /// Moves entries that are on lines of their own beside the key that they belong to.
    fn move_unindented(&mut self, map: NodeId, owner: MapEntry, entries: &[MapEntry], column: Option<usize>) -> bool {
        let (Some(first), Some(_)) = (entries.first(), self.lines_of(entries)) else { return false };
        let (name, above) = (self.document.key_text(first.key), self.document.key_text(owner.key));
        let all = if entries.len() > 1 { "it, and what follows," } else { "it" };
        let message = format!("`{name}` is not indented below `{above}`");
        let help = match self.column_of(first.key).and_then(|from| column?.checked_sub(from)) {
            Some(more) => format!("indent {all} by {}", count_noun(more, "more space")),
            None => format!("indent {all} further than `{above}`"),
        };
        self.report_indentation(entries, column, message, help);
        self.move_entries(map, owner.value, entries);
        true
    }

    /// Reports entries at the first of them, with their lines in the column where they belong.
    fn report_indentation(&mut self, entries: &[MapEntry], column: Option<usize>, message: String, help: String) {
        let Some(first) = entries.first() else { return };
        let at = self.span(first.key);
        let fix = self.lines_of(entries).and_then(|lines| Some((lines.span, self.moved_lines(&lines, column?)?)));
        let diagnostic = self.report.error(Code::Indentation, at, message).help(help);
        if let Some((span, text)) = fix {
            diagnostic.fix(span, text);
        }
    }

    /// Reads entries as those of another map, unless a name is there already.
    pub(super) fn move_entries(&mut self, from: NodeId, to: NodeId, moved: &[MapEntry]) {
        let mut rest = self.document.entries_of(from).unwrap_or_default();
        rest.retain(|entry| !moved.iter().any(|moved| moved.key == entry.key));
        self.set_entries(from, rest);
        let mut entries = self.document.entries_of(to).unwrap_or_default();
        for entry in moved {
            let name = self.document.key_text(entry.key);
            if !entries.iter().any(|other| self.document.key_text(other.key) == name) {
                entries.push(*entry);
            }
        }
        self.set_entries(to, entries);
    }

    /// Whether a value is a map of keys of this kind alone.
    pub(super) fn looks_like(&self, node: NodeId, kind: MapKind) -> bool {
        let entries = self.document.entries_of(node).unwrap_or_default();
        !entries.is_empty() && entries.iter().all(|entry| kind.keys().contains(&self.document.key_text(entry.key)))
    }
}
