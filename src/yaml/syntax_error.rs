//! Finds what an error of the parser is about: a quote or a bracket that was opened long before, a text that needs quotes.

use std::ops::Range;

use serde_yaml::granit_parser::ErrorKind;

use super::{syntax_indentation, syntax_quote};
use crate::diagnostic::nearest;

/// A syntax error at the place of the mistake.
#[derive(Debug)]
pub(super) struct SyntaxError {
    pub(super) range: Range<usize>,
    pub(super) message: String,
    pub(super) help: Option<String>,
    /// What to write at the range, where that is certain.
    pub(super) replacement: Option<String>,
    /// What to write at another range, where it is most likely.
    pub(super) suggestion: Option<(Range<usize>, String)>,
    /// Where the parser noticed it.
    pub(super) noticed_at: Option<usize>,
}

impl SyntaxError {
    pub(super) fn new(range: Range<usize>, message: impl Into<String>) -> SyntaxError {
        let message = message.into();
        SyntaxError { range, message, help: None, replacement: None, suggestion: None, noticed_at: None }
    }

    pub(super) fn help(self, help: impl Into<String>) -> SyntaxError {
        SyntaxError { help: Some(help.into()), ..self }
    }

    /// Adds what to write at the range.
    pub(super) fn replaced_by(self, text: impl Into<String>) -> SyntaxError {
        SyntaxError { replacement: Some(text.into()), ..self }
    }

    /// The same in a text that this one is a part of.
    pub(super) fn moved_by(self, offset: usize) -> SyntaxError {
        SyntaxError { range: self.range.start + offset..self.range.end + offset, ..self }
    }
}

/// The first line of a merge that is not resolved, if all of its three markers are there.
pub(super) fn merge_marker(text: &str) -> Option<SyntaxError> {
    let ours = marker(text, 0, "<<<<<<< ")?;
    let middle = marker(text, ours, "=======")?;
    marker(text, middle, ">>>>>>> ")?;
    let length = text.get(ours..)?.lines().next()?.len();
    let error = SyntaxError::new(ours..ours + length, "unresolved merge conflict");
    Some(error.help("keep one of both versions, and remove the lines of `<<<<<<<`, `=======` and `>>>>>>>`"))
}

fn marker(text: &str, from: usize, marker: &str) -> Option<usize> {
    let rest = text.get(from..)?;
    let starts = rest.match_indices(marker).map(|(at, _)| from + at);
    starts.into_iter().find(|at| *at == 0 || text.get(..*at).is_some_and(|before| before.ends_with('\n')))
}

/// The mistake that an error of the parser at an offset is about; `open` is where the innermost open `{` or `[` is.
pub(super) fn explain(text: &str, kind: &ErrorKind, at: usize, open: Option<usize>) -> SyntaxError {
    let line = line_at(text, at);
    let error = syntax_indentation::tab(text, &line, is_about_tab(kind))
        .or_else(|| syntax_indentation::blank_or_joined_key(text, kind, at, &line))
        .or_else(|| explain_kind(text, kind, at, open))
        .or_else(|| unquoted_text(text, &line))
        .or_else(|| syntax_indentation::explain(text, kind, &line));
    error.unwrap_or_else(|| {
        let error = SyntaxError::new(at..at, format!("invalid YAML: {kind}"));
        SyntaxError { help: help_for(kind).map(str::to_owned), ..error }
    })
}

