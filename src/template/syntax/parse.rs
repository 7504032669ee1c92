//! Parses the text and tags of a template.

use super::cursor::{Cursor, ErrorReported, ParseResult, is_partial_symbol, is_symbol};
use super::open_block::{OpenBlock, OpenKind};
use super::tree::{CallArguments, CallNode, Expression, Ident, Interpolation, PartialCall, TemplateNode, TextNode};
use crate::diagnostic::Code;
use crate::template::error::TemplateError;
use crate::template::limit::{MAX_ERRORS, MAX_TEMPLATE_BYTES};

/// Parses a whole template. Invalid tags are reported and left out of the tree.
pub(in crate::template) fn parse(source: &str) -> (Vec<TemplateNode>, Vec<TemplateError>) {
    if source.len() > MAX_TEMPLATE_BYTES {
        let message = format!("template exceeds {MAX_TEMPLATE_BYTES} bytes");
        return (Vec::new(), vec![TemplateError::at_range(0..source.len(), Code::TooLarge, message)]);
    }
    let mut parser = TemplateParser { cursor: Cursor::new(source), open: Vec::new(), nodes: Vec::new() };
    parser.run();
    (parser.nodes, parser.cursor.errors)
}

/// Parses tags and text, and collects the nodes of the innermost open block.
pub(super) struct TemplateParser<'s> {
    pub cursor: Cursor<'s>,
    pub open: Vec<OpenBlock>,
    pub nodes: Vec<TemplateNode>,
}

