//! The description of a prompt's argument, as listed.
//!
//! Clients show nothing else of it, so it also says what to type, the allowed values and the default.

use serde_json::Value;

use crate::diagnostic::{one_line, truncate};
use crate::schema::TextForm;

/// How many allowed values are named.
const MAX_CHOICES: usize = 20;

/// How many characters of a value are shown.
const MAX_VALUE_CHARS: usize = 60;

/// By which authors give an example of what is typed.
const EXAMPLE_WORDS: [&str; 4] = ["such as", "for example", "e.g.", "yyyy"];

/// What the schema of an argument says.
pub(in crate::catalog) struct ArgumentSummary<'a> {
    /// The author's words.
    pub(in crate::catalog) description: Option<&'a str>,
    /// What is typed, beyond what the allowed values say.
    pub(in crate::catalog) form: Option<TextForm>,
    /// The allowed values, where the schema lists them.
    pub(in crate::catalog) choices: Vec<String>,
    /// The value when a call gives none.
    pub(in crate::catalog) default: Option<&'a Value>,
}

impl ArgumentSummary<'_> {
    /// The author's words, and what they leave out: `Tone of the text (one of: formal, casual; default formal)`.
    pub(in crate::catalog) fn describe(&self) -> Option<String> {
        let additions = [self.missing_form(), self.missing_choices(&self.choices, "one of"), self.missing_default()];
        let additions = additions.into_iter().flatten().collect::<Vec<_>>().join("; ");
        match self.description.map(str::trim_end).filter(|text| !text.is_empty()) {
            written if additions.is_empty() => written.map(str::to_owned),
            None => {
                let mut letters = additions.chars();
                letters.next().map(|first| first.to_uppercase().chain(letters).collect())
            }
            Some(written) => Some(match written.strip_suffix('.').filter(|text| !text.ends_with('.')) {
                Some(sentence) => format!("{sentence} ({additions})."),
                None => format!("{written} ({additions})"),
            }),
        }
    }

    /// What is typed, where the author does not say it.
    fn missing_form(&self) -> Option<String> {
        match self.form.as_ref()? {
            TextForm::Scalar(form) => (!self.says(form)).then(|| (*form).to_owned()),
            TextForm::Json => (!self.says("JSON")).then(|| "as JSON".to_owned()),
            TextForm::List { item, choices } => {
                let texts: Vec<String> = choices.iter().map(choice_text).collect();
                let separated = (!self.says("comma")).then(|| "separated by commas".to_owned());
                let each =
                    item.filter(|item| choices.is_empty() && !self.says(item)).map(|item| format!("each {item}"));
                let parts: Vec<String> =
                    [self.missing_choices(&texts, "any of"), separated, each].into_iter().flatten().collect();
                (!parts.is_empty()).then(|| parts.join("; "))
            }
        }
    }

    fn missing_choices(&self, choices: &[String], which: &str) -> Option<String> {
        if choices.is_empty() || choices.iter().all(|choice| self.mentions(choice)) {
            return None;
        }
        let shown: Vec<String> = choices.iter().take(MAX_CHOICES).map(|choice| display_value(choice)).collect();
        Some(match shown.as_slice() {
            [only] => format!("only: {only}"),
            [yes, no] if [yes, no] == ["true", "false"] => "true or false".to_owned(),
            _ if choices.len() > MAX_CHOICES => format!("{which}: {}, …", shown.join(", ")),
            _ => format!("{which}: {}", shown.join(", ")),
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

    /// Whether the author says what a form is, or gives an example where it has one.
    fn says(&self, form: &str) -> bool {
        let description = self.description.unwrap_or_default().to_lowercase();
        if form.contains("such as") {
            return EXAMPLE_WORDS.iter().any(|word| description.contains(word));
        }
        description.contains(&form.trim_start_matches("a ").trim_start_matches("an ").to_lowercase())
    }

    /// Whether the author names a value, as a word of its own.
    fn mentions(&self, value: &str) -> bool {
        let (text, value) = (self.description.unwrap_or_default().to_lowercase(), value.to_lowercase());
        let is_apart = |before: &str, after: &str| {
            !before.ends_with(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric)
        };
        !value.is_empty()
            && text.match_indices(&value).any(|(at, name)| {
                let (before, after) = (text.get(..at), text.get(at + name.len()..));
                is_apart(before.unwrap_or_default(), after.unwrap_or_default())
            })
    }
}

/// A value as it is typed.
pub(in crate::catalog) fn choice_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A value on one line, in quotes where it could be taken for several.
fn display_value(value: &str) -> String {
    let line = one_line(value);
    let short = truncate(line.trim(), MAX_VALUE_CHARS);
    if short.is_empty() || short.contains([',', ';']) { format!("\"{short}\"") } else { short.into_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn described(description: Option<&str>, choices: &[&str], default: Value) -> Option<String> {
        let choices = choices.iter().map(|choice| (*choice).to_owned()).collect();
        ArgumentSummary { description, form: None, choices, default: Some(&default) }.describe()
    }

    #[test]
    fn description_says_what_to_type() {
        let date = TextForm::Scalar("a date such as 2026-07-28");
        let list = |item, choices: &[&str]| {
            let choices = choices.iter().copied().map(Value::from).collect();
            TextForm::List { item, choices }
        };
        for (written, form, expected) in [
            (Some("Due"), date.clone(), "Due (a date such as 2026-07-28)"),
            (Some("Due date"), date.clone(), "Due date (a date such as 2026-07-28)"),
            (Some("The due date: YYYY-MM-DD"), date, "The due date: YYYY-MM-DD"),
            (None, TextForm::Json, "As JSON"),
            (Some("Tags."), list(None, &[]), "Tags (separated by commas)."),
            (Some("Tags"), list(None, &["a", "b"]), "Tags (any of: a, b; separated by commas)"),
            (Some("Numbers"), list(Some("an integer"), &[]), "Numbers (separated by commas; each an integer)"),
            (Some("a or b, with commas"), list(None, &["a", "b"]), "a or b, with commas"),
        ] {
            let summary =
                ArgumentSummary { description: written, form: Some(form), choices: Vec::new(), default: None };
            assert_eq!(summary.describe().as_deref(), Some(expected));
        }
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
        let text = ArgumentSummary { description: None, form: None, choices, default: Some(&long) }
            .describe()
            .unwrap_or_default();
        assert!(text.contains("v19, …; default xxx") && text.ends_with("x…") && text.len() < 250, "{text}");
    }
}
