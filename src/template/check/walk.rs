//! Checks text, interpolations and blocks.

use super::Checker;
use super::frame::{InlinePartial, Locals, ScopeFrame, TypedValue};
use crate::diagnostic::Code;
use crate::template::helper::{HelperForm, find_signature, is_helper};
use crate::template::limit::MAX_NESTING;
use crate::template::shape::{Shape, element_shape};
use crate::template::syntax::{BlockNode, Expression, Ident, InlineNode, Interpolation, TemplateNode, TextNode};

/// The cost of a partial in addition to its nodes: partials that use each other twice would be walked for too long.
const PARTIAL_COST: usize = 1024;

impl<'a> Checker<'a> {
    /// Checks nodes in the order of rendering. `conditional`: they may not be rendered.
    pub(super) fn nodes(&mut self, nodes: &'a [TemplateNode], conditional: bool) {
        for node in nodes {
            let size = match node {
                TemplateNode::Text(text) => text.span.len(),
                TemplateNode::Partial(_) => PARTIAL_COST,
                _ => 16,
            };
            if !self.charge(size, size, node.span()) {
                return;
            }
            match node {
                TemplateNode::Text(text) => self.text(text),
                TemplateNode::Interpolation(interpolation) => self.interpolation(interpolation),
                TemplateNode::Block(block) => self.block(block),
                TemplateNode::Inline(inline) => self.inline(inline, conditional),
                TemplateNode::Partial(partial) => self.partial(partial),
            }
        }
    }

    fn text(&mut self, text: &TextNode) {
        let shown = self.current_text.text.get(text.span.clone()).unwrap_or_default();
        // URL parsers remove tabs and line breaks, which joins the text around them.
        let wrong = |c: char| (self.rules.encoded && c.is_control()) || (self.rules.rejects_nul && c == '\0');
        let Some((at, found)) = shown.char_indices().find(|(_, c)| wrong(*c)) else { return };
        let at = text.span.start + at..text.span.start + at + found.len_utf8();
        let error = if self.rules.encoded {
            let error = self.error(&at, Code::Uri, "line break or control character in URL");
            error.help("write it on one line, without `|`")
        } else {
            self.error(&at, Code::BadValue, "invalid NUL character")
        };
        self.report(error);
    }

    fn interpolation(&mut self, interpolation: &'a Interpolation) {
        if interpolation.raw && self.rules.encoded {
            self.report(
                self.error(&interpolation.span, Code::Unsafe, "unencoded value in URL")
                    .help("write `{{…}}`; `{{path x}}` keeps the slashes"),
            );
        }
        match &interpolation.expression {
            Expression::Path(path) => match path.single_name() {
                Some(name) if name.text == "now" && !self.is_variable("now") => {
                    if self.in_template() {
                        self.outcome.now_helpers.insert(path.span.start);
                    }
                }
                Some(name) if is_helper(&name.text) && !self.is_variable(&name.text) && !self.scope_is_unknown() => {
                    let usage = find_signature(&name.text).map_or("", |signature| signature.doc.usage);
                    let message = format!("missing arguments for helper `{}`", name.text);
                    self.report(self.error(&name.span, Code::HelperArgument, message).help(format!("write `{usage}`")));
                }
                _ => {
                    let value = self.read_expression(&interpolation.expression);
                    self.mark_printed(&value);
                    self.mark_whole_outcome(path, &value);
                }
            },
            Expression::Call(call) => {
                let value = self.call(call, HelperForm::Inline);
                self.mark_read(&value);
                self.mark_printed(&value);
            }
            Expression::Literal(..) => {}
        }
    }

