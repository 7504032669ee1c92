//! The part of a large description that `--only` names: the paths, and what they refer to. All else loses its value
//! before anything is parsed, so that the memory is that of what is kept; lines stay where they are.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use serde_json::Value;

use super::naming::kebab;
use super::operation::METHODS;
use super::operation_filter::{FilterMatch, OperationFilter, OperationNames};
use crate::yaml::json_of;

/// Maps at the root whose entries are kept where something refers to them.
const REFERENCED_MAPS: &[&str] = &["definitions", "parameters", "responses"];

/// An entry of a map.
struct MapEntry<'t> {
    key: &'t str,
    value: Range<usize>,
}

/// The text of a description, in block style where it is YAML.
struct DescriptionText<'t> {
    text: &'t str,
    is_json: bool,
}

/// The description with the operations alone that a filter takes, and with what these refer to. A text that is laid out
/// in another way is returned as it is.
pub(super) fn slice(bytes: &[u8], filter: &OperationFilter) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(bytes) else { return bytes.to_vec() };
    let description = DescriptionText { text, is_json: text.trim_start().starts_with('{') };
    let root = description.entries(0..text.len());
    let (mut dropped, mut kept) = (Vec::new(), Vec::new());
    let paths = root.iter().filter(|entry| entry.key == "paths");
    for path in paths.flat_map(|paths| description.entries(paths.value.clone())) {
        match description.is_chosen(&path, filter) {
            true => kept.push(path.value),
            false => dropped.push(path.value),
        }
    }
    let mut named = description.named_entries(&root);
    while let Some(range) = kept.pop() {
        for pointer in references(text.get(range).unwrap_or_default()) {
            kept.extend(named.remove(pointer));
        }
    }
    dropped.extend(named.into_values());
    dropped.sort_by_key(|range| range.start);
    description.without(&dropped).into_bytes()
}

impl<'t> DescriptionText<'t> {
    /// Whether a filter takes an operation of a path. What is somewhere else may be one.
    fn is_chosen(&self, path: &MapEntry<'t>, filter: &OperationFilter) -> bool {
        let names = OperationNames { id: None, tool: "", tag: None, path: path.key };
        if filter.choose_by(&names) != FilterMatch::Excluded {
            return true;
        }
        let text = self.text.get(path.value.clone()).unwrap_or_default();
        let item: Option<Value> = if self.is_json { serde_json::from_str(text).ok() } else { json_of(text) };
        let Some(item) = item else { return true };
        item.get("$ref").is_some()
            || METHODS.iter().filter_map(|(method, _)| item.get(*method)).any(|operation| {
                let id = operation.get("operationId").and_then(Value::as_str);
                let tag = operation.pointer("/tags/0").and_then(Value::as_str);
                let tool = kebab(id.unwrap_or_default(), 256);
                let names = OperationNames { id, tool: &tool, tag, path: path.key };
                filter.choose_by(&names) != FilterMatch::Excluded
            })
    }

    /// What a `$ref` may name, by its pointer. Security schemes are named otherwise, and stay.
    fn named_entries(&self, root: &[MapEntry<'t>]) -> HashMap<String, Range<usize>> {
        let mut maps: Vec<(String, Range<usize>)> = Vec::new();
        for entry in root {
            if entry.key == "components" {
                let sections = self.entries(entry.value.clone());
                let sections = sections.into_iter().filter(|section| section.key != "securitySchemes");
                maps.extend(sections.map(|section| (format!("#/components/{}", section.key), section.value)));
            } else if REFERENCED_MAPS.contains(&entry.key) {
                maps.push((format!("#/{}", entry.key), entry.value.clone()));
            }
        }
        let entries = maps.into_iter().flat_map(|(pointer, map)| {
            self.entries(map).into_iter().map(move |entry| (format!("{pointer}/{}", entry.key), entry.value))
        });
        entries.collect()
    }

    /// The text in which these values are empty.
    fn without(&self, dropped: &[Range<usize>]) -> String {
        let (mut text, mut at) = (String::new(), 0);
        for range in dropped {
            text.push_str(self.text.get(at..range.start).unwrap_or_default());
            text.push_str(if self.is_json { "null" } else { "" });
            let lines = self.text.get(range.clone()).unwrap_or_default().matches('\n').count();
            text.push_str(&"\n".repeat(lines));
            at = range.end;
        }
        text.push_str(self.text.get(at..).unwrap_or_default());
        text
    }

    /// The entries of the map in a range.
    fn entries(&self, range: Range<usize>) -> Vec<MapEntry<'t>> {
        if self.is_json { self.json_entries(range) } else { self.yaml_entries(range) }
    }

