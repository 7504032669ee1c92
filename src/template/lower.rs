//! From our tree to Handlebars' own, which does the rendering. Both are walked in step: where they differ in
//! anything, what was checked is not what would be rendered, and the template is refused. On the way every hole
//! is made to print through [`helper::PRINT`](super::helper::PRINT).

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use handlebars::template::{
    DecoratorTemplate, HelperTemplate, Parameter, Subexpression, Template as Tree, TemplateElement as Element,
};
use handlebars::{Path, TemplateErrorReason};
use serde_json::Value;

use super::fault::Fault;
use super::helper::{GET, NOW_UNLESS, PRINT, guard_skeleton};
use super::limit::MAX_PARSE;
use super::scope::THIS;
use super::syntax::{Block, Call, Else, Expression, Hole, Ident, Node, PartialCall, PathNode};
use crate::diagnostic::Code;

/// What the check knows about places in the template.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// The text is a partial's: every way may be barred.
    pub partial: bool,
    pub lenient: HashSet<usize>,
    pub this: HashSet<usize>,
    pub now: HashSet<usize>,
    /// The hole that holds the beginning of a URL, which stands as it is.
    pub base: Option<usize>,
}

/// Reads a template with Handlebars and makes it print as folio does.
pub(super) fn lower(source: &str, nodes: &[Node], marks: &Marks) -> Result<Tree, Box<Fault>> {
    let weight = count(nodes).saturating_mul(source.len());
    if weight > MAX_PARSE || source.contains(&"\\".repeat(256)) {
        let message = "the template has too many tags for its size";
        return Err(Box::new(Fault::here(0..0, Code::TooLarge, message).help("move parts of it into partials")));
    }
    let mut tree = Tree::compile(source).map_err(|error| Box::new(reworded(source, &error)))?;
    let lower = Lower { source, marks };
    lower.nodes(&mut tree, nodes).map_err(|Differs { at }| {
        let message = "Handlebars reads this in another way than folio";
        Box::new(Fault::here(at, Code::Template, message).help("write it in a simpler way"))
    })?;
    Ok(tree)
}

fn count(nodes: &[Node]) -> usize {
    nodes
        .iter()
        .map(|node| match node {
            Node::Text(_) => 0,
            Node::Hole(_) => 1,
            Node::Inline(inline) => 2 + count(&inline.body),
            Node::Partial(partial) => 2 + partial.body.as_deref().map_or(0, count),
            Node::Block(block) => count_block(block),
        })
        .sum()
}

fn count_block(block: &Block) -> usize {
    let rest = match &block.otherwise {
        None => 0,
        Some(Else::Plain(nodes)) => 1 + count(nodes),
        Some(Else::Chain(block)) => count_block(block),
    };
    2 + count(&block.body) + rest
}

/// What Handlebars cannot read although our own reader could. Its words name its grammar, so they are not shown.
fn reworded(source: &str, error: &handlebars::TemplateError) -> Fault {
    let at = error.pos().map_or(0, |(line, column)| offset(source, line, column));
    let tag = source.get(..at).and_then(|before| before.rfind("{{")).unwrap_or(at);
    let end = source.get(tag..).and_then(|rest| rest.find("}}")).map_or(source.len(), |length| tag + length + 2);
    let message = match error.reason() {
        TemplateErrorReason::InvalidParam(_) => "a value in this tag is not written as in JSON",
        _ => "Handlebars cannot read this tag",
    };
    Fault::here(tag..end, Code::Template, message)
}

/// The byte at a line and column, which Handlebars counts in characters from 1.
fn offset(source: &str, line: usize, column: usize) -> usize {
    let start: usize = source.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let rest = source.get(start..).unwrap_or_default();
    start + rest.char_indices().nth(column.saturating_sub(1)).map_or(rest.len(), |(at, _)| at)
}

/// That the two trees are not of the same template.
struct Differs {
    at: Range<usize>,
}

type Same = Result<(), Differs>;

fn same(equal: bool, at: &Range<usize>) -> Same {
    if equal { Ok(()) } else { Err(Differs { at: at.clone() }) }
}

struct Lower<'l> {
    source: &'l str,
    marks: &'l Marks,
}

