//! The words of a command.

/// The words of a command without signs of a shell but quotes; spaces inside of these and of `{{…}}` belong to a word.
pub(super) fn words(command: &str) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut rest = command;
    while let Some(next) = rest.chars().next() {
        let tag = rest.strip_prefix("{{").and_then(|tag| tag.find("}}")).map(|end| end + 4);
        let length = tag.unwrap_or(next.len_utf8());
        match (tag, next) {
            (None, ' ' | '\t' | '\n') => words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty())),
            (None, '"' | '\'') => {
                let (text, after) = rest.get(1..)?.split_once(next)?;
                word.push_str(Some(text).filter(|text| is_literal(text, next))?);
                rest = after;
                continue;
            }
            (None, '|' | '&' | ';' | '<' | '>' | '(' | ')' | '$' | '`' | '\\' | '*' | '?' | '~') => return None,
            _ => word.push_str(rest.get(..length)?),
        }
        rest = rest.get(length..)?;
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    (!words.is_empty()).then_some(words)
}

/// Whether a shell reads a text in these quotes as it is written, and no tag ends beyond them.
fn is_literal(text: &str, quote: char) -> bool {
    let is_expanded = quote == '"' && text.contains(['$', '`', '\\']);
    !text.is_empty() && !is_expanded && text.matches("{{").count() == text.matches("}}").count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_outside_of_tags() {
        let split = |command| words(command).map(|words| words.join("|"));
        assert_eq!(split("echo {{ x }}  -n a{{y}}b").as_deref(), Some("echo|{{ x }}|-n|a{{y}}b"));
        assert_eq!(split("echo 'a $b' \"c {{ x }}.md\"d").as_deref(), Some("echo|a $b|c {{ x }}.mdd"));
        for command in ["ls | wc", "echo \"$x\"", "echo 'a", "echo ''", "echo \"{{f \"x\"}}\"", ""] {
            assert_eq!(split(command), None, "{command}");
        }
    }
}
