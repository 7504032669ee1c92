//! Removes an entry of a map at the top of a file, and keeps every other byte.

use std::ops::Range;

use serde_json::{Map, Value};

use super::document::{MapEntry, NodeId};
use super::insert::{InsertError, Layout, NotBlockMap, parse_text};

/// The text of a YAML file (without a byte order mark) without an entry; its map goes with the last one, unless it
/// `keeps_map`. `None` if there is no such entry.
///
/// # Errors
/// No lines are certain to be the entry alone.
pub fn remove_entry(text: &str, section: &str, name: &str, keeps_map: bool) -> Result<Option<String>, InsertError> {
    let document = parse_text(text).ok_or(InsertError::Syntax)?;
    let mut expected = document.json(document.root());
    if !take(&mut expected, section, name) {
        return Ok(None);
    }
    let layout = || InsertError::Layout(section.to_owned());
    let ranges = Layout { text, document: &document }.ranges_of(section, name, keeps_map)?.ok_or_else(layout)?;
    let mut after = text.to_owned();
    for range in ranges.into_iter().rev() {
        after.get(range.clone()).ok_or_else(layout)?;
        after.replace_range(range, "");
    }
    let mut left = parse_text(&after).map(|document| document.json(document.root())).ok_or_else(layout)?;
    take(&mut left, section, name);
    // A file of comments is nothing.
    let is_right = left == expected || left.is_null() && expected == Value::Object(Default::default());
    if is_right { Ok(Some(after)) } else { Err(layout()) }
}

/// Takes an entry out of a value, with its map if that is empty.
fn take(value: &mut Value, section: &str, name: &str) -> bool {
    let Some(root) = value.as_object_mut() else { return false };
    let Some(map) = root.get_mut(section) else { return false };
    let is_there = map.as_object_mut().is_some_and(|entries| entries.shift_remove(name).is_some());
    if map.is_null() || map.as_object().is_some_and(Map::is_empty) {
        root.shift_remove(section);
    }
    is_there
}