impl Lower<'_> {
    fn nodes(&self, tree: &mut Tree, nodes: &[Node]) -> Same {
        let mut tags = nodes.iter().filter(|node| !matches!(node, Node::Text(_)));
        for element in &mut tree.elements {
            if matches!(element, Element::RawString(_) | Element::Comment(_)) {
                continue;
            }
            let Some(node) = tags.next() else { return Err(Differs { at: 0..self.source.len() }) };
            self.node(element, node)?;
        }
        same(tags.next().is_none(), &(0..self.source.len()))
    }

    fn node(&self, element: &mut Element, node: &Node) -> Same {
        match (&mut *element, node) {
            (Element::Expression(theirs) | Element::HtmlExpression(theirs), Node::Hole(hole)) => {
                self.hole(theirs, hole)
            }
            (Element::HelperBlock(theirs), Node::Block(block)) => self.block(theirs, block),
            (Element::DecoratorBlock(theirs), Node::Inline(inline)) => {
                let at = &inline.name.span;
                same(theirs.name.as_name() == Some("inline"), at)?;
                same(
                    matches!(theirs.params.as_slice(), [Parameter::Literal(Value::String(name))] if *name == inline.name.text),
                    at,
                )?;
                self.optional(theirs.template.as_mut(), Some(&inline.body), at)
            }
            (Element::PartialExpression(theirs) | Element::PartialBlock(theirs), Node::Partial(call)) => {
                self.partial(theirs, call)?;
                guard(element);
                Ok(())
            }
            (_, node) => Err(Differs { at: span_of(node) }),
        }
    }

    fn optional(&self, tree: Option<&mut Tree>, nodes: Option<&[Node]>, at: &Range<usize>) -> Same {
        match (tree, nodes) {
            (Some(tree), Some(nodes)) => self.nodes(tree, nodes),
            (tree, nodes) => same(tree.is_none() && nodes.is_none_or(<[Node]>::is_empty), at),
        }
    }

    fn hole(&self, theirs: &mut HelperTemplate, hole: &Hole) -> Same {
        let value = match &hole.expression {
            Expression::Path(path) => {
                same(theirs.params.is_empty() && theirs.hash.is_empty(), &hole.span)?;
                self.printed(theirs, path)?
            }
            Expression::Call(call) => {
                self.call(theirs, call)?;
                let (params, options) = (std::mem::take(&mut theirs.params), std::mem::take(&mut theirs.hash));
                Parameter::Subexpression(Subexpression::new(Parameter::Name(call.helper.text.clone()), params, options))
            }
            Expression::Literal(_, span) => return Err(Differs { at: span.clone() }),
        };
        let keeps = self.marks.base == Some(hole.span.start)
            || matches!(&hole.expression, Expression::Call(call) if call.helper.text == "path");
        let label = Value::String(label(self.source, &hole.expression));
        theirs.name = Parameter::Name(PRINT.to_owned());
        theirs.params = vec![Parameter::Literal(label), value, Parameter::Literal(Value::Bool(keeps))];
        Ok(())
    }

    fn printed(&self, theirs: &mut HelperTemplate, path: &PathNode) -> Result<Parameter, Differs> {
        let plain_now = path.plain().is_some_and(|name| name.text == "now");
        let helper = match (self.marks.partial, self.marks.now.contains(&path.span.start)) {
            (true, _) if plain_now => NOW_UNLESS,
            (false, true) => "now",
            _ => {
                let mut value = std::mem::replace(&mut theirs.name, Parameter::Name(String::new()));
                self.path(&mut value, path)?;
                return Ok(value);
            }
        };
        Ok(subexpression(helper, Vec::new()))
    }

    fn call(&self, theirs: &mut HelperTemplate, call: &Call) -> Same {
        same(theirs.name.as_name() == Some(&call.helper.text), &call.helper.span)?;
        self.given((&mut theirs.params, &mut theirs.hash), (&call.params, &call.options), &call.span)
    }

    fn given(
        &self,
        theirs: (&mut Vec<Parameter>, &mut HashMap<String, Parameter>),
        ours: (&[Expression], &[(Ident, Expression)]),
        at: &Range<usize>,
    ) -> Same {
        same(theirs.0.len() == ours.0.len() && theirs.1.len() == ours.1.len(), at)?;
        for (theirs, ours) in theirs.0.iter_mut().zip(ours.0) {
            self.value(theirs, ours)?;
        }
        for (name, ours) in ours.1 {
            let Some(theirs) = theirs.1.get_mut(&name.text) else { return Err(Differs { at: name.span.clone() }) };
            self.value(theirs, ours)?;
        }
        Ok(())
    }

    fn value(&self, theirs: &mut Parameter, ours: &Expression) -> Same {
        match (&mut *theirs, ours) {
            (Parameter::Path(_), Expression::Path(path)) => self.path(theirs, path),
            (Parameter::Literal(theirs), Expression::Literal(ours, span)) => same(theirs == ours, span),
            (Parameter::Subexpression(inner), Expression::Call(call)) => match inner.element.as_mut() {
                Element::Expression(theirs) => self.call(theirs, call),
                _ => Err(Differs { at: call.span.clone() }),
            },
            (_, ours) => Err(Differs { at: ours.span() }),
        }
    }

    /// Makes a variable mean what the check said, and makes sure that a way that is barred gives null.
    fn path(&self, theirs: &mut Parameter, ours: &PathNode) -> Same {
        let written = self.source.get(ours.span.clone()).unwrap_or_default();
        same(theirs.as_name() == Some(written), &ours.span)?;
        let start = &ours.span.start;
        let around = !self.marks.partial && self.marks.this.contains(start);
        let raw = if around { of_this(ours) } else { written.to_owned() };
        let lenient = self.marks.lenient.contains(start) || self.marks.partial && !ours.names.is_empty();
        if lenient && !ours.local {
            *theirs = subexpression(GET, vec![Parameter::Literal(Value::String(raw))]);
        } else if around {
            let path = Path::parse(&raw).map_err(|_| Differs { at: ours.span.clone() })?;
            *theirs = Parameter::Path(path);
        }
        Ok(())
    }

    fn block(&self, theirs: &mut HelperTemplate, block: &Block) -> Same {
        let at = &block.call.span;
        self.call(theirs, &block.call)?;
        self.optional(theirs.template.as_mut(), Some(&block.body), at)?;
        match (&mut theirs.inverse, &block.otherwise) {
            (None, None) => Ok(()),
            (inverse, Some(Else::Plain(nodes))) => self.optional(inverse.as_mut(), Some(nodes), at),
            (Some(tree), Some(Else::Chain(chain))) => match tree.elements.as_mut_slice() {
                [Element::HelperBlock(theirs)] => self.block(theirs, chain),
                _ => Err(Differs { at: at.clone() }),
            },
            _ => Err(Differs { at: at.clone() }),
        }
    }

    fn partial(&self, theirs: &mut DecoratorTemplate, call: &PartialCall) -> Same {
        let at = &call.name.span;
        same(theirs.name.as_name() == Some(&call.name.text), at)?;
        self.given((&mut theirs.params, &mut theirs.hash), (&call.params, &call.options), at)?;
        self.optional(theirs.template.as_mut(), call.body.as_deref(), at)
    }
}

