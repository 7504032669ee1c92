//! The stack of open blocks.

use std::ops::Range;

use super::cursor::{ParseResult, is_partial_symbol, is_symbol};
use super::parse::{INVERSE_SECTION, SECTION, TemplateParser};
use super::tree::{BlockNode, CallNode, Ident, InlineNode, PartialCall, TemplateNode};
use crate::diagnostic::Code;
use crate::template::error::TemplateError;
use crate::template::limit::MAX_NESTING;

/// The kind of an open block.
pub(super) enum OpenKind {
    Helper { call: CallNode, block_params: Vec<Ident>, chained: bool },
    Inline,
    Partial(PartialCall),
}

/// A block before its closing tag.
pub(super) struct OpenBlock {
    pub kind: OpenKind,
    /// The name in its closing tag.
    pub name: Ident,
    /// The nodes before the block.
    outer: Vec<TemplateNode>,
    /// The nodes before `{{else}}`, after that tag.
    body: Option<Vec<TemplateNode>>,
    has_errors: bool,
}

impl TemplateParser<'_> {
    pub fn open_block(&mut self, kind: OpenKind, name: Ident, broken: bool) -> ParseResult<()> {
        if self.open.len() >= MAX_NESTING {
            let message = format!("nesting of blocks exceeds {MAX_NESTING} levels");
            let help = "each `else if` counts as a nested block";
            self.cursor.push_error(TemplateError::at_range(name.span, Code::Nesting, message).help(help));
            self.open.clear();
            self.nodes.clear();
            self.cursor.at = self.cursor.source.len();
            return Ok(());
        }
        let outer = std::mem::take(&mut self.nodes);
        self.open.push(OpenBlock { kind, name, outer, body: None, has_errors: broken });
        Ok(())
    }

    /// `{{else}}`, `{{^}}`, `{{else if …}}`
    pub fn else_tag(&mut self, length: usize) -> ParseResult<()> {
        let word = self.cursor.at..self.cursor.at + length;
        self.cursor.at += length;
        self.cursor.skip_whitespace();
        let plain = self.cursor.starts_with("}}") || self.cursor.starts_with("~");
        match self.open.last_mut() {
            Some(OpenBlock { kind: OpenKind::Helper { .. }, body: body @ None, .. }) => {
                *body = Some(std::mem::take(&mut self.nodes));
            }
            Some(OpenBlock { kind: OpenKind::Helper { .. }, name, .. }) => {
                let message = format!("duplicate `{{{{else}}}}` in block `{}`", name.text);
                return self.cursor.fail(TemplateError::syntax(word, message));
            }
            Some(OpenBlock { name, .. }) => {
                let message = format!("unexpected `{{{{else}}}}` in partial `{}`", name.text);
                return self.cursor.fail(TemplateError::syntax(word, message));
            }
            None => {
                let error = TemplateError::syntax(word, "`{{else}}` outside of a block");
                return self.cursor.fail(error.help("write `{{#if NAME}}…{{else}}…{{/if}}`"));
            }
        }
        if plain { self.tag_end("", false).map(|_| ()) } else { self.block(true) }
    }

    /// `{{/name}}`
    pub fn closing_tag(&mut self) -> ParseResult<()> {
        self.cursor.at += 1;
        self.cursor.skip_whitespace();
        let span = self.cursor.skip(|c| is_partial_symbol(c) || is_symbol(c));
        let word = Ident { text: self.cursor.slice(span.clone()).to_owned(), span };
        let tag = self.cursor.tag;
        self.tag_end("", false)?;
        let span = if word.span.is_empty() { tag..self.cursor.at } else { word.span.clone() };
        let Some(depth) = self.open.iter().rposition(|open| open.closes_with(&word.text)) else {
            return self.report_stray_close(&word, span);
        };
        while self.open.len() > depth + 1 {
            let chained =
                matches!(self.open.last(), Some(OpenBlock { kind: OpenKind::Helper { chained: true, .. }, .. }));
            if let (false, Some(name)) = (chained, self.open.last().map(|open| open.name.clone())) {
                self.report_unclosed(&name);
            }
            self.close_top();
        }
        if let Some(OpenKind::Helper { call, .. }) = self.open.last().map(|open| &open.kind) {
            let helper = [SECTION, INVERSE_SECTION].into_iter().find(|helper| call.helper.text == *helper);
            self.section_ends.extend(helper.map(|helper| (word.span.clone(), helper)));
        }
        self.close_top();
        Ok(())
    }

    fn report_stray_close(&mut self, word: &Ident, span: Range<usize>) -> ParseResult<()> {
        let base = self.open.iter().rev().find(|open| !matches!(open.kind, OpenKind::Helper { chained: true, .. }));
        let Some(name) = base.map(|open| open.name.text.clone()) else {
            let message = match self.cursor.reads_sections {
                true => "unexpected end of a block".to_owned(),
                false => format!("unmatched `{{{{/{}}}}}`", word.text),
            };
            self.cursor.push_error(TemplateError::syntax(span, message));
            return Ok(());
        };
        let message = match word.text.as_str() {
            "" => format!("missing name in `{{{{/}}}}`, expected `{{{{/{name}}}}}`"),
            text => format!("mismatched `{{{{/{text}}}}}`, expected `{{{{/{name}}}}}`"),
        };
        let error = TemplateError::syntax(span, message).help(format!("write `{{{{/{name}}}}}`"));
        self.cursor.push_error(if word.text.is_empty() { error } else { error.replacement(name) });
        while let Some(OpenBlock { kind: OpenKind::Helper { chained: true, .. }, .. }) = self.open.last() {
            self.close_top();
        }
        self.close_top();
        Ok(())
    }

    pub fn report_unclosed(&mut self, name: &Ident) {
        if matches!(self.open.last(), Some(OpenBlock { kind: OpenKind::Helper { chained: true, .. }, .. })) {
            return;
        }
        let close = match self.open.last().map(|open| &open.kind) {
            Some(OpenKind::Inline) => "inline",
            _ => &name.text,
        };
        let error = TemplateError::syntax(name.span.clone(), format!("unclosed block `{}`", name.text));
        self.cursor.push_error(error.help(format!("close it with `{{{{/{close}}}}}`")));
    }

    /// Closes the innermost block.
    pub fn close_top(&mut self) {
        let Some(open) = self.open.pop() else { return };
        let last = std::mem::replace(&mut self.nodes, open.outer);
        if open.has_errors {
            // The nodes inside are still checked, as if they were outside.
            self.nodes.extend(open.body.unwrap_or_default());
            self.nodes.extend(last);
            return;
        }
        match open.kind {
            OpenKind::Inline => self.nodes.push(TemplateNode::Inline(InlineNode { name: open.name, body: last })),
            OpenKind::Partial(call) => {
                self.nodes.push(TemplateNode::Partial(PartialCall { body: Some(last), ..call }));
            }
            OpenKind::Helper { call, block_params, .. } => {
                let (body, else_nodes) = match open.body {
                    None => (last, Vec::new()),
                    Some(body) => (body, last),
                };
                self.nodes.push(TemplateNode::Block(BlockNode { call, block_params, body, else_nodes }));
            }
        }
    }
}

impl OpenBlock {
    fn closes_with(&self, word: &str) -> bool {
        match &self.kind {
            OpenKind::Helper { chained: true, .. } => false,
            OpenKind::Helper { .. } => self.name.text == word,
            OpenKind::Inline => word.is_empty() || word == "inline",
            OpenKind::Partial(_) => word.is_empty() || self.name.text == word,
        }
    }
}
