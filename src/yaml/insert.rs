//! Adds an entry to a map at the top of a file, and keeps every other byte.

use std::ops::Range;

use serde_json::{Map, Value};

use super::document::MapEntry;
use super::document::{Document, NodeId};
use super::parse::{decode, parse};
use crate::diagnostic::Report;

/// The indentation of an entry as it is given.
const DEFAULT_INDENT: usize = 2;

/// An entry of a map at the top of a file, such as a prompt below `prompts`.
#[derive(Debug, Clone, Copy)]
pub struct NewEntry<'a> {
    /// The key of the map; it is added where there is none.
    pub section: &'a str,
    /// The key of the entry.
    pub name: &'a str,
    /// Its lines from `name:` on, indented by two spaces.
    pub text: &'a str,
    /// The same for a map in braces; without it, none is added there.
    pub flow: Option<&'a str>,
}

/// Where the entry is in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Insertion {
    /// The offset in the text.
    pub at: usize,
    /// What is there.
    pub text: String,
}

/// Why an entry cannot be added to a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InsertError {
    /// The text is not YAML.
    #[error("it is not valid YAML")]
    Syntax,
    /// The map has the key.
    #[error("the name is taken")]
    Exists,
    /// A map in braces.
    #[error("{0} is written in braces")]
    Flow(String),
    /// The map is elsewhere, at its anchor.
    #[error("{0} is an alias")]
    Alias(String),
    /// Not a map.
    #[error("{0} is not a map")]
    NotAMap(String),
    /// Another layout than a key on each line, or an addition that would change other values.
    #[error("the layout of `{0}` leaves no place for it")]
    Layout(String),
}

/// Finds the place of an entry in the text of a YAML file (without a byte order mark).
///
/// # Errors
/// No place is certain to change no other value.
pub fn insert_entry(text: &str, entry: &NewEntry<'_>) -> Result<Insertion, InsertError> {
    let document = parse_text(text).ok_or(InsertError::Syntax)?;
    let layout = Layout { text, document: &document };
    let insertion = layout.place(entry)?;
    let mut after = text.to_owned();
    after.insert_str(insertion.at, &insertion.text);
    let expected = expected_value(text, entry).ok_or(InsertError::Syntax)?;
    let is_right = parse_text(&after).is_some_and(|document| document.json(document.root()) == expected);
    is_right.then_some(insertion).ok_or_else(|| InsertError::Layout(entry.section.to_owned()))
}

pub(super) fn parse_text(text: &str) -> Option<Document> {
    let mut report = Report::default();
    let file = decode(text.as_bytes(), "", &mut report)?;
    parse(file, &mut report).filter(|_| !report.has_errors())
}

/// The value of the file with the entry.
fn expected_value(text: &str, entry: &NewEntry<'_>) -> Option<Value> {
    // Behind an entry the last line ends.
    let document = parse_text(&format!("{text}\n")).or_else(|| parse_text(text))?;
    let added = parse_text(entry.text)?;
    let mut whole = document.json(document.root());
    let root = object_in(&mut whole)?;
    let section = object_in(root.entry(entry.section).or_insert(Value::Null))?;
    section.extend(added.json(added.root()).as_object()?.clone());
    Some(whole)
}

/// The object of a value, which nothing becomes.
fn object_in(value: &mut Value) -> Option<&mut Map<String, Value>> {
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut()
}

const WHOLE_FILE: &str = "the file";

/// A text with its tree.
pub(super) struct Layout<'a> {
    pub(super) text: &'a str,
    pub(super) document: &'a Document,
}

