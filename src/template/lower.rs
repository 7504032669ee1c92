//! Lowers a checked tree to that of Handlebars, which renders it. Both are walked in step: where they differ, the
//! template is rejected, as it would render other than checked. Every interpolation then prints through
//! [`helper::PRINT`](super::helper::PRINT).

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use handlebars::template::{
    DecoratorTemplate, HelperTemplate, Parameter, Subexpression, Template as Tree, TemplateElement as Element,
};
use handlebars::{Path, TemplateErrorReason};
use serde_json::Value;

use super::error::TemplateError;
use super::helper::{GET, NOW_FALLBACK, PRINT, empty_guard_block};
use super::limit::MAX_PARSE_COST;
use super::scope::THIS;
use super::syntax::{
    BlockNode, CallArguments, CallNode, ElseBranch, Expression, Interpolation, PartialCall, PathNode, TemplateNode,
};
use crate::diagnostic::Code;

/// The results of the check by position in the template.
#[derive(Debug, Default)]
pub(super) struct LowerContext {
    /// The text is a partial: any path may be missing.
    pub partial: bool,
    pub lenient: HashSet<usize>,
    pub this: HashSet<usize>,
    pub now: HashSet<usize>,
    /// The interpolation at the start of a URL, which is not encoded.
    pub raw_interpolation: Option<usize>,
}

/// Parses a template with Handlebars and makes it print as checked.
pub(super) fn lower(source: &str, nodes: &[TemplateNode], context: &LowerContext) -> Result<Tree, Box<TemplateError>> {
    let weight = count_tags(nodes).saturating_mul(source.len());
    if weight > MAX_PARSE_COST || source.contains(&"\\".repeat(256)) {
        let message = "template too complex: too many tags for its size";
        return Err(Box::new(
            TemplateError::at_range(0..0, Code::TooLarge, message).help("move parts of it into partials"),
        ));
    }
    let mut tree = Tree::compile(source).map_err(|error| Box::new(handlebars_error(source, &error)))?;
    let lower = Lowering { source, context };
    lower.nodes(&mut tree, nodes).map_err(|TreeMismatch { at }| {
        let message = "ambiguous syntax: Handlebars parses it differently";
        Box::new(TemplateError::at_range(at, Code::Template, message).help("simplify it"))
    })?;
    Ok(tree)
}

fn count_tags(nodes: &[TemplateNode]) -> usize {
    nodes
        .iter()
        .map(|node| match node {
            TemplateNode::Text(_) => 0,
            TemplateNode::Interpolation(_) => 1,
            TemplateNode::Inline(inline) => 2 + count_tags(&inline.body),
            TemplateNode::Partial(partial) => 2 + partial.body.as_deref().map_or(0, count_tags),
            TemplateNode::Block(block) => count_block(block),
        })
        .sum()
}

fn count_block(block: &BlockNode) -> usize {
    let rest = match &block.else_branch {
        None => 0,
        Some(ElseBranch::Plain(nodes)) => 1 + count_tags(nodes),
        Some(ElseBranch::Chain(block)) => count_block(block),
    };
    2 + count_tags(&block.body) + rest
}

/// An error of the parser of Handlebars only. Its messages name its grammar, so they are not shown.
fn handlebars_error(source: &str, error: &handlebars::TemplateError) -> TemplateError {
    let at = error.pos().map_or(0, |(line, column)| offset(source, line, column));
    let tag = source.get(..at).and_then(|before| before.rfind("{{")).unwrap_or(at);
    let end = source.get(tag..).and_then(|rest| rest.find("}}")).map_or(source.len(), |length| tag + length + 2);
    let message = match error.reason() {
        TemplateErrorReason::InvalidParam(_) => "invalid JSON literal in tag",
        _ => "invalid tag: Handlebars cannot parse it",
    };
    TemplateError::at_range(tag..end, Code::Template, message)
}

/// The byte offset of a line and column in characters from 1, as Handlebars counts.
fn offset(source: &str, line: usize, column: usize) -> usize {
    let start: usize = source.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let rest = source.get(start..).unwrap_or_default();
    start + rest.char_indices().nth(column.saturating_sub(1)).map_or(rest.len(), |(at, _)| at)
}

/// The two trees differ.
struct TreeMismatch {
    at: Range<usize>,
}

type MatchResult = Result<(), TreeMismatch>;

fn ensure_same(equal: bool, at: &Range<usize>) -> MatchResult {
    if equal { Ok(()) } else { Err(TreeMismatch { at: at.clone() }) }
}

struct Lowering<'l> {
    source: &'l str,
    context: &'l LowerContext,
}

