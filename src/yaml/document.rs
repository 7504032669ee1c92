//! The tree of one file, and the trees of one load.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use serde_yaml::granit_parser::ScalarStyle;

use super::pointer::segments;
use crate::diagnostic::{FileId, Span};
use crate::digest::Digest;

/// How many keys of a map are compared one by one.
pub(super) const MAX_LINEAR_KEYS: usize = 16;

/// A node of one [`Document`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NodeId(pub(super) u32);

/// A location in a manifest: a node of a document, and the span of its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Location {
    pub(super) file: FileId,
    pub(super) node: u32,
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Location {
    /// The span of the node's text.
    pub fn span(self) -> Span {
        Span { file: self.file, start: self.start, end: self.end }
    }

    pub fn file(self) -> FileId {
        self.file
    }

    /// The same in a file with another id.
    #[must_use]
    pub fn in_file(self, file: FileId) -> Location {
        Location { file, ..self }
    }

    /// The start of a file that has no tree, such as an included text.
    pub fn start_of(file: FileId) -> Location {
        Location { file, node: u32::MAX, start: 0, end: 0 }
    }

    /// The text of a file from `start` on, without a tree.
    pub fn text_from(file: FileId, start: usize) -> Location {
        let start = u32::try_from(start).unwrap_or(u32::MAX);
        Location { file, node: u32::MAX, start, end: start }
    }
}

impl From<Location> for Span {
    fn from(at: Location) -> Span {
        at.span()
    }
}

impl From<Location> for Option<Span> {
    fn from(at: Location) -> Option<Span> {
        Some(at.span())
    }
}

/// A key of a map and its value.
#[derive(Debug, Clone, Copy)]
pub struct MapEntry {
    pub key: NodeId,
    pub value: NodeId,
}

/// A scalar: its text, its style, and its value in the core schema of YAML 1.2.
#[derive(Debug, Clone)]
pub(super) struct ScalarNode {
    /// The text, where the value is not a string.
    source_text: Option<Box<str>>,
    pub(super) style: ScalarStyle,
    pub(super) value: Value,
}

impl ScalarNode {
    /// A scalar with this text and value.
    pub(super) fn new(text: &str, style: ScalarStyle, value: Value) -> ScalarNode {
        let source_text = (!value.is_string()).then(|| text.into());
        ScalarNode { source_text, style, value }
    }

    pub(super) fn text(&self) -> &str {
        self.source_text.as_deref().or(self.value.as_str()).unwrap_or_default()
    }
}

/// The kind and content of a node.
#[derive(Debug, Clone)]
pub(super) enum NodeKind {
    Scalar(ScalarNode),
    List(Vec<NodeId>),
    Map(Vec<MapEntry>),
}

#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) kind: NodeKind,
    pub(super) span: Span,
}

/// The tree of one file.
#[derive(Debug, Clone)]
pub struct Document {
    pub(super) file: FileId,
    pub(super) nodes: Vec<Node>,
    pub(super) root: NodeId,
    /// The entries of its maps with many keys, from the first look-up on, after which the tree stays as it is.
    large_maps: OnceLock<HashMap<NodeId, HashMap<Box<str>, MapEntry>>>,
}

impl Document {
    pub(super) fn new(file: FileId) -> Document {
        Document { file, nodes: Vec::new(), root: NodeId(0), large_maps: OnceLock::new() }
    }

    /// The file that was read.
    pub fn file(&self) -> FileId {
        self.file
    }

    pub fn root(&self) -> NodeId {
        self.root
    }

    /// Whether the file is empty except for comments.
    pub fn is_empty(&self) -> bool {
        matches!(
            self.node(self.root).map(|node| &node.kind),
            Some(NodeKind::Scalar(ScalarNode { value: Value::Null, .. }))
        )
    }

