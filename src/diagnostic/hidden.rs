//! The characters that a reader does not see, or that change how what is beside them is read.

/// Whether a character is shown as nothing, as a blank although it is a letter, or changes the direction of a text.
pub fn is_hidden(character: char) -> bool {
    matches!(character,
        // C1 controls; the soft hyphen; the combining grapheme joiner.
        '\u{80}'..='\u{9f}' | '\u{ad}' | '\u{34f}'
        // Fillers of Hangul, vowels of Khmer, the blank of Braille, a blank note.
        | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}' | '\u{2800}' | '\u{1d159}'
        // Zero-width spaces and joiners, marks and controls of direction, invisible operators, separators of lines.
        | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        // Selectors of variants, of Mongolian too.
        | '\u{180b}'..='\u{180f}' | '\u{fe00}'..='\u{fe0f}'
        // Annotations, controls of shorthand and of music, tags and the supplementary selectors.
        | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a character belongs to scripts and emoji: a joiner of letters, or a selector of how an emoji is shown.
pub(super) fn is_joiner(character: char) -> bool {
    matches!(character, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}')
}

/// Whether a character is hidden after `previous`. One joiner after a letter beyond ASCII is not, nor the selector after
/// the digit of a keycap.
fn hides_behind(previous: Option<char>, character: char) -> bool {
    let is_joined = |previous: char| match (previous, character) {
        ('\u{fe0f}', '\u{200d}') | ('0'..='9' | '#' | '*', '\u{fe0f}') => true,
        _ => !previous.is_ascii() && !is_hidden(previous),
    };
    is_hidden(character) && !(is_joiner(character) && previous.is_some_and(is_joined))
}

/// The characters of a text, each with whether it hides.
pub fn mark_hidden(text: &str) -> impl Iterator<Item = (usize, char, bool)> {
    let mut previous = None;
    text.char_indices()
        .map(move |(at, character)| (at, character, hides_behind(previous.replace(character), character)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_is_told_from_how_scripts_and_emoji_are_written() {
        let hidden = |text: &str| mark_hidden(text).filter(|(.., hides)| *hides).count();
        for text in [
            "a\u{200b}", "a\u{200c}b", "a\u{200d}b", "a\u{200e}", "a\u{202e}", "a\u{2063}", "a\u{2066}", "a\u{ad}b",
            "a\u{115f}", "a\u{3164}", "a\u{ffa0}", "a\u{2800}", "a\u{feff}", "a\u{180e}", "a\u{e0041}", "a\u{e0100}",
            "a\u{fe0f}", "a\u{fe00}", "👩\u{fe0f}\u{fe0f}", "👩\u{200d}\u{200d}", "a\u{61c}", "a\u{34f}", "a\u{206a}",
            "a\u{85}", "a\u{2028}", "a\u{17b4}", "a\u{1d173}", "\u{200d}",
        ] {
            assert_eq!(hidden(text), 1, "{}", text.escape_unicode());
        }
        for text in [
            "a b\tc\n", "\u{a0}", "👩\u{200d}👧", "❤\u{fe0f}\u{200d}🔥", "1\u{fe0f}\u{20e3}", "می\u{200c}خواهم",
            "e\u{301}",
        ] {
            assert_eq!(hidden(text), 0, "{}", text.escape_unicode());
        }
    }
}
