//! Parses the text and tags of a template.

use std::ops::Range;

use super::cursor::{Cursor, ErrorReported, ParseResult, is_partial_symbol, is_symbol};
use super::open_block::{OpenBlock, OpenKind};
use super::tree::{CallArguments, CallNode, Expression, Ident, Interpolation, PartialCall, TemplateNode, TextNode};
use crate::diagnostic::Code;
use crate::template::error::TemplateError;
use crate::template::limit::{MAX_ERRORS, MAX_TEMPLATE_BYTES};

/// Parses a whole template. Invalid tags are reported and left out of the tree.
pub(in crate::template) fn parse(source: &str) -> (Vec<TemplateNode>, Vec<TemplateError>) {
    parse_within(source, MAX_TEMPLATE_BYTES)
}

/// Parses a template of at most `max_bytes`.
pub(in crate::template) fn parse_within(source: &str, max_bytes: usize) -> (Vec<TemplateNode>, Vec<TemplateError>) {
    if source.len() > max_bytes {
        let message = format!("template exceeds {max_bytes} bytes");
        return (Vec::new(), vec![TemplateError::at_range(0..source.len(), Code::TooLarge, message)]);
    }
    let mut parser = TemplateParser::new(source);
    parser.run();
    (parser.nodes, parser.cursor.errors)
}

/// A template that is read as handlebars.js does.
#[derive(Debug, Default)]
pub(in crate::template) struct SectionTemplate {
    pub nodes: Vec<TemplateNode>,
    pub errors: Vec<TemplateError>,
    /// The ends of sections, by the helper that closes there.
    pub section_ends: Vec<(Range<usize>, &'static str)>,
}

/// Parses a template with sections: `{{#a.b}}` is a call of [`SECTION`], and `{{^a.b}}` of [`INVERSE_SECTION`].
pub(in crate::template) fn parse_with_sections(source: &str) -> SectionTemplate {
    let mut parser = TemplateParser::new(source);
    parser.cursor.reads_sections = true;
    parser.run();
    SectionTemplate { nodes: parser.nodes, errors: parser.cursor.errors, section_ends: parser.section_ends }
}

/// The helper of a section.
pub(in crate::template) const SECTION: &str = "$section";
/// The helper of a section whose value is empty.
pub(in crate::template) const INVERSE_SECTION: &str = "$inverse";
/// The helpers of blocks that are not sections.
const BLOCK_HELPERS: &[&str] =
    &["if", "unless", "each", "with", "ifEquals", "unlessEquals", "role", "media", "history"];

/// Parses tags and text, and collects the nodes of the innermost open block.
pub(super) struct TemplateParser<'s> {
    pub cursor: Cursor<'s>,
    pub open: Vec<OpenBlock>,
    pub nodes: Vec<TemplateNode>,
    /// The ends of sections, by the helper that closes there.
    pub section_ends: Vec<(Range<usize>, &'static str)>,
}

impl<'s> TemplateParser<'s> {
    fn new(source: &'s str) -> TemplateParser<'s> {
        TemplateParser { cursor: Cursor::new(source), open: Vec::new(), nodes: Vec::new(), section_ends: Vec::new() }
    }

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
        while let Some(sign) = self.cursor.rest().find(['\\', '{']) {
            self.cursor.at += sign;
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
            Some('^') if cursor.reads_sections && cursor.begins_inverse_section() => self.inverse_section(),
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
        let Some(length) = cursor.rest().find(end) else {
            let tag = cursor.tag..cursor.tag + 3;
            let error = TemplateError::syntax(tag, "unclosed comment");
            cursor.push_error(error.help(format!("close it with `{end}`")));
            cursor.at = cursor.source.len();
            return Ok(());
        };
        cursor.at += length + end.len();
        Ok(())
    }

    fn trimmed_comment(&mut self) -> ParseResult<()> {
        if self.cursor.reads_sections {
            return self.printed_comment();
        }
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
        if let Some((call, name)) = self.section_call(SECTION) {
            self.tag_end("", false)?;
            return self.open_block(OpenKind::Helper { call, block_params: Vec::new(), chained }, name, false);
        }
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

    /// `{{^a.b}}`
    fn inverse_section(&mut self) -> ParseResult<()> {
        self.cursor.at += 1;
        self.cursor.skip_whitespace();
        let Some((call, name)) = self.section_call(INVERSE_SECTION) else {
            return self.cursor.unexpected("a variable");
        };
        self.tag_end("", false)?;
        self.open_block(OpenKind::Helper { call, block_params: Vec::new(), chained: false }, name, false)
    }

    /// The call of a section at the cursor, and what its end is called; `None` for the block of a helper.
    fn section_call(&mut self, helper: &str) -> Option<(CallNode, Ident)> {
        if !self.cursor.reads_sections {
            return None;
        }
        let (start, errors) = (self.cursor.at, self.cursor.errors.len());
        let path = self.cursor.path("a variable").ok();
        self.cursor.skip_whitespace();
        let text = self.cursor.slice(start..self.cursor.at).trim_end().to_owned();
        let is_helper = BLOCK_HELPERS.contains(&text.as_str());
        let ends = matches!(self.cursor.peek(), Some('}' | '~'));
        let Some(path) = path.filter(|_| ends && !is_helper) else {
            self.cursor.at = start;
            self.cursor.errors.truncate(errors);
            return None;
        };
        let span = path.span.clone();
        let (helper, name) =
            (Ident { text: helper.to_owned(), span: span.clone() }, Ident { text, span: span.clone() });
        let arguments = CallArguments { params: vec![Expression::Path(path)], options: Vec::new() };
        Some((CallNode { span, helper, arguments }, name))
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
        if cursor.reads_sections && matches!(cursor.peek(), Some('"' | '\'')) {
            return self.quoted_partial();
        }
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

impl TemplateParser<'_> {
    /// `{{~! …}}`, which Handlebars does not read: it prints nothing.
    fn printed_comment(&mut self) -> ParseResult<()> {
        let end = if self.cursor.starts_with("!--") { "--" } else { "" };
        let rest = self.cursor.rest();
        let ends = [format!("{end}}}}}"), format!("{end}~}}}}")];
        let Some(length) = ends.iter().filter_map(|end| Some(rest.find(end.as_str())? + end.len())).min() else {
            return self.cursor.unexpected("the end of the comment");
        };
        self.cursor.at += length;
        let span = self.cursor.tag..self.cursor.at;
        let expression = Expression::Literal(serde_json::Value::Null, span.clone());
        self.nodes.push(TemplateNode::Interpolation(Interpolation { span, expression, raw: false, trims: true }));
        Ok(())
    }

    /// `{{> "name"}}`
    fn quoted_partial(&mut self) -> ParseResult<()> {
        let start = self.cursor.at;
        let text = self.cursor.string()?.as_str().unwrap_or_default().to_owned();
        let name = Ident { text, span: start..self.cursor.at };
        let arguments = self.cursor.call_arguments()?;
        self.tag_end("", false)?;
        let span = self.cursor.tag..self.cursor.at;
        self.nodes.push(TemplateNode::Partial(PartialCall { span, name, arguments, body: None }));
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
