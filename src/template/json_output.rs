//! The `json` of an outcome: absent where the output is not JSON, and null where the output is `null`.

use serde_json::{Map, Value};

use super::render::RenderError;
use super::scope::Scope;

/// The field of an outcome with its output as a value.
pub(super) const JSON_FIELD: &str = "json";
/// The fields of outcomes with their output as text, each with one that all such outcomes have.
const TEXT_FIELDS: [(&str, &str); 2] = [("stdout", "exit"), ("body", "status")];
/// How many characters of an output an error shows.
const MAX_SHOWN_CHARS: usize = 60;

/// What a path below the `json` of an outcome reads, where that is no value of the output.
#[derive(Debug, Clone)]
pub(super) enum NoValue {
    /// The output is not JSON.
    NotJson(RenderError),
    /// The output is `null`.
    Null,
}

/// Why a path has no value, where that is because of an output.
pub(super) fn no_value<S: AsRef<str>>(scope: &Scope, path: &[S]) -> Option<NoValue> {
    let places = path.iter().enumerate().filter(|(_, name)| name.as_ref() == JSON_FIELD);
    places.map(|(place, _)| place).find_map(|place| {
        let (owner, below) = (path.get(..place)?, path.get(place + 1..)?);
        let outcome = scope.outcome(owner)?;
        let (field, text) = output_text(outcome)?;
        match outcome.get(JSON_FIELD) {
            None => Some(NoValue::NotJson(not_json(owner, field, text))),
            Some(Value::Null) if below.is_empty() => Some(NoValue::Null),
            Some(_) => None,
        }
    })
}

/// The text of an output, and its field.
fn output_text(outcome: &Map<String, Value>) -> Option<(&'static str, &str)> {
    TEXT_FIELDS.into_iter().find_map(|(field, beside)| {
        let text = outcome.get(field)?.as_str()?;
        outcome.contains_key(beside).then_some((field, text))
    })
}

fn not_json<S: AsRef<str>>(owner: &[S], field: &str, text: &str) -> RenderError {
    let path = |field: &str| owner.iter().map(AsRef::as_ref).chain([field]).collect::<Vec<_>>().join(".");
    let shown: String = text.trim_start().chars().take(MAX_SHOWN_CHARS).collect();
    let line = shown.lines().next().unwrap_or_default().replace(char::is_control, " ");
    let found = match (line.is_empty(), fault_within(text)) {
        (true, _) => "is empty".to_owned(),
        (false, None) => format!("begins with `{line}`"),
        (false, Some(fault)) => format!("begins with `{line}` and has an error: {fault}"),
    };
    RenderError::NotJson { path: path(JSON_FIELD), found, text: path(field) }
}

/// What is wrong with an output that begins as JSON.
fn fault_within(text: &str) -> Option<String> {
    text.trim_start()
        .starts_with(['{', '['])
        .then(|| serde_json::from_str::<Value>(text).err())?
        .map(|fault| fault.to_string())
}
