//! Helpers that test, cut, sort and join lists, objects and texts.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::HashSet;

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::argument::{HelperFn, HelperParams, HelperValue, check_text_size, param_or_null, param_text, text_value};
use super::compare::compare_numbers;
use crate::template::render::{RenderError, value_to_text};

pub(super) const HELPERS: &[(&str, HelperFn)] = &[
    ("contains", contains),
    ("startsWith", |params| test_text(params, |text, part| text.starts_with(part))),
    ("endsWith", |params| test_text(params, |text, part| text.ends_with(part))),
    ("matches", matches),
    ("slice", slice),
    ("sort", sort),
    ("unique", unique),
    ("reverse", reverse),
    ("keys", keys),
    ("values", values),
    ("concat", concat),
];

fn contains(params: &dyn HelperParams) -> HelperValue {
    let wanted = param_or_null(params, 1);
    let is_contained = match param_or_null(params, 0) {
        Value::Array(list) => list.contains(wanted),
        Value::Object(fields) => wanted.as_str().is_some_and(|name| fields.contains_key(name)),
        Value::Null => false,
        text => value_to_text(text).contains(value_to_text(wanted).as_ref()),
    };
    Ok(is_contained.into())
}

fn test_text(params: &dyn HelperParams, test: fn(&str, &str) -> bool) -> HelperValue {
    Ok(test(&param_text(params, 0), &param_text(params, 1)).into())
}

/// The longest regular expression, and what it may take when compiled.
const MAX_PATTERN_BYTES: usize = 1024;
const MAX_COMPILED_BYTES: usize = 1 << 20;
/// How many expressions a thread keeps.
const MAX_KEPT_PATTERNS: usize = 16;

thread_local! {
    /// The expressions that were used last, the newest at the end.
    static PATTERNS: RefCell<Vec<Regex>> = const { RefCell::new(Vec::new()) };
}

/// A compiled expression; `None` where it is invalid or too large.
pub(in crate::template) fn compile_pattern(pattern: &str) -> Option<Regex> {
    if pattern.len() > MAX_PATTERN_BYTES {
        return None;
    }
    RegexBuilder::new(pattern).size_limit(MAX_COMPILED_BYTES).dfa_size_limit(MAX_COMPILED_BYTES).build().ok()
}

fn matches(params: &dyn HelperParams) -> HelperValue {
    let (text, pattern) = (param_text(params, 0), param_text(params, 1));
    let kept = PATTERNS.with_borrow(|kept| kept.iter().find(|regex| regex.as_str() == pattern).cloned());
    let regex = match kept {
        Some(regex) => regex,
        None => {
            let reason = "invalid or too large regular expression";
            let regex = compile_pattern(&pattern).ok_or(RenderError::Helper { helper: "matches", reason })?;
            PATTERNS.with_borrow_mut(|kept| {
                if kept.len() >= MAX_KEPT_PATTERNS {
                    kept.remove(0);
                }
                kept.push(regex.clone());
            });
            regex
        }
    };
    Ok(regex.is_match(&text).into())
}

/// The position that a number means in something of this length: from the end where it is negative.
fn position(value: &Value, length: usize) -> Option<usize> {
    let number = value.as_i64().or_else(|| value.as_f64().map(|float| float as i64))?;
    let from_end = || length.saturating_sub(usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX));
    Some(usize::try_from(number).unwrap_or_else(|_| from_end()).min(length))
}

fn slice(params: &dyn HelperParams) -> HelperValue {
    let bounds = |length: usize| {
        let start = position(param_or_null(params, 1), length).unwrap_or(0);
        (start, position(param_or_null(params, 2), length).unwrap_or(length).max(start))
    };
    match param_or_null(params, 0) {
        Value::Null => Ok(Value::Null),
        Value::Array(list) => {
            let (start, end) = bounds(list.len());
            let part = list.get(start..end).unwrap_or_default();
            Ok(Value::Array(part.to_vec()))
        }
        other => {
            let text = value_to_text(other);
            let (start, end) = bounds(text.chars().count());
            text_value(text.chars().skip(start).take(end - start).collect::<String>())
        }
    }
}

/// The items of a list; no items where there is no list.
fn items(params: &dyn HelperParams) -> Vec<Value> {
    param_or_null(params, 0).as_array().cloned().unwrap_or_default()
}

/// Sorts by the values, or by a field of them: numbers, then texts, then anything else as it was.
fn sort(params: &dyn HelperParams) -> HelperValue {
    let mut items = items(params);
    match param_or_null(params, 1).as_str() {
        Some(field) => items.sort_by(|one, other| compare_values(field_of(one, field), field_of(other, field))),
        None => items.sort_by(compare_values),
    }
    Ok(Value::Array(items))
}

fn field_of<'v>(item: &'v Value, field: &str) -> &'v Value {
    item.get(field).unwrap_or(&Value::Null)
}

fn compare_values(one: &Value, other: &Value) -> Ordering {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => compare_numbers(one, other).unwrap_or(Ordering::Equal),
        (Value::String(one), Value::String(other)) => one.cmp(other),
        (Value::Bool(one), Value::Bool(other)) => one.cmp(other),
        _ => rank(one).cmp(&rank(other)),
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) | Value::Object(_) => 3,
        Value::Null => 4,
    }
}

/// The first of all equal items. They are compared by their JSON.
fn unique(params: &dyn HelperParams) -> HelperValue {
    let mut items = items(params);
    let mut seen = HashSet::with_capacity(items.len());
    items.retain(|item| seen.insert(item.to_string()));
    Ok(Value::Array(items))
}

fn reverse(params: &dyn HelperParams) -> HelperValue {
    let mut items = items(params);
    items.reverse();
    Ok(Value::Array(items))
}

fn keys(params: &dyn HelperParams) -> HelperValue {
    match param_or_null(params, 0) {
        Value::Object(fields) => Ok(fields.keys().map(|name| Value::from(name.as_str())).collect()),
        Value::Array(list) => Ok((0..list.len()).map(Value::from).collect()),
        _ => Ok(Value::Array(Vec::new())),
    }
}

fn values(params: &dyn HelperParams) -> HelperValue {
    match param_or_null(params, 0) {
        Value::Object(fields) => Ok(fields.values().cloned().collect()),
        list @ Value::Array(_) => Ok(list.clone()),
        _ => Ok(Value::Array(Vec::new())),
    }
}

/// One list of lists, else one text of texts.
fn concat(params: &dyn HelperParams) -> HelperValue {
    let all = || (0..).map_while(|index| params.param(index));
    let present = || all().filter(|value| !value.is_null());
    if present().next().is_some() && present().all(Value::is_array) {
        return Ok(present().filter_map(Value::as_array).flatten().cloned().collect());
    }
    let texts: Vec<_> = all().map(value_to_text).collect();
    check_text_size(Some(texts.iter().map(|text| text.len()).sum()))?;
    text_value(texts.concat())
}