/// The mistake that an error of this kind alone is about.
fn explain_kind(text: &str, kind: &ErrorKind, at: usize, open: Option<usize>) -> Option<SyntaxError> {
    match kind {
        ErrorKind::UnknownQuotedScalarEscape | ErrorKind::InvalidQuotedScalarHexEscape => {
            syntax_quote::unknown_escape(text, at, false)
        }
        ErrorKind::InvalidLowSurrogateHexEscape
        | ErrorKind::InvalidLowSurrogate
        | ErrorKind::MissingLowSurrogate
        | ErrorKind::UnpairedLowSurrogate => syntax_quote::unknown_escape(text, at, true),
        ErrorKind::InvalidTrailingSingleQuotedScalar | ErrorKind::InvalidTrailingDoubleQuotedScalar => {
            syntax_quote::text_after_quote(text, at)
        }
        ErrorKind::UnclosedQuotedScalar
        | ErrorKind::DocumentIndicatorInQuotedScalar
        | ErrorKind::InvalidQuotedScalarIndent => unclosed_quote(text, at),
        ErrorKind::MismatchedFlowCollectionEnd { .. } => {
            unclosed_bracket(text, at, bracket_at(text, at).or_else(|| find_open_bracket(text, at)).or(open))
        }
        ErrorKind::UnclosedFlowCollection { .. }
        | ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnexpectedEofImplicitFlowMapping
        | ErrorKind::UnexpectedEofFlowSequence
        | ErrorKind::ExpectedFlowMappingSeparator
        | ErrorKind::ExpectedFlowSequenceSeparator
        | ErrorKind::FlowMappingValueAdjacentCollection => {
            let is_named = matches!(kind, ErrorKind::UnclosedFlowCollection { .. });
            let named = bracket_at(text, at).filter(|_| is_named);
            // An open bracket on the same line may well be closed on a later one.
            let above = |start: &usize| *start < line_at(text, at).start;
            unclosed_bracket(text, at, named.or_else(|| find_open_bracket(text, at).or(open).filter(above)))
        }
        ErrorKind::UnknownAnchor => undefined_anchor(text, at),
        ErrorKind::BlockSequenceEntryNotAllowed | ErrorKind::BlockEntryInFlowCollection => item_after_key(text, at),
        ErrorKind::InvalidBlockScalarHeader => text_after_block_sign(text, at),
        _ => None,
    }
}

/// Whether the parser stumbled over a tab.
fn is_about_tab(kind: &ErrorKind) -> bool {
    use ErrorKind::{TabAtBlockScalarStart, TabInBlockIndentation, TabInIndentation, TabInPlainScalar, TabNotAllowed};
    matches!(kind, TabAtBlockScalarStart | TabInBlockIndentation | TabInIndentation | TabInPlainScalar | TabNotAllowed)
}

/// What to do about an error that only the parser can describe.
fn help_for(kind: &ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::UnknownAnchor => "quote a text that begins with `*`",
        ErrorKind::MisplacedFlowCollectionEnd => "remove it: there is no matching opening bracket",
        ErrorKind::MappingValueNotAllowed => "quote a text with `: ` in it",
        ErrorKind::MappingKeyNotAllowed => "quote a text that begins with `? `",
        ErrorKind::ExpectedFlowMappingSeparator | ErrorKind::ExpectedFlowSequenceSeparator => {
            "separate entries by commas, and quote a text with `: `, `,` or a bracket in it"
        }
        ErrorKind::ExpectedNodeContent => "write a value between the commas, and quote a text that begins with a sign",
        ErrorKind::ExpectedBlockMappingKey => "indent all keys of a map by the same number of spaces",
        ErrorKind::ExpectedBlockSequenceEntry => "indent all items of a list by the same number of spaces",
        ErrorKind::SimpleKeyExpected => "write a key as `key: value`",
        ErrorKind::CommentNotSeparated => "write a space before `#`",
        ErrorKind::InvalidBlockScalarIndent => "indent each line of the text by the same number of spaces",
        ErrorKind::InvalidIndentation | ErrorKind::InvalidQuotedScalarIndent | ErrorKind::InvalidFlowScalarIndent => {
            "indent it by more spaces than its key"
        }
        ErrorKind::MissingAnchorOrAliasName => "quote a text that begins with `&` or `*`",
        ErrorKind::DocumentIndicatorInQuotedScalar => "close the quote, or indent the line",
        ErrorKind::ZeroBlockScalarIndent => "write `|` without a number",
        kind if is_about_tab(kind) => "indent with spaces; YAML does not allow tabs in indentation",
        _ => return None,
    })
}

