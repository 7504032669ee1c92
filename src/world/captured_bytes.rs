//! Output truncated at a limit, and its display.

use std::borrow::Cow;
use std::string::FromUtf8Error;

use crate::diagnostic::without_byte_order_mark;
use crate::redact::{InputEnd, Redactor};
use crate::template::{INVALID_UTF8_NOTE, truncation_note};

/// Output up to a limit, and how much is missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapturedBytes {
    /// The kept bytes. Truncated ones end with a whole character.
    pub bytes: Vec<u8>,
    /// How many bytes are missing at the end; of an endless HTTP response, at least.
    pub missing_bytes: u64,
    /// What errors show beside.
    for_errors: Option<Box<ForErrors>>,
}

/// What errors show of the output of a program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct ForErrors {
    /// The last bytes of truncated output, at most [`TAIL_BYTES`].
    tail: Vec<u8>,
    /// The excerpt, where it is made while secrets are there: of output that is all known, and of what has escapes for a
    /// terminal, as a secret around them shows itself without them.
    excerpt: Option<String>,
}

/// How much of the end of truncated output is kept.
pub(super) const TAIL_BYTES: usize = 64 << 10;

impl CapturedBytes {
    /// Creates it from the kept bytes and the number of missing ones.
    pub fn new(bytes: Vec<u8>, missing: u64) -> CapturedBytes {
        let mut captured = CapturedBytes { bytes, missing_bytes: missing, for_errors: None };
        captured.trim_partial_char();
        captured
    }

    /// The same with its last bytes.
    pub(super) fn with_tail(self, tail: Vec<u8>) -> CapturedBytes {
        CapturedBytes { for_errors: Some(Box::new(ForErrors { tail, excerpt: None })), ..self }
    }

    pub fn is_truncated(&self) -> bool {
        self.missing_bytes > 0
    }

