//! Rewrites a template to what Handlebars reads: each value is printed by a helper, and each path read by one.

use std::ops::Range;

use handlebars::template::Template as Tree;
use serde_json::Value;

use super::check::option;
use super::marker_of;
use crate::template::helper::{MEDIA, READ_PATH, ROLE, TEXT};
use crate::template::limit::MAX_PARSE_COST;
use crate::template::syntax::{
    CallNode, Expression, INVERSE_SECTION, Interpolation, PartialCall, SECTION, SectionTemplate, TemplateNode,
};
use crate::template::to_handlebars::{guard_partials, is_indented_within_line};

/// Whether Handlebars would read a text for too long.
pub(super) fn has_too_many_tags(text: &str) -> bool {
    text.matches("{{").count().saturating_mul(text.len()) > MAX_PARSE_COST || text.contains(&"\\".repeat(256))
}

/// The tree of a range of a template, which begins and ends between two nodes at its top.
pub(super) fn to_tree(source: &str, parsed: &SectionTemplate, range: Range<usize>) -> Option<Tree> {
    if has_too_many_tags(source.get(range.clone())?) {
        return None;
    }
    let mut rewriter = Rewriter { source, edits: Vec::new(), tags: 0 };
    let nodes = parsed.nodes.iter().filter(|node| range.contains(&node.span().start));
    nodes.for_each(|node| rewriter.node(node));
    let ends = parsed.section_ends.iter().filter(|(end, _)| range.contains(&end.start));
    rewriter.edits.extend(ends.map(|(end, helper)| (end.clone(), (*helper).to_owned())));
    let (text, tags) = (rewriter.apply_edits(range), rewriter.tags);
    let mut tree = Tree::compile(&text).ok()?;
    (guard_partials(&mut tree, &[TEXT, MEDIA, ROLE])? == tags).then_some(tree)
}

struct Rewriter<'s> {
    source: &'s str,
    edits: Vec<(Range<usize>, String)>,
    /// The number of nodes so far, without text.
    tags: usize,
}

impl Rewriter<'_> {
    fn apply_edits(&mut self, range: Range<usize>) -> String {
        self.edits.sort_by_key(|(range, _)| range.start);
        let (mut text, mut from) = (String::new(), range.start);
        for (edited, replacement) in &self.edits {
            text.push_str(self.source.get(from..edited.start).unwrap_or_default());
            text.push_str(replacement);
            from = edited.end;
        }
        text.push_str(self.source.get(from..range.end).unwrap_or_default());
        text
    }

    fn node(&mut self, node: &TemplateNode) {
        self.tags += usize::from(!matches!(node, TemplateNode::Text(_)));
        match node {
            TemplateNode::Text(_) | TemplateNode::Inline(_) => {}
            TemplateNode::Interpolation(interpolation) => self.interpolation(interpolation),
            TemplateNode::Block(block) => {
                self.block_call(&block.call);
                block.body.iter().chain(&block.else_nodes).for_each(|node| self.node(node));
            }
            TemplateNode::Partial(call) => self.partial(call),
        }
    }

    fn interpolation(&mut self, interpolation: &Interpolation) {
        let tag = self.source.get(interpolation.span.clone()).unwrap_or_default();
        let trim = |is_trimmed: bool| if is_trimmed { "~" } else { "" };
        let before = trim(tag.trim_start_matches('{').trim_start().starts_with('~'));
        let after = trim(tag.trim_end_matches('}').trim_end().ends_with('~'));
        let inside = self.printed(&interpolation.expression);
        self.edits.push((interpolation.span.clone(), format!("{{{{{before}{inside}{after}}}}}")));
    }

    fn printed(&self, expression: &Expression) -> String {
        match expression {
            Expression::Call(call) if call.helper.text == "media" => {
                let value = |name: &str| option(call, name).map_or("null".to_owned(), |value| self.value(value));
                format!("{MEDIA} {} {}", value("url"), value("contentType"))
            }
            Expression::Call(call) if matches!(call.helper.text.as_str(), "section" | "log") => {
                format!("{TEXT} null")
            }
            _ => match marker_of(expression) {
                Some(marker) => format!("{ROLE} {}", Value::from(marker.name())),
                None => format!("{TEXT} {}", self.value(expression)),
            },
        }
    }

    fn value(&self, expression: &Expression) -> String {
        match expression {
            Expression::Path(path) => {
                let raw = match self.source.get(path.span.clone()).unwrap_or_default() {
                    "." => "this",
                    ".." => "../this",
                    raw => raw,
                };
                format!("({READ_PATH} {})", Value::from(raw))
            }
            Expression::Literal(value, _) => value.to_string(),
            Expression::Call(call) => format!("({} {})", call.helper.text, self.arguments(call).join(" ")),
        }
    }

    fn arguments(&self, call: &CallNode) -> Vec<String> {
        let params = call.arguments.params.iter().map(|param| self.value(param));
        let options = call.arguments.options.iter().map(|(name, value)| format!("{}={}", name.text, self.value(value)));
        params.chain(options).collect()
    }

    /// Rewrites the tag of a block, but for the names that it gives.
    fn block_call(&mut self, call: &CallNode) {
        let arguments = self.arguments(call).join(" ");
        match call.helper.text.as_str() {
            SECTION => self.edits.push((call.span.clone(), format!("{SECTION} {arguments}"))),
            INVERSE_SECTION => {
                let caret = self.source.get(..call.span.start).and_then(|before| before.rfind('^'));
                let start = caret.unwrap_or(call.span.start);
                self.edits.push((start..call.span.end, format!("#{INVERSE_SECTION} {arguments}")));
            }
            helper => self.edits.push((call.span.clone(), format!("{helper} {arguments}"))),
        }
    }

    fn partial(&mut self, call: &PartialCall) {
        if is_indented_within_line(self.source, call) {
            self.edits.push((call.span.start..call.span.start, "{{!}}".to_owned()));
        }
        self.edits.push((call.name.span.clone(), call.name.text.clone()));
        for value in call.arguments.values() {
            self.edits.push((value.span(), self.value(value)));
        }
    }
}
