//! `edits`: texts that are replaced, and the diff of it.

use std::time::Duration;

use serde_json::Value;
use similar::TextDiff;

use crate::action::ActionError;
use crate::budget;
use crate::redact::{Redactor, SECRET_PLACEHOLDER};

/// The largest file that is edited.
pub(super) const MAX_EDITED_BYTES: u64 = 4 << 20;
/// How many edits one call may have.
const MAX_EDITS: usize = 1000;
/// How long the search for the shortest diff may take; after that it is longer, and as right.
const DIFF_TIMEOUT: Duration = Duration::from_millis(500);
/// How many lines a diff shows around a change.
const CONTEXT_LINES: usize = 3;

/// A text to replace by another.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TextReplacement {
    old: String,
    new: String,
}

/// The edits in a value.
pub(super) fn parse_edits(value: &Value) -> Result<Vec<TextReplacement>, ActionError> {
    let items = value.as_array().filter(|items| items.len() <= MAX_EDITS);
    let edit = |item: &Value| {
        let text = |keys: [&str; 2]| keys.iter().find_map(|key| item.get(key)).and_then(Value::as_str);
        Some(TextReplacement { old: text(["old", "oldText"])?.to_owned(), new: text(["new", "newText"])?.to_owned() })
    };
    let edits = items.and_then(|items| items.iter().map(edit).collect::<Option<Vec<_>>>());
    edits.ok_or_else(|| {
        ActionError::message(format!(
            "`edits` must be a list of at most {MAX_EDITS} objects with texts `old` and `new`"
        ))
    })
}

/// The text of a file. Edits see the text between its secrets alone: one that tells whether it matches a part of a secret
/// would confirm guesses of it, piece by piece.
pub(super) struct FileText(Vec<TextPart>);

enum TextPart {
    Public(String),
    Secret(String),
}

impl FileText {
    pub(super) fn new(text: &str, redactor: Option<&Redactor>) -> FileText {
        let secrets = redactor.map(|redactor| redactor.secret_ranges(text)).unwrap_or_default();
        let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default().to_owned();
        let mut parts = Vec::with_capacity(secrets.len() * 2 + 1);
        let mut at = 0;
        for secret in secrets {
            parts.push(TextPart::Public(part(at, secret.start)));
            parts.push(TextPart::Secret(part(secret.start, secret.end)));
            at = secret.end;
        }
        parts.push(TextPart::Public(part(at, text.len())));
        FileText(parts)
    }

    /// What a caller may see of it.
    pub(super) fn to_redacted_string(&self) -> String {
        let shown = self.0.iter().map(|part| match part {
            TextPart::Public(text) => text.as_str(),
            TextPart::Secret(_) => SECRET_PLACEHOLDER,
        });
        shown.collect()
    }

    /// The whole text.
    pub(super) fn into_string(self) -> String {
        let texts = self.0.into_iter().map(|part| match part {
            TextPart::Public(text) | TextPart::Secret(text) => text,
        });
        texts.collect()
    }

    /// Replaces each text in its turn.
    ///
    /// # Errors
    /// A text is not in the file, or more than once.
    pub(super) fn apply(&mut self, edits: &[TextReplacement]) -> Result<(), ActionError> {
        for (number, edit) in edits.iter().enumerate() {
            budget::tick()?;
            let failed = |why: &str| ActionError::message(format!("edit {}: {why}", number + 1));
            self.replace(edit).map_err(failed)?;
            if self.size() as u64 > 2 * MAX_EDITED_BYTES {
                return Err(failed("the file would be too large"));
            }
        }
        Ok(())
    }

    fn size(&self) -> usize {
        let sizes = self.0.iter().map(|part| match part {
            TextPart::Public(text) | TextPart::Secret(text) => text.len(),
        });
        sizes.sum()
    }

    fn public_parts(&mut self) -> impl Iterator<Item = &mut String> {
        self.0.iter_mut().filter_map(|part| match part {
            TextPart::Public(text) => Some(text),
            TextPart::Secret(_) => None,
        })
    }

    /// Whether all lines end with CRLF.
    fn is_crlf(&mut self) -> bool {
        let ends = |text: &mut String| (text.matches('\n').count(), text.matches("\r\n").count());
        let (all, crlf) = self.public_parts().map(ends).fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        all > 0 && all == crlf
    }

