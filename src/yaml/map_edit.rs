//! Adds and replaces pairs of a map anywhere in a file, and keeps every other byte.

use std::ops::Range;

use serde_json::{Map, Value};

use super::document::MapEntry;
use super::document::{Document, NodeId};
use super::insert::{InsertError, Layout, parse_text};
use super::pointer::segments;

/// A key with its value, as it is written.
#[derive(Debug, Clone, Copy)]
pub struct NewPair<'a> {
    pub key: &'a str,
    pub value: &'a Value,
    /// Both in lines that are not indented, for a map with a key on each line.
    pub block: &'a str,
    /// Both on one line, for a map in braces.
    pub flow: &'a str,
}

/// Adds a pair to the map at a JSON pointer, and returns the text with it.
///
/// # Errors
/// No place is certain to change no other value.
pub fn add_pair(text: &str, map: &str, pair: &NewPair<'_>) -> Result<String, InsertError> {
    edit(
        text,
        map,
        |map_edit| map_edit.add(pair),
        |fields| drop(fields.insert(pair.key.to_owned(), pair.value.clone())),
    )
}

/// Replaces the pair with `key`, or removes it.
///
/// # Errors
/// As for [`add_pair`].
pub fn replace_pair(
    text: &str,
    map: &str,
    key: &str,
    replacement: Option<&NewPair<'_>>,
) -> Result<String, InsertError> {
    let change = |fields: &mut Map<String, Value>| {
        fields.shift_remove(key);
        fields.extend(replacement.map(|pair| (pair.key.to_owned(), pair.value.clone())));
    };
    edit(text, map, |map_edit| map_edit.replace(key, replacement), change)
}

/// The value of a YAML text, if it is valid.
pub fn json_of(text: &str) -> Option<Value> {
    parse_text(text).map(|document| document.json(document.root()))
}

/// Makes one change, if the value of the file is then as `change` says.
fn edit(
    text: &str,
    pointer: &str,
    place: impl FnOnce(&MapText<'_>) -> Option<TextChange>,
    change: impl FnOnce(&mut Map<String, Value>),
) -> Result<String, InsertError> {
    let document = parse_text(text).ok_or(InsertError::Syntax)?;
    let layout = || InsertError::Layout(segments(pointer).last().unwrap_or_default().into_owned());
    let edit = MapText::find(text, &document, pointer).and_then(|map| place(&map)).ok_or_else(layout)?;
    let mut after = text.to_owned();
    after.replace_range(edit.range, &edit.text);
    let mut expected = document.json(document.root());
    expected.pointer_mut(pointer).and_then(Value::as_object_mut).map(change).ok_or_else(layout)?;
    let is_right = json_of(&after).is_some_and(|json| json == expected);
    is_right.then_some(after).ok_or_else(layout)
}

/// A text for a range.
struct TextChange {
    range: Range<usize>,
    text: String,
}

/// A map in the text of a file.
struct MapText<'a> {
    layout: Layout<'a>,
    node: NodeId,
    /// Its entries, in the order written.
    entries: Vec<MapEntry>,
}

