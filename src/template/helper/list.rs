//! Helpers that take or give lists, and `default`.

use serde_json::Value;

use super::argument::{Answer, Given, Plain, affordable, answer, count, text, value};
use crate::template::render::text_of;

pub(super) const HELPERS: &[(&str, Plain)] = &[
    ("join", join),
    ("split", split),
    ("lines", lines),
    ("first", first),
    ("last", last),
    ("default", default),
    ("len", len),
];

fn join(given: &dyn Given) -> Answer {
    let Value::Array(list) = value(given, 0) else { return answer(text(given, 0)) };
    let separator = if given.at(1).is_some() { text(given, 1) } else { ", ".into() };
    let parts: Vec<_> = list.iter().map(text_of).collect();
    let size: usize = parts.iter().map(|part| part.len()).sum();
    affordable(parts.len().checked_mul(separator.len()).and_then(|added| added.checked_add(size)))?;
    answer(parts.join(separator.as_ref()))
}

fn texts<'t>(parts: impl Iterator<Item = &'t str>) -> Answer {
    Ok(Value::Array(parts.map(|part| Value::String(part.to_owned())).collect()))
}

fn split(given: &dyn Given) -> Answer {
    let (text, separator) = (text(given, 0), text(given, 1));
    match (text.is_empty(), separator.is_empty()) {
        (true, _) => texts(std::iter::empty()),
        (_, true) => texts(std::iter::once(text.as_ref())),
        _ => texts(text.split(separator.as_ref())),
    }
}

fn lines(given: &dyn Given) -> Answer {
    texts(text(given, 0).lines())
}

fn first(given: &dyn Given) -> Answer {
    let Value::Array(list) = value(given, 0) else { return Ok(Value::Null) };
    match count(value(given, 1)) {
        Some(many) => Ok(Value::Array(list.iter().take(many).cloned().collect())),
        None => Ok(list.first().cloned().unwrap_or_default()),
    }
}

fn last(given: &dyn Given) -> Answer {
    let Value::Array(list) = value(given, 0) else { return Ok(Value::Null) };
    match count(value(given, 1)) {
        Some(many) => Ok(Value::Array(list.iter().skip(list.len().saturating_sub(many)).cloned().collect())),
        None => Ok(list.last().cloned().unwrap_or_default()),
    }
}

/// Only what is not there is replaced: `0` and `false` are answers.
fn default(given: &dyn Given) -> Answer {
    let there = |value: &&Value| !value.is_null() && value.as_str() != Some("");
    let values = || (0..).map_while(|place| given.at(place));
    Ok(values().find(there).or_else(|| values().last()).cloned().unwrap_or_default())
}

/// Handlebars' own counts the bytes of a text, which no author means.
fn len(given: &dyn Given) -> Answer {
    let length = match value(given, 0) {
        Value::Array(list) => list.len(),
        Value::Object(fields) => fields.len(),
        Value::Null => 0,
        other => text_of(other).chars().count(),
    };
    Ok(Value::from(length))
}
