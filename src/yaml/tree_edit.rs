//! Reads a document node by node, and replaces values of nodes.

use serde_json::Value;
use serde_yaml::granit_parser::ScalarStyle;

use super::document::{Document, Documents, Location, MapEntry, Node, NodeId, NodeKind, ScalarNode};
use crate::diagnostic::Span;

impl Documents {
    /// Whether a location is that of a map, or of nothing.
    pub fn is_map(&self, at: Location) -> bool {
        let Some(document) = self.get(at.file) else { return true };
        let kind = document.node(NodeId(at.node)).map(|node| &node.kind);
        match kind {
            Some(NodeKind::Scalar(scalar)) => scalar.value.is_null(),
            Some(NodeKind::List(_)) => false,
            _ => true,
        }
    }
}

impl Document {
    /// The items of a list.
    pub fn items_of(&self, node: NodeId) -> Option<Vec<NodeId>> {
        match &self.node(node)?.kind {
            NodeKind::List(items) => Some(items.clone()),
            _ => None,
        }
    }

    /// The entries of a map.
    pub fn entries_of(&self, node: NodeId) -> Option<Vec<MapEntry>> {
        match &self.node(node)?.kind {
            NodeKind::Map(entries) => Some(entries.clone()),
            _ => None,
        }
    }

    /// Whether it is a map.
    pub fn is_map(&self, node: NodeId) -> bool {
        self.node(node).is_some_and(|node| matches!(node.kind, NodeKind::Map(_)))
    }

    /// The keys of a map.
    pub fn keys_of(&self, node: NodeId) -> impl Iterator<Item = &str> {
        let entries = match self.node(node).map(|node| &node.kind) {
            Some(NodeKind::Map(entries)) => entries.as_slice(),
            _ => &[],
        };
        entries.iter().map(|entry| self.key_text(entry.key))
    }

    /// The entry of a map with this key.
    pub fn entry_of(&self, node: NodeId, key: &str) -> Option<MapEntry> {
        let NodeKind::Map(entries) = &self.node(node)?.kind else { return None };
        entries.iter().find(|entry| self.key_text(entry.key) == key).copied()
    }

    /// The entry of a map with the first of these keys that it has.
    pub fn first_entry_of(&self, node: NodeId, keys: &[&str]) -> Option<MapEntry> {
        keys.iter().find_map(|key| self.entry_of(node, key))
    }

    /// Whether an offset in the file is inside of a scalar.
    pub fn is_in_scalar(&self, offset: usize) -> bool {
        let is_inside = |node: &Node| (node.span.start as usize) <= offset && offset < node.span.end as usize;
        self.nodes.iter().any(|node| matches!(node.kind, NodeKind::Scalar(_)) && is_inside(node))
    }

    /// Where the last value ends.
    pub fn end(&self) -> usize {
        self.nodes.iter().map(|node| node.span.end as usize).max().unwrap_or_default()
    }

    /// The text of a string.
    pub fn string_of(&self, node: NodeId) -> Option<&str> {
        match &self.node(node)?.kind {
            NodeKind::Scalar(ScalarNode { value: Value::String(text), .. }) => Some(text),
            _ => None,
        }
    }

    /// The value of a scalar.
    pub fn value_of(&self, node: NodeId) -> Option<&Value> {
        match &self.node(node)?.kind {
            NodeKind::Scalar(scalar) => Some(&scalar.value),
            _ => None,
        }
    }

    /// The text of a scalar that is not null, as it is written but for quotes.
    pub fn scalar_of(&self, node: NodeId) -> Option<&str> {
        match &self.node(node)?.kind {
            NodeKind::Scalar(scalar) if !scalar.value.is_null() => Some(scalar.text()),
            _ => None,
        }
    }

    /// Adds a node with the value and the place of another.
    pub fn add_copy(&mut self, node: NodeId) -> NodeId {
        match self.node(node).cloned() {
            Some(Node { kind, span }) => self.add_node(kind, span),
            None => node,
        }
    }

    /// Adds a string that nothing contains yet.
    pub fn add_string(&mut self, text: &str, span: Span) -> NodeId {
        let scalar = ScalarNode::new(text, ScalarStyle::Plain, Value::String(text.to_owned()));
        self.add_node(NodeKind::Scalar(scalar), span)
    }

    /// Adds a number or a boolean that nothing contains yet.
    pub fn add_plain(&mut self, value: impl Into<Value>, span: Span) -> NodeId {
        let value = value.into();
        let scalar = ScalarNode::new(&value.to_string(), ScalarStyle::Plain, value);
        self.add_node(NodeKind::Scalar(scalar), span)
    }

    /// Adds a list that nothing contains yet.
    pub fn add_list(&mut self, items: Vec<NodeId>, span: Span) -> NodeId {
        self.add_node(NodeKind::List(items), span)
    }

    /// Adds a map that nothing contains yet.
    pub fn add_map(&mut self, entries: Vec<MapEntry>, span: Span) -> NodeId {
        self.add_node(NodeKind::Map(entries), span)
    }

    /// Replaces the value of a node, which keeps its span.
    pub fn replace(&mut self, node: NodeId, replacement: NodeId) {
        let Some(kind) = self.node(replacement).map(|node| node.kind.clone()) else { return };
        if let Some(node) = self.nodes.get_mut(node.0 as usize) {
            node.kind = kind;
        }
    }

    fn add_node(&mut self, kind: NodeKind, span: Span) -> NodeId {
        self.nodes.push(Node { kind, span });
        NodeId(u32::try_from(self.nodes.len() - 1).unwrap_or(u32::MAX))
    }
}
