//! The `json` and the `text` of an outcome. `json` is absent where the output is not JSON, and null where it is `null`;
//! `text` is absent where a file or a resource is not UTF-8.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::render::RenderError;
use super::scope::Scope;
use crate::budget::MAX_MEMORY;

/// The field of an outcome with its output as a value.
pub(super) const JSON_FIELD: &str = "json";
/// The field of an outcome with a file or a resource as text.
const TEXT_FIELD: &str = "text";
/// The fields of outcomes with their output as text, each with one that all such outcomes have.
const OUTPUT_FIELDS: [(&str, &str); 2] = [("stdout", "exit"), ("body", "status")];
/// The fields of outcomes with bytes that are not text, as base64.
const BYTES_FIELDS: [&str; 2] = ["base64", "blob"];
/// The names that outcomes of files and resources are read by.
const OUTCOME_NAMES: [&str; 3] = ["steps", "result", "this"];
/// How long JSON is parsed to find out what is wrong with it; of longer one only the syntax is read, which takes no memory.
const MAX_PARSED_BYTES: usize = 1 << 20;
/// How many characters of an output an error shows.
const MAX_SHOWN_CHARS: usize = 60;

/// What a path below the `json` or the `text` of an outcome reads, where that is not a value of the output.
#[derive(Debug, Clone)]
pub(super) enum MissingValue {
    /// The output is not of this form.
    Mismatch(RenderError),
    /// The output is `null`.
    Null,
}

/// Whether a path may read an output in a form that it does not have.
pub(super) fn may_mismatch(path: &[String]) -> bool {
    let of_outcome = path.first().is_some_and(|head| OUTCOME_NAMES.contains(&head.as_str()));
    path.iter().any(|name| name == JSON_FIELD || of_outcome && name == TEXT_FIELD)
}

/// Why a path has no value, where that is because of an output.
pub(super) fn missing_value<S: AsRef<str>>(scope: &Scope, path: &[S]) -> Option<MissingValue> {
    path.iter().enumerate().find_map(|(index, name)| {
        let (owner, below) = (path.get(..index)?, path.get(index + 1..)?);
        match name.as_ref() {
            JSON_FIELD => missing_json(scope, owner, below),
            TEXT_FIELD => missing_text(scope, owner).map(MissingValue::Mismatch),
            _ => None,
        }
    })
}

fn missing_json<S: AsRef<str>>(scope: &Scope, owner: &[S], below: &[S]) -> Option<MissingValue> {
    let outcome = scope.outcome(owner)?;
    let (field, text) = output_text(outcome)?;
    match outcome.get(JSON_FIELD) {
        None => Some(MissingValue::Mismatch(RenderError::OutputMismatch {
            path: path_of(owner, JSON_FIELD),
            found: not_json(text),
            other: path_of(owner, field),
            other_form: "its text",
        })),
        Some(Value::Null) if below.is_empty() => Some(MissingValue::Null),
        Some(_) => None,
    }
}

/// The error for the text of a file or a resource whose bytes are in another field.
fn missing_text<S: AsRef<str>>(scope: &Scope, owner: &[S]) -> Option<RenderError> {
    let names: Vec<&str> = owner.iter().map(AsRef::as_ref).collect();
    let is_index = |name: &str| name.parse::<usize>().is_ok();
    match names[..] {
        ["steps", _] | ["result" | "this"] => {}
        ["steps", _, index] | ["result", index] if is_index(index) => {}
        _ => return None,
    }
    let outcome = scope.outcome(owner).filter(|outcome| outcome.contains_key("mimeType"))?;
    if outcome.get(TEXT_FIELD).is_some_and(|text| !text.is_null()) {
        return None;
    }
    let (field, base64) = BYTES_FIELDS.iter().find_map(|field| Some((*field, outcome.get(*field)?.as_str()?)))?;
    let bytes = STANDARD.decode(base64).unwrap_or_default();
    let found = match std::str::from_utf8(&bytes) {
        Ok(_) => "not there, as it was read as bytes".to_owned(),
        Err(error) => format!("not text: byte {} is not UTF-8", error.valid_up_to() + 1),
    };
    let (path, other) = (path_of(owner, TEXT_FIELD), path_of(owner, field));
    Some(RenderError::OutputMismatch { path, found, other, other_form: "its bytes" })
}

fn path_of<S: AsRef<str>>(owner: &[S], field: &str) -> String {
    owner.iter().map(AsRef::as_ref).chain([field]).collect::<Vec<_>>().join(".")
}

/// The text of an output, and its field.
fn output_text(outcome: &Map<String, Value>) -> Option<(&'static str, &str)> {
    OUTPUT_FIELDS.into_iter().find_map(|(field, beside)| {
        let text = outcome.get(field)?.as_str()?;
        outcome.contains_key(beside).then_some((field, text))
    })
}

/// What an output without `json` is, in words.
fn not_json(text: &str) -> String {
    let shown: String = text.trim_start().chars().take(MAX_SHOWN_CHARS).collect();
    let line = shown.lines().next().unwrap_or_default().replace(char::is_control, " ");
    if line.is_empty() {
        return "not JSON: the output is empty".to_owned();
    }
    if !line.starts_with(['{', '[']) {
        return format!("not JSON: the output begins with `{line}`");
    }
    let error = match text.len() {
        ..=MAX_PARSED_BYTES => serde_json::from_str::<Value>(text).err(),
        _ => serde_json::from_str::<IgnoredAny>(text).err(),
    };
    match error {
        Some(error) => format!("not JSON: the output begins with `{line}` and has an error: {error}"),
        None => {
            let (bytes, most) = (text.len(), MAX_MEMORY >> 20);
            format!("not there: the JSON of {bytes} bytes takes more memory than the {most} MiB of a call")
        }
    }
}
