//! The language of the rules: what is written, as a shape with captures, and what is meant, as a template of them.
//!
//! Both are YAML. In a shape, `$x` is any value, `$x:text` one of a shape (shape.rs), `$x=a|b` one of these words, and
//! `=a|b` the same without a name; `@args` is the words of a list (rules.rs). `{ a|b: … }` is a map with the first of
//! these keys, `a?` a key that may be absent, `with a` a key that stays, and `without a|b` says that none of these is
//! there; other keys stay too. In a template, `$x` is what was captured, `$x:name` that value changed (shape.rs), `$x...`
//! the items of a list, `$all` the whole value, and a key without its capture is left out.

use serde_json::{Map, Value};

use super::Corrector;
use super::rules::WORDS;
use crate::diagnostic::{Report, Span};
use crate::yaml::{MapEntry, NodeId, parse};

/// What a shape captured in a value.
#[derive(Default)]
pub(super) struct Captures {
    values: Vec<(String, NodeId)>,
    /// The entries of the map itself that the shape names.
    pub(super) entries: Vec<MapEntry>,
}

impl Captures {
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, NodeId)> {
        self.values.iter().map(|(name, node)| (name.as_str(), *node))
    }

    pub(super) fn replace(&mut self, old: NodeId, new: NodeId) {
        self.values.iter_mut().filter(|(_, node)| *node == old).for_each(|(_, node)| *node = new);
    }

    pub(super) fn get(&self, name: &str) -> Option<NodeId> {
        self.values.iter().find(|(captured, _)| captured == name).map(|(_, node)| *node)
    }
}

/// Reads a shape or a template of the table.
pub(super) fn read(text: &str) -> Value {
    let text = WORDS.iter().fold(text.to_owned(), |text, (name, words)| text.replace(name, words));
    let mut report = Report::default();
    let file = report.sources.add("rule", text);
    let document = parse(file, &mut report);
    document.map_or(Value::Null, |document| document.json(document.root()))
}

/// The keys of a map's shape that a match is about, one of which at least is there.
pub(super) fn named_keys(shape: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let is_about = |key: &&String| !key.starts_with("without ") && !key.starts_with("with ");
    shape.keys().filter(is_about).flat_map(|key| EntryPattern::of(key).keys.split('|'))
}

/// A key of a map's shape: `$name=a|b?`.
struct EntryPattern<'p> {
    name: &'p str,
    keys: &'p str,
    is_optional: bool,
}

impl EntryPattern<'_> {
    fn of(key: &str) -> EntryPattern<'_> {
        let (key, is_optional) = key.strip_suffix('?').map_or((key, false), |key| (key, true));
        let (name, keys) = key.strip_prefix('$').and_then(|named| named.split_once('=')).unwrap_or(("", key));
        EntryPattern { name, keys, is_optional }
    }
}

