//! Sanitizes untrusted text for terminals: nothing in it can move the cursor, colour or reorder what is beside it.

use std::borrow::Cow;

use super::hidden::{is_hidden, is_joiner, mark_hidden};

/// Gives `text` with every character that a terminal obeys instead of showing put into a visible form.
/// Tabs and line feeds stay.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    let stays = |character: char, hides: bool| character == '\n' || !hides && control_symbol(character).is_none();
    if mark_hidden(text).all(|(_, character, hides)| stays(character, hides)) {
        return Cow::Borrowed(text);
    }
    let shown = |(_, character, hides): (usize, char, bool)| match control_symbol(character) {
        _ if stays(character, hides) => character,
        Some(symbol) => symbol,
        None => char::REPLACEMENT_CHARACTER,
    };
    Cow::Owned(mark_hidden(text).map(shown).collect())
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

/// The visible form of a character that must not reach a terminal as it is, whatever is beside it. `None` for all
/// others and for the tab.
pub(super) fn replacement_char(character: char) -> Option<char> {
    let hides = is_hidden(character) && !is_joiner(character);
    control_symbol(character).or_else(|| hides.then_some(char::REPLACEMENT_CHARACTER))
}

/// The symbol of a control character of ASCII other than the tab.
fn control_symbol(character: char) -> Option<char> {
    match character {
        '\t' => None,
        '\u{0}'..='\u{1f}' => char::from_u32(0x2400 + u32::from(character)),
        '\u{7f}' => Some('\u{2421}'),
        _ => None,
    }
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
