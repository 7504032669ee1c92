//! Texts as scalars of YAML.

/// The scalar for a text inside `{ }` or `[ ]`, quoted as it is written where it is.
pub(super) fn flow_scalar(written: &str, text: &str) -> String {
    let is_quoted = written.starts_with(['"', '\'']) && !written.contains('\n');
    let is_plain = written == text && !text.is_empty() && !text.contains("//") && text.chars().all(is_plain_char);
    let is_plain = is_plain && !text.starts_with(['-', ' ']) && !text.ends_with(' ') && !is_other_type(text);
    if is_quoted || is_plain { written.to_owned() } else { serde_json::Value::from(text).to_string() }
}

/// The scalar for a text that is written nowhere.
pub(super) fn scalar(text: &str) -> String {
    if text.starts_with('-') && text.len() > 1 && text.chars().all(is_plain_char) && !is_other_type(text) {
        return text.to_owned();
    }
    flow_scalar(text, text)
}

fn is_plain_char(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, ' ' | '_' | '-' | '.' | '/' | '+' | '=')
}

/// Whether YAML reads a plain text as another type.
fn is_other_type(text: &str) -> bool {
    matches!(
        text.to_lowercase().as_str(),
        "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "~" | ".nan" | ".inf"
    ) || text.parse::<f64>().is_ok()
        || text.starts_with("0x")
        || text.starts_with("0o")
}

/// The words of a command without quotes and other signs of a shell, each as a scalar and as its text; spaces inside of
/// `{{…}}` belong to a word.
pub(super) fn words(command: &str) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut rest = command;
    while let Some(next) = rest.chars().next() {
        let tag = rest.strip_prefix("{{").and_then(|tag| tag.find("}}")).map(|end| end + 4);
        let length = tag.unwrap_or(next.len_utf8());
        match (tag, next) {
            (None, ' ' | '\t' | '\n') => words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty())),
            (None, '|' | '&' | ';' | '<' | '>' | '(' | ')' | '$' | '`' | '"' | '\'' | '\\' | '*' | '?' | '~') => {
                return None;
            }
            _ => word.push_str(rest.get(..length)?),
        }
        rest = rest.get(length..)?;
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    (!words.is_empty()).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_outside_of_tags() {
        let split = |command| words(command).map(|words| words.join("|"));
        assert_eq!(split("echo {{ x }}  -n a{{y}}b").as_deref(), Some("echo|{{ x }}|-n|a{{y}}b"));
        assert_eq!((split("ls | wc"), split("echo 'a b'"), split("")), (None, None, None));
    }

    #[test]
    fn scalars_are_quoted_where_yaml_needs_it() {
        for (text, expected) in [
            ("ls", "ls"),
            ("{{x}}", "\"{{x}}\""),
            ("-l", "-l"),
            ("no", "\"no\""),
            ("1.0", "\"1.0\""),
            ("./a", "./a"),
            ("127.0.0.1", "127.0.0.1"),
            ("a: b", "\"a: b\""),
        ] {
            assert_eq!(scalar(text), expected);
        }
    }
}
