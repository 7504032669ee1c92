//! Tags and text; which block ends where.

use super::cursor::{Broken, Cursor, Read, is_partial_symbol, is_symbol};
use super::nest::{Kind, Open};
use super::tree::{Block, Call, Expression, Hole, Ident, Node, PartialCall, Text};
use crate::diagnostic::Code;
use crate::template::fault::Fault;
use crate::template::limit::{MAX_FAULTS, MAX_TEMPLATE};

/// Reads a template whole. What could not be read is left out of the tree and stands among the faults.
pub(in crate::template) fn parse(source: &str) -> (Vec<Node>, Vec<Fault>) {
    if source.len() > MAX_TEMPLATE {
        let message = format!("the template is larger than {MAX_TEMPLATE} bytes");
        return (Vec::new(), vec![Fault::here(0..source.len(), Code::TooLarge, message)]);
    }
    let mut parser = Parser { cursor: Cursor::new(source), open: Vec::new(), nodes: Vec::new(), chain: None };
    parser.run();
    (parser.nodes, parser.cursor.faults)
}

/// Reads tags and text, and collects what is inside of the innermost open block.
pub(super) struct Parser<'s> {
    pub cursor: Cursor<'s>,
    pub open: Vec<Open>,
    pub nodes: Vec<Node>,
    /// An `else if` that ended just now, with the block that it belongs to.
    pub chain: Option<Box<Block>>,
}

