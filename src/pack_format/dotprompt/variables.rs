//! Finds the variables of a template that its caller gives.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use indexmap::IndexMap;

use super::tree::{Block, BlockKind, Expression, Node, PartialCall, Path};

/// The variables in the order of the text, and whether each is used as a list or an object.
pub(super) type Variables = IndexMap<String, bool>;

/// How many nodes a template may have with its partials, each counted where it is used.
pub(super) const MAX_NODES: usize = 200_000;

/// The names after `@` that have a value.
const DATA_NAMES: &[&str] = &["root", "key", "index", "first", "last"];

/// The variables of these nodes, and the names after `@` that have no value; `None` where there are more than
/// [`MAX_NODES`].
pub(super) fn variables(nodes: &[Node]) -> Option<(Variables, BTreeSet<String>)> {
    let mut finder = VariableCollector { nodes_left: MAX_NODES, ..VariableCollector::default() };
    finder.nodes(nodes, &PathScope { is_root: true, names: HashSet::new(), outer: None })?;
    Some((finder.variables, finder.unknown_data))
}

#[derive(Default)]
struct VariableCollector {
    variables: Variables,
    unknown_data: BTreeSet<String>,
    /// The partials that were looked through.
    partials: HashSet<VisitedPartial>,
    nodes_left: usize,
}

/// A partial, and where it was used.
#[derive(PartialEq, Eq, Hash)]
struct VisitedPartial {
    /// The address of its tree.
    tree: usize,
    is_root: bool,
    names: Vec<String>,
}

/// Where variables are looked up.
struct PathScope<'p> {
    /// Whether names are those of the caller's variables.
    is_root: bool,
    /// The names that mean something else here.
    names: HashSet<&'p str>,
    outer: Option<&'p PathScope<'p>>,
}

impl<'p> PathScope<'p> {
    fn inner(&'p self, is_root: bool, names: &'p [String]) -> PathScope<'p> {
        PathScope { is_root, names: names.iter().map(String::as_str).collect(), outer: Some(self) }
    }

    fn has_name(&self, name: &str) -> bool {
        self.names.contains(name) || self.outer.is_some_and(|outer| outer.has_name(name))
    }

    fn outer(&self, parent_steps: usize) -> Option<&PathScope<'p>> {
        if parent_steps == 0 { Some(self) } else { self.outer?.outer(parent_steps - 1) }
    }
}

impl VariableCollector {
    fn nodes(&mut self, nodes: &[Node], path_scope: &PathScope<'_>) -> Option<()> {
        for node in nodes {
            self.nodes_left = self.nodes_left.checked_sub(1)?;
            match node {
                Node::Value(expression) => self.expression(expression, path_scope, false),
                Node::Block(block) => self.block(block, path_scope)?,
                Node::Partial(partial) => self.partial(partial, path_scope)?,
                Node::Media { url, content_type } => {
                    self.expression(url, path_scope, false);
                    content_type.iter().for_each(|expression| self.expression(expression, path_scope, false));
                }
                Node::Text(_) | Node::Role(_) | Node::History | Node::Section => {}
            }
        }
        Some(())
    }

    fn block(&mut self, block: &Block, path_scope: &PathScope<'_>) -> Option<()> {
        let enters = matches!(block.kind, BlockKind::Each | BlockKind::With | BlockKind::Section);
        block.arguments.params.iter().for_each(|param| self.expression(param, path_scope, enters));
        block.arguments.options.iter().for_each(|(_, option)| self.expression(option, path_scope, false));
        match enters {
            true => self.nodes(&block.body, &path_scope.inner(false, &block.names))?,
            false => self.nodes(&block.body, path_scope)?,
        }
        self.nodes(&block.else_body, path_scope)
    }

    fn partial(&mut self, partial: &PartialCall, path_scope: &PathScope<'_>) -> Option<()> {
        partial.options.iter().for_each(|(_, option)| self.expression(option, path_scope, false));
        partial.context.iter().for_each(|context| self.expression(context, path_scope, true));
        let is_root = path_scope.is_root && partial.context.as_ref().is_none_or(is_this);
        let names: Vec<String> = partial.options.iter().map(|(name, _)| name.clone()).collect();
        if self.partials.insert(VisitedPartial {
            tree: Arc::as_ptr(&partial.nodes) as usize,
            is_root,
            names: names.clone(),
        }) {
            self.nodes(&partial.nodes, &path_scope.inner(is_root, &names))?;
        }
        Some(())
    }

    fn expression(&mut self, expression: &Expression, path_scope: &PathScope<'_>, is_entered: bool) {
        match expression {
            Expression::Literal(_) => {}
            Expression::Path(path) => self.path(path, path_scope, is_entered),
            Expression::Json(value, _) => self.expression(value, path_scope, false),
            Expression::Lookup(object, key) => {
                self.expression(object, path_scope, true);
                self.expression(key, path_scope, false);
            }
        }
    }

    fn path(&mut self, path: &Path, path_scope: &PathScope<'_>, is_entered: bool) {
        let names = match path.names.split_first() {
            Some((first, rest)) if path.is_data && first == "root" => rest,
            Some((first, _)) if path.is_data => {
                if !DATA_NAMES.contains(&first.as_str()) {
                    self.unknown_data.insert(path.names.join("."));
                }
                return;
            }
            Some((first, _)) if path.parent_steps == 0 && !path.is_this && path_scope.has_name(first) => return,
            _ if path_scope.outer(path.parent_steps).is_some_and(|path_scope| path_scope.is_root) => &path.names,
            _ => return,
        };
        if let Some((name, rest)) = names.split_first() {
            *self.variables.entry(name.clone()).or_default() |= is_entered || !rest.is_empty();
        }
    }
}

fn is_this(expression: &Expression) -> bool {
    matches!(expression, Expression::Path(path) if path.names.is_empty() && path.parent_steps == 0 && !path.is_data)
}
