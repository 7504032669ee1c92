//! Places where YAML needs a space, and there is another blank, or nothing.

use std::ops::Range;

use super::syntax_error::SyntaxError;
use crate::diagnostic::{Code, Report, Span, is_hidden};

/// A blank at a place that needs at least so many spaces.
fn blank(text: &str, range: Range<usize>, place: &str, min_spaces: usize) -> SyntaxError {
    let blanks = text.get(range.clone()).unwrap_or_default();
    let first = blanks.chars().find(|character| is_odd_blank(*character)).unwrap_or('\u{a0}');
    let spaces = blanks.chars().filter(|character| character.is_whitespace()).count();
    SyntaxError::new(range, format!("{} {place}", describe_blank(first)))
        .help("write ordinary spaces instead; the file may have more of them")
        .replaced_by(" ".repeat(spaces.max(min_spaces)))
}

/// Whether a character looks like a space, or like nothing, and is a letter to YAML.
pub(super) fn is_odd_blank(character: char) -> bool {
    !character.is_ascii() && (character.is_whitespace() || is_hidden(character))
}

/// The name of a blank with its code point.
pub(super) fn describe_blank(character: char) -> String {
    let name = match character {
        '\u{a0}' => "a no-break space",
        '\u{ad}' => "a soft hyphen",
        '\u{2007}' => "a figure space",
        '\u{200b}' => "a zero-width space",
        '\u{200c}' => "a zero-width non-joiner",
        '\u{200d}' => "a zero-width joiner",
        '\u{202f}' => "a narrow no-break space",
        '\u{2060}' => "a word joiner",
        '\u{3000}' => "an ideographic space",
        '\u{feff}' => "a byte order mark",
        character if character.is_whitespace() => "a space of Unicode",
        _ => "an invisible character",
    };
    format!("{name} (U+{:04X})", u32::from(character))
}

/// What a line has instead of a space: in its indentation, or around the dash or the colon with which it begins.
pub(super) fn odd_blank(line: &str) -> Option<SyntaxError> {
    if line.is_ascii() {
        return None;
    }
    let rest = line.trim_start_matches([' ', '\t']);
    let start = line.len() - rest.len();
    if rest.starts_with(is_odd_blank) {
        let indentation = rest.len() - rest.trim_start_matches(|c: char| c == ' ' || is_odd_blank(c)).len();
        let end = line.get(..start + indentation)?.trim_end_matches(' ').len();
        let place = if indentation == rest.len() { "on a blank line" } else { "in the indentation" };
        return Some(blank(line, start..end, place, 0));
    }
    let item = rest.strip_prefix('-').filter(|item| item.starts_with(|c: char| c == ' ' || is_odd_blank(c)));
    let inner = item.unwrap_or(rest).trim_start_matches(' ');
    let from = line.len() - inner.len();
    if item.is_some() && inner.starts_with(is_odd_blank) {
        return Some(blank(line, blanks_at(line, from), "after `-`", 1));
    }
    let (key, value) = inner.split_once(':')?;
    let name = key.trim_end_matches(is_odd_blank);
    let is_key = |c: char| c.is_alphanumeric() || "_-.$\"'".contains(c);
    if name.is_empty() || !name.chars().all(is_key) {
        return None;
    }
    let (name_end, value_start) = (from + name.len(), from + key.len() + 1);
    if name.len() < key.len() {
        let place = format!("before the colon of `{name}`");
        return Some(blank(line, name_end..value_start - 1, &place, 0).replaced_by(""));
    }
    let is_odd = value.starts_with(is_odd_blank);
    is_odd.then(|| blank(line, blanks_at(line, value_start), &format!("after `{name}:`"), 1))
}

/// The range of the odd blanks at an offset.
fn blanks_at(line: &str, start: usize) -> Range<usize> {
    let rest = line.get(start..).unwrap_or_default();
    start..start + rest.len() - rest.trim_start_matches(is_odd_blank).len()
}

