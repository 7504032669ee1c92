//! Sanitizes untrusted text for terminals: nothing in it can move the cursor, colour or reorder what is beside it.

use std::borrow::Cow;

/// Gives `text` with every character that a terminal obeys instead of showing put into a visible form.
/// Tabs and line feeds stay.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    if text.chars().all(|character| matches!(character, '\n' | '\t') || replacement_char(character).is_none()) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| if c == '\n' { c } else { replacement_char(c).unwrap_or(c) }).collect())
}

/// As [`sanitize`], on one line: runs of line breaks become one space.
pub fn one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(['\n', '\r']) {
        return sanitize(text);
    }
    let joined = text.split(['\n', '\r']).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    Cow::Owned(sanitize(&joined).into_owned())
}

/// Gives the beginning of `text`, with `…` in place of what is beyond `max_chars` characters: what a caller sent is shown to
/// it again, and not at any length.
pub fn truncate(text: &str, max_chars: usize) -> Cow<'_, str> {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
        None => Cow::Borrowed(text),
    }
}

/// The visible form of a character that must not reach a terminal as it is. `None` for all others and for the tab.
pub(super) fn replacement_char(character: char) -> Option<char> {
    match character {
        '\t' => None,
        '\u{0}'..='\u{1f}' => char::from_u32(0x2400 + u32::from(character)),
        '\u{7f}' => Some('\u{2421}'),
        _ if is_invisible_or_bidi(character) => Some(char::REPLACEMENT_CHARACTER),
        _ => None,
    }
}

/// C1 controls, line and paragraph separators, what changes the direction of text or hides in it, and letters that look
/// like a space.
fn is_invisible_or_bidi(character: char) -> bool {
    matches!(character,
        '\u{80}'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{2800}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_as_symbols() {
        assert_eq!(sanitize("a\u{1b}[31mb\u{9b}2J"), "a\u{241b}[31mb\u{fffd}2J");
        assert_eq!(sanitize("a\u{202e}b\u{2066}c"), "a\u{fffd}b\u{fffd}c");
        assert!(matches!(sanitize("täglich 日本 e\u{301}\n\tx"), Cow::Borrowed(_)));
    }

    #[test]
    fn truncate_respects_char_boundaries() {
        assert_eq!((truncate("äöü", 3), truncate("äöü!", 3)), ("äöü".into(), "äöü…".into()));
    }

    #[test]
    fn line_breaks_become_one_space() {
        assert_eq!(one_line("a\r\nb\n\nc\rd"), "a b c d");
    }
}
