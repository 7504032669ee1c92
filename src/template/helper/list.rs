//! Helpers that take or give lists, and `default`.

use handlebars::{Handlebars, Helper, ScopedJson};
use serde_json::Value;

use super::argument::{Answer, affordable, answer, count, plain, text, value};
use crate::template::render::text_of;

pub(super) fn register(registry: &mut Handlebars<'static>) {
    registry.register_helper("join", Box::new(Join));
    registry.register_helper("split", Box::new(Split));
    registry.register_helper("lines", Box::new(Lines));
    registry.register_helper("first", Box::new(First));
    registry.register_helper("last", Box::new(Last));
    registry.register_helper("default", Box::new(Default));
    registry.register_helper("len", Box::new(Len));
}

plain!(Join, join);
plain!(Split, split);
plain!(Lines, lines);
plain!(First, first);
plain!(Last, last);
plain!(Default, default);
plain!(Len, len);

fn derived<'rc>(value: Value) -> Answer<'rc> {
    Ok(ScopedJson::Derived(value))
}

fn join<'rc>(helper: &Helper<'rc>) -> Answer<'rc> {
    let Value::Array(list) = value(helper, 0) else { return answer(text(helper, 0)) };
    let separator = if helper.param(1).is_some() { text(helper, 1) } else { ", ".into() };
    let parts: Vec<_> = list.iter().map(text_of).collect();
    let size: usize = parts.iter().map(|part| part.len()).sum();
    affordable(parts.len().checked_mul(separator.len()).and_then(|added| added.checked_add(size)))?;
    answer(parts.join(separator.as_ref()))
}

fn texts<'rc, 't>(parts: impl Iterator<Item = &'t str>) -> Answer<'rc> {
    derived(Value::Array(parts.map(|part| Value::String(part.to_owned())).collect()))
}

fn split<'rc>(helper: &Helper<'rc>) -> Answer<'rc> {
    let (text, separator) = (text(helper, 0), text(helper, 1));
    match (text.is_empty(), separator.is_empty()) {
        (true, _) => texts(std::iter::empty()),
        (_, true) => texts(std::iter::once(text.as_ref())),
        _ => texts(text.split(separator.as_ref())),
    }
}

fn lines<'rc>(helper: &Helper<'rc>) -> Answer<'rc> {
    texts(text(helper, 0).lines())
}

fn first<'rc>(helper: &Helper<'rc>) -> Answer<'rc> {
    let Value::Array(list) = value(helper, 0) else { return derived(Value::Null) };
    match count(value(helper, 1)) {
        Some(many) => derived(Value::Array(list.iter().take(many).cloned().collect())),
        None => derived(list.first().cloned().unwrap_or_default()),
    }
}

fn last<'rc>(helper: &Helper<'rc>) -> Answer<'rc> {
    let Value::Array(list) = value(helper, 0) else { return derived(Value::Null) };
    match count(value(helper, 1)) {
        Some(many) => derived(Value::Array(list.iter().skip(list.len().saturating_sub(many)).cloned().collect())),
        None => derived(list.last().cloned().unwrap_or_default()),
    }
}

/// Only what is not there is replaced: `0` and `false` are answers.
fn default<'rc>(helper: &Helper<'rc>) -> Answer<'rc> {
    let there = |value: &&Value| !value.is_null() && value.as_str() != Some("");
    let found = helper.params().iter().map(|param| param.value()).find(there);
    derived(found.or_else(|| helper.params().last().map(|param| param.value())).cloned().unwrap_or_default())
}

/// Handlebars' own counts the bytes of a text, which no author means.
fn len<'rc>(helper: &Helper<'rc>) -> Answer<'rc> {
    let length = match value(helper, 0) {
        Value::Array(list) => list.len(),
        Value::Object(fields) => fields.len(),
        Value::Null => 0,
        other => text_of(other).chars().count(),
    };
    derived(Value::from(length))
}
