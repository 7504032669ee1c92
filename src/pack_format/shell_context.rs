//! What the letters of a command are in bash: quoted, escaped or in a comment.

/// What a letter is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShellContext {
    /// Outside of quotes.
    Plain,
    /// In `'…'`.
    SingleQuoted,
    /// In `"…"`.
    DoubleQuoted,
    Escaped,
    Comment,
}

/// Each letter of a command with its offset and what it is; a quote is what the letter before it is.
pub(super) fn shell_contexts(command: &str) -> impl Iterator<Item = (usize, char, ShellContext)> {
    let (mut quotes, mut is_escaped, mut is_comment, mut before) = (ShellContext::Plain, false, false, None);
    command.char_indices().map(move |(at, character)| {
        let is_first = before.is_none_or(|before: char| before.is_whitespace() || ";|&()".contains(before));
        let begins_comment = character == '#' && is_first && !is_escaped && quotes == ShellContext::Plain;
        is_comment = character != '\n' && (is_comment || begins_comment);
        let context = match (is_comment, is_escaped) {
            (true, _) => ShellContext::Comment,
            (_, true) => ShellContext::Escaped,
            _ => quotes,
        };
        is_escaped = character == '\\' && matches!(context, ShellContext::Plain | ShellContext::DoubleQuoted);
        quotes = match (context, character) {
            (ShellContext::Plain, '\'') => ShellContext::SingleQuoted,
            (ShellContext::Plain, '"') => ShellContext::DoubleQuoted,
            (ShellContext::SingleQuoted, '\'') | (ShellContext::DoubleQuoted, '"') => ShellContext::Plain,
            _ => quotes,
        };
        before = Some(character);
        (at, character, context)
    })
}

#[cfg(test)]
mod tests {
    use super::{ShellContext, shell_contexts};

    #[test]
    fn contexts_follow_quotes_escapes_and_comments() {
        for (command, expected) in [
            ("a 'b' \"c\"", "PPPSSPPDD"),
            ("\\'a\\\\b", "PEPPEP"),
            ("'a\\'b", "PSSSP"),
            ("\"a\\\"b\"", "PDDEDD"),
            ("# it's\na#b", "CCCCCCPPPP"),
            ("a;#b\n'", "PPCCPP"),
        ] {
            let shown: String = shell_contexts(command)
                .map(|(_, _, context)| match context {
                    ShellContext::Plain => 'P',
                    ShellContext::SingleQuoted => 'S',
                    ShellContext::DoubleQuoted => 'D',
                    ShellContext::Escaped => 'E',
                    ShellContext::Comment => 'C',
                })
                .collect();
            assert_eq!(shown, expected, "{command}");
        }
    }
}