impl Lowering<'_> {
    fn nodes(&self, tree: &mut Tree, nodes: &[TemplateNode]) -> MatchResult {
        let mut tags = nodes.iter().filter(|node| !matches!(node, TemplateNode::Text(_)));
        for element in &mut tree.elements {
            if matches!(element, Element::RawString(_) | Element::Comment(_)) {
                continue;
            }
            let Some(node) = tags.next() else { return Err(TreeMismatch { at: 0..self.source.len() }) };
            self.node(element, node)?;
        }
        ensure_same(tags.next().is_none(), &(0..self.source.len()))
    }

    fn node(&self, element: &mut Element, node: &TemplateNode) -> MatchResult {
        match (&mut *element, node) {
            (
                Element::Expression(theirs) | Element::HtmlExpression(theirs),
                TemplateNode::Interpolation(interpolation),
            ) => self.interpolation(theirs, interpolation),
            (Element::HelperBlock(theirs), TemplateNode::Block(block)) => self.block(theirs, block),
            (Element::DecoratorBlock(theirs), TemplateNode::Inline(inline)) => {
                let at = &inline.name.span;
                ensure_same(theirs.name.as_name() == Some("inline"), at)?;
                ensure_same(
                    matches!(theirs.params.as_slice(), [Parameter::Literal(Value::String(name))] if *name == inline.name.text),
                    at,
                )?;
                self.optional_nodes(theirs.template.as_mut(), Some(&inline.body), at)
            }
            (Element::PartialExpression(theirs) | Element::PartialBlock(theirs), TemplateNode::Partial(call)) => {
                self.partial(theirs, call)?;
                wrap_in_guard(element);
                Ok(())
            }
            (_, node) => Err(TreeMismatch { at: node.span().clone() }),
        }
    }

    fn optional_nodes(
        &self,
        tree: Option<&mut Tree>,
        nodes: Option<&[TemplateNode]>,
        at: &Range<usize>,
    ) -> MatchResult {
        match (tree, nodes) {
            (Some(tree), Some(nodes)) => self.nodes(tree, nodes),
            (tree, nodes) => ensure_same(tree.is_none() && nodes.is_none_or(<[TemplateNode]>::is_empty), at),
        }
    }

    fn interpolation(&self, theirs: &mut HelperTemplate, interpolation: &Interpolation) -> MatchResult {
        let value = match &interpolation.expression {
            Expression::Path(path) => {
                ensure_same(theirs.params.is_empty() && theirs.hash.is_empty(), &interpolation.span)?;
                self.printed_path(theirs, path)?
            }
            Expression::Call(call) => {
                self.call(theirs, call)?;
                let (params, options) = (std::mem::take(&mut theirs.params), std::mem::take(&mut theirs.hash));
                Parameter::Subexpression(Subexpression::new(Parameter::Name(call.helper.text.clone()), params, options))
            }
            Expression::Literal(_, span) => return Err(TreeMismatch { at: span.clone() }),
        };
        let keeps = self.context.raw_interpolation == Some(interpolation.span.start)
            || matches!(&interpolation.expression, Expression::Call(call) if call.helper.text == "path");
        let label = Value::String(label(self.source, &interpolation.expression));
        theirs.name = Parameter::Name(PRINT.to_owned());
        theirs.params = vec![Parameter::Literal(label), value, Parameter::Literal(Value::Bool(keeps))];
        Ok(())
    }

    fn printed_path(&self, theirs: &mut HelperTemplate, path: &PathNode) -> Result<Parameter, TreeMismatch> {
        let plain_now = path.single_name().is_some_and(|name| name.text == "now");
        let helper = match (self.context.partial, self.context.now.contains(&path.span.start)) {
            (true, _) if plain_now => NOW_FALLBACK,
            (false, true) => "now",
            _ => {
                let mut value = std::mem::replace(&mut theirs.name, Parameter::Name(String::new()));
                self.path(&mut value, path)?;
                return Ok(value);
            }
        };
        Ok(subexpression(helper, Vec::new()))
    }

    fn call(&self, theirs: &mut HelperTemplate, call: &CallNode) -> MatchResult {
        ensure_same(theirs.name.as_name() == Some(&call.helper.text), &call.helper.span)?;
        self.arguments((&mut theirs.params, &mut theirs.hash), &call.arguments, &call.span)
    }

    fn arguments(
        &self,
        (params, options): (&mut [Parameter], &mut HashMap<String, Parameter>),
        ours: &CallArguments,
        at: &Range<usize>,
    ) -> MatchResult {
        ensure_same(params.len() == ours.params.len() && options.len() == ours.options.len(), at)?;
        for (theirs, ours) in params.iter_mut().zip(&ours.params) {
            self.value(theirs, ours)?;
        }
        for (name, ours) in &ours.options {
            let Some(theirs) = options.get_mut(&name.text) else { return Err(TreeMismatch { at: name.span.clone() }) };
            self.value(theirs, ours)?;
        }
        Ok(())
    }

    fn value(&self, theirs: &mut Parameter, ours: &Expression) -> MatchResult {
        match (&mut *theirs, ours) {
            (Parameter::Path(_), Expression::Path(path)) => self.path(theirs, path),
            (Parameter::Literal(theirs), Expression::Literal(ours, span)) => ensure_same(theirs == ours, span),
            (Parameter::Subexpression(inner), Expression::Call(call)) => match inner.element.as_mut() {
                Element::Expression(theirs) => self.call(theirs, call),
                _ => Err(TreeMismatch { at: call.span.clone() }),
            },
            (_, ours) => Err(TreeMismatch { at: ours.span() }),
        }
    }

    /// Makes a variable mean what the check found, and a missing path null.
    fn path(&self, theirs: &mut Parameter, ours: &PathNode) -> MatchResult {
        let written = self.source.get(ours.span.clone()).unwrap_or_default();
        ensure_same(theirs.as_name() == Some(written), &ours.span)?;
        let start = &ours.span.start;
        let around = !self.context.partial && self.context.this.contains(start);
        let raw = if around { outer_this_path(ours) } else { written.to_owned() };
        let lenient = self.context.lenient.contains(start) || self.context.partial && !ours.names.is_empty();
        if lenient && !ours.local {
            *theirs = subexpression(GET, vec![Parameter::Literal(Value::String(raw))]);
        } else if around {
            let path = Path::parse(&raw).map_err(|_| TreeMismatch { at: ours.span.clone() })?;
            *theirs = Parameter::Path(path);
        }
        Ok(())
    }

    fn block(&self, theirs: &mut HelperTemplate, block: &BlockNode) -> MatchResult {
        let at = &block.call.span;
        self.call(theirs, &block.call)?;
        self.optional_nodes(theirs.template.as_mut(), Some(&block.body), at)?;
        match (&mut theirs.inverse, &block.else_branch) {
            (None, None) => Ok(()),
            (inverse, Some(ElseBranch::Plain(nodes))) => self.optional_nodes(inverse.as_mut(), Some(nodes), at),
            (Some(tree), Some(ElseBranch::Chain(chain))) => match tree.elements.as_mut_slice() {
                [Element::HelperBlock(theirs)] => self.block(theirs, chain),
                _ => Err(TreeMismatch { at: at.clone() }),
            },
            _ => Err(TreeMismatch { at: at.clone() }),
        }
    }

    fn partial(&self, theirs: &mut DecoratorTemplate, call: &PartialCall) -> MatchResult {
        let at = &call.name.span;
        ensure_same(theirs.name.as_name() == Some(&call.name.text), at)?;
        self.arguments((&mut theirs.params, &mut theirs.hash), &call.arguments, at)?;
        self.optional_nodes(theirs.template.as_mut(), call.body.as_deref(), at)
    }
}