    /// Returns the text without a byte order mark, or `None` if it is not UTF-8.
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes).ok().map(without_byte_order_mark)
    }

    /// The text for display. Invalid UTF-8 is replaced; a last line says so, and how much is missing.
    pub fn to_display_text(&self) -> Cow<'_, str> {
        let text = self.text().map_or_else(|| String::from_utf8_lossy(&self.bytes), Cow::Borrowed);
        self.with_notes(text)
    }

    /// A text that was made of the bytes, with what must be said of it.
    fn with_notes<'t>(&self, mut text: Cow<'t, str>) -> Cow<'t, str> {
        if self.text().is_none() {
            push_line(text.to_mut(), INVALID_UTF8_NOTE);
        }
        if self.is_truncated() {
            push_line(text.to_mut(), &truncation_note(self.missing_bytes));
        }
        text
    }

    /// What becomes of the bytes as text for display.
    pub fn into_display_text(self) -> String {
        match String::from_utf8(self.bytes) {
            Ok(mut text) if self.missing_bytes == 0 => {
                let mark = text.len() - without_byte_order_mark(&text).len();
                text.drain(..mark);
                text
            }
            read => {
                let bytes = read.map_or_else(FromUtf8Error::into_bytes, String::into_bytes);
                CapturedBytes { bytes, ..self }.to_display_text().into_owned()
            }
        }
    }

    /// What becomes of bytes that are text, without a byte order mark.
    pub fn into_text(self) -> String {
        CapturedBytes { missing_bytes: 0, ..self }.into_display_text()
    }

    /// The beginning and the end, for errors.
    pub fn excerpt(&self) -> String {
        let prepared = self.for_errors.as_ref().and_then(|for_errors| for_errors.excerpt.clone());
        prepared.unwrap_or_else(|| self.excerpt_without_secrets(&Redactor::default(), InputEnd::Complete))
    }

    fn excerpt_without_secrets(&self, redactor: &Redactor, end: InputEnd) -> String {
        let shown = |bytes: &[u8], end| {
            let text = String::from_utf8_lossy(bytes);
            let mut text = strip_escapes(without_byte_order_mark(&text)).into_owned().into_bytes();
            redactor.redact_bytes(&mut text, end);
            String::from_utf8_lossy(&text).into_owned()
        };
        let total = self.bytes.len() as u64 + self.missing_bytes;
        let tail = self.tail();
        if !tail.is_empty() && tail.len() as u64 == total {
            return excerpt(&shown(tail, end));
        }
        // What is cut may end with the beginning of a secret.
        let end_of_kept = if self.is_truncated() { InputEnd::Interrupted } else { end };
        let start = shown(&self.bytes, end_of_kept);
        if tail.is_empty() {
            return excerpt(&self.with_notes(start.into()));
        }
        let end = shown(tail, end);
        let (start, end) = (first_lines(start.trim()), last_lines(end.trim()));
        let left_out = total.saturating_sub((start.len() + end.len()) as u64);
        format!("{start}\n[… {left_out} bytes left out …]\n{end}")
    }

    fn tail(&self) -> &[u8] {
        self.for_errors.as_ref().map_or(&[], |for_errors| &for_errors.tail)
    }

    /// Removes secrets, and what is beyond `limit`.
    pub(super) fn redact(&mut self, redactor: &Redactor, limit: u64, end: InputEnd) {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let has_escapes = |bytes: &[u8]| bytes.iter().any(|byte| byte.is_ascii_control() && !b"\n\t".contains(byte));
        let is_split = has_escapes(&self.bytes) || has_escapes(self.tail());
        // Without secrets it is no longer known how much of the output its end is.
        let is_all_known = match self.tail().len() {
            0 => self.bytes.len() > limit && self.missing_bytes == 0,
            tail => tail as u64 == self.bytes.len() as u64 + self.missing_bytes,
        };
        let excerpt = (is_split || is_all_known).then(|| self.excerpt_without_secrets(redactor, end));
        let mut tail = self.for_errors.take().map(|for_errors| for_errors.tail).unwrap_or_default();
        if self.bytes.len() > limit && tail.is_empty() {
            tail = last_bytes(&self.bytes).to_vec();
        }
        // Its beginning may be the end of a secret.
        redactor.redact_and_keep_end(&mut tail, TAIL_BYTES.saturating_sub(redactor.lookahead()), end);
        if excerpt.is_some() || !tail.is_empty() {
            self.for_errors = Some(Box::new(ForErrors { tail, excerpt }));
        }
        self.missing_bytes += redactor.redact_and_truncate(&mut self.bytes, limit, end) as u64;
        self.trim_partial_char();
    }

    /// Removes an incomplete character from the end of truncated output.
    fn trim_partial_char(&mut self) {
        if self.missing_bytes == 0 {
            return;
        }
        let tail = self.bytes.len().saturating_sub(3);
        let start = (tail..self.bytes.len()).find(|&at| self.bytes.get(at).is_some_and(|byte| *byte >= 0xC0));
        let Some((start, half)) = start.and_then(|start| Some((start, self.bytes.get(start..)?))) else { return };
        // `error_len` is `None` if more bytes could have completed a character.
        let incomplete = std::str::from_utf8(half).is_err_and(|error| error.error_len().is_none());
        if incomplete {
            let start = start + std::str::from_utf8(half).map_or_else(|error| error.valid_up_to(), str::len);
            self.missing_bytes += (self.bytes.len() - start) as u64;
            self.bytes.truncate(start);
        }
    }
}

fn push_line(text: &mut String, line: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(line);
}

/// How many characters an error shows of the beginning of output, which often has the reason.
const MAX_HEAD_CHARS: usize = 800;
/// How many it shows of its end.
const MAX_TAIL_CHARS: usize = 1200;

/// The beginning and the end of the output of a program, for display.
pub fn excerpt(printed: &str) -> String {
    let text = strip_escapes(printed);
    let text = text.trim();
    let count = text.chars().count();
    if count <= MAX_HEAD_CHARS + MAX_TAIL_CHARS {
        return text.to_owned();
    }
    let (head, tail) = (first_lines(text), last_lines(text));
    let left_out = count - head.chars().count() - tail.chars().count();
    format!("{head}\n[… {left_out} characters left out …]\n{tail}")
}

/// The beginning of a text, in whole lines where they are not too long.
fn first_lines(text: &str) -> &str {
    let Some((end, _)) = text.char_indices().nth(MAX_HEAD_CHARS) else { return text };
    let head = text.get(..end).unwrap_or_default();
    head.rsplit_once('\n').map_or(head, |(lines, _)| lines)
}

/// The same of its end.
fn last_lines(text: &str) -> &str {
    let Some((start, _)) = text.char_indices().nth_back(MAX_TAIL_CHARS - 1) else { return text };
    let tail = text.get(start..).unwrap_or_default();
    tail.split_once('\n').map_or(tail, |(_, lines)| lines)
}

