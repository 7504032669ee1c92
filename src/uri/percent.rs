//! Percent-encoding (RFC 3986).

use std::fmt::Write as _;

/// Whether a character is unreserved (RFC 3986, 2.3).
pub(super) fn is_unreserved(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '.' | '_' | '~')
}

/// Whether a character is reserved (RFC 3986, 2.2).
pub(super) fn is_reserved(character: char) -> bool {
    matches!(
        character,
        ':' | '/' | '?' | '#' | '[' | ']' | '@' | '!' | '$' | '&' | '\'' | '(' | ')' | '*' | '+' | ',' | ';' | '='
    )
}

/// Encodes every character that is not unreserved.
pub fn percent_encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    percent_encode_into(&mut out, text, is_unreserved);
    out
}

/// Appends `text`, with every character encoded that `keep` rejects.
pub(super) fn percent_encode_into(out: &mut String, text: &str, keep: impl Fn(char) -> bool) {
    for character in text.chars() {
        if keep(character) {
            out.push(character);
            continue;
        }
        for byte in character.encode_utf8(&mut [0; 4]).bytes() {
            // Writing to a `String` cannot fail.
            _ = write!(out, "%{byte:02X}");
        }
    }
}

/// Decodes a value; `None` for a malformed escape, invalid UTF-8 or a NUL.
pub(super) fn percent_decode(text: &str) -> Option<String> {
    broken_escape(text)
        .is_none()
        .then(|| decode_bytes(text))
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .filter(|text| !text.contains('\0'))
}

/// Decodes a text; malformed escapes stay as they are, and so does the whole text where the result is not UTF-8.
pub fn percent_decode_lossy(text: &str) -> String {
    String::from_utf8(decode_bytes(text)).unwrap_or_else(|_| text.to_owned())
}

fn decode_bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let byte = if *first == b'%' { escaped_byte(tail) } else { None };
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { tail.get(2..).unwrap_or_default() } else { tail };
    }
    bytes
}

/// The byte of the two hexadecimal digits at the start of `text`.
fn escaped_byte(text: &[u8]) -> Option<u8> {
    let digit = |digit: &u8| char::from(*digit).to_digit(16);
    match text {
        [high, low, ..] => u8::try_from(digit(high)? * 16 + digit(low)?).ok(),
        _ => None,
    }
}

/// The first `%` without two hexadecimal digits after it.
pub(super) fn broken_escape(text: &str) -> Option<usize> {
    let is_broken = |at: &usize| escaped_byte(text.as_bytes().get(at + 1..).unwrap_or_default()).is_none();
    text.match_indices('%').map(|(at, _)| at).find(is_broken)
}
