//! Lists of maps with a `name`, where a map by name is expected.

use std::ops::Range;

use super::argument::names_file;
use super::kind::MapKind;
use super::{Correction, Corrector};
use crate::yaml::{MapEntry, NodeId, flow_scalar};

/// One item of a list, and its name.
struct NamedItem {
    item: NodeId,
    name: String,
    /// The entry of `name`; `None` where the item is the name itself.
    entry: Option<MapEntry>,
    /// The other entries.
    others: Vec<MapEntry>,
}

impl Corrector<'_> {
    /// `- TOKEN=abc` in the variables of the manifest, as in the file of a container.
    pub(super) fn assigned_variables(&mut self, list: NodeId) {
        let written = |value: &str| match value.is_empty() || value.contains('$') {
            true => "{}".to_owned(),
            false => format!("{{ default: {} }}", flow_scalar(value)),
        };
        self.assignments(list, written, |corrector, _| corrector.document.add_map(Vec::new(), corrector.span(list)));
    }

    /// The same in the environment of a program.
    pub(super) fn assigned_values(&mut self, list: NodeId) {
        self.assignments(list, flow_scalar, |corrector, value| {
            corrector.document.add_string(value, corrector.span(list))
        });
    }

    /// A map of the values, as it is written, and as a node.
    fn assignments(
        &mut self,
        list: NodeId,
        written: impl Fn(&str) -> String,
        node: impl Fn(&mut Self, &str) -> NodeId,
    ) {
        let items = self.document.items_of(list).unwrap_or_default();
        let texts: Option<Vec<String>> =
            items.iter().map(|item| self.document.string_of(*item).map(str::to_owned)).collect();
        let Some(texts) = texts.filter(|texts| texts.iter().any(|text| text.contains('='))) else { return };
        let span = self.span(list);
        let mut entries = Vec::new();
        let mut suggestion_text = Vec::new();
        for text in &texts {
            let (name, value) = text.split_once('=').unwrap_or((text, ""));
            let key = self.document.add_string(name, span);
            entries.push(MapEntry { key, value: node(self, value) });
            suggestion_text.push(format!("{name}: {}", written(value)));
        }
        let node = self.document.add_map(entries, span);
        let text = format!("{{ {} }}", suggestion_text.join(", "));
        self.replace(list, "a map", Correction { text, is_certain: false, node });
    }

    /// `- { type: function, function: { name, parameters } }`, as the APIs of models have it.
    pub(super) fn function_list(&mut self, list: NodeId) {
        let items = self.document.items_of(list).unwrap_or_default();
        let function = |item: &NodeId| {
            let function = self.document.entry_of(*item, "function")?.value;
            let name = self.document.string_of(self.document.entry_of(function, "name")?.value)?;
            Some((name.to_owned(), self.document.entry_of(function, "description").map(|entry| entry.value)))
        };
        let Some(found) = items.iter().map(function).collect::<Option<Vec<_>>>().filter(|found| !found.is_empty())
        else {
            return;
        };
        let texts = found.iter().map(|(name, description)| {
            let description = description.map(|node| self.flow_text(node)).filter(|text| !text.contains('\n'));
            let description = description.unwrap_or_else(|| "…".to_owned());
            format!("{name}: {{ description: {description}, arguments: {{ … }}, run: {{ … }} }}")
        });
        let text = format!("{{ {} }}", texts.collect::<Vec<_>>().join(", "));
        let node = self.document.add_map(Vec::new(), self.span(list));
        self.replace(list, "a map", Correction { text, is_certain: false, node });
    }

    /// A list of texts, or of files, where prompts, tools or resources by name are due.
    pub(super) fn texts_as_map(&mut self, list: NodeId, kind: MapKind) {
        let items = self.document.items_of(list).unwrap_or_default();
        let Some(first) = items.iter().find_map(|item| self.document.string_of(*item)) else { return };
        let path = first.strip_prefix("file://").unwrap_or(first);
        let text = match (names_file(path), kind) {
            (true, MapKind::Prompt) => format!("{{ NAME: {{ text: {{ file: {} }} }} }}", flow_scalar(path)),
            (_, MapKind::Prompt) => "{ NAME: { text: … } }".to_owned(),
            (_, MapKind::Tool) => "{ NAME: { description: …, run: … } }".to_owned(),
            _ => "{ NAME: { uri: …, text: … } }".to_owned(),
        };
        let node = self.document.add_map(Vec::new(), self.span(list));
        self.replace(list, "a map", Correction { text, is_certain: false, node });
    }

    /// Reads a list of names, or of maps with a `name`, as a map under `key`.
    pub(super) fn named_list_as_map(&mut self, list: NodeId, key: &str) {
        let Some(items) = self.document.items_of(list).filter(|items| !items.is_empty()) else { return };
        let named: Option<Vec<NamedItem>> = items.into_iter().map(|item| self.named_item(item)).collect();
        let Some(named) = named else { return };
        let span = self.span(list);
        let text = self.map_yaml(list, &named);
        let mut entries = Vec::new();
        for NamedItem { item, name, entry, others } in named {
            let key = entry.map_or(item, |entry| entry.value);
            let key = self.document.add_string(&name, self.span(key));
            let value = self.document.add_map(others, self.span(item));
            entries.push(MapEntry { key, value });
        }
        let node = self.document.add_map(entries, span);
        let is_certain = text.is_some();
        let text = text.unwrap_or_else(|| format!("{key}:\n  NAME: {{ … }}"));
        self.replace(list, "a map", Correction { text, is_certain, node });
    }

    fn named_item(&self, item: NodeId) -> Option<NamedItem> {
        if let Some(name) = self.document.string_of(item) {
            return Some(NamedItem { item, name: name.to_owned(), entry: None, others: Vec::new() });
        }
        let entry = self.document.entry_of(item, "name")?;
        let name = self.document.string_of(entry.value)?.to_owned();
        let mut others = self.document.entries_of(item)?;
        others.retain(|other| other.key != entry.key);
        Some(NamedItem { item, name, entry: Some(entry), others })
    }

    /// The map as it should be written, with the layout and the comments of the list. `None` where that is not certain.
    fn map_yaml(&self, list: NodeId, named: &[NamedItem]) -> Option<String> {
        let plain =
            |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
        let whole = self.raw(list);
        let is_block = whole.starts_with('-');
        if !named.iter().all(|item| plain(&item.name)) || !is_block && whole.contains('#') {
            return None;
        }
        let start = self.span(list).start as usize;
        let mut written = String::new();
        let mut copied = 0;
        for item in named {
            let place = self.item_range(item, start, is_block, whole)?;
            let text = if is_block { self.block_entry(item, start, whole)? } else { self.flow_entry(item) };
            written.push_str(whole.get(copied..place.start)?);
            written.push_str(&text);
            copied = place.end;
        }
        written.push_str(whole.get(copied..)?);
        if is_block {
            return Some(written);
        }
        let inside = written.strip_prefix('[')?.strip_suffix(']')?.trim();
        let inside = inside.strip_suffix(',').unwrap_or(inside).trim_end();
        Some(format!("{{ {inside} }}"))
    }

    /// The range of an item in the text of its list, with its dash.
    fn item_range(&self, item: &NamedItem, start: usize, is_block: bool, whole: &str) -> Option<Range<usize>> {
        let span = self.span(item.item);
        let (from, to) = ((span.start as usize).checked_sub(start)?, (span.end as usize).checked_sub(start)?);
        if !is_block {
            return Some(from..to);
        }
        let dash = whole.get(..from)?.trim_end().len().checked_sub(1)?;
        whole.get(dash..from)?.starts_with('-').then_some(dash..to)
    }

    /// `NAME: { … }` in a list of flow style.
    fn flow_entry(&self, item: &NamedItem) -> String {
        let others: Vec<String> =
            item.others.iter().map(|other| format!("{}: {}", self.raw(other.key), self.raw(other.value))).collect();
        match others.is_empty() {
            true => format!("{}: {{}}", item.name),
            false => format!("{}: {{ {} }}", item.name, others.join(", ")),
        }
    }

    /// `NAME:` and the lines below it, in a list of block style.
    fn block_entry(&self, item: &NamedItem, start: usize, whole: &str) -> Option<String> {
        let (Some(entry), false) = (item.entry, self.raw(item.item).starts_with('{')) else {
            return Some(self.flow_entry(item));
        };
        if item.others.is_empty() {
            return Some(format!("{}: {{}}", item.name));
        }
        let offset = |at: u32| (at as usize).checked_sub(start);
        let (item_start, item_end) = (offset(self.span(item.item).start)?, offset(self.span(item.item).end)?);
        let (name_start, name_end) = (offset(self.span(entry.key).start)?, offset(self.span(entry.value).end)?);
        if name_start == item_start {
            return Some(format!("{}:{}", item.name, whole.get(name_end..item_end)?));
        }
        // The line of the name goes, and the others move below it.
        let line_start = whole.get(..name_start)?.rfind('\n')?;
        let line_end = whole.get(name_end..).and_then(|rest| rest.find('\n')).map_or(whole.len(), |at| name_end + at);
        let indent = " ".repeat(name_start.checked_sub(line_start + 1)?);
        let before = whole.get(item_start..line_start)?;
        let after = whole.get(line_end.min(item_end)..item_end)?;
        let is_clean = whole.get(name_end..line_end)?.trim().is_empty();
        is_clean.then(|| format!("{}:\n{indent}{before}{after}", item.name))
    }
}
