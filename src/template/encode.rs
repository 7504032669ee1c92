//! Percent-encoding: everything but RFC 3986's unreserved characters.

use std::fmt::Write;

fn push_byte(out: &mut String, byte: u8) {
    match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
        // Writing into a `String` cannot fail.
        _ => _ = write!(out, "%{byte:02X}"),
    }
}

/// A value as it may stand anywhere in a URL.
pub(super) fn encode(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    value.bytes().for_each(|byte| push_byte(&mut out, byte));
    out
}

/// A path as it may stand in a URL: as [`encode`], but `/` stays.
pub(super) fn encode_path(value: &str) -> String {
    value.split('/').map(encode).collect::<Vec<_>>().join("/")
}

/// Whether a segment of a URL's path is `.` or `..`, however it is written.
pub(super) fn is_dot_segment(segment: &str) -> bool {
    matches!(segment.replace("%2e", ".").replace("%2E", ".").as_str(), "." | "..")
}