impl Parser<'_> {
    fn run(&mut self) {
        while self.cursor.at < self.cursor.source.len() && self.cursor.faults.len() < MAX_FAULTS {
            self.text();
            if self.cursor.at >= self.cursor.source.len() {
                break;
            }
            self.cursor.tag = self.cursor.at;
            if self.tag().is_err() {
                self.cursor.recover();
            }
        }
        while let Some(name) = self.open.last().map(|open| open.name.clone()) {
            self.unclosed(&name);
            self.close_top();
        }
    }

    /// Text up to the next tag.
    fn text(&mut self) {
        let start = self.cursor.at;
        let mut escapes = Vec::new();
        while let Some(found) = self.cursor.rest().find(['\\', '{']) {
            self.cursor.at += found;
            if self.cursor.sees("{{") {
                break;
            }
            let (length, escapes_tag) = backslashes(self.cursor.rest());
            if escapes_tag {
                escapes.push(self.cursor.at);
            }
            self.cursor.at += length.max(1);
        }
        if !self.cursor.sees("{{") {
            self.cursor.at = self.cursor.source.len();
        }
        if self.cursor.at > start {
            self.nodes.push(Node::Text(Text { span: start..self.cursor.at, escapes }));
        }
    }

    fn tag(&mut self) -> Read<()> {
        self.cursor.depth = self.open.len();
        let cursor = &mut self.cursor;
        let start = cursor.at;
        if cursor.sees("{{{{") {
            let fault =
                Fault::here(start..start + 4, Code::Template, "four braces open a raw block, which folio has not");
            return cursor.broken(fault.help("a backslash keeps a tag from being one: `\\{{name}}`"));
        }
        if cursor.sees("{{!") {
            return self.comment();
        }
        let triple = cursor.eat("{{{");
        if !triple {
            cursor.at += 2;
        }
        cursor.space();
        let trims = cursor.eat("~");
        cursor.space();
        if !triple && cursor.eat("{") {
            return self.hole(trims, "}");
        }
        match cursor.peek() {
            _ if triple => self.hole(trims, "}}}"),
            Some('&') => self.ampersand(trims),
            Some('#') => self.opening(),
            Some('/') => self.closing(),
            Some('>') => self.partial(false),
            Some('^') => self.otherwise(1),
            Some('*') => self.decorator(),
            Some('!') => self.trimmed_comment(),
            _ if cursor.sees_word("else") => self.otherwise(4),
            _ => self.hole(trims, ""),
        }
    }

    fn comment(&mut self) -> Read<()> {
        let cursor = &mut self.cursor;
        cursor.at += 3;
        cursor.space();
        let (end, what) =
            if cursor.sees("--") { ("--}}", "a comment that begins with `{{!--`") } else { ("}}", "a comment") };
        cursor.at += if end.len() > 2 { 2 } else { 0 };
        let Some(found) = cursor.rest().find(end) else {
            let tag = cursor.tag..cursor.tag + 3;
            cursor.fault(Fault::here(tag, Code::Template, format!("{what} ends with `{end}`, which never comes")));
            cursor.at = cursor.source.len();
            return Ok(());
        };
        cursor.at += found + end.len();
        Ok(())
    }

    fn trimmed_comment(&mut self) -> Read<()> {
        let span = self.cursor.tag..self.cursor.at + 1;
        let fault = Fault::here(span, Code::Template, "a comment cannot trim white space with `~`");
        self.cursor.broken(fault.help("write `{{!`").instead("{{!"))
    }

    fn ampersand(&mut self, trims: bool) -> Read<()> {
        self.cursor.at += 1;
        self.cursor.space();
        let path = self.cursor.path("a variable")?;
        let trims = self.end("", trims)?;
        let span = self.cursor.tag..self.cursor.at;
        self.nodes.push(Node::Hole(Hole { span, expression: Expression::Path(path), raw: true, trims }));
        Ok(())
    }

    /// `closing` is what ends it: nothing but `}}`, `}` and `}}`, or `}}}`.
    fn hole(&mut self, trims: bool, closing: &str) -> Read<()> {
        let expression = self.cursor.printed()?;
        let trims = self.end(closing, trims)?;
        let span = self.cursor.tag..self.cursor.at;
        self.nodes.push(Node::Hole(Hole { span, expression, raw: !closing.is_empty(), trims }));
        Ok(())
    }

    /// The end of a tag, with or without `~`; answers whether the tag trims.
    pub fn end(&mut self, closing: &str, trims: bool) -> Read<bool> {
        let cursor = &mut self.cursor;
        cursor.space();
        let brace = closing == "}" && cursor.eat("}");
        if closing == "}" && !brace {
            return cursor.unexpected("`}`");
        }
        cursor.space();
        let trims = cursor.eat("~") || trims;
        cursor.space();
        let end = if closing == "}}}" { "}}}" } else { "}}" };
        if cursor.eat(end) {
            return Ok(trims);
        }
        if end == "}}}" && cursor.sees("}}") {
            cursor.at += 1;
            let broken = cursor.unexpected("`}}}`");
            cursor.at -= 1;
            return broken;
        }
        cursor.unexpected("`}}`")
    }

    /// `{{#…}}`
    fn opening(&mut self) -> Read<()> {
        self.cursor.at += 1;
        self.cursor.space();
        match self.cursor.peek() {
            Some('>') => self.partial(true),
            Some('*') => self.inline(),
            _ => self.block(false),
        }
    }

    pub fn block(&mut self, chained: bool) -> Read<()> {
        let start = self.cursor.at;
        let read = self.cursor.call().and_then(|call| Ok((call, self.block_params()?)));
        let read = read.and_then(|read| self.end("", false).map(|_| read));
        let (kind, name, broken) = match read {
            Ok((call, block_params)) => {
                let name = call.helper.clone();
                (Kind::Helper { call, block_params, chained }, name, false)
            }
            Err(Broken) => {
                let name = self.word_at(start);
                let call =
                    Call { span: name.span.clone(), helper: name.clone(), params: Vec::new(), options: Vec::new() };
                self.cursor.recover();
                (Kind::Helper { call, block_params: Vec::new(), chained }, name, true)
            }
        };
        self.push(kind, name, broken)
    }

    /// The word at a place, to know a block by when the rest of its tag cannot be read.
    fn word_at(&self, start: usize) -> Ident {
        let rest = self.cursor.source.get(start..).unwrap_or_default();
        let length = rest.find(|c| !is_symbol(c)).unwrap_or(rest.len());
        Ident { text: rest.get(..length).unwrap_or_default().to_owned(), span: start..start + length }
    }

    /// `as |item index|`
    fn block_params(&mut self) -> Read<Vec<Ident>> {
        let cursor = &mut self.cursor;
        let mut names = Vec::new();
        cursor.space();
        if !cursor.sees_word("as") {
            return Ok(names);
        }
        cursor.at += 2;
        cursor.space();
        if !cursor.eat("|") {
            return cursor.unexpected("`|`");
        }
        loop {
            cursor.space();
            let span = cursor.skip(is_symbol);
            if span.is_empty() {
                break;
            }
            names.push(Ident { text: cursor.slice(span.clone()).to_owned(), span });
        }
        if names.is_empty() || names.len() > 2 || !cursor.eat("|") {
            return cursor.unexpected("`as |item|` or `as |item index|`");
        }
        Ok(names)
    }

    /// `{{#*inline "name"}}`
    fn inline(&mut self) -> Read<()> {
        self.cursor.at += 1;
        let call = self.cursor.call()?;
        self.end("", false)?;
        if call.helper.text != "inline" {
            let message = format!("there is no decorator `{}`", call.helper.text);
            self.cursor.fault(Fault::here(call.helper.span.clone(), Code::UnknownHelper, message).instead("inline"));
        }
        let name = match (call.params.as_slice(), call.options.is_empty()) {
            ([Expression::Literal(serde_json::Value::String(name), span)], true) if !name.is_empty() => {
                Ident { text: name.clone(), span: span.clone() }
            }
            _ => {
                let fault = Fault::here(call.span.clone(), Code::HelperArgument, "`inline` takes one name in quotes");
                self.cursor.fault(fault.help("write `{{#*inline \"name\"}}`"));
                Ident { text: String::new(), span: call.span.clone() }
            }
        };
        self.push(Kind::Inline, Ident { text: name.text, span: name.span }, false)
    }

    fn decorator(&mut self) -> Read<()> {
        let span = self.cursor.tag..self.cursor.at + 1;
        let fault = Fault::here(span, Code::Template, "folio has no decorators but `{{#*inline \"name\"}}`");
        self.cursor.broken(fault)
    }

    fn partial(&mut self, block: bool) -> Read<()> {
        let cursor = &mut self.cursor;
        cursor.at += 1;
        cursor.space();
        if let Some(c @ ('(' | '"' | '\'' | '[')) = cursor.peek() {
            let fault = Fault::here(cursor.at..cursor.at + 1, Code::Unsafe, "a partial is named by a plain word");
            return cursor.broken(match c {
                '(' => fault.help("a name that is computed would let a value choose the template"),
                _ => fault.help("write the name without quotes"),
            });
        }
        let span = cursor.skip(is_partial_symbol);
        if span.is_empty() {
            return cursor.unexpected("the name of a partial");
        }
        let name = Ident { text: cursor.slice(span.clone()).to_owned(), span };
        let (params, options) = cursor.given()?;
        self.end("", false)?;
        if block {
            return self.push(Kind::Partial { name: name.clone(), params, options }, name, false);
        }
        self.nodes.push(Node::Partial(PartialCall { name, params, options, body: None }));
        Ok(())
    }
}

/// The length of a run of backslashes with what they escape, and whether Handlebars takes one backslash from it.
fn backslashes(rest: &str) -> (usize, bool) {
    let slashes = rest.bytes().take_while(|byte| *byte == b'\\').count();
    let after = rest.get(slashes..).unwrap_or_default();
    match slashes {
        1 if after.starts_with("{{{{") => (5, true),
        1 if after.starts_with("{{") => (3, true),
        _ => (slashes, slashes > 1 && after.starts_with("{{")),
    }
}