/// An alias that is alone, so that no text was meant.
fn undefined_anchor(text: &str, at: usize) -> Option<SyntaxError> {
    let rest = text.get(at..)?.strip_prefix('*')?;
    let name = rest.split(|c: char| c.is_whitespace() || ",]}".contains(c)).next()?;
    let after = rest.get(name.len()..)?.lines().next().unwrap_or_default().trim_start();
    let is_alone = after.is_empty() || after.starts_with([',', ']', '}', '#']);
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    if !is_alone || !is_name {
        return None;
    }
    let defined = |part: &'_ str| -> Vec<String> {
        let words = part.split(|c: char| c.is_whitespace() || ",[]{}".contains(c));
        words.filter_map(|word| word.strip_prefix('&')).map(str::to_owned).collect()
    };
    let above = defined(text.get(..at)?);
    let help = match nearest(name, above.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `*{near}`?"),
        None if defined(rest).iter().any(|below| below == name) => {
            format!("`&{name}` is below: an anchor comes before its aliases")
        }
        None => format!("define it above as `&{name}`, or quote a text that begins with `*`"),
    };
    Some(SyntaxError::new(at..at + 1 + name.len(), format!("undefined anchor `{name}`")).help(help))
}

/// A dash after a key, whose item belongs on a line of its own.
fn item_after_key(text: &str, at: usize) -> Option<SyntaxError> {
    let item = value_at(text, at).filter(|item| item.starts_with('-'))?;
    let help = "write each item on a line of its own below the key, or the list as `[a, b]`; quote it if it is a text";
    Some(SyntaxError::new(at..at + item.len(), "a list item after a key").help(with_quoted(help, item)))
}

/// A text after `|` or `>`, which belongs on the lines below.
fn text_after_block_sign(text: &str, at: usize) -> Option<SyntaxError> {
    let value = value_at(text, at).filter(|value| value.starts_with(['|', '>']))?;
    let message = format!("text after `{}`", value.get(..1)?);
    let help = "write the text on the lines below, indented; quote it if it is one text";
    Some(SyntaxError::new(at..at + value.len(), message).help(with_quoted(help, value)))
}

/// The rest of a line without its comment.
fn value_at(text: &str, at: usize) -> Option<&str> {
    Some(text.get(at..)?.lines().next()?.split(" #").next()?.trim_end())
}

/// A help that shows the value in quotes, unless a bracket in it may belong to what is around it.
fn with_quoted(help: &str, value: &str) -> String {
    match value.contains([']', '}']) {
        true => help.to_owned(),
        false => format!("{help}: `{}`", serde_json::Value::from(value)),
    }
}

/// The range of the line at an offset, without its line break.
fn line_at(text: &str, at: usize) -> Range<usize> {
    let start = text.get(..at).unwrap_or_default().rfind('\n').map_or(0, |end| end + 1);
    let length = text.get(start..).unwrap_or_default().lines().next().unwrap_or_default().len();
    start..start + length
}

/// The nearest quote before an offset that begins a value and does not end on its line.
fn unclosed_quote(text: &str, at: usize) -> Option<SyntaxError> {
    let mut end = at;
    loop {
        let line = line_at(text, end);
        let of_line = text.get(line.clone())?;
        if let Some(quote) = find_open_quote(of_line) {
            let start = line.start + quote;
            let sign = of_line.get(quote..)?.chars().next()?;
            let error = SyntaxError::new(start..start + 1, format!("unclosed quote `{sign}`"));
            return Some(SyntaxError { noticed_at: Some(at), ..error.help(format!("close it with `{sign}`")) });
        }
        end = line.start.checked_sub(1)?;
    }
}

/// The quote that begins a value on a line and is not closed there.
fn find_open_quote(line: &str) -> Option<usize> {
    let mut open: Option<(usize, char)> = None;
    let mut previous = ' ';
    let mut is_escaped = false;
    for (at, character) in line.char_indices() {
        match open {
            Some((_, '"')) if is_escaped => is_escaped = false,
            Some((_, '"')) if character == '\\' => is_escaped = true,
            Some((_, sign)) if character == sign => open = None,
            None if matches!(character, '"' | '\'') && matches!(previous, ' ' | '[' | '{' | ',' | ':') => {
                open = Some((at, character));
            }
            None if character == '#' && previous == ' ' => return None,
            _ => {}
        }
        previous = character;
    }
    open.map(|(at, _)| at)
}

/// The bracket that nothing closes.
fn unclosed_bracket(text: &str, at: usize, start: Option<usize>) -> Option<SyntaxError> {
    let start = bracket_at(text, start?)?;
    let sign = text.get(start..)?.chars().next()?;
    let close = if sign == '{' { '}' } else { ']' };
    let error = SyntaxError::new(start..start + 1, format!("unclosed bracket `{sign}`"));
    let noticed_at = (start != at).then_some(at);
    Some(SyntaxError { noticed_at, ..error.help(format!("close it with `{close}`")) })
}

