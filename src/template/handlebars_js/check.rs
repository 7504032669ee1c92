//! Checks the helpers of a template, and finds the variables that its caller gives.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;

use indexmap::IndexMap;
use serde_json::Value;

use super::{JsSource, marker_of};
use crate::template::error::TemplateError;
use crate::template::syntax::{
    BlockNode, CallNode, Expression, INVERSE_SECTION, PartialCall, PathNode, SECTION, TemplateNode,
};

/// The names after `@` that have a value.
const LOCAL_NAMES: &[&str] = &["key", "index", "first", "last"];

/// Refuses helpers that are not known.
pub(super) fn check_helpers(nodes: &[TemplateNode]) -> Result<(), Box<TemplateError>> {
    for node in nodes {
        match node {
            TemplateNode::Text(_) => {}
            TemplateNode::Interpolation(interpolation) => check_printed(&interpolation.expression)?,
            TemplateNode::Block(block) => {
                check_block(block)?;
                check_helpers(&block.body)?;
                check_helpers(&block.else_nodes)?;
            }
            TemplateNode::Partial(call) if call.body.is_none() => {
                call.arguments.values().try_for_each(check_value)?;
            }
            TemplateNode::Partial(_) | TemplateNode::Inline(_) => {
                return Err(error(node.span().clone(), "unsupported partial within a template"));
            }
        }
    }
    Ok(())
}

fn check_printed(expression: &Expression) -> Result<(), Box<TemplateError>> {
    if marker_of(expression).is_some() {
        return Ok(());
    }
    let Expression::Call(call) = expression else { return check_value(expression) };
    match call.helper.text.as_str() {
        "role" => {
            let message = "invalid role: write `{{role \"user\"}}`, with `user`, `model` or `system` in quotes";
            Err(error(call.span.clone(), message))
        }
        "media" if option(call, "url").is_none() => Err(error(call.span.clone(), "missing `url` of `media`")),
        "media" | "section" | "log" => call.arguments.values().try_for_each(check_value),
        _ => check_call(call),
    }
}

/// The option of a call with this name.
pub(super) fn option<'c>(call: &'c CallNode, name: &str) -> Option<&'c Expression> {
    call.arguments.options.iter().find(|(option, _)| option.text == name).map(|(_, value)| value)
}

fn check_value(value: &Expression) -> Result<(), Box<TemplateError>> {
    match value {
        Expression::Call(call) => check_call(call),
        Expression::Path(_) | Expression::Literal(..) => Ok(()),
    }
}

fn check_call(call: &CallNode) -> Result<(), Box<TemplateError>> {
    match (call.helper.text.as_str(), call.arguments.params.len()) {
        ("lookup", 2) | ("json", 1) => call.arguments.values().try_for_each(check_value),
        _ => Err(unknown_helper(call)),
    }
}

fn unknown_helper(call: &CallNode) -> Box<TemplateError> {
    error(call.helper.span.clone(), format!("unknown helper `{}`", call.helper.text))
}

fn error(range: Range<usize>, message: impl Into<String>) -> Box<TemplateError> {
    Box::new(TemplateError::syntax(range, message))
}

fn check_block(block: &BlockNode) -> Result<(), Box<TemplateError>> {
    let call = &block.call;
    let expected = match call.helper.text.as_str() {
        "if" | "unless" | "each" | "with" | SECTION | INVERSE_SECTION => 1,
        "ifEquals" | "unlessEquals" => 2,
        name @ ("role" | "media" | "history") => {
            let spelling = match name {
                "role" => "`{{role \"user\"}}` before the text",
                "media" => "`{{media url=…}}`",
                _ => "`{{history}}`",
            };
            let message = format!("`{name}` is not a block: write {spelling}, and no `{{{{/{name}}}}}`");
            return Err(error(call.span.clone(), message));
        }
        _ => return Err(unknown_helper(call)),
    };
    if call.arguments.params.len() != expected {
        let words = if expected == 1 { "one argument" } else { "two arguments" };
        let message = format!("invalid arguments of `{}`: expected {words}", call.helper.text);
        return Err(error(call.span.clone(), message));
    }
    call.arguments.values().try_for_each(check_value)
}

/// The variables of these nodes, and the names after `@` that have no value; `None` where there are too many nodes.
pub(super) fn variables(
    nodes: &[TemplateNode],
    partials: &BTreeMap<String, JsSource>,
    max_nodes: usize,
) -> Option<(IndexMap<String, bool>, BTreeSet<String>)> {
    let mut finder = VariableCollector {
        partials,
        variables: IndexMap::new(),
        unknown_locals: BTreeSet::new(),
        visited: HashSet::new(),
        nodes_left: max_nodes,
    };
    finder.nodes(nodes, &PathScope { is_root: true, names: HashSet::new(), outer: None })?;
    Some((finder.variables, finder.unknown_locals))
}

