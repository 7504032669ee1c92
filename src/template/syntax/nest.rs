//! Blocks that are open: what is inside of which, and what ends where.

use std::ops::Range;

use super::cursor::{Read, is_partial_symbol, is_symbol};
use super::parse::Parser;
use super::tree::{Block, Call, Else, Expression, Ident, Inline, Node, PartialCall};
use crate::diagnostic::Code;
use crate::template::fault::Fault;
use crate::template::limit::MAX_NESTING;

/// What an unfinished block is.
pub(super) enum Kind {
    Helper { call: Call, block_params: Vec<Ident>, chained: bool },
    Inline,
    Partial { name: Ident, params: Vec<Expression>, options: Vec<(Ident, Expression)> },
}

/// A block whose end has not been reached.
pub(super) struct Open {
    pub kind: Kind,
    /// The word that its closing tag repeats.
    pub name: Ident,
    /// What was collected where the block stands in.
    outer: Vec<Node>,
    /// The part before `{{else}}`, once that has come.
    body: Option<Vec<Node>>,
    broken: bool,
}

impl Parser<'_> {
    pub fn push(&mut self, kind: Kind, name: Ident, broken: bool) -> Read<()> {
        if self.open.len() >= MAX_NESTING {
            let message = format!("blocks are nested more than {MAX_NESTING} deep");
            let help = "each `else if` counts as one block inside the one before it";
            self.cursor.fault(Fault::here(name.span, Code::Nesting, message).help(help));
            self.abandon();
            return Ok(());
        }
        let outer = std::mem::take(&mut self.nodes);
        self.open.push(Open { kind, name, outer, body: None, broken });
        Ok(())
    }

    /// Leaves the rest unread.
    fn abandon(&mut self) {
        self.open.clear();
        self.nodes.clear();
        self.cursor.at = self.cursor.source.len();
    }

    /// `{{else}}`, `{{^}}`, `{{else if …}}`
    pub fn otherwise(&mut self, length: usize) -> Read<()> {
        let word = self.cursor.at..self.cursor.at + length;
        self.cursor.at += length;
        self.cursor.space();
        let plain = self.cursor.sees("}}") || self.cursor.sees("~");
        match self.open.last_mut() {
            Some(Open { kind: Kind::Helper { .. }, body: body @ None, .. }) => {
                *body = Some(std::mem::take(&mut self.nodes));
            }
            Some(Open { kind: Kind::Helper { .. }, .. }) => {
                return self.cursor.broken(Fault::here(
                    word,
                    Code::Template,
                    "nothing can follow `{{else}}` but the end of the block",
                ));
            }
            Some(Open { name, .. }) => {
                let message = format!("`{}` is a partial and has no `{{{{else}}}}`", name.text);
                return self.cursor.broken(Fault::here(word, Code::Template, message));
            }
            None => {
                return self.cursor.broken(Fault::here(word, Code::Template, "`{{else}}` stands outside of a block"));
            }
        }
        if plain { self.end("", false).map(|_| ()) } else { self.block(true) }
    }

    /// `{{/name}}`
    pub fn closing(&mut self) -> Read<()> {
        self.cursor.at += 1;
        self.cursor.space();
        let span = self.cursor.skip(is_partial_symbol_or_symbol);
        let word = Ident { text: self.cursor.slice(span.clone()).to_owned(), span };
        let tag = self.cursor.tag;
        self.end("", false)?;
        let place = if word.span.is_empty() { tag..self.cursor.at } else { word.span.clone() };
        let Some(depth) = self.open.iter().rposition(|open| open.closes_with(&word.text)) else {
            return self.stray(&word, place);
        };
        while self.open.len() > depth + 1 {
            let chained = matches!(self.open.last(), Some(Open { kind: Kind::Helper { chained: true, .. }, .. }));
            if let (false, Some(name)) = (chained, self.open.last().map(|open| open.name.clone())) {
                self.unclosed(&name);
            }
            self.close_top();
        }
        self.close_top();
        Ok(())
    }

    fn stray(&mut self, word: &Ident, place: Range<usize>) -> Read<()> {
        let base = self.open.iter().rev().find(|open| !matches!(open.kind, Kind::Helper { chained: true, .. }));
        let Some(name) = base.map(|open| open.name.text.clone()) else {
            let message = format!("`{{{{/{}}}}}` closes no block", word.text);
            self.cursor.fault(Fault::here(place, Code::Template, message));
            return Ok(());
        };
        let message = match word.text.as_str() {
            "" => format!("`{{{{/}}}}` does not name the block that it closes, `{name}`"),
            text => format!("`{{{{/{text}}}}}` stands where `{{{{#{name}}}}}` should be closed"),
        };
        let fault = Fault::here(place, Code::Template, message).help(format!("write `{{{{/{name}}}}}`"));
        self.cursor.fault(if word.text.is_empty() { fault } else { fault.instead(name) });
        while let Some(Open { kind: Kind::Helper { chained: true, .. }, .. }) = self.open.last() {
            self.close_top();
        }
        self.close_top();
        Ok(())
    }

    pub fn unclosed(&mut self, name: &Ident) {
        if matches!(self.open.last(), Some(Open { kind: Kind::Helper { chained: true, .. }, .. })) {
            return;
        }
        let close = match self.open.last().map(|open| &open.kind) {
            Some(Kind::Inline) => "inline",
            _ => &name.text,
        };
        let fault =
            Fault::here(name.span.clone(), Code::Template, format!("the block `{}` is never closed", name.text));
        self.cursor.fault(fault.help(format!("close it with `{{{{/{close}}}}}`")));
    }

    /// Puts the innermost block into the tree.
    pub fn close_top(&mut self) {
        let Some(open) = self.open.pop() else { return };
        let last = std::mem::replace(&mut self.nodes, open.outer);
        if open.broken {
            // What stands inside is checked all the same, as if it stood outside.
            self.nodes.extend(open.body.unwrap_or_default());
            self.nodes.extend(last);
            return;
        }
        match open.kind {
            Kind::Inline => self.nodes.push(Node::Inline(Inline { name: open.name, body: last })),
            Kind::Partial { name, params, options } => {
                self.nodes.push(Node::Partial(PartialCall { name, params, options, body: Some(last) }));
            }
            Kind::Helper { call, block_params, chained } => {
                let (body, otherwise) = match (open.body, self.chain.take()) {
                    (None, _) => (last, None),
                    (Some(body), Some(chain)) => (body, Some(Else::Chain(chain))),
                    (Some(body), None) => (body, Some(Else::Plain(last))),
                };
                let block = Block { call, block_params, body, otherwise };
                if chained {
                    self.chain = Some(Box::new(block));
                } else {
                    self.nodes.push(Node::Block(block));
                }
            }
        }
    }
}

impl Open {
    fn closes_with(&self, word: &str) -> bool {
        match &self.kind {
            Kind::Helper { chained: true, .. } => false,
            Kind::Helper { .. } => self.name.text == word,
            Kind::Inline => word.is_empty() || word == "inline",
            Kind::Partial { .. } => word.is_empty() || self.name.text == word,
        }
    }
}

fn is_partial_symbol_or_symbol(c: char) -> bool {
    is_partial_symbol(c) || is_symbol(c)
}
