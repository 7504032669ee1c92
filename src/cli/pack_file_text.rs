//! Shows files of a pack from elsewhere, so that nothing in them looks like anything but their text.

use super::pack_grant_uses::INDENT;
use crate::diagnostic::sanitize;

/// How many spaces within a line stay: more of them move what follows out of sight.
const MAX_SPACES: usize = 60;

/// How many bytes of a file are of text at least, in percent. A shell runs a script with some others in it.
const MIN_TEXT_PERCENT: usize = 70;

/// The text of a file, with escapes for NUL and for bytes that are not UTF-8. `None` if that is not what it is.
pub(super) fn file_text(bytes: &[u8]) -> Option<String> {
    let mut text = String::with_capacity(bytes.len());
    let mut others = 0;
    for chunk in bytes.utf8_chunks() {
        text.push_str(&chunk.valid().replace('\0', "\\0"));
        text.push_str(&chunk.invalid().escape_ascii().to_string());
        others += chunk.valid().matches('\0').count() + chunk.invalid().len();
    }
    let is_text = others.saturating_mul(100) <= bytes.len().saturating_mul(100 - MIN_TEXT_PERCENT);
    is_text.then_some(text)
}

/// The lines of a text, each of them indented and shown as it is.
pub(super) fn indented_lines(text: &str) -> String {
    text.lines().map(|line| format!("{:INDENT$}{}", "", visible_line(line))).collect()
}

/// A line as it is, apart from what a terminal obeys or does not show, and its end.
pub(super) fn visible_line(line: &str) -> String {
    visible_spaces(&sanitize(line)) + "\n"
}

/// A line with a note in the place of many spaces.
fn visible_spaces(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find(' ') {
        let (before, from) = rest.split_at(start);
        let after = from.trim_start_matches(' ');
        let count = from.len() - after.len();
        shown.push_str(before);
        match count {
            0..=MAX_SPACES => shown.push_str(&" ".repeat(count)),
            _ => shown.push_str(&format!(" [{count} spaces] ")),
        }
        rest = after;
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_not_text_are_shown() {
        let shown = file_text(b"a\xff\r\n\x1b[8mb").map(|text| indented_lines(&text));
        assert_eq!(shown.as_deref(), Some("    a\\xff\n    \u{241b}[8mb\n"));
        assert_eq!(file_text(b"# \0\necho").as_deref(), Some("# \\0\necho"));
        assert_eq!(file_text(b"a\0"), None);
        assert_eq!(file_text(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0"), None);
    }

    #[test]
    fn many_spaces_hide_nothing() {
        let line = format!("  id{}; evil  x", " ".repeat(900));
        assert_eq!(visible_spaces(&line), "  id [900 spaces] ; evil  x");
    }
}
