//! Text, holes and blocks.

use super::Check;
use super::frame::{Frame, InlinePartial, Locals, Typed};
use crate::diagnostic::Code;
use crate::template::helper::{Form, is_helper, signature};
use crate::template::limit::MAX_NESTING;
use crate::template::shape::{Shape, element};
use crate::template::syntax::{Block, Else, Expression, Hole, Ident, Inline, Node, Text};

/// What a partial counts for, whatever is in it: those that use each other twice would be walked for ever.
const PARTIAL: usize = 1024;

impl<'a> Check<'a> {
    /// Walks pieces in the order in which they are rendered. `conditional`: perhaps they are not.
    pub(super) fn nodes(&mut self, nodes: &'a [Node], conditional: bool) {
        for node in nodes {
            let (size, at) = match node {
                Node::Text(text) => (text.span.len(), &text.span),
                Node::Hole(hole) => (16, &hole.span),
                Node::Block(block) => (16, &block.call.span),
                Node::Inline(inline) => (16, &inline.name.span),
                Node::Partial(partial) => (PARTIAL, &partial.name.span),
            };
            if !self.spend(size, size, at) {
                return;
            }
            match node {
                Node::Text(text) => self.text(text),
                Node::Hole(hole) => self.hole(hole),
                Node::Block(block) => self.block(block),
                Node::Inline(inline) => self.inline(inline, conditional),
                Node::Partial(partial) => self.partial(partial),
            }
        }
    }

    fn text(&mut self, text: &Text) {
        let shown = self.site.text.get(text.span.clone()).unwrap_or_default();
        // A tab or line break disappears from a URL on its way, and would join what stands around it.
        let wrong = |c: char| (self.rules.encoded && c.is_control()) || (self.rules.marked && c == '\0');
        let Some((at, found)) = shown.char_indices().find(|(_, c)| wrong(*c)) else { return };
        let at = text.span.start + at..text.span.start + at + found.len_utf8();
        let fault = if self.rules.encoded {
            let fault = self.fault(&at, Code::Uri, "a URL holds no line breaks or other control characters");
            fault.help("write it on one line, without `|`")
        } else {
            self.fault(&at, Code::BadValue, "a NUL character cannot stand here")
        };
        self.report(fault);
    }

    fn hole(&mut self, hole: &'a Hole) {
        if hole.raw && self.rules.encoded {
            let fault = self.fault(&hole.span, Code::Unsafe, "nothing can be printed without encoding in a URL");
            self.report(fault.help("write `{{…}}`; `{{path x}}` keeps the slashes"));
        }
        match &hole.expression {
            Expression::Path(path) => match path.plain() {
                Some(name) if name.text == "now" && !self.knows("now") => {
                    if self.is_here() {
                        self.found.now.insert(path.span.start);
                    }
                }
                Some(name) if is_helper(&name.text) && !self.knows(&name.text) && !self.knows_nothing() => {
                    self.bare(name)
                }
                _ => _ = self.used(&hole.expression),
            },
            Expression::Call(call) => {
                let value = self.call(call, Form::Inline);
                self.read(&value);
            }
            Expression::Literal(..) => {}
        }
    }

    /// A helper that is given nothing.
    fn bare(&mut self, name: &Ident) {
        let usage = signature(&name.text).map_or("", |row| row.doc.usage);
        let message = format!("`{}` is a helper, and is given nothing", name.text);
        let fault = self.fault(&name.span, Code::HelperArgument, message);
        self.report(fault.help(format!("write `{usage}`")));
    }

    /// Whether there is room for one more level; else says so.
    pub(super) fn deeper(&mut self, name: &Ident) -> bool {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            let message = format!("blocks, partials and parentheses are nested more than {MAX_NESTING} deep");
            let fault = self.fault(&name.span, Code::Nesting, message);
            self.report(fault);
        }
        self.depth <= MAX_NESTING
    }

    fn block(&mut self, block: &'a Block) {
        if self.deeper(&block.call.helper) {
            self.bound(block);
            match block.call.helper.text.as_str() {
                "each" => self.each(block),
                "with" => self.with(block),
                _ => {
                    self.call(&block.call, Form::Block);
                    self.nodes(&block.body, true);
                }
            }
            match &block.otherwise {
                Some(Else::Plain(nodes)) => self.nodes(nodes, true),
                Some(Else::Chain(block)) => self.block(block),
                None => {}
            }
        }
        self.depth -= 1;
    }

    fn bound(&mut self, block: &'a Block) {
        let most = signature(&block.call.helper.text).map_or(0, |row| row.binds);
        if let Some(extra) = block.block_params.get(most) {
            let message = match most {
                0 => format!("`{}` gives nothing to name", block.call.helper.text),
                _ => format!("`{}` gives {most} thing to name", block.call.helper.text),
            };
            let fault = self.fault(&extra.span, Code::HelperArgument, message);
            self.report(fault);
        }
    }

    fn each(&mut self, block: &'a Block) {
        self.call(&block.call, Form::Block);
        let over = self.subject(block);
        let is_list = matches!(over.shape.as_ref(), Shape::List(_));
        let key = match over.shape.as_ref() {
            Shape::List(_) => Shape::Number,
            Shape::Any => Shape::Any,
            _ => Shape::Text,
        };
        let this = Typed::made_of(element(&over.shape), &over);
        let mut frame = Frame::of(this.clone(), Locals { index: true, key: !is_list });
        frame.params = block.block_params.iter().map(|name| name.text.as_str()).zip([this, Typed::made(key)]).collect();
        self.inside(frame, &block.body);
    }

    fn with(&mut self, block: &'a Block) {
        let this = match block.call.params.as_slice() {
            // Fields of an object are read one by one.
            [only] if block.call.options.is_empty() => self.expression(only),
            _ => self.call(&block.call, Form::Block),
        };
        self.need(&this);
        if !this.shape.is_object() {
            self.read(&this);
        }
        let locals = self.frames.last().map(|frame| frame.locals).unwrap_or_default();
        let mut frame = Frame::of(this.clone(), locals);
        frame.params = block.block_params.iter().map(|name| name.text.as_str()).zip([this]).collect();
        self.inside(frame, &block.body);
    }

    /// What a loop goes through. What is wrong with it has been reported.
    fn subject(&mut self, block: &'a Block) -> Typed<'a> {
        let known = self.found.faults.len();
        let value = block.call.params.first().map_or_else(|| Typed::made(Shape::Any), |param| self.expression(param));
        self.found.faults.truncate(known);
        value
    }

    pub(super) fn inside(&mut self, frame: Frame<'a>, body: &'a [Node]) {
        self.frames.push(frame);
        self.nodes(body, false);
        self.frames.pop();
    }

    fn inline(&mut self, inline: &'a Inline, conditional: bool) {
        let name = inline.name.text.as_str();
        if conditional {
            let message = "a partial cannot be written where it is perhaps not reached";
            let fault = self.fault(&inline.name.span, Code::Template, message);
            self.report(fault.help("write it outside of the condition"));
        }
        let taken = self.visible(name).is_some() || self.partials.get(name).is_some();
        if taken || name == "@partial-block" {
            let message = format!("there is a partial `{name}` already");
            let fault = self.fault(&inline.name.span, Code::Duplicate, message);
            self.report(fault);
        }
        let written = InlinePartial { name, at: inline.name.span.start, body: &inline.body, site: self.site };
        if let Some(frame) = self.frames.last_mut() {
            frame.inlines.push(written);
        }
    }
}
