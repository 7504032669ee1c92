//! Lowers a checked template to the tree of Handlebars, which renders it: the expressions of its text are rewritten, so
//! that every interpolation prints through [`helper::PRINT`](super::helper::PRINT), and Handlebars parses the result.

use std::ops::Range;

use handlebars::template::{Template as Tree, TemplateElement as Element};
use serde_json::Value;

use super::check::TemplateCheck;
use super::error::TemplateError;
use super::helper::{NOW_FALLBACK, PRINT, READ_PATH, REQUIRE_PATH, checks_presence, empty_guard_block};
use super::limit::MAX_PARSE_COST;
use super::scope::THIS;
use super::syntax::{CallArguments, Expression, Interpolation, PartialCall, PathNode, TemplateNode};
use crate::diagnostic::Code;

/// What is known of a template.
#[derive(Debug)]
pub(super) struct RewriteContext<'c> {
    /// The text is a partial: any path may be missing.
    pub partial: bool,
    pub checked: &'c TemplateCheck,
    /// The interpolation at the start of a URL, which is not encoded.
    pub raw_interpolation: Option<usize>,
}

/// Rewrites a template, and parses it with Handlebars.
pub(super) fn to_handlebars(
    source: &str,
    nodes: &[TemplateNode],
    context: &RewriteContext<'_>,
) -> Result<Tree, Box<TemplateError>> {
    let cost = source.matches("{{").count().saturating_mul(source.len());
    if cost > MAX_PARSE_COST || source.contains(&"\\".repeat(256)) {
        let message = "template too complex: too many tags for its size";
        return Err(Box::new(
            TemplateError::at_range(0..0, Code::TooLarge, message).help("move parts of it into partials"),
        ));
    }
    let mut rewriter = Rewriter { source, context, edits: Vec::new(), tags: 0 };
    rewriter.nodes(nodes);
    let tags = rewriter.tags;
    let tree = Tree::compile(&rewriter.apply_edits()).ok();
    tree.and_then(|mut tree| (guard_partials(&mut tree, &[PRINT])? == tags).then_some(tree)).ok_or_else(|| {
        let message = "ambiguous syntax: Handlebars parses it differently";
        Box::new(TemplateError::at_range(0..source.len(), Code::Template, message).help("simplify it"))
    })
}

/// A text that replaces a range of the template.
struct SourceEdit {
    range: Range<usize>,
    text: String,
}

struct Rewriter<'l> {
    source: &'l str,
    context: &'l RewriteContext<'l>,
    edits: Vec<SourceEdit>,
    /// The number of nodes so far, without text.
    tags: usize,
}

