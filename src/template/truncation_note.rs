//! Notes at the end of the text of an output, such as `[truncated: 5 more bytes]`. They are for readers: a step that uses
//! the text as a value gets an error.

use serde_json::{Map, Value};

use super::render::RenderError;
use super::scope::Scope;

/// The note of a text whose bytes are not UTF-8.
pub const INVALID_UTF8_NOTE: &str = "[invalid UTF-8 replaced by \u{fffd}]";
const TRUNCATION_START: &str = "[truncated: ";
const TRUNCATION_END: &str = " more bytes]";
/// The fields with the text of an output, each with one that such outcomes have beside it.
const TEXT_FIELDS: [(&str, &str); 5] =
    [("stdout", "exit"), ("stderr", "exit"), ("body", "status"), ("text", "isError"), ("text", "blob")];

/// The note of a text that lacks bytes at its end.
#[must_use]
pub fn truncation_note(missing_bytes: u64) -> String {
    format!("{TRUNCATION_START}{missing_bytes}{TRUNCATION_END}")
}

/// Refuses a path whose value is a text with a note, or outcomes with such a text.
pub(super) fn check<S: AsRef<str>>(scope: &Scope, path: &[S]) -> Result<(), RenderError> {
    let Some(value) = scope.get(path) else { return Ok(()) };
    let names = || path.iter().map(AsRef::as_ref).collect::<Vec<&str>>();
    match value {
        Value::String(text) if last_note(text).is_some() => check_field(scope, &names(), text),
        Value::Object(steps) if matches!(names()[..], ["steps"]) => {
            steps.iter().try_for_each(|(id, outcome)| check_step(outcome, &["steps", id]))
        }
        Value::Object(outcome) => check_outcome(outcome, &names()),
        Value::Array(_) => match names()[..] {
            ["steps", id] => check_step(value, &["steps", id]),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Refuses a text with a note that is a field of an outcome.
fn check_field(scope: &Scope, path: &[&str], text: &str) -> Result<(), RenderError> {
    let Some((field, owner)) = path.split_last() else { return Ok(()) };
    match scope.outcome(owner) {
        Some(outcome) if TEXT_FIELDS.iter().any(|(name, beside)| name == field && outcome.contains_key(*beside)) => {
            refuse_note(text, owner, field)
        }
        _ => Ok(()),
    }
}

/// Refuses the outcome of a step, or of a repeated one the outcomes.
fn check_step(value: &Value, path: &[&str]) -> Result<(), RenderError> {
    match value {
        Value::Object(outcome) => check_outcome(outcome, path),
        Value::Array(items) => items.iter().try_for_each(|item| check_step(item, path)),
        _ => Ok(()),
    }
}

/// Refuses an outcome that is used as a whole. What a program writes to stderr is seldom meant then.
fn check_outcome(outcome: &Map<String, Value>, path: &[&str]) -> Result<(), RenderError> {
    let fields = TEXT_FIELDS.iter().filter(|(field, beside)| *field != "stderr" && outcome.contains_key(*beside));
    fields
        .filter_map(|(field, _)| Some((field, outcome.get(*field)?.as_str()?)))
        .try_for_each(|(field, text)| refuse_note(text, path, field))
}

fn refuse_note(text: &str, owner: &[&str], field: &str) -> Result<(), RenderError> {
    let Some(note) = last_note(text) else { return Ok(()) };
    let path = owner.iter().copied().chain([field]).collect::<Vec<_>>().join(".");
    let raise = if note == INVALID_UTF8_NOTE { "" } else { "raise `maxOutput`" };
    let bytes = match (owner, field) {
        (["steps", id], "stdout") => format!("pass the bytes by `stdin: {{ from: {id} }}`"),
        _ => String::new(),
    };
    let fixes: Vec<&str> = [raise, &bytes].into_iter().filter(|fix| !fix.is_empty()).collect();
    let fix = if fixes.is_empty() { "it is not text".to_owned() } else { fixes.join(", or ") };
    Err(RenderError::OutputNote { path, note: note.to_owned(), fix })
}

/// The last line of a text, if it is a note.
fn last_note(text: &str) -> Option<&str> {
    // All but few texts end with another character.
    let line = text.ends_with(']').then(|| text.rsplit('\n').next()).flatten()?;
    let missing = line.strip_prefix(TRUNCATION_START).and_then(|rest| rest.strip_suffix(TRUNCATION_END));
    let is_count = |missing: &str| !missing.is_empty() && missing.bytes().all(|byte| byte.is_ascii_digit());
    (line == INVALID_UTF8_NOTE || missing.is_some_and(is_count)).then_some(line)
}
