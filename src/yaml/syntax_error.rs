//! Finds what an error of the parser is about: a quote or a bracket that was opened long before, a text that needs quotes.

use std::ops::Range;

use super::missing_space::MissingSpace;
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
}

impl From<MissingSpace> for SyntaxError {
    fn from(found: MissingSpace) -> SyntaxError {
        let help = found.help();
        let error = SyntaxError::new(found.range, found.message).help(help);
        SyntaxError { replacement: Some(found.replacement), ..error }
    }
}

/// The first line of a merge that is not resolved, where its three markers stand.
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

/// The mistake behind an error of the parser at an offset; `open` is where the innermost open `{` or `[` is.
pub(super) fn explain(text: &str, message: &str, at: usize, open: Option<usize>) -> SyntaxError {
    let line = line_at(text, at);
    let found = syntax_indentation::tab(text, &line, message)
        .or_else(|| syntax_indentation::blank_or_joined_key(text, message, at, &line))
        .or_else(|| syntax_quote::explain(text, message, at))
        .or_else(|| if message.contains("quote") { unclosed_quote(text, at) } else { None })
        .or_else(|| unclosed_bracket(text, message, at, open))
        .or_else(|| undefined_anchor(text, message, at))
        .or_else(|| block_mark(text, message, at))
        .or_else(|| unquoted_text(text, &line))
        .or_else(|| syntax_indentation::explain(text, message, &line));
    found.unwrap_or_else(|| {
        let error = SyntaxError::new(at..at, format!("invalid YAML: {message}"));
        match plain_help(message) {
            Some(help) => error.help(help),
            None => error,
        }
    })
}

fn plain_help(message: &str) -> Option<&'static str> {
    const HELP: &[(&str, &str)] = &[
        ("unknown anchor", "quote a text that begins with `*`"),
        ("misplaced bracket", "remove it: there is no matching opening bracket"),
        ("mapping values are not allowed", "quote a text with `: ` in it"),
        ("mapping keys are not allowed", "quote a text that begins with `? `"),
        ("expected ',' or", "separate entries by commas, and quote a text with `: `, `,` or a bracket in it"),
        ("expected node content", "write a value between the commas, and quote a text that begins with a sign"),
        ("did not find expected key", "indent all keys of a map by the same number of spaces"),
        ("did not find expected '-'", "indent all items of a list by the same number of spaces"),
        ("simple key expected", "write a key as `key: value`"),
        ("comments must be separated", "write a space before `#`"),
        ("wrongly indented line in block scalar", "indent each line of the text by the same number of spaces"),
        ("invalid indentation", "indent it by more spaces than its key"),
        ("alphabetic or numeric character", "quote a text that begins with `&` or `*`"),
        ("document indicator", "close the quote, or indent the line"),
        ("indentation indicator equal to 0", "write `|` without a number"),
        ("tab", "indent with spaces; YAML does not allow tabs in indentation"),
    ];
    HELP.iter().find(|(part, _)| message.contains(part)).map(|(_, help)| *help)
}

/// An alias that stands alone, so that no text was meant.
fn undefined_anchor(text: &str, message: &str, at: usize) -> Option<SyntaxError> {
    let rest = text.get(at..)?.strip_prefix('*').filter(|_| message.contains("unknown anchor"))?;
    let name = rest.split(|c: char| c.is_whitespace() || ",]}".contains(c)).next()?;
    let behind = rest.get(name.len()..)?.lines().next().unwrap_or_default().trim_start();
    let is_alone = behind.is_empty() || behind.starts_with([',', ']', '}', '#']);
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
            format!("`&{name}` stands below: an anchor stands above its aliases")
        }
        None => format!("define it above as `&{name}`, or quote a text that begins with `*`"),
    };
    Some(SyntaxError::new(at..at + 1 + name.len(), format!("undefined anchor `{name}`")).help(help))
}

/// A dash behind a key, or a text behind `|` or `>`, which belong on lines of their own.
fn block_mark(text: &str, message: &str, at: usize) -> Option<SyntaxError> {
    let written = text.get(at..)?.lines().next()?.split(" #").next()?.trim_end();
    let mark = written.chars().next()?;
    let quoted = serde_json::Value::from(written).to_string();
    let (words, help) = match mark {
        '-' if message.contains("block sequence entries") || message.contains("only valid inside a block") => (
            "a list item behind a key".to_owned(),
            "write each item on a line of its own below the key, or the list as `[a, b]`; quote it if it is a text",
        ),
        '|' | '>' if message.contains("expected comment or line break") => {
            (format!("text behind `{mark}`"), "write the text on the lines below, indented; quote it if it is one text")
        }
        _ => return None,
    };
    let in_brackets = written.contains([']', '}']);
    let help = if in_brackets { help.to_owned() } else { format!("{help}: `{quoted}`") };
    Some(SyntaxError::new(at..at + written.len(), words).help(help))
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

/// A bracket of an earlier line, or of this one if another one closes it.
fn unclosed_bracket(text: &str, message: &str, at: usize, open: Option<usize>) -> Option<SyntaxError> {
    let is_mismatch = message.contains("mismatched bracket");
    let names_it = ["flow mapping", "flow sequence", "bracket", "expected ',' or"];
    if !names_it.iter().any(|part| message.contains(part)) || message.contains("misplaced") {
        return None;
    }
    let is_open = |start: &usize| text.get(*start..).is_some_and(|rest| rest.starts_with(['{', '[']));
    let names_open = is_open(&at) && (is_mismatch || message.contains("unclosed"));
    let start = if names_open { Some(at) } else { find_open_bracket(text, at).or(open) };
    let start = start.filter(is_open)?;
    if start >= line_at(text, at).start && !is_mismatch && !names_open {
        return None;
    }
    let sign = text.get(start..)?.chars().next()?;
    let close = if sign == '{' { '}' } else { ']' };
    let error = SyntaxError::new(start..start + 1, format!("unclosed bracket `{sign}`"));
    let noticed_at = (start != at).then_some(at);
    Some(SyntaxError { noticed_at, ..error.help(format!("close it with `{close}`")) })
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

/// The bracket that closes a list or a map in flow style, if a text stands behind it: `[x] y`.
fn text_behind_bracket(value: &str) -> Option<char> {
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
    let written = of_line.get(start..)?;
    let value = written.split(" #").next()?.trim_end();
    let has_colon = value.contains(": ") || value.ends_with(':');
    let range = line.start + start..line.start + start + value.len();
    let inner = value.strip_prefix(['“', '”', '„']).and_then(|rest| rest.strip_suffix(['“', '”']));
    let quoted = serde_json::Value::from(inner.unwrap_or(value)).to_string();
    let reason = match value.chars().next()? {
        '"' | '\'' | '|' | '>' | '&' => return None,
        '[' | '{' if !value.starts_with("{{") => {
            let words = text_behind_bracket(value).map(|sign| format!("text behind `{sign}`, where the value ends"))?;
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
    Some(SyntaxError { replacement: Some(quoted), ..error })
}