fn subexpression(helper: &str, params: Vec<Parameter>) -> Parameter {
    Parameter::Subexpression(Subexpression::new(Parameter::Name(helper.to_owned()), params, HashMap::new()))
}

/// Puts an element inside a block that limits what it collects.
fn guard(element: &mut Element) {
    if let Some(mut block) = guard_skeleton() {
        let inner = std::mem::replace(element, Element::RawString(String::new()));
        let mut body = Tree::new();
        body.elements.push(inner);
        block.template = Some(body);
        *element = Element::HelperBlock(block);
    }
}

/// The `this` of a loop around the template has a name that no template can write.
fn of_this(path: &PathNode) -> String {
    let mut raw = "../".repeat(path.ups);
    raw.push_str(&format!("[{THIS}]"));
    for name in &path.names {
        raw.push_str(&format!(".[{}]", name.text));
    }
    raw
}

/// What an expression is called in messages: the variable, where there is exactly one; else the expression.
pub(super) fn label(source: &str, expression: &Expression) -> String {
    let mut paths = Vec::new();
    collect(expression, &mut paths);
    let span = match paths.as_slice() {
        [only] => only.clone(),
        _ => expression.span(),
    };
    source.get(span).unwrap_or_default().trim().to_owned()
}

fn collect(expression: &Expression, paths: &mut Vec<Range<usize>>) {
    match expression {
        Expression::Path(path) => paths.push(path.span.clone()),
        Expression::Literal(..) => {}
        Expression::Call(call) => {
            call.params
                .iter()
                .chain(call.options.iter().map(|(_, value)| value))
                .for_each(|value| collect(value, paths));
        }
    }
}

fn span_of(node: &Node) -> Range<usize> {
    match node {
        Node::Text(text) => text.span.clone(),
        Node::Hole(hole) => hole.span.clone(),
        Node::Block(block) => block.call.span.clone(),
        Node::Inline(inline) => inline.name.span.clone(),
        Node::Partial(partial) => partial.name.span.clone(),
    }
}