impl TemplateParser<'_> {
    fn run(&mut self) {
        while self.cursor.at < self.cursor.source.len() && self.cursor.errors.len() < MAX_ERRORS {
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
            self.report_unclosed(&name);
            self.close_top();
        }
    }

    /// Text up to the next tag.
    fn text(&mut self) {
        let start = self.cursor.at;
        let mut escapes = Vec::new();
        while let Some(found) = self.cursor.rest().find(['\\', '{']) {
            self.cursor.at += found;
            if self.cursor.starts_with("{{") {
                break;
            }
            let (length, escapes_tag) = backslashes(self.cursor.rest());
            if escapes_tag {
                escapes.push(self.cursor.at);
            }
            self.cursor.at += length.max(1);
        }
        if !self.cursor.starts_with("{{") {
            self.cursor.at = self.cursor.source.len();
        }
        if self.cursor.at > start {
            self.nodes.push(TemplateNode::Text(TextNode { span: start..self.cursor.at, escapes }));
        }
    }

    fn tag(&mut self) -> ParseResult<()> {
        self.cursor.depth = self.open.len();
        let cursor = &mut self.cursor;
        let start = cursor.at;
        if cursor.starts_with("{{{{") {
            let error = TemplateError::syntax(start..start + 4, "unsupported raw block `{{{{`");
            return cursor.fail(error.help("escape a tag with a backslash: `\\{{name}}`"));
        }
        if cursor.starts_with("{{!") {
            return self.comment();
        }
        let triple = cursor.eat("{{{");
        if !triple {
            cursor.at += 2;
        }
        cursor.skip_whitespace();
        let trims = cursor.eat("~");
        cursor.skip_whitespace();
        if !triple && cursor.eat("{") {
            return self.interpolation(trims, "}");
        }
        match cursor.peek() {
            _ if triple => self.interpolation(trims, "}}}"),
            Some('&') => self.ampersand(trims),
            Some('#') => self.opening_tag(),
            Some('/') => self.closing_tag(),
            Some('>') => self.partial(false),
            Some('^') => self.else_tag(1),
            Some('*') => self.decorator(),
            Some('!') => self.trimmed_comment(),
            _ if cursor.starts_with_word("else") => self.else_tag(4),
            _ => self.interpolation(trims, ""),
        }
    }

    fn comment(&mut self) -> ParseResult<()> {
        let cursor = &mut self.cursor;
        cursor.at += 3;
        cursor.skip_whitespace();
        let end = if cursor.starts_with("--") { "--}}" } else { "}}" };
        cursor.at += if end.len() > 2 { 2 } else { 0 };
        let Some(found) = cursor.rest().find(end) else {
            let tag = cursor.tag..cursor.tag + 3;
            let error = TemplateError::syntax(tag, "unclosed comment");
            cursor.push_error(error.help(format!("close it with `{end}`")));
            cursor.at = cursor.source.len();
            return Ok(());
        };
        cursor.at += found + end.len();
        Ok(())
    }

    fn trimmed_comment(&mut self) -> ParseResult<()> {
        let span = self.cursor.tag..self.cursor.at + 1;
        let error = TemplateError::syntax(span, "unsupported `~` in a comment");
        self.cursor.fail(error.help("write `{{!`").certain("{{!"))
    }

    fn ampersand(&mut self, trims: bool) -> ParseResult<()> {
        self.cursor.at += 1;
        self.cursor.skip_whitespace();
        let path = self.cursor.path("a variable")?;
        let trims = self.tag_end("", trims)?;
        let span = self.cursor.tag..self.cursor.at;
        self.nodes.push(TemplateNode::Interpolation(Interpolation {
            span,
            expression: Expression::Path(path),
            raw: true,
            trims,
        }));
        Ok(())
    }

    /// `closing` is the part of the closing braces before `}}`: none, `}`, or all of `}}}`.
    fn interpolation(&mut self, trims: bool, closing: &str) -> ParseResult<()> {
        let expression = self.cursor.interpolation()?;
        let trims = self.tag_end(closing, trims)?;
        let span = self.cursor.tag..self.cursor.at;
        self.nodes.push(TemplateNode::Interpolation(Interpolation {
            span,
            expression,
            raw: !closing.is_empty(),
            trims,
        }));
        Ok(())
    }

    /// The end of a tag, with or without `~`; returns whether the tag trims.
    pub fn tag_end(&mut self, closing: &str, trims: bool) -> ParseResult<bool> {
        let cursor = &mut self.cursor;
        cursor.skip_whitespace();
        let brace = closing == "}" && cursor.eat("}");
        if closing == "}" && !brace {
            return cursor.unexpected("`}`");
        }
        cursor.skip_whitespace();
        let trims = cursor.eat("~") || trims;
        cursor.skip_whitespace();
        let end = if closing == "}}}" { "}}}" } else { "}}" };
        if cursor.eat(end) {
            return Ok(trims);
        }
        if end == "}}}" && cursor.starts_with("}}") {
            cursor.at += 1;
            let broken = cursor.unexpected("`}}}`");
            cursor.at -= 1;
            return broken;
        }
        cursor.unexpected("`}}`")
    }

    /// `{{#…}}`
    fn opening_tag(&mut self) -> ParseResult<()> {
        self.cursor.at += 1;
        self.cursor.skip_whitespace();
        match self.cursor.peek() {
            Some('>') => self.partial(true),
            Some('*') => self.inline(),
            _ => self.block(false),
        }
    }

    pub fn block(&mut self, chained: bool) -> ParseResult<()> {
        let start = self.cursor.at;
        let read = self.cursor.call().and_then(|call| Ok((call, self.block_params()?)));
        let read = read.and_then(|read| self.tag_end("", false).map(|_| read));
        let (kind, name, broken) = match read {
            Ok((call, block_params)) => {
                let name = call.helper.clone();
                (OpenKind::Helper { call, block_params, chained }, name, false)
            }
            Err(ErrorReported) => {
                let name = self.word_at(start);
                let call =
                    CallNode { span: name.span.clone(), helper: name.clone(), arguments: CallArguments::default() };
                self.cursor.recover();
                (OpenKind::Helper { call, block_params: Vec::new(), chained }, name, true)
            }
        };
        self.open_block(kind, name, broken)
    }

    /// The name at a position, for a block whose tag is invalid.
    fn word_at(&self, start: usize) -> Ident {
        let rest = self.cursor.source.get(start..).unwrap_or_default();
        let length = rest.find(|c| !is_symbol(c)).unwrap_or(rest.len());
        Ident { text: rest.get(..length).unwrap_or_default().to_owned(), span: start..start + length }
    }

    /// `as |item index|`
    fn block_params(&mut self) -> ParseResult<Vec<Ident>> {
        let cursor = &mut self.cursor;
        let mut names = Vec::new();
        cursor.skip_whitespace();
        if !cursor.starts_with_word("as") {
            return Ok(names);
        }
        cursor.at += 2;
        cursor.skip_whitespace();
        if !cursor.eat("|") {
            return cursor.unexpected("`|`");
        }
        loop {
            cursor.skip_whitespace();
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
    fn inline(&mut self) -> ParseResult<()> {
        self.cursor.at += 1;
        let call = self.cursor.call()?;
        self.tag_end("", false)?;
        if call.helper.text != "inline" {
            let message = format!("unknown decorator `{}`", call.helper.text);
            self.cursor.push_error(
                TemplateError::at_range(call.helper.span.clone(), Code::UnknownHelper, message).replacement("inline"),
            );
        }
        let name = match (call.arguments.params.as_slice(), call.arguments.options.is_empty()) {
            ([Expression::Literal(serde_json::Value::String(name), span)], true) if !name.is_empty() => {
                Ident { text: name.clone(), span: span.clone() }
            }
            _ => {
                let error = TemplateError::at_range(
                    call.span.clone(),
                    Code::HelperArgument,
                    "invalid arguments of `inline`, expected one quoted name",
                );
                self.cursor.push_error(error.help("write `{{#*inline \"name\"}}`"));
                Ident { text: String::new(), span: call.span.clone() }
            }
        };
        self.open_block(OpenKind::Inline, name, false)
    }

    fn decorator(&mut self) -> ParseResult<()> {
        let span = self.cursor.tag..self.cursor.at + 1;
        let error = TemplateError::syntax(span, "unsupported decorator");
        self.cursor.fail(error.help("only `{{#*inline \"name\"}}` is supported"))
    }

    fn partial(&mut self, block: bool) -> ParseResult<()> {
        let cursor = &mut self.cursor;
        cursor.at += 1;
        cursor.skip_whitespace();
        if let Some(c @ ('(' | '"' | '\'' | '[')) = cursor.peek() {
            let (message, help) = match c {
                '(' => ("computed partial name", "write a fixed name; otherwise a value could choose the template"),
                _ => ("quoted partial name", "write the name without quotes"),
            };
            let error = TemplateError::at_range(cursor.at..cursor.at + 1, Code::Unsafe, message);
            return cursor.fail(error.help(help));
        }
        let span = cursor.skip(is_partial_symbol);
        if span.is_empty() {
            return cursor.unexpected("the name of a partial");
        }
        let name = Ident { text: cursor.slice(span.clone()).to_owned(), span };
        let arguments = cursor.call_arguments()?;
        self.tag_end("", false)?;
        let span = self.cursor.tag..self.cursor.at;
        let call = PartialCall { span, name: name.clone(), arguments, body: None };
        if block {
            return self.open_block(OpenKind::Partial(call), name, false);
        }
        self.nodes.push(TemplateNode::Partial(call));
        Ok(())
    }
}

/// The length of a run of backslashes and their escape, and whether Handlebars removes one of them.
fn backslashes(rest: &str) -> (usize, bool) {
    let slashes = rest.bytes().take_while(|byte| *byte == b'\\').count();
    let after = rest.get(slashes..).unwrap_or_default();
    match slashes {
        1 if after.starts_with("{{{{") => (5, true),
        1 if after.starts_with("{{") => (3, true),
        _ => (slashes, slashes > 1 && after.starts_with("{{")),
    }
}