    /// Whether one more level is allowed; reports if not.
    pub(super) fn enter_nesting(&mut self, name: &Ident) -> bool {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            let message = format!("nesting of blocks, partials and parentheses exceeds {MAX_NESTING} levels");
            self.report(self.error(&name.span, Code::Nesting, message));
        }
        self.depth <= MAX_NESTING
    }

    fn block(&mut self, block: &'a BlockNode) {
        if self.enter_nesting(&block.call.helper) {
            self.check_block_params(block);
            match block.call.helper.text.as_str() {
                "each" => self.each(block),
                "with" => self.with(block),
                _ => {
                    self.call(&block.call, HelperForm::Block);
                    self.nodes(&block.body, true);
                }
            }
            self.nodes(&block.else_nodes, true);
        }
        self.depth -= 1;
    }

    fn check_block_params(&mut self, block: &'a BlockNode) {
        let most = find_signature(&block.call.helper.text).map_or(0, |signature| signature.max_block_params);
        if let Some(extra) = block.block_params.get(most) {
            let message = match most {
                0 => format!("`{}` takes no block parameters", block.call.helper.text),
                _ => format!("`{}` takes at most {most} block parameters", block.call.helper.text),
            };
            self.report(self.error(&extra.span, Code::HelperArgument, message));
        }
    }

    fn each(&mut self, block: &'a BlockNode) {
        self.call(&block.call, HelperForm::Block);
        let over = self.loop_subject(block);
        let is_list = matches!(over.shape.as_ref(), Shape::List(_));
        let key = match over.shape.as_ref() {
            Shape::List(_) => Shape::Number,
            Shape::Any => Shape::Any,
            _ => Shape::Text,
        };
        let this = TypedValue::derived_from(element_shape(&over.shape), &over);
        let mut frame = ScopeFrame::new(this.clone(), Locals { index: true, key: !is_list });
        frame.key = TypedValue::key_of(key, &over);
        let values = [this, frame.key.clone()];
        frame.params = block.block_params.iter().map(|name| name.text.as_str()).zip(values).collect();
        self.walk_in_frame(frame, &block.body);
    }

    fn with(&mut self, block: &'a BlockNode) {
        let this = match block.call.arguments.params.as_slice() {
            // The fields of an object are read one by one.
            [only] if block.call.arguments.options.is_empty() => self.expression(only),
            _ => self.call(&block.call, HelperForm::Block),
        };
        self.mark_required(&this);
        if !this.shape.is_object() {
            self.mark_read(&this);
        }
        let locals = self.frames.last().map(|frame| frame.locals).unwrap_or_default();
        let mut frame = ScopeFrame::new(this.clone(), locals);
        frame.params = block.block_params.iter().map(|name| name.text.as_str()).zip([this]).collect();
        self.walk_in_frame(frame, &block.body);
    }

    /// The list or object of a loop. Its errors are already reported.
    fn loop_subject(&mut self, block: &'a BlockNode) -> TypedValue<'a> {
        let known = self.outcome.errors.len();
        let value = block
            .call
            .arguments
            .params
            .first()
            .map_or_else(|| TypedValue::computed(Shape::Any), |param| self.expression(param));
        self.outcome.errors.truncate(known);
        value
    }

    pub(super) fn walk_in_frame(&mut self, frame: ScopeFrame<'a>, body: &'a [TemplateNode]) {
        self.frames.push(frame);
        self.nodes(body, false);
        self.frames.pop();
    }

    fn inline(&mut self, inline: &'a InlineNode, conditional: bool) {
        let name = inline.name.text.as_str();
        if conditional {
            let message = "inline partial inside a condition";
            self.report(self.error(&inline.name.span, Code::Template, message).help("move it out of the condition"));
        }
        let taken = self.visible_inline(name).is_some() || self.partials.get(name).is_some();
        if taken || name == "@partial-block" {
            let message = format!("duplicate partial `{name}`");
            self.report(self.error(&inline.name.span, Code::Duplicate, message));
        }
        let written = InlinePartial { name, at: inline.name.span.start, body: &inline.body, text: self.current_text };
        if let Some(frame) = self.frames.last_mut() {
            frame.inlines.push(written);
        }
    }
}