    pub(super) fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.0 as usize)
    }

    /// The location of a node.
    pub fn location(&self, id: NodeId) -> Location {
        let span = self.node(id).map_or(Span::start_of(self.file), |node| node.span);
        Location { file: self.file, node: id.0, start: span.start, end: span.end }
    }

    /// The location of the root.
    pub fn root_location(&self) -> Location {
        self.location(self.root)
    }

    /// Its texts, keys among them, in the order of the nodes.
    pub fn texts(&self) -> impl Iterator<Item = (&str, Location)> {
        self.nodes.iter().enumerate().filter_map(|(id, node)| match &node.kind {
            NodeKind::Scalar(scalar) => Some((scalar.value.as_str()?, self.location(NodeId(u32::try_from(id).ok()?)))),
            _ => None,
        })
    }

    /// The node as JSON.
    pub fn json(&self, id: NodeId) -> Value {
        match self.node(id).map(|node| &node.kind) {
            None => Value::Null,
            Some(NodeKind::Scalar(scalar)) => scalar.value.clone(),
            Some(NodeKind::List(items)) => items.iter().map(|item| self.json(*item)).collect(),
            Some(NodeKind::Map(entries)) => {
                entries.iter().map(|entry| (self.key_text(entry.key).to_owned(), self.json(entry.value))).collect()
            }
        }
    }

    /// The value as JSON, with each scalar that JSON would write otherwise as a string of what is written.
    pub fn json_as_spelled(&self, id: NodeId) -> Value {
        match self.node(id).map(|node| &node.kind) {
            None => Value::Null,
            Some(NodeKind::Scalar(scalar)) => {
                let json = scalar.value.to_string();
                let is_same = scalar.text().is_empty() || scalar.text() == json;
                if is_same { scalar.value.clone() } else { Value::from(scalar.text()) }
            }
            Some(NodeKind::List(items)) => items.iter().map(|item| self.json_as_spelled(*item)).collect(),
            Some(NodeKind::Map(entries)) => {
                let pair = |entry: &MapEntry| (self.key_text(entry.key).to_owned(), self.json_as_spelled(entry.value));
                entries.iter().map(pair).collect()
            }
        }
    }

    /// Writes what a value says, whatever its layout. Different values are written differently.
    fn write_canonical(&self, id: NodeId, bytes: &mut Vec<u8>) {
        let write_text = |bytes: &mut Vec<u8>, text: &str| {
            bytes.extend_from_slice(&(text.len() as u64).to_be_bytes());
            bytes.extend_from_slice(text.as_bytes());
        };
        match self.node(id).map(|node| &node.kind) {
            None => bytes.push(b'n'),
            Some(NodeKind::Scalar(scalar)) => {
                bytes.push(if scalar.value.is_string() { b't' } else { b'p' });
                write_text(bytes, scalar.text());
            }
            Some(NodeKind::List(items)) => {
                bytes.push(b'l');
                bytes.extend_from_slice(&(items.len() as u64).to_be_bytes());
                items.iter().for_each(|item| self.write_canonical(*item, bytes));
            }
            Some(NodeKind::Map(entries)) => {
                bytes.push(b'm');
                bytes.extend_from_slice(&(entries.len() as u64).to_be_bytes());
                for entry in entries {
                    write_text(bytes, self.key_text(entry.key));
                    self.write_canonical(entry.value, bytes);
                }
            }
        }
    }

    /// The text of a key; empty if it is not a scalar.
    pub fn key_text(&self, key: NodeId) -> &str {
        match self.node(key).map(|node| &node.kind) {
            Some(NodeKind::Scalar(scalar)) => scalar.text(),
            _ => "",
        }
    }

    /// Whether a key is `<<` as YAML means it: a quoted one is a name like any other.
    pub(super) fn is_merge_key(&self, key: NodeId) -> bool {
        let scalar = self.node(key).map(|node| &node.kind);
        matches!(scalar, Some(NodeKind::Scalar(scalar)) if scalar.style == ScalarStyle::Plain && scalar.text() == "<<")
    }

    /// The entries of the maps around an offset in the file, outermost first: it is in the key or the value of each.
    pub fn entries_around(&self, offset: u32) -> Vec<MapEntry> {
        let contains = |id: NodeId| {
            self.node(id)
                .is_some_and(|node| (node.span.start..node.span.end.max(node.span.start + 1)).contains(&offset))
        };
        let (mut id, mut entries) = (self.root(), Vec::new());
        while let Some(node) = self.node(id) {
            let inner = match &node.kind {
                NodeKind::Scalar(_) => None,
                NodeKind::List(items) => items.iter().copied().find(|item| contains(*item)),
                NodeKind::Map(all) => {
                    let around = all.iter().find(|entry| contains(entry.key) || contains(entry.value));
                    entries.extend(around);
                    around.map(|entry| entry.value)
                }
            };
            match inner.filter(|inner| *inner != id) {
                Some(inner) => id = inner,
                None => break,
            }
        }
        entries
    }

    /// The keys of the maps around an offset in the file, outermost first.
    fn keys_around(&self, offset: u32) -> Vec<&str> {
        let contains = |id: NodeId| {
            self.node(id)
                .is_some_and(|node| (node.span.start..node.span.end.max(node.span.start + 1)).contains(&offset))
        };
        let (mut id, mut keys) = (self.root(), Vec::new());
        while let Some(node) = self.node(id) {
            let inner = match &node.kind {
                NodeKind::Scalar(_) => None,
                NodeKind::List(items) => items.iter().copied().find(|item| contains(*item)),
                NodeKind::Map(entries) => entries.iter().find(|entry| contains(entry.value)).map(|entry| {
                    keys.push(self.key_text(entry.key));
                    entry.value
                }),
            };
            match inner {
                Some(inner) => id = inner,
                None => break,
            }
        }
        keys
    }

    fn entry_at_segment(&self, id: NodeId, step: &str) -> Option<(NodeId, NodeId)> {
        match &self.node(id)?.kind {
            NodeKind::Scalar(_) => None,
            NodeKind::List(items) => items.get(step.parse::<usize>().ok()?).map(|item| (*item, *item)),
            NodeKind::Map(entries) => {
                let entry = match entries.len() {
                    0..=MAX_LINEAR_KEYS => entries.iter().find(|entry| self.key_text(entry.key) == step),
                    _ => self.large_maps.get_or_init(|| self.index_large_maps()).get(&id)?.get(step),
                };
                entry.map(|entry| (entry.key, entry.value))
            }
        }
    }

    fn index_large_maps(&self) -> HashMap<NodeId, HashMap<Box<str>, MapEntry>> {
        let index = |(number, node): (usize, &Node)| match &node.kind {
            NodeKind::Map(entries) if entries.len() > MAX_LINEAR_KEYS => {
                // Of equal keys the first counts.
                let by_key = entries.iter().rev().map(|entry| (self.key_text(entry.key).into(), *entry)).collect();
                Some((NodeId(u32::try_from(number).unwrap_or(u32::MAX)), by_key))
            }
            _ => None,
        };
        self.nodes.iter().enumerate().filter_map(index).collect()
    }

    /// Follows a JSON pointer as far as it exists, and returns the key and the value there.
    fn resolve_pointer(&self, from: NodeId, pointer: &str) -> (NodeId, NodeId) {
        let mut pair = (from, from);
        for step in segments(pointer) {
            match self.entry_at_segment(pair.1, &step) {
                Some(next) => pair = next,
                None => break,
            }
        }
        pair
    }
}

