//! Quotes words for a shell, for display.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::diagnostic::sanitize;

/// The word as bash, zsh and ksh read it; nothing in it can break the line or reach the terminal.
pub fn shell_quote(word: &OsStr) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_./:=@%+,".contains(char);
    match word.to_str() {
        Some(text) if !text.is_empty() && text.chars().all(is_plain) => text.to_owned(),
        Some(text) if !text.chars().any(needs_escape) => format!("'{}'", text.replace('\'', r"'\''")),
        _ => ansi_quote(word.as_bytes()),
    }
}

/// Whether a character is a control character of terminals, or invisible.
fn needs_escape(char: char) -> bool {
    let mut buffer = [0; 4];
    let text: &str = char.encode_utf8(&mut buffer);
    matches!(char, '\n' | '\t') || sanitize(text) != text
}

/// `$'…'`, in which everything can be written.
fn ansi_quote(word: &[u8]) -> String {
    let mut quoted = "$'".to_owned();
    for chunk in word.utf8_chunks() {
        chunk.valid().chars().for_each(|char| push_escaped(&mut quoted, char));
        chunk.invalid().iter().for_each(|byte| quoted.push_str(&format!("\\x{byte:02x}")));
    }
    quoted.push('\'');
    quoted
}

fn push_escaped(quoted: &mut String, char: char) {
    match char {
        '\n' => quoted.push_str("\\n"),
        '\t' => quoted.push_str("\\t"),
        '\'' | '\\' => quoted.extend(['\\', char]),
        char if !needs_escape(char) => quoted.push(char),
        char if char.is_ascii() => quoted.push_str(&format!("\\x{:02x}", u32::from(char))),
        char => quoted.push_str(&format!("\\U{:08x}", u32::from(char))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_only_if_necessary() {
        for (word, quoted) in [
            ("--max=3", "--max=3"),
            ("", "''"),
            ("two words", "'two words'"),
            ("it's", r"'it'\''s'"),
            ("$(rm -rf /)", "'$(rm -rf /)'"),
            ("日本", "'日本'"),
            ("a\nb\t'\\", r"$'a\nb\t\'\\'"),
            ("\u{1b}[31m", r"$'\x1b[31m'"),
            ("\u{202e}x", r"$'\U0000202ex'"),
        ] {
            assert_eq!(shell_quote(OsStr::new(word)), quoted, "{word:?}");
        }
        assert_eq!(shell_quote(OsStr::from_bytes(b"a\xff")), r"$'a\xff'");
    }

    #[test]
    fn bash_reads_the_same_word() {
        let word = "a\nb'c\\d\u{1b}[1m\u{202e}é$HOME`x`";
        let script = format!("printf %s {}", shell_quote(OsStr::new(word)));
        let Ok(printed) = std::process::Command::new("bash").env("LC_ALL", "C.UTF-8").args(["-c", &script]).output()
        else {
            return;
        };
        assert_eq!(String::from_utf8(printed.stdout).unwrap(), word);
    }
}
