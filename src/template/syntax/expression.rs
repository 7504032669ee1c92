//! Parses expressions: variables, literals, and calls of helpers.

use std::ops::Range;

use serde_json::Value;

use super::cursor::{Cursor, ParseResult, is_symbol};
use super::tree::{CallArguments, CallNode, Expression, Ident, PathNode};
use crate::diagnostic::Code;
use crate::template::error::TemplateError;
use crate::template::limit::MAX_NESTING;

impl Cursor<'_> {
    /// The expression of `{{…}}`: a variable, or a call of a helper.
    pub fn interpolation(&mut self) -> ParseResult<Expression> {
        self.skip_whitespace();
        let start = self.at;
        if self.starts_with("(") {
            let error = TemplateError::syntax(start..start + 1, "unexpected `(`: parentheses are for helper arguments");
            return self.fail(error.help("write the helper without parentheses: `{{upper name}}`"));
        }
        if matches!(self.peek(), Some('"' | '\'')) {
            let error = TemplateError::syntax(start..start + 1, "string literal outside of a helper call");
            return self.fail(error.help("write it as plain text, without braces and quotes"));
        }
        let path = self.path("a variable or a helper")?;
        self.refuse_else(&path)?;
        let arguments = self.call_arguments()?;
        self.path_or_call(path, arguments, start)
    }

    /// The call of a block helper.
    pub fn call(&mut self) -> ParseResult<CallNode> {
        self.skip_whitespace();
        let start = self.at;
        let span = self.skip(is_symbol);
        if span.is_empty() {
            return self.unexpected("the name of a helper");
        }
        let helper = self.ident(span);
        let arguments = self.call_arguments()?;
        Ok(CallNode { span: start..self.at, helper, arguments })
    }

    /// The arguments of a call.
    pub fn call_arguments(&mut self) -> ParseResult<CallArguments> {
        let mut arguments = CallArguments::default();
        loop {
            let before = self.at;
            self.skip_whitespace();
            let is_at_end = self.peek().is_none_or(|c| matches!(c, '}' | ')' | '~' | '|'))
                || self.starts_with("{{")
                || self.starts_with_word("as")
                || self.starts_with_word("else");
            if is_at_end {
                self.at = before;
                return Ok(arguments);
            }
            match self.option()? {
                Some(option) => arguments.options.push(option),
                None => arguments.params.push(self.value()?),
            }
        }
    }

    /// `name=value`; `None`, with nothing consumed, where no `=` follows a name.
    fn option(&mut self) -> ParseResult<Option<(Ident, Expression)>> {
        let before = self.at;
        let span = self.skip(is_symbol);
        self.skip_whitespace();
        if span.is_empty() || !self.eat("=") {
            self.at = before;
            return Ok(None);
        }
        let name = self.ident(span);
        self.skip_whitespace();
        Ok(Some((name, self.value()?)))
    }

    fn value(&mut self) -> ParseResult<Expression> {
        match self.literal()? {
            Some(literal) => Ok(literal),
            None if self.starts_with("(") => self.nested(),
            None if self.starts_with_word("as") || self.starts_with_word("else") => self.unexpected("a value"),
            None => Ok(Expression::Path(self.path("a value")?)),
        }
    }

    /// `(helper …)`
    fn nested(&mut self) -> ParseResult<Expression> {
        let open = self.at;
        self.enter_nesting(open)?;
        self.at += 1;
        self.skip_whitespace();
        let path = self.path("the name of a helper")?;
        let arguments = self.call_arguments()?;
        self.skip_whitespace();
        if !self.eat(")") {
            if self.peek().is_none() || self.starts_with("}}") {
                let error = TemplateError::syntax(open..open + 1, "unclosed `(`");
                return self.fail(error.help("close it with `)`"));
            }
            return self.unexpected("`)`");
        }
        self.depth -= 1;
        let Some(name) = path.single_name().cloned() else {
            let text = self.slice(path.span.clone()).to_owned();
            let error = TemplateError::at_range(path.span, Code::UnknownHelper, format!("`{text}` is not a helper"));
            return self.fail(error.help("parentheses are for helper calls; write a variable without them"));
        };
        Ok(Expression::Call(Box::new(CallNode { span: open..self.at, helper: name, arguments })))
    }

    fn enter_nesting(&mut self, at: usize) -> ParseResult<()> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            let message = format!("nesting of blocks and parentheses exceeds {MAX_NESTING} levels");
            return self.fail(TemplateError::at_range(at..at + 1, Code::Nesting, message));
        }
        Ok(())
    }

    fn path_or_call(&mut self, path: PathNode, arguments: CallArguments, start: usize) -> ParseResult<Expression> {
        if arguments.values().next().is_none() {
            return Ok(Expression::Path(path));
        }
        let Some(helper) = path.single_name().cloned() else {
            let text = self.slice(path.span.clone()).to_owned();
            let message = format!("variable `{text}` takes no arguments");
            return self.fail(TemplateError::at_range(path.span, Code::UnknownHelper, message));
        };
        Ok(Expression::Call(Box::new(CallNode { span: start..self.at, helper, arguments })))
    }

    /// Handlebars parses any tag that starts with `else` as one.
    fn refuse_else(&mut self, path: &PathNode) -> ParseResult<()> {
        let text = self.slice(path.span.clone()).to_owned();
        if !text.starts_with("else") || self.reads_sections && text != "else" {
            return Ok(());
        }
        let error = if text == "else" {
            TemplateError::syntax(path.span.clone(), "`{{else}}` outside of a block")
                .help("write `{{#if NAME}}…{{else}}…{{/if}}`")
        } else {
            let message = format!("ambiguous name `{text}`: Handlebars reads it as `else`");
            let help = match text.as_str() {
                "elseif" => "write `{{else if …}}`".to_owned(),
                _ => format!("write `{{{{arguments.{text}}}}}`"),
            };
            TemplateError::syntax(path.span.clone(), message).help(help)
        };
        self.fail(error)
    }

    fn ident(&self, span: Range<usize>) -> Ident {
        Ident { text: self.slice(span.clone()).to_owned(), span }
    }

    /// A variable.
    pub fn path(&mut self, wanted: &str) -> ParseResult<PathNode> {
        let start = self.at;
        if let Some(parent_steps) = self.eat_dots() {
            let span = start..self.at;
            return Ok(PathNode { span, this: true, root: false, local: false, parent_steps, names: Vec::new() });
        }
        self.refuse_dots()?;
        let this = self.eat("./") || self.eat("this/") || self.eat("this.");
        let mut path =
            PathNode { span: start..start, this, root: false, local: false, parent_steps: 0, names: Vec::new() };
        if self.eat("@root/") || self.eat("@root.") {
            path.root = true;
        } else {
            path.local = self.eat("@");
            while self.eat("../") {
                path.parent_steps += 1;
            }
            if path.parent_steps > 0 && self.starts_with("@") {
                let error = TemplateError::syntax(start..self.at + 1, "unexpected `@` after `../`");
                return self.fail(error.help("write `@../index`"));
            }
        }
        loop {
            self.segment(&mut path, wanted)?;
            let next = self.rest().strip_prefix(['.', '/']).and_then(|rest| rest.chars().next());
            if !next.is_some_and(|c| is_symbol(c) || c == '[') {
                break;
            }
            self.at += 1;
        }
        path.span = start..self.at;
        self.check_path(&path)?;
        Ok(path)
    }

    fn segment(&mut self, path: &mut PathNode, wanted: &str) -> ParseResult<()> {
        let is_bracketed = self.eat("[");
        let span = if is_bracketed {
            let inner = self.skip(|c| c != ']');
            if inner.is_empty() || !self.eat("]") {
                let error =
                    TemplateError::syntax(inner.start - 1..inner.start, "invalid bracketed name, expected `[name]`");
                return self.fail(error);
            }
            inner
        } else {
            self.skip(is_symbol)
        };
        if span.is_empty() {
            return self.unexpected(wanted);
        }
        let name = self.ident(span);
        match name.text.as_str() {
            "this" if !is_bracketed => path.this = true,
            _ => path.names.push(name),
        }
        Ok(())
    }

    /// Takes `.` and `..` where they are read, and returns how many scopes up they lead.
    fn eat_dots(&mut self) -> Option<usize> {
        let dots = self.rest().bytes().take_while(|byte| *byte == b'.').count();
        let after = self.rest().get(dots..).unwrap_or_default();
        let is_alone = matches!(dots, 1 | 2) && !after.starts_with('/') && !after.starts_with(is_symbol);
        (self.reads_sections && is_alone).then(|| {
            self.at += dots;
            dots - 1
        })
    }

    /// `.` and `..`, which the Rust crate does not support.
    fn refuse_dots(&mut self) -> ParseResult<()> {
        let dots = self.rest().bytes().take_while(|byte| *byte == b'.').count();
        let alone = self.rest().get(dots..).is_none_or(|rest| !rest.starts_with('/') && !rest.starts_with(is_symbol));
        let instead = match (dots, alone) {
            (1, true) => "this",
            (2, true) => "../this",
            _ => return Ok(()),
        };
        let error = TemplateError::syntax(self.at..self.at + dots, format!("unsupported `{}`", ".".repeat(dots)));
        self.fail(error.help(format!("write `{instead}`")).certain(instead))
    }

    fn check_path(&mut self, path: &PathNode) -> ParseResult<()> {
        let text = self.slice(path.span.clone()).to_owned();
        let leads = path.local || path.root || path.parent_steps > 0;
        let odd = |message: &str| TemplateError::syntax(path.span.clone(), message);
        // In templates of other programs, which have more of them, such a variable has no value.
        if path.local && path.names.len() != 1 && !self.reads_sections {
            return self.fail(odd("invalid `@` variable, expected `@index`, `@key`, `@first`, `@last` or `@root.…`"));
        }
        if path.local && path.names.iter().any(|name| name.text == "root") {
            return self.fail(odd("`@root` needs a field").help("write `@root.name`"));
        }
        if leads && (text.starts_with("this") || text.starts_with("./")) {
            return self.fail(odd("only field names can follow `this`"));
        }
        if self.starts_with("/") || self.starts_with(".") || self.starts_with("@") {
            return self.unexpected("a name");
        }
        Ok(())
    }

    /// A literal; `None`, with nothing consumed, where there is none.
    fn literal(&mut self) -> ParseResult<Option<Expression>> {
        let start = self.at;
        let read = match self.peek() {
            Some('"' | '\'') => Some(self.string()?),
            Some('{') => Some(self.collection('}')?),
            Some('[') if self.is_list() => Some(self.collection(']')?),
            Some(c) if c.is_ascii_digit() || c == '-' => self.number()?,
            _ => self.word(),
        };
        Ok(read.map(|value| Expression::Literal(value, start..self.at)))
    }

    fn word(&mut self) -> Option<Value> {
        let words = [("true", Value::Bool(true)), ("false", Value::Bool(false)), ("null", Value::Null)];
        let (word, value) = words.into_iter().find(|(word, _)| self.starts_with_word(word))?;
        self.at += word.len();
        Some(value)
    }

    fn number(&mut self) -> ParseResult<Option<Value>> {
        let start = self.at;
        let span = self.skip(|c| c.is_ascii_digit() || matches!(c, '-' | '.' | 'E'));
        let text = self.slice(span.clone());
        let follows = self.peek().is_some_and(is_symbol);
        match serde_json::from_str::<Value>(text) {
            Ok(value) if !follows => Ok(Some(value)),
            // `1-2` and `3rd` are names.
            _ if follows || !text.contains('.') => {
                self.at = start;
                Ok(None)
            }
            _ => self.fail(TemplateError::syntax(span, format!("invalid number `{text}`"))),
        }
    }

    /// Whether a bracket starts a list, and not a name such as `[user-id]`.
    fn is_list(&self) -> bool {
        let inner = self.rest().get(1..).unwrap_or_default().trim_start();
        let first = inner.chars().next();
        let name_like = inner.split(']').next().unwrap_or_default();
        match first {
            Some('"' | '\'' | '[' | '{' | ']') => true,
            _ => serde_json::from_str::<Value>(&format!("[{name_like}]")).is_ok(),
        }
    }

    /// A list or an object, as JSON.
    fn collection(&mut self, close: char) -> ParseResult<Value> {
        let start = self.at;
        let mut inner = serde_json::Deserializer::from_str(self.rest()).into_iter::<Value>();
        let value = inner.next();
        let length = inner.byte_offset();
        match value {
            Some(Ok(value)) if self.depth + depth_of(&value) <= MAX_NESTING => {
                self.at += length;
                Ok(value)
            }
            _ => {
                let message = format!("invalid JSON literal, expected `{close}`");
                self.fail(TemplateError::syntax(start..start + 1, message))
            }
        }
    }

    pub fn string(&mut self) -> ParseResult<Value> {
        let start = self.at;
        let quote = self.peek().unwrap_or('"');
        let mut escaped = false;
        let inner = self.rest().get(1..).unwrap_or_default();
        let end = inner.find(|c| {
            let ends = c == quote && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let Some(end) = end else {
            let error = TemplateError::syntax(start..start + 1, "unclosed string");
            return self.fail(error.help(format!("close it with `{quote}`")));
        };
        let body = inner.get(..end).unwrap_or_default();
        self.at = start + end + 2;
        let json = match quote {
            '\'' => format!("\"{}\"", body.replace("\\'", "'").replace('"', "\\\"")),
            _ => format!("\"{body}\""),
        };
        match serde_json::from_str(&json) {
            Ok(value) => Ok(value),
            Err(_) => {
                let error = TemplateError::syntax(start..self.at, "invalid escape in string");
                self.fail(error.help(match body.contains('\n') {
                    true => "in a YAML string in double quotes write a line break as `\\\\n`",
                    false => "escape as in JSON: a backslash is `\\\\`, a line break `\\n`",
                }))
            }
        }
    }
}

fn depth_of(value: &Value) -> usize {
    match value {
        Value::Array(list) => 1 + list.iter().map(depth_of).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth_of).max().unwrap_or(0),
        _ => 0,
    }
}
