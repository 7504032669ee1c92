//! Finds what a reader of a pack does not see: characters that are not shown, and files that are elsewhere.

use super::tree::PackTree;
use crate::diagnostic::mark_hidden;
use crate::files::mime_by_name;

/// How the pointer to a file of Git LFS begins.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";
/// No pointer is larger.
const MAX_POINTER_BYTES: usize = 1024;
/// How many bytes of a text are text at least, in percent. A shell runs a script with some others in it.
const MIN_TEXT_PERCENT: usize = 70;

/// What is suspicious about files, one line each.
pub fn suspicious_files(tree: &PackTree) -> Vec<String> {
    tree.files().flat_map(|(path, bytes)| [hidden_in_name(path), describe(path, bytes)]).flatten().collect()
}

/// The text of a file that is one: of UTF-8, with escapes for NUL and for some other bytes, or of UTF-16 with its mark.
pub fn text_of(bytes: &[u8]) -> Option<String> {
    if let Some(text) = utf16_text(bytes) {
        return Some(text);
    }
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

fn utf16_text(bytes: &[u8]) -> Option<String> {
    let (pairs, from) = match bytes {
        [0xff, 0xfe, rest @ ..] => (rest.chunks_exact(2), u16::from_le_bytes as fn([u8; 2]) -> u16),
        [0xfe, 0xff, rest @ ..] => (rest.chunks_exact(2), u16::from_be_bytes as fn([u8; 2]) -> u16),
        _ => return None,
    };
    let units: Vec<u16> = pairs.filter_map(|pair| pair.try_into().ok().map(from)).collect();
    String::from_utf16(&units).ok()
}

/// Whether a file is a font, a picture or the like by its name, in which such bytes are no characters.
fn is_media(path: &str) -> bool {
    let media = mime_by_name(path).unwrap_or_default();
    ["font/", "image/", "audio/", "video/"].iter().any(|kind| media.starts_with(kind) && media != "image/svg+xml")
        || media == "application/pdf"
}

fn hidden_in_name(path: &str) -> Option<String> {
    let (_, hidden, _) = mark_hidden(path).find(|(_, _, hides)| *hides)?;
    let shown: String = mark_hidden(path).filter(|(_, _, hides)| !hides).map(|(_, character, _)| character).collect();
    Some(format!("the name of `{shown}` contains hidden Unicode (U+{:04X})", u32::from(hidden)))
}

fn describe(path: &str, bytes: &[u8]) -> Option<String> {
    if bytes.starts_with(LFS_POINTER) && bytes.len() <= MAX_POINTER_BYTES {
        return Some(format!("`{path}` is a pointer of Git LFS: the file itself is not in the repository"));
    }
    let text = text_of(bytes).filter(|_| !is_media(path))?;
    // A byte order mark at the start is none of the text.
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let moves_cursor = |character: char| character.is_ascii_control() && !"\t\n\u{c}\r".contains(character);
    let (at, hidden, _) = mark_hidden(text).find(|(_, character, hides)| *hides || moves_cursor(*character))?;
    let line = text.get(..at)?.matches('\n').count() + 1;
    Some(format!("`{path}:{line}` contains hidden Unicode (U+{:04X})", u32::from(hidden)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_found_beside_other_bytes() {
        let found = |bytes: &[u8]| describe("a", bytes);
        for (text, code) in [("\u{200b}", "200B"), ("\u{1b}[8m", "001B"), ("\u{8}", "0008"), ("\u{e0041}", "E0041")] {
            let expected = Some(format!("`a:2` contains hidden Unicode (U+{code})"));
            assert_eq!(found(format!("a line\n{text}").as_bytes()), expected);
            assert_eq!(found(&[b"a\xffline\n", text.as_bytes()].concat()), expected);
        }
        let utf16: Vec<u8> = "\u{feff}a\n\u{202e}".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(found(&utf16).as_deref(), Some("`a:2` contains hidden Unicode (U+202E)"));
        assert_eq!(found("\u{feff}a\r\n\tb\u{c}".as_bytes()), None);
        assert_eq!(describe("a.ttf", b"\0\x01 a font"), None);
        assert!(describe("a.svg", b"<svg>\x1b").is_some() && describe("a.md", b"\x01").is_some());
        assert_eq!(found(b"\x89PNG\r\n\x1a\n\0\0\0\x1b\xe2\x80\xae\xff\xff\xff"), None);
    }
}
