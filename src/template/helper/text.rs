//! Helpers from text to text.

use serde_json::Value;

use super::argument::{
    HelperFn, HelperParams, HelperValue, as_count, charge_output, charged_text, param_or_null, param_text, text_value,
};
use crate::budget::memory_size;
use crate::template::render::is_truthy;
use crate::uri::percent_encode;

pub(super) const HELPERS: &[(&str, HelperFn)] = &[
    ("json", json),
    ("upper", upper),
    ("lower", lower),
    ("capitalize", capitalize),
    ("trim", trim),
    ("replace", replace),
    ("indent", indent),
    ("truncate", truncate),
    ("pad", pad),
    ("path", path),
];

/// The widest indentation of JSON, so that it cannot be used to fill memory.
const MAX_INDENT: usize = 16;

fn json(params: &dyn HelperParams) -> HelperValue {
    let value = param_or_null(params, 0);
    let width = params.option("indent").and_then(as_count).unwrap_or(0).min(MAX_INDENT);
    params.charge_memory(memory_size(value).saturating_mul(1 + width / 4))?;
    if width == 0 {
        return text_value(value.to_string());
    }
    let indent = " ".repeat(width);
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    match serde::Serialize::serialize(value, &mut serializer) {
        Ok(()) => text_value(String::from_utf8(bytes).unwrap_or_default()),
        Err(_) => text_value(value.to_string()),
    }
}

/// The text as it is.
fn copy_text(params: &dyn HelperParams, text: &str) -> HelperValue {
    params.charge_memory(text.len())?;
    text_value(text)
}

/// The first argument, as text of about the same size.
fn map_text(params: &dyn HelperParams, map: impl FnOnce(&str) -> String) -> HelperValue {
    let text = param_text(params, 0)?;
    params.charge_memory(text.len())?;
    text_value(map(&text))
}

fn upper(params: &dyn HelperParams) -> HelperValue {
    map_text(params, str::to_uppercase)
}

fn lower(params: &dyn HelperParams) -> HelperValue {
    map_text(params, str::to_lowercase)
}

fn capitalize(params: &dyn HelperParams) -> HelperValue {
    map_text(params, |text| {
        let mut chars = text.chars();
        chars.next().into_iter().flat_map(char::to_uppercase).chain(chars).collect()
    })
}

fn trim(params: &dyn HelperParams) -> HelperValue {
    map_text(params, |text| text.trim().to_owned())
}

fn replace(params: &dyn HelperParams) -> HelperValue {
    let (text, from, to) = (param_text(params, 0)?, param_text(params, 1)?, param_text(params, 2)?);
    if from.is_empty() {
        return copy_text(params, &text);
    }
    let added = text.matches(from.as_ref()).count().checked_mul(to.len());
    charge_output(params, added.and_then(|added| added.checked_add(text.len())))?;
    text_value(text.replace(from.as_ref(), &to))
}

fn indent(params: &dyn HelperParams) -> HelperValue {
    let source = param_text(params, 0)?;
    let width = param_or_null(params, 1);
    charge_output(params, as_count(width).or(Some(0)))?;
    let prefix = match as_count(width) {
        Some(width) => " ".repeat(width),
        None => param_text(params, 1)?.into_owned(),
    };
    let lines = source.split_inclusive('\n').count();
    charge_output(params, lines.checked_mul(prefix.len()).and_then(|added| added.checked_add(source.len())))?;
    let mut out = String::with_capacity(source.len() + lines * prefix.len());
    for line in source.split_inclusive('\n') {
        if !line.trim_end_matches(['\r', '\n']).is_empty() {
            out.push_str(&prefix);
        }
        out.push_str(line);
    }
    text_value(out)
}

fn truncate(params: &dyn HelperParams) -> HelperValue {
    let source = param_text(params, 0)?;
    let Some(limit) = as_count(param_or_null(params, 1)) else { return copy_text(params, &source) };
    if source.char_indices().nth(limit).is_none() {
        return copy_text(params, &source);
    }
    let end = params.option("end").unwrap_or(&Value::Null);
    let end = if end.is_null() { "…".into() } else { charged_text(params, end)? };
    params.charge_memory(source.len() + end.len())?;
    let room = limit.saturating_sub(end.chars().count());
    let kept = source.chars().take(room);
    text_value(kept.chain(end.chars()).take(limit).collect::<String>())
}

fn pad(params: &dyn HelperParams) -> HelperValue {
    let source = param_text(params, 0)?;
    let width = as_count(param_or_null(params, 1)).unwrap_or(0);
    let spaces = width.saturating_sub(source.chars().count());
    charge_output(params, spaces.checked_add(source.len()))?;
    let spaces = " ".repeat(spaces);
    let is_left = params.option("left").is_some_and(is_truthy);
    text_value(if is_left { format!("{spaces}{source}") } else { format!("{source}{spaces}") })
}

fn path(params: &dyn HelperParams) -> HelperValue {
    let text = param_text(params, 0)?;
    params.charge_memory(text.len().saturating_mul(3))?;
    text_value(text.split('/').map(percent_encode).collect::<Vec<_>>().join("/"))
}