/// The offset, where a list or a map in flow style begins there.
fn bracket_at(text: &str, at: usize) -> Option<usize> {
    text.get(at..)?.starts_with(['{', '[']).then_some(at)
}

/// The innermost bracket that the lines before an offset leave open, from the last line on that is not indented.
fn find_open_bracket(text: &str, at: usize) -> Option<usize> {
    let before = text.get(..at)?;
    let is_top = |(start, _): &(usize, &str)| {
        before.get(start + 1..).is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_alphabetic()))
    };
    let top = before.match_indices('\n').rfind(is_top).map_or(0, |(start, _)| start + 1);
    let mut open = Vec::new();
    let mut quote: Option<char> = None;
    let mut previous = ' ';
    for (offset, character) in before.get(top..)?.char_indices() {
        match (quote, character) {
            (Some(sign), _) if sign == character || character == '\n' => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') if matches!(previous, ' ' | '[' | '{' | ',' | ':') => quote = Some(character),
            (None, '{' | '[') => open.push(top + offset),
            (None, '}' | ']') => {
                open.pop();
            }
            _ => {}
        }
        previous = character;
    }
    open.pop()
}

/// The bracket that closes a list or a map in flow style, if a text follows: `[x] y`.
fn text_after_bracket(value: &str) -> Option<char> {
    let open = value.chars().next()?;
    let close = if open == '[' { ']' } else { '}' };
    let mut depth = 0_usize;
    let is_end = |(_, character): &(usize, char)| {
        match *character {
            found if found == open => depth += 1,
            found if found == close => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    };
    let (end, _) = value.char_indices().find(is_end)?;
    let rest = value.get(end + 1..)?.trim_start();
    let is_text = !rest.is_empty() && !rest.starts_with([',', ']', '}']);
    is_text.then_some(close)
}

/// Whether a value is a key with a list or a map in flow style, which its author may have meant as an entry: `a: [b]`.
fn is_entry_of_collection(value: &str) -> bool {
    value.split_once(": ").map(|(_, inner)| inner.trim_start()).is_some_and(|inner| {
        inner.starts_with('[') && inner.ends_with(']')
            || inner.starts_with('{') && !inner.starts_with("{{") && inner.ends_with('}')
    })
}

/// The value of a line of block style that YAML reads as something else without quotes.
fn unquoted_text(text: &str, line: &Range<usize>) -> Option<SyntaxError> {
    let of_line = text.get(line.clone())?;
    if of_line.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let key_end = of_line.find(": ").map(|at| at + 2);
    let dash = of_line.len() - of_line.trim_start().trim_start_matches("- ").len();
    let from = key_end.unwrap_or(dash);
    let start = from + of_line.get(from..)?.len() - of_line.get(from..)?.trim_start().len();
    let rest = of_line.get(start..)?;
    let value = rest.split(" #").next()?.trim_end();
    let has_colon = value.contains(": ") || value.ends_with(':');
    let range = line.start + start..line.start + start + value.len();
    let inner = value.strip_prefix(['“', '”', '„']).and_then(|rest| rest.strip_suffix(['“', '”']));
    let quoted = serde_json::Value::from(inner.unwrap_or(value)).to_string();
    let reason = match value.chars().next()? {
        '"' | '\'' | '|' | '>' | '&' => return None,
        '[' | '{' if !value.starts_with("{{") => {
            let words = text_after_bracket(value).map(|sign| format!("text after `{sign}`, where the value ends"))?;
            return Some(SyntaxError::new(range, words).help(format!("quote it if it is a text: `{quoted}`")));
        }
        _ if key_end.is_some() && is_entry_of_collection(value) => {
            let help = format!("write `{value}` on a line of its own below the key; quote it if it is a text");
            return Some(SyntaxError::new(range, "a second key on one line").help(help));
        }
        '{' => "unquoted template: YAML reads `{{` as a map",
        '@' | '`' | '%' | '*' | '!' => "unquoted text: YAML reserves its first character",
        _ if has_colon && key_end.is_some() => "unquoted text with `: ` in it",
        _ => return None,
    };
    let error = SyntaxError::new(range, reason).help(format!("write `{quoted}`, or use a block after `|`"));
    Some(error.replaced_by(quoted))
}