    fn yaml_entries(&self, range: Range<usize>) -> Vec<MapEntry<'t>> {
        let mut found: Vec<MapEntry<'t>> = Vec::new();
        let (mut at, mut indentation) = (range.start, None);
        for line in self.text.get(range.clone()).unwrap_or_default().split_inclusive('\n') {
            let start = at;
            at += line.len();
            let bare = line.trim_start();
            let indented = line.len() - bare.len();
            if bare.is_empty()
                || bare.starts_with(['#', '-', '%'])
                || indentation.is_some_and(|first| first != indented)
            {
                continue;
            }
            let Some(colon) = key_end(bare) else { continue };
            // The rest of the line of the map's own key is not of it.
            if start == range.start && range.start > 0 {
                continue;
            }
            indentation = Some(indented);
            if let Some(last) = found.last_mut() {
                last.value.end = start;
            }
            let key = bare.get(..colon).unwrap_or_default().trim().trim_matches(['"', '\'']);
            found.push(MapEntry { key, value: start + indented + colon + 1..range.end });
        }
        // A line feed before the next key stays with it.
        found.iter_mut().for_each(|entry| {
            let value = self.text.get(entry.value.clone()).unwrap_or_default();
            entry.value.end -= value.len() - value.trim_end_matches('\n').len();
        });
        found
    }

    fn json_entries(&self, range: Range<usize>) -> Vec<MapEntry<'t>> {
        let bytes = self.text.as_bytes();
        let mut found: Vec<MapEntry<'t>> = Vec::new();
        let (mut at, mut depth, mut key, mut value) = (range.start, 0_usize, None, None);
        let mut push = |key: &mut Option<Range<usize>>, value: &mut Option<usize>, end: usize| {
            if let (Some(key), Some(start)) = (key.take(), value.take()) {
                found.push(MapEntry { key: self.text.get(key).unwrap_or_default(), value: start..end });
            }
        };
        while at < range.end {
            match bytes.get(at) {
                Some(b'"') => {
                    let start = at + 1;
                    at = start;
                    while bytes.get(at).is_some_and(|byte| *byte != b'"') {
                        at += if bytes.get(at) == Some(&b'\\') { 2 } else { 1 };
                    }
                    if depth == 1 && value.is_none() {
                        key = Some(start..at);
                    }
                }
                Some(b':') if depth == 1 && value.is_none() => value = Some(at + 1),
                Some(b',') if depth == 1 => push(&mut key, &mut value, at),
                Some(b'{' | b'[') => depth += 1,
                Some(b'}' | b']') => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        push(&mut key, &mut value, at);
                        break;
                    }
                }
                _ => {}
            }
            at += 1;
        }
        found
    }
}

/// Where the key of a line of YAML ends.
fn key_end(line: &str) -> Option<usize> {
    let quote = line.chars().next().filter(|first| matches!(first, '"' | '\''));
    let from = quote.and_then(|quote| Some(line.get(1..)?.find(quote)? + 2)).unwrap_or(0);
    let rest = line.get(from..)?.trim_end();
    let end = rest.find(": ").or_else(|| rest.ends_with(':').then(|| rest.len() - 1))?;
    Some(from + end)
}

/// The pointers that the `$ref`s in a text name.
fn references(text: &str) -> HashSet<&str> {
    let written = text.split("$ref").skip(1).filter_map(|rest| {
        let rest = rest.trim_start_matches(['"', '\'', ':', ' ']);
        let end = rest.find(['"', '\'', '\n', '\r', ' ', '}', ',']).unwrap_or(rest.len());
        rest.get(..end).filter(|pointer| pointer.starts_with("#/"))
    });
    written.collect()
}
