//! Finds the variables of a template that its caller gives.

use std::collections::HashSet;
use std::sync::Arc;

use indexmap::IndexMap;

use super::tree::{Block, BlockKind, Expression, Node, PartialCall, Path};

/// The variables in the order of the text, and whether each is used as a list or an object.
pub(super) type Variables = IndexMap<String, bool>;

/// The variables of these nodes.
pub(super) fn variables(nodes: &[Node]) -> Variables {
    let mut finder = Finder { found: Variables::new(), partials: HashSet::new() };
    finder.nodes(nodes, &Place { is_root: true, names: Vec::new(), outer: None });
    finder.found
}

struct Finder {
    found: Variables,
    /// The partials that were looked through: the tree, and whether at the root.
    partials: HashSet<(usize, bool, Vec<String>)>,
}

/// Where variables are looked up.
struct Place<'p> {
    /// Whether names are those of the caller's variables.
    is_root: bool,
    /// The names that mean something else here.
    names: Vec<String>,
    outer: Option<&'p Place<'p>>,
}

impl<'p> Place<'p> {
    fn inner(&'p self, is_root: bool, names: Vec<String>) -> Place<'p> {
        Place { is_root, names, outer: Some(self) }
    }

    fn has_name(&self, name: &str) -> bool {
        self.names.iter().any(|own| own == name) || self.outer.is_some_and(|outer| outer.has_name(name))
    }

    fn outer(&self, ups: usize) -> Option<&Place<'p>> {
        if ups == 0 { Some(self) } else { self.outer?.outer(ups - 1) }
    }
}

impl Finder {
    fn nodes(&mut self, nodes: &[Node], place: &Place<'_>) {
        for node in nodes {
            match node {
                Node::Value(expression) => self.expression(expression, place, false),
                Node::Block(block) => self.block(block, place),
                Node::Partial(partial) => self.partial(partial, place),
                Node::Media { url, content_type } => {
                    self.expression(url, place, false);
                    content_type.iter().for_each(|expression| self.expression(expression, place, false));
                }
                Node::Text(_) | Node::Role(_) | Node::History | Node::Section => {}
            }
        }
    }

    fn block(&mut self, block: &Block, place: &Place<'_>) {
        let enters = matches!(block.kind, BlockKind::Each | BlockKind::With | BlockKind::Section);
        block.arguments.params.iter().for_each(|param| self.expression(param, place, enters));
        block.arguments.options.iter().for_each(|(_, option)| self.expression(option, place, false));
        match enters {
            true => self.nodes(&block.body, &place.inner(false, block.names.clone())),
            false => self.nodes(&block.body, place),
        }
        self.nodes(&block.otherwise, place);
    }

    fn partial(&mut self, partial: &PartialCall, place: &Place<'_>) {
        partial.options.iter().for_each(|(_, option)| self.expression(option, place, false));
        partial.context.iter().for_each(|context| self.expression(context, place, true));
        let is_root = place.is_root && partial.context.as_ref().is_none_or(is_this);
        let names: Vec<String> = partial.options.iter().map(|(name, _)| name.clone()).collect();
        if self.partials.insert((Arc::as_ptr(&partial.nodes) as usize, is_root, names.clone())) {
            self.nodes(&partial.nodes, &place.inner(is_root, names));
        }
    }

    fn expression(&mut self, expression: &Expression, place: &Place<'_>, is_entered: bool) {
        match expression {
            Expression::Literal(_) => {}
            Expression::Path(path) => self.path(path, place, is_entered),
            Expression::Json(value, _) => self.expression(value, place, false),
            Expression::Lookup(object, key) => {
                self.expression(object, place, true);
                self.expression(key, place, false);
            }
        }
    }

    fn path(&mut self, path: &Path, place: &Place<'_>, is_entered: bool) {
        let names = match path.names.split_first() {
            Some((first, rest)) if path.is_data && first == "root" => rest,
            _ if path.is_data => return,
            Some((first, _)) if path.ups == 0 && !path.is_this && place.has_name(first) => return,
            _ if place.outer(path.ups).is_some_and(|place| place.is_root) => &path.names,
            _ => return,
        };
        if let Some((name, rest)) = names.split_first() {
            *self.found.entry(name.clone()).or_default() |= is_entered || !rest.is_empty();
        }
    }
}

fn is_this(expression: &Expression) -> bool {
    matches!(expression, Expression::Path(path) if path.names.is_empty() && path.ups == 0 && !path.is_data)
}
