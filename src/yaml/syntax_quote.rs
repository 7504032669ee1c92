//! Explains errors of the parser about quotes: escapes that do not exist, and texts after a closing quote.

use super::syntax_error::SyntaxError;

/// A backslash that is not an escape of YAML, as in a regular expression or a path of Windows. The quote opens at `at`.
pub(super) fn unknown_escape(text: &str, at: usize, is_of_surrogate: bool) -> Option<SyntaxError> {
    let inner = text.get(at..)?.strip_prefix('"')?;
    let mut wrong = None;
    let mut end = None;
    let mut characters = inner.char_indices();
    while let Some((offset, character)) = characters.next() {
        match character {
            '"' => {
                end = Some(offset);
                break;
            }
            '\\' => {
                let (_, escaped) = characters.next()?;
                let rest = inner.get(offset + 1..).unwrap_or_default();
                if wrong.is_none() && !is_escape(rest, is_of_surrogate) {
                    wrong = Some((offset, escaped));
                }
            }
            _ => {}
        }
    }
    let (offset, escaped) = wrong?;
    let start = at + 1 + offset;
    let error = SyntaxError::new(
        start..start + 1 + escaped.len_utf8(),
        format!("unknown escape `\\{escaped}` in double quotes"),
    );
    if escaped == '\'' {
        return Some(error.help("write `'`: in double quotes it needs no `\\`").replaced_by("'"));
    }
    let content = end.and_then(|end| inner.get(..end)).filter(|content| !content.contains(['\n', '"', '\'']));
    let Some(content) = content else {
        return Some(error.help("use single quotes, in which `\\` is a backslash, or write `\\\\`"));
    };
    let quoted = format!("'{content}'");
    let error = error.help(format!("use single quotes, in which `\\` is a backslash: `{quoted}`"));
    Some(SyntaxError { suggestion: Some((at..at + quoted.len(), quoted)), ..error })
}

/// Whether what follows a backslash makes an escape of it. A surrogate needs the other one.
fn is_escape(rest: &str, is_of_surrogate: bool) -> bool {
    let digits = match rest.chars().next() {
        Some('x') => 2,
        Some('u') => 4,
        Some('U') => 8,
        Some(sign) => return "0abt\tnvfre \"/\\N_LP\n\r".contains(sign),
        None => return false,
    };
    let hex = rest.get(1..=digits).and_then(|hex| u32::from_str_radix(hex, 16).ok());
    let is_surrogate = |code: u32| (0xd800..=0xdfff).contains(&code);
    hex.is_some_and(|code| char::from_u32(code).is_some() || is_surrogate(code) && !is_of_surrogate)
}

/// A text that goes on after a closing quote: an apostrophe in single quotes, a quotation in double ones. It begins at `at`.
pub(super) fn text_after_quote(text: &str, at: usize) -> Option<SyntaxError> {
    let start_of_line = text.get(..at)?.rfind('\n').map_or(0, |end| end + 1);
    let line = text.get(start_of_line..)?.lines().next()?;
    let before = text.get(start_of_line..at)?;
    let quote = before.trim_end().chars().next_back().filter(|sign| matches!(sign, '"' | '\''))?;
    let rest = line.get(before.len()..)?;
    let length = rest.split(" #").next()?.trim_end().len().max(1);
    let error =
        SyntaxError::new(at..at + length, format!("text after the closing quote `{quote}`, where the value ends"));
    if rest.starts_with(',') {
        return Some(error.help("write a list as `[a, b]`, or quote the whole text"));
    }
    let Some(start) = opening_quote(before, quote) else {
        return Some(error.help("quote the whole text, or remove what comes after it"));
    };
    let value_start = start_of_line + start;
    if let Some(end) = closing_quote(rest, quote) {
        let inner = text.get(value_start + 1..at + end)?;
        let quoted = in_other_quotes(inner, quote);
        let error = error.help(format!("write `{quoted}`"));
        // The range of a fix is that of the error.
        let range = value_start..at + end + 1;
        return Some(SyntaxError { range, replacement: Some(quoted), ..error });
    }
    let in_brackets = line.get(..start)?.contains(['{', '[']);
    if in_brackets {
        return Some(error.help("quote the whole text, or remove what comes after it"));
    }
    // An apostrophe is within a word; the quote before it was meant to be closed.
    let is_apostrophe = quote == '\'' && before.ends_with(quote);
    let whole = text.get(value_start + usize::from(is_apostrophe)..at + length)?;
    let quoted = in_other_quotes(whole, quote);
    Some(error.help(format!("quote the whole text as `{quoted}`, or remove what comes after it")))
}

/// The quote on a line that begins the value which ends at its end.
fn opening_quote(before: &str, quote: char) -> Option<usize> {
    let inner = before.trim_end().strip_suffix(quote)?;
    let is_start = |at: &usize| {
        let previous = inner.get(..*at).and_then(|text| text.chars().next_back());
        previous.is_none_or(|previous| matches!(previous, ' ' | '[' | '{' | ',' | ':' | '-'))
    };
    inner.match_indices(quote).map(|(at, _)| at).rfind(is_start)
}

/// The quote after which a value ends: nothing of it follows on the line.
fn closing_quote(rest: &str, quote: char) -> Option<usize> {
    rest.match_indices(quote).map(|(at, _)| at).find(|at| {
        let after = rest.get(at + 1..).unwrap_or_default();
        let next = after.trim_start();
        next.is_empty() || next.starts_with([',', ']', '}']) || after.starts_with(" #")
    })
}

/// A text in the quotes that it does not have.
fn in_other_quotes(inner: &str, quote: char) -> String {
    let single = format!("'{}'", inner.replace('\'', "''"));
    let double = serde_json::Value::from(inner).to_string();
    let is_double = if quote == '"' { inner.contains('\'') } else { !inner.contains(['"', '\\']) };
    if is_double { double } else { single }
}