    fn replace(&mut self, edit: &TextReplacement) -> Result<(), &'static str> {
        if edit.old.is_empty() {
            return Err("`old` is empty");
        }
        let crlf = |text: &str| text.replace("\r\n", "\n").replace('\n', "\r\n");
        let is_crlf = self.is_crlf();
        let (old, new) = match self.public_parts().any(|text| text.contains(&edit.old)) {
            true if !is_crlf => (edit.old.clone(), edit.new.clone()),
            true => (edit.old.clone(), crlf(&edit.new)),
            // The file may have other line ends than who read it.
            false => (crlf(&edit.old), crlf(&edit.new)),
        };
        let count: usize = self.public_parts().map(|text| count_to_two(text, &old)).sum();
        match count {
            0 => Err("`old` is not in the file"),
            1 => {
                let part = self.public_parts().find(|text| text.contains(&old));
                part.into_iter().for_each(|text| *text = text.replacen(&old, &new, 1));
                Ok(())
            }
            _ => Err("`old` is in the file more than once: add lines around it"),
        }
    }
}

/// How often a text is in another, also where it overlaps itself; 2 for more.
fn count_to_two(text: &str, old: &str) -> usize {
    let Some(first) = text.find(old) else { return 0 };
    let next = first + old.chars().next().map_or(1, char::len_utf8);
    1 + usize::from(text.get(next..).is_some_and(|rest| rest.contains(old)))
}

/// The changes as a unified diff; empty where there are none.
pub(super) fn unified_diff(path: &str, old: &str, new: &str) -> String {
    let diff = TextDiff::configure().timeout(DIFF_TIMEOUT).diff_lines(old, new);
    diff.unified_diff().context_radius(CONTEXT_LINES).header(path, path).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn edited(text: &str, edits: Value) -> Result<String, String> {
        let edits = parse_edits(&edits).map_err(|error| error.to_string())?;
        let mut text = FileText::new(text, Some(&Redactor::new(["hunter22-9d41"])));
        text.apply(&edits).map_err(|error| error.to_string())?;
        Ok(format!("{}|{}", text.to_redacted_string(), text.into_string()))
    }

    #[test]
    fn edits_replace_unique_texts_in_order() {
        let twice = json!([{ "old": "b", "new": "c" }, { "oldText": "c", "newText": "" }]);
        assert_eq!(edited("abd", twice).as_deref(), Ok("ad|ad"));
        assert_eq!(
            edited("a\r\nb\r\n", json!([{ "old": "a\nb\n", "new": "x\ny\n" }])).as_deref(),
            Ok("x\r\ny\r\n|x\r\ny\r\n")
        );
        assert_eq!(
            edited("a\r\nb\r\n", json!([{ "old": "a", "new": "x\ny" }])).as_deref(),
            Ok("x\r\ny\r\nb\r\n|x\r\ny\r\nb\r\n")
        );
        assert_eq!(
            edited("a\r\nb\n", json!([{ "old": "a", "new": "x\ny" }])).as_deref(),
            Ok("x\ny\r\nb\n|x\ny\r\nb\n")
        );
        let overlapping = edited("aaa", json!([{ "old": "aa", "new": "b" }])).unwrap_err();
        assert!(overlapping.contains("more than once"), "{overlapping}");
        for (edits, why) in [
            (json!([{ "old": "x", "new": "" }]), "edit 1: `old` is not in the file"),
            (json!([{ "old": "b", "new": "a" }, { "old": "a", "new": "" }]), "edit 2: `old` is in the file more"),
            (json!([{ "old": "", "new": "a" }]), "edit 1: `old` is empty"),
            (json!([{ "old": 1, "new": "a" }]), "`edits` must be a list"),
            (json!("x"), "`edits` must be a list"),
        ] {
            assert!(edited("ab", edits).unwrap_err().starts_with(why), "{why}");
        }
    }

    #[test]
    fn edits_do_not_see_secrets() {
        let edit = |old: &str| edited("h\nkey: hunter22-9d41\nend", json!([{ "old": old, "new": "x" }]));
        for old in ["hunter22-9d41", "hu", "key: h", "41\nend", "hunter22-9d41\n", "hunter33", "y: z"] {
            assert_eq!(edit(old).unwrap_err(), "edit 1: `old` is not in the file", "{old}");
        }
        assert_eq!(edit("h").as_deref(), Ok("x\nkey: [secret]\nend|x\nkey: hunter22-9d41\nend"));
    }

    #[test]
    fn diff_of_long_unlike_texts_ends() {
        let old: String = (0..100_000_u64).map(|n| format!("{}\n", n * 7919 % 100_003)).collect();
        let new: String = (0..100_000_u64).map(|n| format!("{}\n", n * 104_729 % 100_003)).collect();
        let diff = unified_diff("f", &old, &new);
        assert!(diff.starts_with("--- f\n+++ f\n@@"), "{}", &diff[..80]);
        assert_eq!(unified_diff("f", "a\n", "a\n"), "");
    }
}
