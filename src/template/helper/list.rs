//! Helpers for lists, and `default`.

use serde_json::Value;

use super::argument::{
    HelperFn, HelperParams, HelperValue, as_count, check_text_size, param_or_null, param_text, text_value,
};
use crate::budget;
use crate::template::render::value_to_text;

pub(super) const HELPERS: &[(&str, HelperFn)] = &[
    ("join", join),
    ("split", split),
    ("lines", lines),
    ("first", first),
    ("last", last),
    ("default", default),
    ("len", len),
    ("lookup", lookup),
];

fn join(params: &dyn HelperParams) -> HelperValue {
    let Value::Array(list) = param_or_null(params, 0) else { return text_value(param_text(params, 0)) };
    let separator = if params.param(1).is_some() { param_text(params, 1) } else { ", ".into() };
    let parts: Vec<_> = list.iter().map(value_to_text).collect();
    let size: usize = parts.iter().map(|part| part.len()).sum();
    check_text_size(parts.len().checked_mul(separator.len()).and_then(|added| added.checked_add(size)))?;
    text_value(parts.join(separator.as_ref()))
}

/// What a part of a text takes without its characters.
const PART_OVERHEAD_BYTES: usize = 96;

/// A list of the parts of a text, which takes many times what the text does.
fn text_list<'t>(parts: impl Iterator<Item = &'t str> + Clone) -> HelperValue {
    budget::hold(parts.clone().map(|part| part.len() + PART_OVERHEAD_BYTES).sum())?;
    Ok(Value::Array(parts.map(|part| Value::String(part.to_owned())).collect()))
}

fn split(params: &dyn HelperParams) -> HelperValue {
    let (text, separator) = (param_text(params, 0), param_text(params, 1));
    match (text.is_empty(), separator.is_empty()) {
        (true, _) => text_list(std::iter::empty()),
        (_, true) => text_list(std::iter::once(text.as_ref())),
        _ => text_list(text.split(separator.as_ref())),
    }
}

fn lines(params: &dyn HelperParams) -> HelperValue {
    text_list(param_text(params, 0).lines())
}

fn first(params: &dyn HelperParams) -> HelperValue {
    let Value::Array(list) = param_or_null(params, 0) else { return Ok(Value::Null) };
    match as_count(param_or_null(params, 1)) {
        Some(many) => Ok(list.get(..many.min(list.len())).unwrap_or_default().into()),
        None => Ok(list.first().unwrap_or(&Value::Null).clone()),
    }
}

fn last(params: &dyn HelperParams) -> HelperValue {
    let Value::Array(list) = param_or_null(params, 0) else { return Ok(Value::Null) };
    match as_count(param_or_null(params, 1)) {
        Some(many) => Ok(list.get(list.len().saturating_sub(many)..).unwrap_or_default().into()),
        None => Ok(list.last().unwrap_or(&Value::Null).clone()),
    }
}

/// Replaces only null and empty text, not `0` and `false`.
fn default(params: &dyn HelperParams) -> HelperValue {
    let there = |value: &&Value| !value.is_null() && value.as_str() != Some("");
    let values = || (0..).map_while(|index| params.param(index));
    Ok(values().find(there).or_else(|| values().last()).unwrap_or(&Value::Null).clone())
}

/// The helper of Handlebars counts the bytes of a text.
fn len(params: &dyn HelperParams) -> HelperValue {
    let length = match param_or_null(params, 0) {
        Value::Array(list) => list.len(),
        Value::Object(fields) => fields.len(),
        Value::Null => 0,
        other => value_to_text(other).chars().count(),
    };
    Ok(Value::from(length))
}

/// A field of an object, or an element of a list; null where it is absent.
fn lookup(params: &dyn HelperParams) -> HelperValue {
    let key = param_or_null(params, 1);
    let value = match param_or_null(params, 0) {
        Value::Array(list) => key.as_u64().and_then(|nth| list.get(usize::try_from(nth).ok()?)),
        Value::Object(fields) => key.as_str().and_then(|name| fields.get(name)),
        _ => None,
    };
    Ok(value.unwrap_or(&Value::Null).clone())
}