impl Rewriter<'_> {
    fn replace(&mut self, range: Range<usize>, text: impl Into<String>) {
        self.edits.push(SourceEdit { range, text: text.into() });
    }

    fn apply_edits(mut self) -> String {
        self.edits.sort_by_key(|edit| edit.range.start);
        let mut text = String::with_capacity(self.source.len() * 2);
        let mut from = 0;
        for edit in &self.edits {
            text.push_str(self.source.get(from..edit.range.start).unwrap_or_default());
            text.push_str(&edit.text);
            from = edit.range.end;
        }
        text.push_str(self.source.get(from..).unwrap_or_default());
        text
    }

    fn nodes(&mut self, nodes: &[TemplateNode]) {
        for node in nodes {
            self.tags += usize::from(!matches!(node, TemplateNode::Text(_)));
            match node {
                TemplateNode::Text(_) => {}
                TemplateNode::Interpolation(interpolation) => self.interpolation(interpolation),
                TemplateNode::Block(block) => {
                    self.arguments(&block.call.arguments, !checks_presence(&block.call.helper.text));
                    self.nodes(&block.body);
                    self.nodes(&block.else_nodes);
                }
                TemplateNode::Inline(inline) => self.nodes(&inline.body),
                TemplateNode::Partial(call) => {
                    // Handlebars indents the lines of any partial after white space, where handlebars.js leaves those of one
                    // that has no line of its own: a comment before the tag is not white space.
                    if is_indented_within_line(self.source, call) {
                        self.replace(call.span.start..call.span.start, "{{!}}");
                    }
                    self.arguments(&call.arguments, false);
                    self.nodes(call.body.as_deref().unwrap_or_default());
                }
            }
        }
    }

    fn interpolation(&mut self, Interpolation { span, expression, .. }: &Interpolation) {
        let at = expression.span();
        // Handlebars has no `{{&helper …}}`.
        if let Some(ampersand) = self.source.get(span.start..at.start).and_then(|open| open.find('&')) {
            self.replace(span.start + ampersand..span.start + ampersand + 1, "");
        }
        let label = Value::String(label(self.source, expression));
        let is_raw = self.context.raw_interpolation == Some(span.start)
            || matches!(expression, Expression::Call(call) if call.helper.text == "path");
        let raw = if is_raw { " true" } else { "" };
        match expression {
            Expression::Path(path) => {
                let value = self.printed_path(path);
                self.replace(at, format!("{PRINT} {label} {value}{raw}"));
            }
            _ => {
                self.replace(at.start..at.start, format!("{PRINT} {label} ("));
                self.value(expression, true);
                self.replace(at.end..at.end, format!("){raw}"));
            }
        }
    }

    fn printed_path(&self, path: &PathNode) -> String {
        if let Some(needed) = self.require_path_call(path, true) {
            return needed;
        }
        let plain_now = path.single_name().is_some_and(|name| name.text == "now");
        match (self.context.partial, self.context.checked.now_helpers.contains(&path.span.start)) {
            (true, _) if plain_now => format!("({NOW_FALLBACK})"),
            (false, true) => "(now)".to_owned(),
            _ => {
                let value = self.path(path);
                // As a parameter, `3` or `[1]` would be a literal.
                if value.starts_with(['.', '(']) { value } else { format!("./{value}") }
            }
        }
    }

    fn arguments(&mut self, arguments: &CallArguments, needed: bool) {
        arguments.values().for_each(|value| self.value(value, needed));
    }

    /// Rewrites an argument; `needed` is whether an output that it reads has to be of its form.
    fn value(&mut self, value: &Expression, needed: bool) {
        match value {
            Expression::Path(path) => {
                let needed = if needed { self.require_path_call(path, false) } else { None };
                self.replace(path.span.clone(), needed.unwrap_or_else(|| self.path(path)));
            }
            Expression::Call(call) => self.arguments(&call.arguments, !checks_presence(&call.helper.text)),
            Expression::Literal(..) => {}
        }
    }

    /// A path that reads an output, which has to be of its form.
    fn require_path_call(&self, path: &PathNode, printed: bool) -> Option<String> {
        let output = self.context.checked.output_paths.get(&path.span.start).filter(|_| !self.context.partial)?;
        let (raw, output) = (Value::String(self.raw_path(path)), Value::String(output.join(".")));
        Some(format!("({REQUIRE_PATH} {raw} {output} {printed})"))
    }

    /// A path that means what the check found.
    fn raw_path(&self, path: &PathNode) -> String {
        let around = !self.context.partial && self.context.checked.outer_this_paths.contains(&path.span.start);
        if !around {
            return self.source.get(path.span.clone()).unwrap_or_default().to_owned();
        }
        // No template can contain the name of the outer `this`.
        let names: String = path.names.iter().map(|name| format!(".[{}]", name.text)).collect();
        format!("{}[{THIS}]{names}", "../".repeat(path.parent_steps))
    }

    /// A path that means what the check found, and is null where it is missing.
    fn path(&self, path: &PathNode) -> String {
        let start = &path.span.start;
        let raw = self.raw_path(path);
        let lenient =
            self.context.checked.unchecked_paths.contains(start) || self.context.partial && !path.names.is_empty();
        if lenient && !path.local { format!("({READ_PATH} {})", Value::String(raw)) } else { raw }
    }
}

/// Whether Handlebars would indent the lines of a partial that has no line of its own.
pub(super) fn is_indented_within_line(source: &str, call: &PartialCall) -> bool {
    let is_space = |character| matches!(character, ' ' | '\t');
    let (start, end) = (call.span.start, call.span.end);
    let before = source.get(..start).unwrap_or_default();
    let after = source.get(end..).unwrap_or_default();
    let line = before.trim_end_matches(is_space);
    let stands_alone = (line.is_empty() || line.ends_with(['\n', '\r']))
        && (after.is_empty() || after.trim_start_matches(is_space).starts_with(['\n', '\r']));
    let trims = source.get(start + 2..end).is_some_and(|tag| tag.trim_start().starts_with('~'));
    call.body.is_none() && line.len() < before.len() && !stands_alone && !trims
}

/// Limits the output of every partial, and returns the number of tags; `None` where an interpolation is not rewritten to
/// one of these helpers.
pub(super) fn guard_partials(tree: &mut Tree, printers: &[&str]) -> Option<usize> {
    let mut tags = 0;
    for element in &mut tree.elements {
        let bodies = match &mut *element {
            Element::RawString(_) | Element::Comment(_) => continue,
            Element::Expression(call) | Element::HtmlExpression(call) => {
                call.name.as_name().filter(|name| printers.contains(name)).map(|_| [None, None])?
            }
            Element::HelperBlock(block) => [block.template.as_mut(), block.inverse.as_mut()],
            Element::DecoratorBlock(inner) | Element::PartialExpression(inner) | Element::PartialBlock(inner) => {
                [inner.template.as_mut(), None]
            }
            _ => return None,
        };
        tags += 1;
        for body in bodies.into_iter().flatten() {
            tags += guard_partials(body, printers)?;
        }
        if matches!(element, Element::PartialExpression(_) | Element::PartialBlock(_)) {
            wrap_in_guard(element);
        }
    }
    Some(tags)
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