struct VariableCollector<'p> {
    partials: &'p BTreeMap<String, JsSource>,
    variables: IndexMap<String, bool>,
    unknown_locals: BTreeSet<String>,
    /// The partials that were looked through, each with whether that was at the top, and the names that its call gives.
    visited: HashSet<(String, bool, Vec<String>)>,
    nodes_left: usize,
}

/// Where variables are looked up.
struct PathScope<'p> {
    /// Whether names are those of the caller's variables.
    is_root: bool,
    /// The names that mean something else here.
    names: HashSet<String>,
    outer: Option<&'p PathScope<'p>>,
}

impl<'p> PathScope<'p> {
    fn inner(&'p self, is_root: bool, names: impl Iterator<Item = String>) -> PathScope<'p> {
        PathScope { is_root, names: names.collect(), outer: Some(self) }
    }

    fn has_name(&self, name: &str) -> bool {
        self.names.contains(name) || self.outer.is_some_and(|outer| outer.has_name(name))
    }

    fn outer(&self, parent_steps: usize) -> Option<&PathScope<'p>> {
        if parent_steps == 0 { Some(self) } else { self.outer?.outer(parent_steps - 1) }
    }
}

impl VariableCollector<'_> {
    fn nodes(&mut self, nodes: &[TemplateNode], scope: &PathScope<'_>) -> Option<()> {
        for node in nodes {
            self.nodes_left = self.nodes_left.checked_sub(1)?;
            match node {
                TemplateNode::Interpolation(interpolation) if marker_of(&interpolation.expression).is_none() => {
                    self.expression(&interpolation.expression, scope, false);
                }
                TemplateNode::Block(block) => self.block(block, scope)?,
                TemplateNode::Partial(partial) => self.partial(partial, scope)?,
                TemplateNode::Interpolation(_) | TemplateNode::Text(_) | TemplateNode::Inline(_) => {}
            }
        }
        Some(())
    }

    fn block(&mut self, block: &BlockNode, scope: &PathScope<'_>) -> Option<()> {
        let enters = matches!(block.call.helper.text.as_str(), "each" | "with" | SECTION);
        block.call.arguments.params.iter().for_each(|param| self.expression(param, scope, enters));
        block.call.arguments.options.iter().for_each(|(_, option)| self.expression(option, scope, false));
        let names = block.block_params.iter().map(|name| name.text.clone());
        match enters {
            true => self.nodes(&block.body, &scope.inner(false, names))?,
            false => self.nodes(&block.body, scope)?,
        }
        self.nodes(&block.else_nodes, scope)
    }

    fn partial(&mut self, partial: &PartialCall, scope: &PathScope<'_>) -> Option<()> {
        let (context, options) = (partial.arguments.params.first(), &partial.arguments.options);
        options.iter().for_each(|(_, option)| self.expression(option, scope, false));
        context.into_iter().for_each(|context| self.expression(context, scope, true));
        let is_root = scope.is_root && context.is_none_or(is_this);
        let names: Vec<String> = options.iter().map(|(name, _)| name.text.clone()).collect();
        let Some(source) = self.partials.get(&partial.name.text) else { return Some(()) };
        if self.visited.insert((partial.name.text.clone(), is_root, names.clone())) {
            self.nodes(&source.parsed.nodes, &scope.inner(is_root, names.into_iter()))?;
        }
        Some(())
    }

    fn expression(&mut self, expression: &Expression, scope: &PathScope<'_>, is_entered: bool) {
        match expression {
            Expression::Literal(..) => {}
            Expression::Path(path) => self.path(path, scope, is_entered),
            Expression::Call(call) => {
                for (nth, value) in call.arguments.values().enumerate() {
                    self.expression(value, scope, nth == 0 && call.helper.text == "lookup");
                }
            }
        }
    }

    fn path(&mut self, path: &PathNode, scope: &PathScope<'_>, is_entered: bool) {
        let names: Vec<&str> = path.names.iter().map(|name| name.text.as_str()).collect();
        let Some(first) = names.first() else { return };
        if path.local {
            if !LOCAL_NAMES.contains(first) {
                self.unknown_locals.insert(names.join("."));
            }
            return;
        }
        let is_plain = path.parent_steps == 0 && !path.this && !path.root;
        let is_variable = path.root || scope.outer(path.parent_steps).is_some_and(|scope| scope.is_root);
        if is_variable && !(is_plain && scope.has_name(first)) {
            *self.variables.entry((*first).to_owned()).or_default() |= is_entered || names.len() > 1;
        }
    }
}

fn is_this(expression: &Expression) -> bool {
    match expression {
        Expression::Path(path) => path.names.is_empty() && path.parent_steps == 0 && !path.local && !path.root,
        Expression::Literal(Value::Null, _) => true,
        Expression::Literal(..) | Expression::Call(_) => false,
    }
}
