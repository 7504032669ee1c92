//! Percent-encoding (RFC 3986).

use percent_encoding::{percent_decode_str, percent_encode_byte};

/// The unreserved characters beside letters and digits (RFC 3986, 2.3).
pub(super) const UNRESERVED: &str = "-._~";
/// The reserved characters (RFC 3986, 2.2).
pub(super) const RESERVED: &str = ":/?#[]@!$&'()*+,;=";

/// Whether a character is unreserved.
pub(super) fn is_unreserved(character: char) -> bool {
    character.is_ascii_alphanumeric() || UNRESERVED.contains(character)
}

/// Whether a character is reserved.
pub(super) fn is_reserved(character: char) -> bool {
    RESERVED.contains(character)
}

/// Encodes every character that is not unreserved.
pub fn percent_encode(text: &str) -> String {
    percent_encode_except(text, UNRESERVED)
}

/// Encodes every character but letters, digits and these, which are ASCII.
pub fn percent_encode_except(text: &str, kept: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte.is_ascii_alphanumeric() || kept.as_bytes().contains(&byte) {
            true => out.push(char::from(byte)),
            false => out.push_str(percent_encode_byte(byte)),
        }
    }
    out
}

/// Decodes a value; `None` for a malformed escape, invalid UTF-8 or a NUL.
pub(super) fn percent_decode(text: &str) -> Option<String> {
    let decoded = percent_decode_str(text).decode_utf8().ok()?;
    (broken_escape(text).is_none() && !decoded.contains('\0')).then(|| decoded.into_owned())
}

/// Decodes a text; malformed escapes stay as they are, and so does the whole text where the result is not UTF-8.
pub fn percent_decode_lossy(text: &str) -> String {
    percent_decode_str(text).decode_utf8().map_or_else(|_| text.to_owned(), |decoded| decoded.into_owned())
}

/// The first `%` without two hexadecimal digits after it.
pub(super) fn broken_escape(text: &str) -> Option<usize> {
    let digits = |at: usize| text.as_bytes().get(at + 1..at + 3);
    let is_whole = |at: &usize| digits(*at).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
    text.match_indices('%').map(|(at, _)| at).find(|at| !is_whole(at))
}