impl Layout<'_> {
    fn place(&self, entry: &NewEntry<'_>) -> Result<Insertion, InsertError> {
        let layout = || InsertError::Layout(entry.section.to_owned());
        let root = self.map_at(self.document.root(), 0).map_err(|why| why.within_section(WHOLE_FILE))?;
        let column = match root.first() {
            Some(first) => self.column_of(first).ok_or_else(layout)?,
            None => 0,
        };
        let Some(section) = root.iter().find(|section| self.document.key_text(section.key) == entry.section) else {
            return Ok(self.place_section(&root, column, entry));
        };
        let children = match (self.map_at(section.value, self.start_of(section.key)), entry.flow) {
            (Err(NotBlockMap::Flow), Some(flow)) => return self.place_in_braces(section.value, flow, entry),
            (children, _) => children.map_err(|why| why.within_section(entry.section))?,
        };
        if children.iter().any(|child| self.document.key_text(child.key) == entry.name) {
            return Err(InsertError::Exists);
        }
        let child_column = match children.first() {
            Some(first) => self.column_of(first).filter(|child| *child > column).ok_or_else(layout)?,
            None => column + DEFAULT_INDENT,
        };
        let lines = indented(entry.text, child_column, child_column - column);
        let at = self.end_of_content(self.region_of(section, &root), child_column);
        Ok(self.insertion(at, self.is_spaced(&children), &lines))
    }

    /// The place of an entry in braces: after the others.
    fn place_in_braces(&self, map: NodeId, flow: &str, entry: &NewEntry<'_>) -> Result<Insertion, InsertError> {
        let children = self.document.entries_of(map).unwrap_or_default();
        if children.iter().any(|child| self.document.key_text(child.key) == entry.name) {
            return Err(InsertError::Exists);
        }
        let end = |child: &MapEntry| self.document.location(child.value).span().end as usize;
        match children.iter().map(end).max() {
            Some(at) => Ok(Insertion { at, text: format!(", {flow}") }),
            None => Ok(Insertion { at: self.start_of(map) + 1, text: format!(" {flow} ") }),
        }
    }

    /// The place of a missing section: after the others, before the tests.
    fn place_section(&self, root: &[MapEntry], column: usize, entry: &NewEntry<'_>) -> Insertion {
        let others = root.iter().rev().find(|other| self.document.key_text(other.key) != "tests");
        let at = match others.or(root.last()) {
            Some(last) => self.end_of_content(self.region_of(last, root), column + 1),
            None => self.end_of_content(0..self.text.len(), 0),
        };
        let mut lines = vec![format!("{}{}:", " ".repeat(column), entry.section)];
        lines.extend(indented(entry.text, column + DEFAULT_INDENT, DEFAULT_INDENT));
        self.insertion(at, self.is_spaced(root), &lines)
    }

    /// The entries of a block map, in the order written. `after` is where its key begins.
    pub(super) fn map_at(&self, node: NodeId, after: usize) -> Result<Vec<MapEntry>, NotBlockMap> {
        if self.start_of(node) < after {
            return Err(NotBlockMap::Alias);
        }
        let Some(mut entries) = self.document.entries_of(node) else {
            return if self.document.json(node).is_null() { Ok(Vec::new()) } else { Err(NotBlockMap::Other) };
        };
        let start = self.start_of(node);
        if self.text.get(start..).is_some_and(|rest| rest.starts_with('{')) {
            return Err(NotBlockMap::Flow);
        }
        // What `<<` merges is elsewhere: above the map, or deeper in it.
        entries.retain(|entry| self.start_of(entry.key) >= start);
        entries.sort_by_key(|entry| self.start_of(entry.key));
        let column = entries.first().and_then(|first| self.column_of(first));
        entries.retain(|entry| self.column_of(entry).is_none_or(|other| Some(other) == column));
        Ok(entries)
    }

    pub(super) fn start_of(&self, node: NodeId) -> usize {
        self.document.location(node).span().start as usize
    }

    pub(super) fn end_of(&self, node: NodeId) -> usize {
        self.document.location(node).span().end as usize
    }

    pub(super) fn line_start(&self, at: usize) -> usize {
        self.text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |line_break| line_break + 1)
    }

    /// The line where what follows an offset begins, or the end of the text.
    pub(super) fn next_line_after(&self, offset: usize) -> usize {
        let starts = self.document.nodes.iter().map(|node| node.span.start as usize);
        let next = starts.filter(|start| *start >= offset).min();
        next.map_or(self.text.len(), |next| self.line_start(next).max(offset))
    }

    /// The column of a key that is the first on its line.
    pub(super) fn column_of(&self, entry: &MapEntry) -> Option<usize> {
        let key = self.start_of(entry.key);
        let start = self.line_start(key);
        self.text.get(start..key).filter(|before| before.bytes().all(|byte| byte == b' ')).map(str::len)
    }

    /// The lines from an entry at the top up to the next one.
    pub(super) fn region_of(&self, entry: &MapEntry, root: &[MapEntry]) -> Range<usize> {
        let key = self.start_of(entry.key);
        let next = root.iter().map(|other| self.start_of(other.key)).filter(|other| *other > key).min();
        self.line_start(key)..next.map_or(self.text.len(), |next| self.line_start(next))
    }

    /// Whether an empty line comes before the last of several entries, or before the comments above it.
    fn is_spaced(&self, entries: &[MapEntry]) -> bool {
        let [_, .., last] = entries else { return false };
        let above = self.text.get(..self.line_start(self.start_of(last.key))).unwrap_or_default();
        above.lines().rev().find(|line| !line.trim_start().starts_with('#')).is_some_and(|line| line.trim().is_empty())
    }

    /// Puts lines at the beginning of a line, with an empty one above them where entries have that.
    fn insertion(&self, at: usize, spaced: bool, lines: &[String]) -> Insertion {
        let line_break = if self.text.contains("\r\n") { "\r\n" } else { "\n" };
        let before = self.text.get(..at).unwrap_or_default();
        let mut text = String::new();
        if !before.is_empty() && !before.ends_with('\n') {
            text.push_str(line_break);
        }
        if spaced {
            text.push_str(line_break);
        }
        lines.iter().for_each(|line| text.extend([line.as_str(), line_break]));
        Insertion { at, text }
    }

    /// Where the last line of a region ends that belongs to its entry: comments do from this column on.
    pub(super) fn end_of_content(&self, region: Range<usize>, column: usize) -> usize {
        let (mut at, mut content_end) = (region.start, region.start);
        for line in self.text.get(region.clone()).unwrap_or_default().split_inclusive('\n') {
            let indent = line.len() - line.trim_start().len();
            let in_scalar = self.document.is_in_scalar(at + indent);
            let is_marker = at > region.start && !in_scalar && (line.starts_with("...") || line.starts_with("---"));
            if is_marker {
                break;
            }
            let is_comment = line.trim_start().starts_with('#') && !in_scalar;
            at += line.len();
            if !line.trim().is_empty() && (!is_comment || indent >= column) {
                content_end = at;
            }
        }
        content_end
    }
}