impl<'a> MapText<'a> {
    fn find(text: &'a str, document: &'a Document, pointer: &str) -> Option<MapText<'a>> {
        let mut node = document.root();
        for segment in segments(pointer) {
            node = match document.items_of(node) {
                Some(items) => *items.get(segment.parse::<usize>().ok()?)?,
                None => document.entry_of(node, &segment)?.value,
            };
        }
        let layout = Layout { text, document };
        let mut entries = document.entries_of(node)?;
        entries.sort_by_key(|entry| layout.start_of(entry.key));
        Some(MapText { layout, node, entries })
    }

    fn text(&self) -> &'a str {
        self.layout.text
    }

    fn is_flow(&self) -> bool {
        self.text().get(self.layout.start_of(self.node)..).is_some_and(|rest| rest.starts_with('{'))
    }

    fn add(&self, pair: &NewPair<'_>) -> Option<TextChange> {
        if self.is_flow() {
            let (at, text) = match self.entries.last() {
                Some(last) => (self.layout.end_of(last.value), format!(", {}", pair.flow)),
                None => (self.layout.start_of(self.node) + 1, format!(" {} ", pair.flow)),
            };
            return Some(TextChange { range: at..at, text });
        }
        let first = self.layout.start_of(self.entries.first()?.key);
        let column = first - self.layout.line_start(first);
        let end = self.layout.end_of(self.node);
        let region = self.layout.line_start(first)..self.layout.next_line_after(end);
        let at = self.layout.end_of_content(region, column);
        let line_break = self.line_break();
        let is_whole = at == 0 || self.text().get(..at)?.ends_with('\n');
        let lead = if is_whole { "" } else { line_break };
        let lines = self.indented(pair.block, column);
        Some(TextChange { range: at..at, text: format!("{lead}{}{lines}{line_break}", " ".repeat(column)) })
    }

    fn replace(&self, key: &str, replacement: Option<&NewPair<'_>>) -> Option<TextChange> {
        let document = self.layout.document;
        let number = self.entries.iter().position(|entry| document.key_text(entry.key) == key)?;
        let entry = self.entries.get(number)?;
        let range = self.layout.start_of(entry.key)..self.layout.end_of(entry.value);
        match (self.is_flow(), replacement) {
            (true, Some(pair)) => Some(TextChange { range, text: pair.flow.to_owned() }),
            (true, None) => self.remove_from_braces(number, range),
            (false, _) => self.replace_lines(range, replacement),
        }
    }

    /// Removes a pair with the comma beside it.
    fn remove_from_braces(&self, number: usize, range: Range<usize>) -> Option<TextChange> {
        let start_of = |entry: &MapEntry| self.layout.start_of(entry.key);
        let range = match (self.entries.get(number + 1), number.checked_sub(1)) {
            (Some(next), _) => range.start..start_of(next),
            (None, Some(before)) => self.layout.end_of(self.entries.get(before)?.value)..range.end,
            (None, None) => range,
        };
        Some(TextChange { range, text: String::new() })
    }

    /// Replaces a pair on its own line by lines. A comment after it gets a line above.
    fn replace_lines(&self, range: Range<usize>, replacement: Option<&NewPair<'_>>) -> Option<TextChange> {
        let line_start = self.layout.line_start(range.start);
        let indent = self.text().get(line_start..range.start)?;
        let after = self.text().get(range.end..)?;
        let rest = after.get(..after.find('\n').unwrap_or(after.len()))?;
        let comment = rest.trim();
        if !(comment.is_empty() || comment.starts_with('#')) {
            return None;
        }
        let pair = replacement.map(|pair| self.indented(pair.block, range.start - line_start));
        let lines: Vec<&str> =
            [comment, pair.as_deref().unwrap_or_default()].into_iter().filter(|line| !line.is_empty()).collect();
        let end = range.end + rest.len();
        if lines.is_empty() && indent.trim().is_empty() {
            return Some(TextChange { range: line_start..(end + 1).min(self.text().len()), text: String::new() });
        }
        let text = lines.join(&format!("{}{}", self.line_break(), " ".repeat(indent.len())));
        let carriage_return = if rest.ends_with('\r') { "\r" } else { "" };
        Some(TextChange { range: range.start..end, text: text + carriage_return })
    }

    /// Lines of which all but the first are indented.
    fn indented(&self, block: &str, column: usize) -> String {
        let indent = |line: &str| if line.is_empty() { String::new() } else { " ".repeat(column) + line };
        let mut lines = block.lines();
        let first = lines.next().unwrap_or_default().to_owned();
        let all: Vec<String> = std::iter::once(first).chain(lines.map(indent)).collect();
        all.join(self.line_break())
    }

    fn line_break(&self) -> &'static str {
        if self.text().contains("\r\n") { "\r\n" } else { "\n" }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pair(value: &Value) -> NewPair<'_> {
        NewPair {
            key: "mock",
            value,
            block: "mock:\n  exec:\n    stdout: |\n      a\n\n      b\n",
            flow: "mock: { exec: { stdout: \"a\\n\\nb\\n\" } }",
        }
    }

    fn value() -> Value {
        json!({ "exec": { "stdout": "a\n\nb\n" } })
    }

    #[test]
    fn pair_takes_the_place_of_another_and_comments_stay() {
        let lines = "mock:\n      exec:\n        stdout: |\n          a\n\n          b\n";
        for (before, after) in [
            (
                "# one\nt:\n  a:\n    live: true\n    x: 1 # two\n",
                format!("# one\nt:\n  a:\n    {lines}    x: 1 # two\n"),
            ),
            ("t:\n  a:\n    x: 1\n    live: true", format!("t:\n  a:\n    x: 1\n    {}", lines.trim_end())),
            ("t:\n  a:\n    live: true  # why\n", format!("t:\n  a:\n    # why\n    {lines}")),
            (
                "t:\n  a: { x: 1, live: true }\n",
                "t:\n  a: { x: 1, mock: { exec: { stdout: \"a\\n\\nb\\n\" } } }\n".to_owned(),
            ),
        ] {
            assert_eq!(replace_pair(before, "/t/a", "live", Some(&pair(&value()))), Ok(after));
        }
        let before = "t:\r\n  a:\r\n    live: true\r\n    x: 1\r\n";
        let after = format!("t:\n  a:\n    {lines}    x: 1\n").replace('\n', "\r\n");
        assert_eq!(replace_pair(before, "/t/a", "live", Some(&pair(&value()))), Ok(after));
    }

    #[test]
    fn pair_is_removed_with_its_line_or_comma() {
        for (before, after) in [
            ("a:\n  live: true\n  x: 1\n", "a:\n  x: 1\n"),
            ("a:\n  x: 1\n  live: true  # why\n", "a:\n  x: 1\n  # why\n"),
            ("a: { live: true, x: 1 }\n", "a: { x: 1 }\n"),
            ("a: { x: 1, live: true }\n", "a: { x: 1 }\n"),
        ] {
            assert_eq!(replace_pair(before, "/a", "live", None).as_deref(), Ok(after));
        }
    }

    #[test]
    fn pair_is_added_behind_the_others_of_its_map() {
        let lines = |indent: &str| {
            format!("{indent}mock:\n{indent}  exec:\n{indent}    stdout: |\n{indent}      a\n\n{indent}      b\n")
        };
        for (before, after, map) in [
            (
                "a:\n  x: 1\n  # mine\n\n# next\nb: 1\n",
                format!("a:\n  x: 1\n  # mine\n{}\n# next\nb: 1\n", lines("  ")),
                "/a",
            ),
            (
                "a:\n  - y: 1\n    x: |\n      q\n  - z: 1\n",
                format!("a:\n  - y: 1\n    x: |\n      q\n{}  - z: 1\n", lines("    ")),
                "/a/0",
            ),
            ("a:\n  x: 1", format!("a:\n  x: 1\n{}", lines("  ")), "/a"),
            ("a: { x: 1 }\n", "a: { x: 1, mock: { exec: { stdout: \"a\\n\\nb\\n\" } } }\n".to_owned(), "/a"),
            ("a: [{}]\n", "a: [{ mock: { exec: { stdout: \"a\\n\\nb\\n\" } } }]\n".to_owned(), "/a/0"),
        ] {
            assert_eq!(add_pair(before, map, &pair(&value())), Ok(after));
        }
    }

    #[test]
    fn shared_map_is_not_changed() {
        let text = "x-a: &a\n  live: true\nt: *a\n";
        assert_eq!(replace_pair(text, "/t", "live", None), Err(InsertError::Layout("t".to_owned())));
    }
}
