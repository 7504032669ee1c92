//! Checks absolute URIs (RFC 3986).

use std::ops::Range;

use super::UriError;
use super::percent::{broken_escape, is_reserved, is_unreserved, percent_encode};

/// Checks that a text is an absolute URI (RFC 3986).
///
/// Of the authority it checks only the characters, and it allows brackets anywhere: a client that expands `{+path}` by
/// RFC 6570 keeps those of a file `[id].tsx`.
pub fn check_uri(text: &str) -> Result<(), UriError> {
    if text.is_empty() {
        return Err(UriError::new(0..0, "empty URI").help(SCHEME_HELP));
    }
    check_scheme(text)?;
    check_characters(text, 0)?;
    check_fragment(text)
}

const SCHEME_HELP: &str = "start with a scheme, such as `docs://guide`";

/// Whether a text starts with a valid scheme and its colon (RFC 3986, 3.1).
pub fn has_scheme(text: &str) -> bool {
    let is_rest = |character: char| character.is_ascii_alphanumeric() || matches!(character, '+' | '-' | '.');
    text.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic()) && scheme.chars().all(is_rest)
    })
}

/// The length of the scheme, without its colon.
pub(super) fn check_scheme(text: &str) -> Result<usize, UriError> {
    let end = text.find([':', '/', '?', '#', '{']).unwrap_or(text.len());
    if !text.get(end..).is_some_and(|rest| rest.starts_with(':')) {
        return Err(UriError::new(0..end, "missing URI scheme").help(SCHEME_HELP));
    }
    if has_scheme(text) {
        return Ok(end);
    }
    let name = text.get(..end).unwrap_or_default();
    let error = UriError::new(0..end, format!("invalid URI scheme `{}`", name.escape_debug()));
    Err(error.help("a scheme is a letter followed by letters, digits, `+`, `-` or `.`"))
}

/// Checks the characters of a literal part, which starts at `offset` of the whole.
pub(super) fn check_characters(text: &str, offset: usize) -> Result<(), UriError> {
    let range = |at: usize, length: usize| -> Range<usize> { offset + at..offset + at + length };
    let is_good = |character: char| is_unreserved(character) || is_reserved(character) || character == '%';
    if let Some((at, wrong)) = text.char_indices().find(|(_, character)| !is_good(*character)) {
        let encoded = percent_encode(wrong.encode_utf8(&mut [0; 4]));
        let error =
            UriError::new(range(at, wrong.len_utf8()), format!("invalid character in URI: {}", describe_char(wrong)));
        return Err(error.help(format!("write it as `{encoded}`")));
    }
    match broken_escape(text) {
        Some(at) => {
            let error = UriError::new(range(at, 1), "invalid escape: `%` must be followed by two hexadecimal digits");
            Err(error.help("write a percent sign as `%25`"))
        }
        None => Ok(()),
    }
}

/// Checks that a text has at most one `#`.
pub(super) fn check_fragment(text: &str) -> Result<(), UriError> {
    match text.match_indices('#').nth(1) {
        Some((at, _)) => Err(UriError::new(at..at + 1, "duplicate `#` in URI").help("write it as `%23`")),
        None => Ok(()),
    }
}

fn describe_char(character: char) -> String {
    match character {
        ' ' => "a space".to_owned(),
        '`' => "a backtick".to_owned(),
        other if other.is_control() => format!("control character {:#04x}", u32::from(other)),
        other => format!("`{other}`"),
    }
}
