//! A position in the text of a template, and the tokens there.

use std::ops::Range;

use crate::template::error::TemplateError;
use crate::template::limit::MAX_ERRORS;

/// The error is recorded, and the rest of the tag cannot be parsed.
#[derive(Debug)]
pub(super) struct ErrorReported;

pub(super) type ParseResult<T> = Result<T, ErrorReported>;

/// A position in a text, and the errors so far.
#[derive(Debug)]
pub(super) struct Cursor<'s> {
    pub source: &'s str,
    pub at: usize,
    pub errors: Vec<TemplateError>,
    /// The depth of blocks and parentheses.
    pub depth: usize,
    /// The start of the current tag.
    pub tag: usize,
    /// Whether sections such as `{{#a.b}}` are read, as handlebars.js does.
    pub reads_sections: bool,
}

impl<'s> Cursor<'s> {
    pub fn new(source: &'s str) -> Cursor<'s> {
        Cursor { source, at: 0, errors: Vec::new(), depth: 0, tag: 0, reads_sections: false }
    }

    pub fn rest(&self) -> &'s str {
        self.source.get(self.at..).unwrap_or_default()
    }

    pub fn slice(&self, span: Range<usize>) -> &'s str {
        self.source.get(span).unwrap_or_default()
    }

    pub fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub fn starts_with(&self, text: &str) -> bool {
        self.rest().starts_with(text)
    }

    pub fn eat(&mut self, text: &str) -> bool {
        let seen = self.starts_with(text);
        if seen {
            self.at += text.len();
        }
        seen
    }

    /// Skips the white space of Handlebars.
    pub fn skip_whitespace(&mut self) {
        self.skip(|c| matches!(c, ' ' | '\t' | '\n' | '\r'));
    }

    pub fn skip(&mut self, wanted: impl Fn(char) -> bool) -> Range<usize> {
        let start = self.at;
        let rest = self.rest();
        self.at += rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        start..self.at
    }

    /// Whether `^` is followed by the name of a section, and is not an `else`.
    pub fn begins_inverse_section(&self) -> bool {
        let name = self.rest().get(1..).unwrap_or_default().trim_start();
        !name.starts_with(['}', '~'])
    }

    /// Whether a whole word is next.
    pub fn starts_with_word(&self, word: &str) -> bool {
        self.rest().strip_prefix(word).is_some_and(|rest| !rest.starts_with(is_symbol))
    }

    pub fn push_error(&mut self, error: TemplateError) {
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(error);
        }
    }

    pub fn fail<T>(&mut self, error: TemplateError) -> ParseResult<T> {
        self.push_error(error);
        Err(ErrorReported)
    }

    /// Reports an unexpected character, or an unclosed tag.
    pub fn unexpected<T>(&mut self, wanted: &str) -> ParseResult<T> {
        let error = match self.peek() {
            None => self.unclosed_tag(),
            Some('}') if !self.starts_with("}}") => self.missing_brace(),
            Some('{') if self.starts_with("{{") => self.unclosed_tag(),
            Some(found) => {
                let span = self.at..self.at + found.len_utf8();
                let shown = found.escape_debug();
                let error = TemplateError::syntax(span, format!("unexpected `{shown}`, expected {wanted}"));
                match (self.pipe_help().or_else(|| self.comparison_help()), self.operator_help()) {
                    (Some(help), _) => error.help(help),
                    (None, Some(help)) => error.help(help),
                    (None, None) => error,
                }
            }
        };
        self.fail(error)
    }

    /// What to write instead of `{{#if name == "x"}}`.
    fn comparison_help(&self) -> Option<String> {
        const HELPERS: &[(&str, &str)] = &[
            ("===", "eq"),
            ("==", "eq"),
            ("=", "eq"),
            ("!==", "ne"),
            ("!=", "ne"),
            (">=", "gte"),
            ("<=", "lte"),
            (">", "gt"),
            ("<", "lt"),
            ("&&", "and"),
            ("||", "or"),
        ];
        let tag = self.source.get(self.tag..)?.split("}}").next()?.trim_matches(['{', '~', ' ']);
        let (open, inner) = match tag.strip_prefix("#if ") {
            Some(inner) => ("#if ", inner),
            None => ("", tag),
        };
        let [left, operator, right] = inner.split_whitespace().collect::<Vec<_>>()[..] else { return None };
        let (_, helper) = HELPERS.iter().find(|(sign, _)| *sign == operator)?;
        let is_quoted = |text: &str| {
            ["\"", "'"].iter().any(|sign| text.len() > 1 && text.starts_with(sign) && text.ends_with(sign))
        };
        let is_value = |text: &str| {
            is_quoted(text) || text.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '.' | '@'))
        };
        if !is_value(left) || !is_value(right) || right.chars().any(|letter| matches!(letter, '{' | '}')) {
            return None;
        }
        let call = format!("{helper} {left} {right}");
        let meant = if open.is_empty() { call } else { format!("{open}({call})") };
        Some(format!("there are no operators: write `{{{{{meant}}}}}`"))
    }

    /// What to write instead of `{{name | upper}}` and `{{name | default("x")}}`.
    fn pipe_help(&self) -> Option<String> {
        let rest = self.rest().strip_prefix('|').filter(|rest| !rest.starts_with('|'))?;
        let value = self.source.get(self.tag..self.at)?.trim_matches(['{', '~', ' ', '(']);
        let filters = rest.split("}}").next()?.trim_end_matches(['~', '-']);
        let is_name = |text: &str| {
            !text.is_empty() && text.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '.'))
        };
        let mut meant = Some(value.to_owned()).filter(|value| is_name(value))?;
        for (at, filter) in filters.split('|').enumerate() {
            let (name, arguments) = filter.trim().split_once(['(', ':']).unwrap_or((filter.trim(), ""));
            let arguments = arguments.trim().trim_end_matches(')').replace(',', " ");
            if !is_name(name) {
                return None;
            }
            let inner = if at == 0 { meant } else { format!("({meant})") };
            let words: Vec<&str> =
                [name.trim(), inner.as_str()].into_iter().chain(arguments.split_whitespace()).collect();
            meant = words.join(" ");
        }
        Some(format!("there are no pipes: write `{{{{{meant}}}}}`"))
    }

    /// What to write instead of an operator, which other template languages have.
    fn operator_help(&self) -> Option<&'static str> {
        const OPERATORS: &[(&str, &str)] = &[
            ("||", "there are no operators: write `{{#if (or x y)}}`"),
            ("|", "there are no pipes: write `{{upper x}}`, and `{{upper (trim x)}}` for two helpers"),
            ("&&", "there are no operators: write `{{#if (and x y)}}`"),
            ("!=", "there are no operators: write `{{#if (ne x 1)}}`, with a text in quotes"),
            ("!", "there are no operators: write `{{#unless x}}`"),
            ("==", "there are no operators: write `{{#if (eq x 1)}}`, with a text in quotes"),
            ("=", "there are no operators: write `{{#if (eq x 1)}}`, with a text in quotes"),
            (">", "there are no operators: write `{{#if (gt x 1)}}`"),
            ("<", "there are no operators: write `{{#if (lt x 1)}}`"),
        ];
        OPERATORS.iter().find(|(operator, _)| self.starts_with(operator)).map(|(_, help)| *help)
    }

    fn unclosed_tag(&self) -> TemplateError {
        let tag = self.tag..self.tag + 2;
        TemplateError::syntax(tag, "unclosed tag").help("close it with `}}`")
    }

    fn missing_brace(&self) -> TemplateError {
        let span = self.tag..self.at + 1;
        let tag = self.slice(span.clone()).to_owned();
        let triple = self.starts_with("}") && tag.starts_with("{{{");
        let error = TemplateError::syntax(
            span,
            if triple {
                "mismatched braces: `{{{` must be closed with `}}}`"
            } else {
                "mismatched braces: `{{` must be closed with `}}`"
            },
        );
        if tag.contains('\n') { error } else { error.help(format!("write `{tag}}}`")).certain(format!("{tag}}}")) }
    }

    /// Skips an invalid tag: past its `}}`, or to the next tag.
    pub fn recover(&mut self) {
        let rest = self.rest();
        let close = rest.find("}}").map(|at| at + 2);
        let open = rest.find("{{");
        self.at += match (close, open) {
            (Some(close), Some(open)) if open + 1 < close => open,
            (Some(close), _) => close,
            (None, Some(open)) => open,
            (None, None) => rest.len(),
        };
        self.at = self.at.max(self.tag + 2).min(self.source.len());
        while !self.source.is_char_boundary(self.at) {
            self.at += 1;
        }
    }
}

/// The characters of a name.
pub(super) fn is_symbol(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '$' | ':') || c >= '\u{80}'
}

/// The characters of a partial's name.
pub(super) fn is_partial_symbol(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '@' | '/' | '.') || c >= '\u{80}'
}