/// The key that a text was meant to begin with, whose colon no space follows: `text` of `text:Hello`.
pub(super) fn key_without_space(text: &str) -> Option<&str> {
    let (key, value) = text.split_once(':')?;
    let is_key = key.len() > 1
        && key.starts_with(|first: char| first.is_ascii_alphabetic())
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    let is_joined = value.starts_with(|first: char| !first.is_whitespace() && !"/:\\".contains(first));
    (is_key && is_joined).then_some(key)
}

/// Where a text that should be a map lacks a space after the dash or the key with which it begins.
pub(super) fn missing_space(text: &str) -> Option<SyntaxError> {
    let joined = || {
        let key = key_without_space(text)?;
        let error = SyntaxError::new(key.len()..key.len() + 1, format!("no space after `{key}:`"));
        Some(error.help("write a space there").replaced_by(": "))
    };
    odd_blank(text).or_else(joined)
}

/// Reports the space that a value lacks, which begins its line and should be a map or a list. Whether it lacks one.
pub fn report_missing_space(value: Span, report: &mut Report) -> bool {
    let Some(source) = report.sources.get(value.file) else { return false };
    let before = source.text().get(..value.start as usize).and_then(|before| before.rsplit('\n').next());
    let begins_line = before.is_some_and(|before| before.trim_matches([' ', '-']).is_empty());
    let Some(error) = missing_space(report.sources.text_of(value)).filter(|_| begins_line) else { return false };
    let SyntaxError { range, message, help, replacement, .. } = error.moved_by(value.start as usize);
    let span = Span::new(value.file, range.start, range.end);
    let diagnostic = report.error(Code::Syntax, span, message);
    diagnostic.help = help;
    replacement.into_iter().for_each(|text| _ = diagnostic.fix(span, text));
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_blanks_are_found_where_yaml_needs_a_space() {
        let found = |line: &str| odd_blank(line).map(|found| (found.message, found.range, found.replacement));
        for (line, message, range, replacement) in [
            ("text:\u{a0}x", "a no-break space (U+00A0) after `text:`", 5..7, " "),
            ("  - text:\u{3000}x", "an ideographic space (U+3000) after `text:`", 9..12, " "),
            ("text:\u{200b}x", "a zero-width space (U+200B) after `text:`", 5..8, " "),
            ("\u{a0} text: x", "a no-break space (U+00A0) in the indentation", 0..2, " "),
            ("  \u{a0}\u{a0}text: x", "a no-break space (U+00A0) in the indentation", 2..6, "  "),
            ("\u{feff}text: x", "a byte order mark (U+FEFF) in the indentation", 0..3, ""),
            ("-\u{202f}a", "a narrow no-break space (U+202F) after `-`", 1..4, " "),
            ("- \u{2007}a", "a figure space (U+2007) after `-`", 2..5, " "),
            ("text\u{a0}: x", "a no-break space (U+00A0) before the colon of `text`", 4..6, ""),
        ] {
            assert_eq!(found(line), Some((message.to_owned(), range, Some(replacement.to_owned()))), "{line:?}");
        }
        for line in
            ["text: a\u{a0}b", "a\u{a0}b: x", "text: \u{a0}x", "Voil\u{e0}\u{a0}: x y".trim_end_matches(": x y")]
        {
            assert_eq!(found(line), None, "{line:?}");
        }
    }

    #[test]
    fn keys_without_a_space_are_not_addresses_or_paths() {
        for text in ["text:Hello", "exec:[ls]", "server:{ name: t }"] {
            assert_eq!(missing_space(text).and_then(|found| found.replacement).as_deref(), Some(": "), "{text}");
        }
        for text in ["https://a.example", "C:\\x", "C:x", "a::b", "text: x", "text:", "12:30", "{{a:b}}"] {
            assert!(missing_space(text).is_none(), "{text}");
        }
    }
}
