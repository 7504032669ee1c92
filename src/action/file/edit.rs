//! `edits`: texts that are replaced, and the diff of it.

use std::time::Duration;

use serde_json::Value;
use similar::TextDiff;

use crate::action::ActionError;
use crate::budget::{Budget, Exhausted};

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
pub(super) struct Edit {
    old: String,
    new: String,
}

/// The edits in a value.
pub(super) fn parse_edits(value: &Value) -> Result<Vec<Edit>, ActionError> {
    let items = value.as_array().filter(|items| items.len() <= MAX_EDITS);
    let edit = |item: &Value| {
        let text = |keys: [&str; 2]| keys.iter().find_map(|key| item.get(key)).and_then(Value::as_str);
        Some(Edit { old: text(["old", "oldText"])?.to_owned(), new: text(["new", "newText"])?.to_owned() })
    };
    let edits = items.and_then(|items| items.iter().map(edit).collect::<Option<Vec<_>>>());
    edits.ok_or_else(|| {
        ActionError::message(format!(
            "`edits` must be a list of at most {MAX_EDITS} objects with texts `old` and `new`"
        ))
    })
}

/// The text after all edits.
///
/// # Errors
/// A text is not in the file, or more than once.
pub(super) fn apply(edits: &[Edit], text: &str, budget: &Budget) -> Result<String, ActionError> {
    let mut text = text.to_owned();
    for (number, edit) in edits.iter().enumerate() {
        budget.charge_work(text.len())?;
        text = replace(edit, &text).map_err(|why| ActionError::message(format!("edit {}: {why}", number + 1)))?;
        if text.len() as u64 > 2 * MAX_EDITED_BYTES {
            return Err(ActionError::message(format!("edit {}: the file would be too large", number + 1)));
        }
    }
    Ok(text)
}

fn replace(edit: &Edit, text: &str) -> Result<String, &'static str> {
    if edit.old.is_empty() {
        return Err("`old` is empty");
    }
    let crlf = |text: &str| text.replace("\r\n", "\n").replace('\n', "\r\n");
    let (old, new) = match text.contains(&edit.old) {
        true => (edit.old.clone(), edit.new.clone()),
        // The file may have other line ends than who read it.
        false => (crlf(&edit.old), crlf(&edit.new)),
    };
    let mut found = text.match_indices(&old);
    match (found.next(), found.next()) {
        (None, _) => Err("`old` is not in the file"),
        (Some(_), Some(_)) => Err("`old` is in the file more than once: add lines around it"),
        (Some((at, _)), None) => {
            let (before, after) = (text.get(..at).unwrap_or_default(), text.get(at + old.len()..).unwrap_or_default());
            Ok([before, &new, after].concat())
        }
    }
}

/// The changes as a unified diff; empty where there are none.
pub(super) fn unified_diff(path: &str, texts: (&str, &str), budget: &Budget) -> Result<String, Exhausted> {
    let (old, new) = texts;
    budget.charge_memory((old.len() + new.len()).saturating_mul(2))?;
    let diff = TextDiff::configure().timeout(DIFF_TIMEOUT).diff_lines(old, new);
    Ok(diff.unified_diff().context_radius(CONTEXT_LINES).header(path, path).to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn edited(text: &str, edits: Value) -> Result<String, String> {
        let edits = parse_edits(&edits).map_err(|error| error.to_string())?;
        apply(&edits, text, &Budget::default()).map_err(|error| error.to_string())
    }

    #[test]
    fn edits_replace_unique_texts_in_order() {
        let twice = json!([{ "old": "b", "new": "c" }, { "oldText": "c", "newText": "" }]);
        assert_eq!(edited("abd", twice).as_deref(), Ok("ad"));
        assert_eq!(edited("a\r\nb\r\n", json!([{ "old": "a\nb\n", "new": "x\ny\n" }])).as_deref(), Ok("x\r\ny\r\n"));
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
    fn diff_of_long_unlike_texts_ends() {
        let old: String = (0..100_000_u64).map(|n| format!("{}\n", n * 7919 % 100_003)).collect();
        let new: String = (0..100_000_u64).map(|n| format!("{}\n", n * 104_729 % 100_003)).collect();
        let diff = unified_diff("f", (&old, &new), &Budget::default()).unwrap();
        assert!(diff.starts_with("--- f\n+++ f\n@@"), "{}", &diff[..80]);
        assert_eq!(unified_diff("f", ("a\n", "a\n"), &Budget::default()).unwrap(), "");
    }
}
