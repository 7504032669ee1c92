//! The description of a prompt's argument, as listed.
//!
//! Clients show nothing else of it, so it also says the allowed values and the default.

use serde_json::Value;

use crate::diagnostic::{one_line, truncate};

/// How many allowed values are named.
const MAX_CHOICES: usize = 20;

/// How many characters of a value are shown.
const MAX_VALUE_CHARS: usize = 60;

/// What the schema of an argument says.
pub(super) struct ArgumentSummary<'a> {
    /// The author's words.
    pub(super) description: Option<&'a str>,
    /// The allowed values, where the schema lists them.
    pub(super) choices: Vec<String>,
    /// The value when a call gives none.
    pub(super) default: Option<&'a Value>,
}

impl ArgumentSummary<'_> {
    /// The author's words, and what they leave out: `Tone of the text (one of: formal, casual; default formal)`.
    pub(super) fn describe(&self) -> Option<String> {
        let additions: Vec<String> = [self.missing_choices(), self.missing_default()].into_iter().flatten().collect();
        let additions = additions.join("; ");
        match self.description.map(str::trim_end).filter(|text| !text.is_empty()) {
            written if additions.is_empty() => written.map(str::to_owned),
            None => Some(capitalized(&additions)),
            Some(written) => Some(match written.strip_suffix('.').filter(|text| !text.ends_with('.')) {
                Some(sentence) => format!("{sentence} ({additions})."),
                None => format!("{written} ({additions})"),
            }),
        }
    }

    fn missing_choices(&self) -> Option<String> {
        if self.choices.is_empty() || self.choices.iter().all(|choice| self.mentions(choice)) {
            return None;
        }
        let shown: Vec<String> = self.choices.iter().take(MAX_CHOICES).map(|choice| display_value(choice)).collect();
        Some(match shown.as_slice() {
            [only] => format!("only: {only}"),
            [yes, no] if [yes, no] == ["true", "false"] => "true or false".to_owned(),
            _ if self.choices.len() > MAX_CHOICES => format!("one of: {}, …", shown.join(", ")),
            _ => format!("one of: {}", shown.join(", ")),
        })
    }

    fn missing_default(&self) -> Option<String> {
        let text = match self.default? {
            Value::Null => return None,
            Value::String(text) if text.is_empty() => return None,
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        // As one of the choices it may be named without being the default.
        let is_said = self.mentions(&text) && (!self.choices.contains(&text) || self.mentions("default"));
        (!is_said).then(|| format!("default {}", display_value(&text)))
    }

    /// Whether the author names a value, as a word of its own.
    fn mentions(&self, value: &str) -> bool {
        let (text, value) = (self.description.unwrap_or_default().to_lowercase(), value.to_lowercase());
        let is_apart = |before: &str, after: &str| {
            !before.ends_with(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric)
        };
        !value.is_empty()
            && text.match_indices(&value).any(|(at, found)| {
                let (before, after) = (text.get(..at), text.get(at + found.len()..));
                is_apart(before.unwrap_or_default(), after.unwrap_or_default())
            })
    }
}

/// A value on one line, in quotes where it could be taken for several.
fn display_value(value: &str) -> String {
    let line = one_line(value);
    let short = truncate(line.trim(), MAX_VALUE_CHARS);
    if short.is_empty() || short.contains([',', ';']) { format!("\"{short}\"") } else { short.into_owned() }
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn described(description: Option<&str>, choices: &[&str], default: Value) -> Option<String> {
        let choices = choices.iter().map(|choice| (*choice).to_owned()).collect();
        ArgumentSummary { description, choices, default: Some(&default) }.describe()
    }

    #[test]
    fn description_lists_choices_and_default() {
        for (written, choices, default, expected) in [
            (Some("Tone"), &["formal", "casual"][..], json!("formal"), "Tone (one of: formal, casual; default formal)"),
            (Some("Tone."), &["formal", "casual"], json!(null), "Tone (one of: formal, casual)."),
            (Some("And so on..."), &[], json!(3), "And so on... (default 3)"),
            (None, &["a", "b"], json!("a"), "One of: a, b; default a"),
            (None, &[], json!(20), "Default 20"),
            (Some("Merges"), &["true", "false"], json!(false), "Merges (true or false; default false)"),
            (Some("Kind"), &["x"], json!(null), "Kind (only: x)"),
            (
                Some("List"),
                &["a, b", "", "c"],
                json!("two\nlines"),
                "List (one of: \"a, b\", \"\", c; default two lines)",
            ),
        ] {
            assert_eq!(described(written, choices, default).as_deref(), Some(expected));
        }
        assert_eq!(described(None, &[], json!("")), None);
    }

    #[test]
    fn author_is_not_repeated() {
        for (written, choices, default) in [
            ("Either formal or casual; the default is Formal", &["formal", "casual"][..], json!("formal")),
            ("The commit, HEAD if there is none", &[], json!("HEAD")),
            ("As it is", &[], json!(null)),
        ] {
            assert_eq!(described(Some(written), choices, default).as_deref(), Some(written));
        }
        let partly = described(Some("Formality, or casual"), &["formal", "casual"], json!("casual"));
        assert_eq!(partly.as_deref(), Some("Formality, or casual (one of: formal, casual; default casual)"));
    }

    #[test]
    fn long_lists_and_values_are_cut() {
        let choices: Vec<String> = (0..100).map(|number| format!("v{number}")).collect();
        let long = Value::String("x".repeat(500));
        let text = ArgumentSummary { description: None, choices, default: Some(&long) }.describe().unwrap_or_default();
        assert!(text.contains("v19, …; default xxx") && text.ends_with("x…") && text.len() < 250, "{text}");
    }
}