/// The trees of one load.
#[derive(Debug, Default, Clone)]
pub struct Documents {
    /// A later load may share them.
    by_file: HashMap<FileId, Arc<Document>>,
}

impl Documents {
    /// Adds a tree and returns the location of its root.
    pub fn add(&mut self, document: Document) -> Location {
        self.share(Arc::new(document))
    }

    /// Adds a tree of another load, whose file has the same id in this one.
    pub fn share(&mut self, document: Arc<Document>) -> Location {
        let at = document.root_location();
        self.by_file.insert(document.file, document);
        at
    }

    /// Adds the trees of files that are read apart.
    pub fn extend(&mut self, next: Documents) {
        self.by_file.extend(next.by_file);
    }

    /// Drops the tree of a file.
    pub fn remove(&mut self, file: FileId) {
        self.by_file.remove(&file);
    }

    /// The tree of a file.
    pub fn get(&self, file: FileId) -> Option<&Arc<Document>> {
        self.by_file.get(&file)
    }

    /// The value at a JSON pointer below `at`, or its nearest ancestor that exists.
    pub fn value_at(&self, at: Location, pointer: &str) -> Location {
        self.entry_at(at, pointer).1
    }

    /// The key at a JSON pointer below `at`, or of its nearest ancestor that exists.
    pub fn key_at(&self, at: Location, pointer: &str) -> Location {
        self.entry_at(at, pointer).0
    }

    fn entry_at(&self, at: Location, pointer: &str) -> (Location, Location) {
        let Some(document) = self.get(at.file) else { return (at, at) };
        let (key, value) = document.resolve_pointer(NodeId(at.node), pointer);
        (document.location(key), document.location(value))
    }

    /// The value at a location as JSON.
    pub fn json(&self, at: Location) -> Value {
        self.get(at.file).map_or(Value::Null, |document| document.json(NodeId(at.node)))
    }

    /// The same, with each scalar that JSON would write otherwise as a string: `0x2a` stays `0x2a`.
    pub fn json_as_spelled(&self, at: Location) -> Value {
        self.get(at.file).map_or(Value::Null, |document| document.json_as_spelled(NodeId(at.node)))
    }

    /// The keys that lead to where a span begins, joined by `/`; empty in a file that is not a document.
    pub fn key_path(&self, at: Span) -> String {
        self.get(at.file).map(|document| document.keys_around(at.start).join("/")).unwrap_or_default()
    }

    /// Adds the value at a location to a digest; its layout does not count.
    pub fn digest(&self, at: Location, digest: &mut Digest) {
        if let Some(document) = self.get(at.file) {
            // Hashed at once: the hash of many short parts costs more than the copy.
            let mut bytes = Vec::new();
            document.write_canonical(NodeId(at.node), &mut bytes);
            digest.update(&bytes);
        }
    }

    /// The keys of the map at `at` with their locations, in the order written.
    pub fn keys_of(&self, at: Location) -> Vec<(String, Location)> {
        self.entries_of(at, |entry| entry.key)
    }

    /// The keys of the map at `at` with the locations of their values, in the order written.
    pub fn values_of(&self, at: Location) -> Vec<(String, Location)> {
        self.entries_of(at, |entry| entry.value)
    }

    fn entries_of(&self, at: Location, part: impl Fn(&MapEntry) -> NodeId) -> Vec<(String, Location)> {
        let Some(document) = self.get(at.file) else { return Vec::new() };
        match document.node(NodeId(at.node)).map(|node| &node.kind) {
            Some(NodeKind::Map(entries)) => entries
                .iter()
                .map(|entry| (document.key_text(entry.key).to_owned(), document.location(part(entry))))
                .collect(),
            _ => Vec::new(),
        }
    }
}
