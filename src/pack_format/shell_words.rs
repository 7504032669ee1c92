//! Splits what a user typed into words as a shell does, without expanding anything. Crates for it end at `#`, as in `fix #12
//! now`, and at the quote of `don't`.

use std::iter::Peekable;
use std::str::Chars;

/// The words of a text. A quote that is never closed ends with the text.
pub(super) fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut chars = text.chars().peekable();
    loop {
        while chars.next_if(|character| character.is_whitespace()).is_some() {}
        if chars.peek().is_none() {
            return words;
        }
        words.push(next_word(&mut chars));
    }
}

fn next_word(chars: &mut Peekable<Chars<'_>>) -> String {
    let mut word = String::new();
    while let Some(character) = chars.next_if(|character| !character.is_whitespace()) {
        match character {
            '\'' => word.extend(chars.by_ref().take_while(|inside| *inside != '\'')),
            '"' => push_quoted(&mut word, chars),
            '\\' => word.extend(chars.next()),
            other => word.push(other),
        }
    }
    word
}

/// What is in double quotes, where a backslash keeps its meaning before `"` and itself alone.
fn push_quoted(word: &mut String, chars: &mut Peekable<Chars<'_>>) {
    while let Some(character) = chars.next() {
        match character {
            '"' => return,
            '\\' => word.push(chars.next_if(|next| matches!(next, '"' | '\\')).unwrap_or('\\')),
            other => word.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn words_are_those_of_a_shell() {
        for (text, words) in [
            ("", vec![]),
            ("  a  b\tc\n", vec!["a", "b", "c"]),
            ("'a b' \"c d\" e\\ f", vec!["a b", "c d", "e f"]),
            ("a''b \"\" x", vec!["ab", "", "x"]),
            ("\"say \\\"hi\\\" \\n\" it\\'s", vec!["say \"hi\" \\n", "it's"]),
            ("'never closed", vec!["never closed"]),
            ("$HOME `id` $(id) *", vec!["$HOME", "`id`", "$(id)", "*"]),
        ] {
            assert_eq!(split(text), words, "{text}");
        }
    }
}