fn subexpression(helper: &str, params: Vec<Parameter>) -> Parameter {
    Parameter::Subexpression(Subexpression::new(Parameter::Name(helper.to_owned()), params, HashMap::new()))
}

/// Wraps an element in a block that limits its output.
fn wrap_in_guard(element: &mut Element) {
    if let Some(mut block) = empty_guard_block() {
        let inner = std::mem::replace(element, Element::RawString(String::new()));
        let mut body = Tree::new();
        body.elements.push(inner);
        block.template = Some(body);
        *element = Element::HelperBlock(block);
    }
}

/// The path of the outer `this`, whose name no template can contain.
fn outer_this_path(path: &PathNode) -> String {
    let mut raw = "../".repeat(path.parent_steps);
    raw.push_str(&format!("[{THIS}]"));
    for name in &path.names {
        raw.push_str(&format!(".[{}]", name.text));
    }
    raw
}

/// The label of an expression in messages: its only variable, else the whole expression.
pub(super) fn label(source: &str, expression: &Expression) -> String {
    let mut paths = Vec::new();
    collect_paths(expression, &mut paths);
    let span = match paths.as_slice() {
        [only] => only.clone(),
        _ => expression.span(),
    };
    source.get(span).unwrap_or_default().trim().to_owned()
}

fn collect_paths(expression: &Expression, paths: &mut Vec<Range<usize>>) {
    match expression {
        Expression::Path(path) => paths.push(path.span.clone()),
        Expression::Literal(..) => {}
        Expression::Call(call) => {
            call.arguments.values().for_each(|value| collect_paths(value, paths));
        }
    }
}