/// Why a node is not a block map.
pub(super) enum NotBlockMap {
    Flow,
    Alias,
    Other,
}

impl NotBlockMap {
    pub(super) fn within_section(self, name: &str) -> InsertError {
        let label = if name == WHOLE_FILE { name.to_owned() } else { format!("`{name}`") };
        match self {
            NotBlockMap::Flow => InsertError::Flow(label),
            NotBlockMap::Alias => InsertError::Alias(label),
            NotBlockMap::Other => InsertError::NotAMap(label),
        }
    }
}

/// Lines with another indentation.
fn indented(text: &str, column: usize, step: usize) -> Vec<String> {
    let indent = |line: &str| {
        let spaces = line.len() - line.trim_start_matches(' ').len();
        let within = spaces / DEFAULT_INDENT * step + spaces % DEFAULT_INDENT;
        format!("{}{}", " ".repeat(column + within), line.trim_start_matches(' '))
    };
    text.lines().map(|line| if line.trim().is_empty() { String::new() } else { indent(line) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: NewEntry<'static> =
        NewEntry { section: "prompts", name: "new", text: "new:\n  text: |\n    Hi\n", flow: None };

    fn inserted(text: &str) -> Result<String, InsertError> {
        let Insertion { at, text: added } = insert_entry(text, &ENTRY)?;
        let mut after = text.to_owned();
        after.insert_str(at, &added);
        Ok(after)
    }

    #[test]
    fn entry_goes_behind_the_last_one_of_its_map() {
        for (before, after) in [
            ("prompts:\n  a: 1\ntools: 2\n", "prompts:\n  a: 1\n  new:\n    text: |\n      Hi\ntools: 2\n"),
            ("prompts:\n    a: 1\n", "prompts:\n    a: 1\n    new:\n        text: |\n            Hi\n"),
            ("prompts:\n  a: 1", "prompts:\n  a: 1\n  new:\n    text: |\n      Hi\n"),
            ("prompts:\r\n  a: 1\r\n", "prompts:\r\n  a: 1\r\n  new:\r\n    text: |\r\n      Hi\r\n"),
            (
                "prompts:\n  a: 1\n\n  b: 2  # two\n  # mine\n\n# the tools\ntools: 2\n",
                "prompts:\n  a: 1\n\n  b: 2  # two\n  # mine\n\n  new:\n    text: |\n      Hi\n\n# the tools\ntools: 2\n",
            ),
            (
                "prompts:\n  a: |\n    x\n    # y\n\n# z\n...\n",
                "prompts:\n  a: |\n    x\n    # y\n  new:\n    text: |\n      Hi\n\n# z\n...\n",
            ),
            ("prompts:\n  a: [\n    1\n    ]\n", "prompts:\n  a: [\n    1\n    ]\n  new:\n    text: |\n      Hi\n"),
            ("prompts:\n  a: |\n    x", "prompts:\n  a: |\n    x\n  new:\n    text: |\n      Hi\n"),
            ("prompts:  # none yet\ntools: 2\n", "prompts:  # none yet\n  new:\n    text: |\n      Hi\ntools: 2\n"),
        ] {
            assert_eq!(inserted(before).as_deref(), Ok(after));
        }
    }

    #[test]
    fn entry_goes_into_braces_where_it_has_a_form_for_them() {
        let entry = NewEntry { section: "packs", name: "new", text: "new:\n  a: 1\n", flow: Some("new: { a: 1 }") };
        for (before, after) in [
            ("packs: { a: 1 }\n", "packs: { a: 1, new: { a: 1 } }\n"),
            ("packs: {}\n", "packs: { new: { a: 1 } }\n"),
            ("packs: {\n  a: 1, # one\n}\nb: 2\n", "packs: {\n  a: 1, new: { a: 1 }, # one\n}\nb: 2\n"),
        ] {
            let Insertion { at, text } = insert_entry(before, &entry).unwrap();
            let mut inserted = before.to_owned();
            inserted.insert_str(at, &text);
            assert_eq!(inserted, after);
        }
        assert_eq!(insert_entry("packs: { new: 1 }\n", &entry), Err(InsertError::Exists));
    }

    #[test]
    fn missing_map_is_added_before_the_tests() {
        for (before, after) in [
            ("", "prompts:\n  new:\n    text: |\n      Hi\n"),
            ("folio: 1\ntests: {}\n", "folio: 1\nprompts:\n  new:\n    text: |\n      Hi\ntests: {}\n"),
            (
                "folio: 1\n\nserver: { name: x }\n\n# they run\ntests: {}\n",
                "folio: 1\n\nserver: { name: x }\n\nprompts:\n  new:\n    text: |\n      Hi\n\n# they run\ntests: {}\n",
            ),
        ] {
            assert_eq!(inserted(before).as_deref(), Ok(after));
        }
    }

    #[test]
    fn text_without_a_certain_place_is_refused() {
        for (text, why) in [
            ("prompts: { a: 1 }\n", InsertError::Flow("`prompts`".to_owned())),
            ("{ prompts: 1 }\n", InsertError::Flow("the file".to_owned())),
            ("x-a: &a\n  b: 1\nprompts: *a\n", InsertError::Alias("`prompts`".to_owned())),
            ("x-a: &a\n  prompts:\n    b: 1\n<<: *a\n", InsertError::Layout("prompts".to_owned())),
            ("prompts: [a]\n", InsertError::NotAMap("`prompts`".to_owned())),
            ("prompts:\n  ? a\n  : 1\n", InsertError::Layout("prompts".to_owned())),
            ("prompts: &a\n  b: 1\nx-a: *a\n", InsertError::Layout("prompts".to_owned())),
            ("prompts:\n  new: 1\n", InsertError::Exists),
            ("prompts: [\n", InsertError::Syntax),
        ] {
            assert_eq!(inserted(text), Err(why), "{text}");
        }
    }
}
