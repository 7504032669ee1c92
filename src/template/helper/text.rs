//! Helpers that make text of text.

use serde_json::Value;

use super::argument::{Answer, Given, Plain, affordable, answer, count, text, value};
use crate::template::encode::encode_path;
use crate::template::render::text_of;

pub(super) const HELPERS: &[(&str, Plain)] = &[
    ("json", json),
    ("upper", upper),
    ("lower", lower),
    ("capitalize", capitalize),
    ("trim", trim),
    ("replace", replace),
    ("indent", indent),
    ("truncate", truncate),
    ("path", path),
];

/// The widest indentation of JSON, so that it cannot be used to fill memory.
const MAX_INDENT: usize = 16;

fn json(given: &dyn Given) -> Answer {
    let value = value(given, 0);
    let width = given.named("indent").and_then(count).unwrap_or(0).min(MAX_INDENT);
    if width == 0 {
        return answer(value.to_string());
    }
    let indent = " ".repeat(width);
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    match serde::Serialize::serialize(value, &mut serializer) {
        Ok(()) => answer(String::from_utf8(bytes).unwrap_or_default()),
        Err(_) => answer(value.to_string()),
    }
}

fn upper(given: &dyn Given) -> Answer {
    answer(text(given, 0).to_uppercase())
}

fn lower(given: &dyn Given) -> Answer {
    answer(text(given, 0).to_lowercase())
}

fn capitalize(given: &dyn Given) -> Answer {
    let text = text(given, 0);
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => answer(first.to_uppercase().chain(chars).collect::<String>()),
        None => answer(""),
    }
}

fn trim(given: &dyn Given) -> Answer {
    answer(text(given, 0).trim())
}

fn replace(given: &dyn Given) -> Answer {
    let (text, from, to) = (text(given, 0), text(given, 1), text(given, 2));
    if from.is_empty() {
        return answer(text);
    }
    let added = text.matches(from.as_ref()).count().checked_mul(to.len());
    affordable(added.and_then(|added| added.checked_add(text.len())))?;
    answer(text.replace(from.as_ref(), &to))
}

fn indent(given: &dyn Given) -> Answer {
    let source = text(given, 0);
    let width = value(given, 1);
    affordable(count(width).or(Some(0)))?;
    let prefix = match count(width) {
        Some(width) => " ".repeat(width),
        None => text(given, 1).into_owned(),
    };
    let lines = source.split_inclusive('\n').count();
    affordable(lines.checked_mul(prefix.len()).and_then(|added| added.checked_add(source.len())))?;
    let mut out = String::with_capacity(source.len() + lines * prefix.len());
    for line in source.split_inclusive('\n') {
        if !line.trim_end_matches(['\r', '\n']).is_empty() {
            out.push_str(&prefix);
        }
        out.push_str(line);
    }
    answer(out)
}

fn truncate(given: &dyn Given) -> Answer {
    let source = text(given, 0);
    let Some(limit) = count(value(given, 1)) else { return answer(source) };
    if source.char_indices().nth(limit).is_none() {
        return answer(source);
    }
    let end = given.named("end").unwrap_or(&Value::Null);
    let end = if end.is_null() { "…".into() } else { text_of(end) };
    let room = limit.saturating_sub(end.chars().count());
    let kept = source.chars().take(room);
    answer(kept.chain(end.chars()).take(limit).collect::<String>())
}

fn path(given: &dyn Given) -> Answer {
    answer(encode_path(&text(given, 0)))
}
