//! Helpers for lists, and `default`.

use serde_json::Value;

use super::argument::{
    HelperFn, HelperParams, HelperValue, as_count, charge_output, charged_clone, charged_text, param_or_null,
    param_text, text_value,
};
use crate::budget::memory_size;

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
    let Value::Array(list) = param_or_null(params, 0) else { return text_value(param_text(params, 0)?) };
    let separator = if params.param(1).is_some() { param_text(params, 1)? } else { ", ".into() };
    params.charge_memory(list.len().saturating_mul(PART_OVERHEAD_BYTES))?;
    let parts: Vec<_> = list.iter().map(|part| charged_text(params, part)).collect::<Result<_, _>>()?;
    let size: usize = parts.iter().map(|part| part.len()).sum();
    charge_output(params, parts.len().checked_mul(separator.len()).and_then(|added| added.checked_add(size)))?;
    text_value(parts.join(separator.as_ref()))
}

/// The cost of a part of a text without its characters.
const PART_OVERHEAD_BYTES: usize = 48;

fn text_list<'t>(params: &dyn HelperParams, parts: impl Iterator<Item = &'t str> + Clone) -> HelperValue {
    let size = parts.clone().map(|part| part.len() + PART_OVERHEAD_BYTES).sum();
    params.charge_memory(size)?;
    Ok(Value::Array(parts.map(|part| Value::String(part.to_owned())).collect()))
}

fn split(params: &dyn HelperParams) -> HelperValue {
    let (text, separator) = (param_text(params, 0)?, param_text(params, 1)?);
    match (text.is_empty(), separator.is_empty()) {
        (true, _) => text_list(params, std::iter::empty()),
        (_, true) => text_list(params, std::iter::once(text.as_ref())),
        _ => text_list(params, text.split(separator.as_ref())),
    }
}

fn lines(params: &dyn HelperParams) -> HelperValue {
    text_list(params, param_text(params, 0)?.lines())
}

fn first(params: &dyn HelperParams) -> HelperValue {
    let Value::Array(list) = param_or_null(params, 0) else { return Ok(Value::Null) };
    match as_count(param_or_null(params, 1)) {
        Some(many) => list_value(params, list.get(..many.min(list.len())).unwrap_or_default()),
        None => charged_clone(params, list.first().unwrap_or(&Value::Null)),
    }
}

fn last(params: &dyn HelperParams) -> HelperValue {
    let Value::Array(list) = param_or_null(params, 0) else { return Ok(Value::Null) };
    match as_count(param_or_null(params, 1)) {
        Some(many) => list_value(params, list.get(list.len().saturating_sub(many)..).unwrap_or_default()),
        None => charged_clone(params, list.last().unwrap_or(&Value::Null)),
    }
}

fn list_value(params: &dyn HelperParams, list: &[Value]) -> HelperValue {
    params.charge_memory(list.iter().map(memory_size).sum())?;
    Ok(Value::Array(list.to_vec()))
}

/// Replaces only null and empty text, not `0` and `false`.
fn default(params: &dyn HelperParams) -> HelperValue {
    let there = |value: &&Value| !value.is_null() && value.as_str() != Some("");
    let values = || (0..).map_while(|index| params.param(index));
    charged_clone(params, values().find(there).or_else(|| values().last()).unwrap_or(&Value::Null))
}

/// The helper of Handlebars counts the bytes of a text.
fn len(params: &dyn HelperParams) -> HelperValue {
    let length = match param_or_null(params, 0) {
        Value::Array(list) => list.len(),
        Value::Object(fields) => fields.len(),
        Value::Null => 0,
        other => charged_text(params, other)?.chars().count(),
    };
    Ok(Value::from(length))
}

/// A field of an object, or an element of a list; null where it is absent.
fn lookup(params: &dyn HelperParams) -> HelperValue {
    let key = param_or_null(params, 1);
    let found = match param_or_null(params, 0) {
        Value::Array(list) => key.as_u64().and_then(|nth| list.get(usize::try_from(nth).ok()?)),
        Value::Object(fields) => key.as_str().and_then(|name| fields.get(name)),
        _ => None,
    };
    charged_clone(params, found.unwrap_or(&Value::Null))
}