impl Corrector<'_> {
    /// What a shape captures in a value; `None` where the value has another shape.
    pub(super) fn capture(&self, shape: &Value, node: NodeId) -> Option<Captures> {
        let mut captures = Captures::default();
        let is_match = self.matches(shape, node, node, &mut captures, true);
        let names_entry = !shape.is_object() || !captures.entries.is_empty();
        (is_match && names_entry).then(|| {
            captures.values.push(("all".to_owned(), node));
            captures
        })
    }

    fn matches(&self, shape: &Value, node: NodeId, parent: NodeId, captures: &mut Captures, is_top: bool) -> bool {
        match shape {
            Value::String(text) => self.matches_scalar(text, node, parent, captures),
            Value::Array(shapes) => self.document.items_of(node).is_some_and(|items| {
                let mut pairs = shapes.iter().zip(&items);
                items.len() == shapes.len()
                    && pairs.all(|(shape, item)| self.matches(shape, *item, node, captures, false))
            }),
            Value::Object(keys) => {
                self.document.is_map(node)
                    && keys.iter().all(|(key, value)| self.matches_entry(key, value, node, captures, is_top))
            }
            other => self.document.json(node) == *other,
        }
    }

    fn matches_scalar(&self, shape: &str, node: NodeId, parent: NodeId, captures: &mut Captures) -> bool {
        let (name, rest) = match shape.strip_prefix('$') {
            Some(named) => named.split_at(named.find([':', '=']).unwrap_or(named.len())),
            None => ("", shape),
        };
        let is_match = match (rest.strip_prefix(':'), rest.strip_prefix('=')) {
            (Some(shape), _) => self.has_shape(shape, node, parent),
            (_, Some(words)) => {
                self.document.scalar_of(node).is_some_and(|text| words.split('|').any(|word| word == text))
            }
            _ => rest.is_empty() || self.document.scalar_of(node) == Some(rest),
        };
        if is_match && !name.is_empty() {
            captures.values.push((name.to_owned(), node));
        }
        is_match
    }

    fn matches_entry(&self, key: &str, value: &Value, map: NodeId, captures: &mut Captures, is_top: bool) -> bool {
        if let Some(absent) = key.strip_prefix("without ") {
            return absent.split('|').all(|key| self.document.entry_of(map, key).is_none());
        }
        let (key, is_context) = key.strip_prefix("with ").map_or((key, false), |key| (key, true));
        let EntryPattern { name, keys, is_optional } = EntryPattern::of(key);
        let entry = keys.split('|').find_map(|key| self.document.entry_of(map, key));
        let Some(entry) = entry else { return is_optional };
        if !self.matches(value, entry.value, map, captures, false) {
            return false;
        }
        if !name.is_empty() {
            captures.values.push((name.to_owned(), entry.key));
        }
        if is_top && !is_context {
            captures.entries.push(entry);
        }
        true
    }

    /// The value of a template; `None` where its capture is absent. What is new is located at `at`.
    pub(super) fn build(&mut self, template: &Value, captures: &Captures, at: Span) -> Option<NodeId> {
        match template {
            Value::String(text) => match text.strip_prefix('$') {
                Some(named) => self.captured(named, captures),
                None => Some(self.document.add_string(text, at)),
            },
            Value::Array(items) => {
                let mut nodes = Vec::new();
                for item in items {
                    let spread = item.as_str().and_then(|text| text.strip_prefix('$')?.strip_suffix("..."));
                    let node = match spread {
                        Some(named) => self.captured(named, captures),
                        None => self.build(item, captures, at),
                    };
                    let items = node.filter(|_| spread.is_some()).and_then(|list| self.document.items_of(list));
                    nodes.extend(items.unwrap_or_else(|| node.into_iter().collect()));
                }
                Some(self.document.add_list(nodes, at))
            }
            Value::Object(keys) => {
                let entries = self.build_entries(template, captures, at);
                // A map of nothing but what is absent.
                (keys.is_empty() || !entries.is_empty()).then_some(())?;
                Some(self.document.add_map(entries, at))
            }
            other => Some(self.document.add_plain(other.clone(), at)),
        }
    }

    /// The entries of a template that is a map.
    pub(super) fn build_entries(&mut self, template: &Value, captures: &Captures, at: Span) -> Vec<MapEntry> {
        let mut entries = Vec::new();
        for (key, value) in template.as_object().into_iter().flatten() {
            let Some(value) = self.build(value, captures, at) else { continue };
            let key = match key.strip_prefix('$') {
                Some(named) => self.captured(named, captures),
                None => Some(self.document.add_string(key, at)),
            };
            entries.extend(key.map(|key| MapEntry { key, value }));
        }
        entries
    }

    /// `x`, `x:change` and `x:change(y)` of a template.
    fn captured(&mut self, named: &str, captures: &Captures) -> Option<NodeId> {
        let Some((name, change)) = named.split_once(':') else { return captures.get(named) };
        let node = captures.get(name)?;
        let (change, other) = change.strip_suffix(')').and_then(|call| call.split_once('(')).unwrap_or((change, ""));
        let other = captures.get(other.trim_start_matches('$'));
        self.changed(change, node, other)
    }
}
