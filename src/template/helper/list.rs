//! Helpers that take or give lists, and `default`.

use serde_json::Value;

use super::argument::{Answer, Given, Plain, affordable, answer, copy, count, text, text_read, value};
use crate::budget::weight;

pub(super) const HELPERS: &[(&str, Plain)] = &[
    ("join", join),
    ("split", split),
    ("lines", lines),
    ("first", first),
    ("last", last),
    ("default", default),
    ("len", len),
    ("lookup", lookup),
];

fn join(given: &dyn Given) -> Answer {
    let Value::Array(list) = value(given, 0) else { return answer(text(given, 0)?) };
    let separator = if given.at(1).is_some() { text(given, 1)? } else { ", ".into() };
    given.make(list.len().saturating_mul(PART))?;
    let parts: Vec<_> = list.iter().map(|part| text_read(given, part)).collect::<Result<_, _>>()?;
    let size: usize = parts.iter().map(|part| part.len()).sum();
    affordable(given, parts.len().checked_mul(separator.len()).and_then(|added| added.checked_add(size)))?;
    answer(parts.join(separator.as_ref()))
}

/// What a part of a text costs beside its letters.
const PART: usize = 48;

fn texts<'t>(given: &dyn Given, parts: impl Iterator<Item = &'t str> + Clone) -> Answer {
    let size = parts.clone().map(|part| part.len() + PART).sum();
    given.make(size)?;
    Ok(Value::Array(parts.map(|part| Value::String(part.to_owned())).collect()))
}

fn split(given: &dyn Given) -> Answer {
    let (text, separator) = (text(given, 0)?, text(given, 1)?);
    match (text.is_empty(), separator.is_empty()) {
        (true, _) => texts(given, std::iter::empty()),
        (_, true) => texts(given, std::iter::once(text.as_ref())),
        _ => texts(given, text.split(separator.as_ref())),
    }
}

fn lines(given: &dyn Given) -> Answer {
    texts(given, text(given, 0)?.lines())
}

fn first(given: &dyn Given) -> Answer {
    let Value::Array(list) = value(given, 0) else { return Ok(Value::Null) };
    match count(value(given, 1)) {
        Some(many) => several(given, list.get(..many.min(list.len())).unwrap_or_default()),
        None => copy(given, list.first().unwrap_or(&Value::Null)),
    }
}

fn last(given: &dyn Given) -> Answer {
    let Value::Array(list) = value(given, 0) else { return Ok(Value::Null) };
    match count(value(given, 1)) {
        Some(many) => several(given, list.get(list.len().saturating_sub(many)..).unwrap_or_default()),
        None => copy(given, list.last().unwrap_or(&Value::Null)),
    }
}

fn several(given: &dyn Given, list: &[Value]) -> Answer {
    given.make(list.iter().map(weight).sum())?;
    Ok(Value::Array(list.to_vec()))
}

/// Only what is not there is replaced: `0` and `false` are answers.
fn default(given: &dyn Given) -> Answer {
    let there = |value: &&Value| !value.is_null() && value.as_str() != Some("");
    let values = || (0..).map_while(|place| given.at(place));
    copy(given, values().find(there).or_else(|| values().last()).unwrap_or(&Value::Null))
}

/// Handlebars' own counts the bytes of a text, which no author means.
fn len(given: &dyn Given) -> Answer {
    let length = match value(given, 0) {
        Value::Array(list) => list.len(),
        Value::Object(fields) => fields.len(),
        Value::Null => 0,
        other => text_read(given, other)?.chars().count(),
    };
    Ok(Value::from(length))
}

/// A field of an object by its name, or an element of a list by its number; null where there is none.
fn lookup(given: &dyn Given) -> Answer {
    let key = value(given, 1);
    let found = match value(given, 0) {
        Value::Array(list) => key.as_u64().and_then(|nth| list.get(usize::try_from(nth).ok()?)),
        Value::Object(fields) => key.as_str().and_then(|name| fields.get(name)),
        _ => None,
    };
    copy(given, found.unwrap_or(&Value::Null))
}