impl Layout<'_> {
    /// The bytes of an entry, with those of its map if it is the only one, unless it `keeps_map`.
    fn ranges_of(&self, section: &str, name: &str, keeps_map: bool) -> Result<Option<Vec<Range<usize>>>, InsertError> {
        let layout = || InsertError::Layout(section.to_owned());
        let root = self.map_at(self.document.root(), 0).map_err(|why| why.within_section("the file"))?;
        let is_named = |entry: &&MapEntry, name: &str| self.document.key_text(entry.key) == name;
        let owner = root.iter().find(|entry| is_named(entry, section)).ok_or_else(layout)?;
        let (children, is_flow) = match self.map_at(owner.value, self.start_of(owner.key)) {
            Ok(children) => (children, false),
            Err(NotBlockMap::Flow) => (self.document.entries_of(owner.value).unwrap_or_default(), true),
            Err(why) => return Err(why.within_section(section)),
        };
        let at = children.iter().position(|child| is_named(&child, name)).ok_or_else(layout)?;
        Ok(match (children.len(), is_flow) {
            (1, true) if keeps_map => {
                self.only_entry(owner.value, children.first().ok_or_else(layout)?).map(|range| vec![range])
            }
            (1, true) => self.lines_of(owner, &root).map(|lines| vec![lines]),
            (1, false) if !keeps_map => self.lines_but_comments(owner, &root, &children),
            (_, true) => self.flow_range(&children, at).map(|range| vec![range]),
            (_, false) => self.child_lines(owner, &root, &children, at).map(|lines| vec![lines]),
        })
    }

    /// The lines of an entry at the top and of the only one in it, without comments that are not of that one.
    fn lines_but_comments(
        &self,
        entry: &MapEntry,
        root: &[MapEntry],
        children: &[MapEntry],
    ) -> Option<Vec<Range<usize>>> {
        let (all, child) = (self.lines_of(entry, root)?, self.child_lines(entry, root, children, 0)?);
        let start = self.line_start(self.start_of(entry.key));
        let end = start + self.text.get(start..)?.find('\n')? + 1;
        let has_comment = |range: Range<usize>| {
            let lines = self.text.get(range).unwrap_or_default().lines();
            lines.map(str::trim_start).any(|line| line.starts_with('#'))
        };
        let has_others = has_comment(end..child.start) || has_comment(child.end..all.end);
        Some(if has_others && end <= child.start { vec![start..end, child] } else { vec![all] })
    }

    /// The lines of an entry at the top.
    fn lines_of(&self, entry: &MapEntry, root: &[MapEntry]) -> Option<Range<usize>> {
        let column = self.column_of(entry)?;
        let region = self.region_of(entry, root);
        Some(self.with_empty_line(region.start..self.end_of_content(region, column + 1)))
    }

    /// The lines of an entry in another.
    fn child_lines(
        &self,
        outer: &MapEntry,
        root: &[MapEntry],
        children: &[MapEntry],
        at: usize,
    ) -> Option<Range<usize>> {
        let child = children.get(at)?;
        let column = self.column_of(child)?;
        let start = self.line_start(self.start_of(child.key));
        let next = children.get(at + 1).map(|next| self.line_start(self.start_of(next.key)));
        let end = next.unwrap_or(self.region_of(outer, root).end);
        Some(self.with_empty_line(start..self.end_of_content(start..end, column + 1)))
    }

    /// Lines with the empty one above them, where there is one below too.
    fn with_empty_line(&self, lines: Range<usize>) -> Range<usize> {
        let before = self.text.get(..lines.start).unwrap_or_default();
        let above = before.strip_suffix('\n').map_or("x", |before| before.rsplit('\n').next().unwrap_or_default());
        let below = self.text.get(lines.end..).and_then(|rest| rest.split('\n').next()).unwrap_or_default();
        let is_empty = !before.is_empty() && above.trim().is_empty() && below.trim().is_empty();
        if is_empty { lines.start - above.len() - 1..lines.end } else { lines }
    }

    /// The only entry in braces, with a space on both sides, or with only spaces between them.
    fn only_entry(&self, map: NodeId, entry: &MapEntry) -> Option<Range<usize>> {
        let (start, end) = (self.start_of(map), self.end_of(map));
        let inner = self.text.get(start..end)?.strip_prefix('{')?.strip_suffix('}')?;
        let (before, rest) = inner.split_at_checked(self.start_of(entry.key).checked_sub(start + 1)?)?;
        let after = rest.get(self.end_of(entry.value).checked_sub(self.start_of(entry.key))?..)?;
        if !before.trim().is_empty() || !after.trim().is_empty() {
            return Some(start + 1..end - 1);
        }
        let start = self.start_of(entry.key) - usize::from(before.ends_with(' '));
        Some(start..self.end_of(entry.value) + usize::from(after.starts_with(' ')))
    }

    /// An entry in braces, with the comma beside it.
    fn flow_range(&self, children: &[MapEntry], at: usize) -> Option<Range<usize>> {
        let start = |entry: &MapEntry| self.start_of(entry.key);
        match at.checked_sub(1).and_then(|before| children.get(before)) {
            Some(before) => Some(self.end_of(before.value)..self.end_of(children.get(at)?.value)),
            None => Some(start(children.get(at)?)..start(children.get(at + 1)?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_entry_leaves_the_rest_as_it_was() {
        for (before, after) in [
            ("packs:\n  a: 1\n  x: 2  # mine\n  b: 3\n", "packs:\n  a: 1\n  b: 3\n"),
            ("packs:\n  x:\n    git: y\n    # in it\n  # of a\n  a: 1\n", "packs:\n  # of a\n  a: 1\n"),
            ("a: 1\n\npacks:\n  x:\n    git: y\n", "a: 1\n"),
            ("a: 1\n\npacks:\n  x: 1\n\n# b\nb: 2\n", "a: 1\n\n# b\nb: 2\n"),
            ("packs:\r\n  a: 1\r\n  x: 2\r\n", "packs:\r\n  a: 1\r\n"),
            ("packs: { a: 1, x: { git: y }, b: 3 }\n", "packs: { a: 1, b: 3 }\n"),
            ("packs: { x: { git: y }, b: 3 } # c\n", "packs: { b: 3 } # c\n"),
            ("a: 1\npacks: { x: { git: y } }\nb: 2\n", "a: 1\nb: 2\n"),
            ("packs:\n  x: 1\n", ""),
            ("packs:\n  # of packs\n  x:\n    git: y\n\nb: 2\n", "  # of packs\n\nb: 2\n"),
            ("packs:\n  x:\n    git: y\n    # in x\n  # of packs\nb: 2\n", "  # of packs\nb: 2\n"),
        ] {
            assert_eq!(remove_entry(before, "packs", "x", false).unwrap().as_deref(), Some(after), "{before}");
        }
        assert_eq!(remove_entry("packs: { a: 1 }\n", "packs", "x", false), Ok(None));
        assert_eq!(remove_entry("a: 1\n", "packs", "x", false), Ok(None));
    }

    #[test]
    fn map_of_the_only_entry_stays_where_it_is_kept() {
        for (before, after) in [
            ("a: 1\npacks:\n  # of packs\n  x:\n    git: y\nb: 2\n", "a: 1\npacks:\n  # of packs\nb: 2\n"),
            ("packs: { x: { git: y } } # c\nb: 2\n", "packs: {} # c\nb: 2\n"),
        ] {
            assert_eq!(remove_entry(before, "packs", "x", true).unwrap().as_deref(), Some(after), "{before}");
        }
    }

    #[test]
    fn entry_without_lines_of_its_own_is_left() {
        for text in [
            "packs:\n  a: &a 1\n  x: &x { git: y }\nother: *x\n",
            "base: &b\n  x: 1\n  a: 2\npacks: *b\n",
            "packs:\n  ? x\n  : 1\n  a: 2\n",
        ] {
            assert!(remove_entry(text, "packs", "x", false).is_err(), "{text}");
        }
    }
}