/// The last bytes of some, as many as are kept.
pub(super) fn last_bytes(bytes: &[u8]) -> &[u8] {
    bytes.get(bytes.len().saturating_sub(TAIL_BYTES)..).unwrap_or_default()
}

/// What a program printed: an excerpt of each output that has text, labelled where both have.
pub fn printed_text(stdout: &CapturedBytes, stderr: &CapturedBytes) -> String {
    match (stdout.excerpt(), stderr.excerpt()) {
        (only, none) | (none, only) if none.is_empty() => only,
        (stdout, stderr) => format!("stderr:\n{stderr}\nstdout:\n{stdout}"),
    }
}

/// The same after the words of how it ended.
pub fn printed_suffix(stdout: &CapturedBytes, stderr: &CapturedBytes) -> String {
    let printed = printed_text(stdout, stderr);
    if printed.is_empty() { printed } else { format!(":\n{printed}") }
}

/// Removes terminal escapes and control characters other than newline and tab.
///
/// An unterminated control string ends with its line, so that it cannot hide what follows.
pub fn strip_escapes(text: &str) -> Cow<'_, str> {
    let is_removed = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
    if !text.contains(is_removed) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_removed) {
        let (before, from) = rest.split_at(at);
        plain.push_str(before);
        rest = skip_control(from);
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// Skips the control character at the beginning of `text`, and its sequence.
fn skip_control(text: &str) -> &str {
    let mut characters = text.chars();
    match characters.next() {
        Some('\u{1b}') => skip_escape(characters.as_str()),
        Some('\u{9b}') => skip_csi_parameters(characters.as_str()),
        Some('\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}') => skip_control_string(characters.as_str()),
        _ => characters.as_str(),
    }
}

fn skip_escape(text: &str) -> &str {
    let mut characters = text.chars();
    match characters.next() {
        Some('[') => skip_csi_parameters(characters.as_str()),
        Some(']' | 'P' | 'X' | '^' | '_') => skip_control_string(characters.as_str()),
        Some(' '..='/') => skip_final_byte(text.trim_start_matches(|character| matches!(character, ' '..='/'))),
        Some('0'..='~') => characters.as_str(),
        _ => text,
    }
}

/// CSI: parameters and intermediates, then one final character.
fn skip_csi_parameters(text: &str) -> &str {
    skip_final_byte(text.trim_start_matches(|character| matches!(character, ' '..='?')))
}

fn skip_final_byte(text: &str) -> &str {
    text.strip_prefix(|character| matches!(character, '0'..='~')).unwrap_or(text)
}

/// OSC, DCS and similar: up to BEL or ST, or else to the end of the line.
fn skip_control_string(text: &str) -> &str {
    let Some(at) = text.find(['\u{7}', '\u{1b}', '\u{9c}', '\n']) else { return "" };
    let from = text.get(at..).unwrap_or_default();
    from.strip_prefix("\u{1b}\\").or_else(|| from.strip_prefix(['\u{7}', '\u{9c}'])).unwrap_or(from)
}

#[cfg(test)]
mod tests {
    use super::{CapturedBytes, ForErrors, excerpt, strip_escapes};
    use crate::redact::{InputEnd, Redactor};
    use proptest::prelude::{any, proptest};

    #[test]
    fn truncation_keeps_whole_characters() {
        let captured = CapturedBytes::new("aé€😀".as_bytes()[..8].to_vec(), 10);
        assert_eq!(captured, CapturedBytes { bytes: "aé€".into(), missing_bytes: 12, for_errors: None });
        assert_eq!(captured.to_display_text(), "aé€\n[truncated: 12 more bytes]");
    }

    #[test]
    fn complete_bytes_are_unchanged() {
        let captured = CapturedBytes::new("é".as_bytes()[..1].to_vec(), 0);
        assert_eq!((captured.bytes.len(), captured.text()), (1, None));
        assert_eq!(CapturedBytes::new(b"all\n".to_vec(), 0).to_display_text(), "all\n");
    }

    #[test]
    fn excerpt_has_head_and_tail() {
        assert_eq!(excerpt("  reason\n"), "reason");
        let usage = "  --flag  does something\n".repeat(400);
        let display_path = excerpt(&format!("error: no such file\n{usage}exit: 2\n"));
        assert!(
            display_path.starts_with("error: no such file\n  --flag") && display_path.ends_with("\nexit: 2"),
            "{display_path}"
        );
        assert!(display_path.contains(" characters left out …]\n  --flag"), "{display_path}");
        assert!(display_path.chars().count() < 2100);
        let long = excerpt(&"é".repeat(5000));
        assert_eq!(long.matches('é').count(), 2000);
        assert!(long.contains("[… 3000 characters left out …]"), "{long}");
    }

    #[test]
    fn excerpt_shows_no_secret_that_escapes_split() {
        let redactor = Redactor::new(["Hunter2-pass-phrase"]);
        let split = "Hunter\u{1b}[0m2-pass-phrase";
        let filler = "x".repeat(5_000);
        for printed in [
            format!("{}{split}{filler}", "y".repeat(790)),
            format!("{filler}{split}{}", "z".repeat(1_190)),
            format!("H\0unter2-pass-phrase{filler}"),
        ] {
            let mut captured = CapturedBytes::new(printed.into_bytes(), 0);
            captured.redact(&redactor, 100_000, InputEnd::Complete);
            let shown = captured.excerpt();
            assert!(!shown.contains("unter") && !shown.contains("phrase") && !shown.contains("2-p"), "{shown}");
        }
    }

    #[test]
    fn excerpt_of_output_that_is_all_known_says_it_once() {
        let redactor = Redactor::new(["Hunter2-pass-phrase"]);
        let printed = format!("{}Hunter2-pass-phrase tail", "x".repeat(64)).into_bytes();
        let for_errors = Some(Box::new(ForErrors { tail: printed.clone(), excerpt: None }));
        let cut_before = CapturedBytes { bytes: printed[..84].to_vec(), missing_bytes: 4, for_errors };
        for mut captured in [CapturedBytes::new(printed, 0), cut_before] {
            captured.redact(&redactor, 64, InputEnd::Complete);
            assert_eq!(captured.excerpt(), format!("{}[secret] tail", "x".repeat(64)));
        }
    }

    /// Whether it was cut by a limit or by the end of its writer.
    #[test]
    fn excerpt_shows_no_part_of_a_secret_at_a_cut() {
        let redactor = Redactor::new(["Hunter2-pass-phrase"]);
        let printed = format!("\u{1b}[0m{}Hunter2-pass", "x".repeat(200));
        let tail = "y".repeat(100);
        let limited = CapturedBytes::new(printed.clone().into_bytes(), 100_000);
        let with_tail = limited.clone().with_tail(tail.into_bytes());
        let killed = (CapturedBytes::new(printed.into_bytes(), 0), InputEnd::Interrupted);
        for (mut captured, end) in [(limited, InputEnd::Complete), (with_tail, InputEnd::Complete), killed] {
            captured.redact(&redactor, 100, end);
            let shown = captured.excerpt();
            assert!(shown.contains("xx[secret]") && !shown.contains("Hunter"), "{shown}");
        }
    }

    #[test]
    fn invalid_utf8_is_marked() {
        assert_eq!(
            CapturedBytes::new(vec![b'a', 0xFF, b'b'], 0).to_display_text(),
            "a\u{fffd}b\n[invalid UTF-8 replaced by \u{fffd}]"
        );
    }

    #[test]
    fn escapes_and_control_characters_are_stripped() {
        for (printed, plain) in [
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}text", "text"),
            ("\u{1b}]8;;https://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{9b}2Jgone", "gone"),
            ("\u{1b}(Bset\u{1b}c\u{1b}7", "set"),
            ("a\r\nb\tc\u{8}\u{0}d\u{7f}", "a\nb\tcd"),
            ("\u{1b}]never closed\nnext line", "\nnext line"),
            ("\u{1b}Pq\u{9c}after", "after"),
            ("end\u{1b}", "end"),
            ("\u{1b}é", "é"),
        ] {
            assert_eq!(strip_escapes(printed), plain, "{printed:?}");
        }
    }

    proptest! {
        #[test]
        fn no_control_character_is_left(text in any::<String>(), head in "[\u{1b}\u{9b}\u{9d}\\[\\]P;m\u{7}a\n]{0,20}") {
            let plain = strip_escapes(&format!("{head}{text}")).into_owned();
            assert!(!plain.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
        }

        #[test]
        fn text_truncated_anywhere_stays_utf8(text in any::<String>(), at in 0_usize..64) {
            let at = at.min(text.len());
            let captured = CapturedBytes::new(text.as_bytes()[..at].to_vec(), (text.len() - at) as u64);
            if at < text.len() {
                assert_eq!(captured.text().map(str::len), Some(text.len() - captured.missing_bytes as usize));
                assert!(at - captured.bytes.len() < 4);
            }
        }
    }
}
