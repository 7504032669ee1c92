//! Helpers that make text of text.

use serde_json::Value;

use super::argument::{Answer, Given, Plain, affordable, answer, count, text, text_read, value};
use crate::budget::weight;
use crate::template::encode::encode_path;

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
    given.make(weight(value).saturating_mul(1 + width / 4))?;
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

/// The text as it is.
fn copied(given: &dyn Given, text: &str) -> Answer {
    given.make(text.len())?;
    answer(text)
}

fn upper(given: &dyn Given) -> Answer {
    let text = text(given, 0)?;
    given.make(text.len())?;
    answer(text.to_uppercase())
}

fn lower(given: &dyn Given) -> Answer {
    let text = text(given, 0)?;
    given.make(text.len())?;
    answer(text.to_lowercase())
}

fn capitalize(given: &dyn Given) -> Answer {
    let text = text(given, 0)?;
    given.make(text.len())?;
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => answer(first.to_uppercase().chain(chars).collect::<String>()),
        None => answer(""),
    }
}

fn trim(given: &dyn Given) -> Answer {
    let text = text(given, 0)?;
    given.make(text.len())?;
    answer(text.trim())
}

fn replace(given: &dyn Given) -> Answer {
    let (text, from, to) = (text(given, 0)?, text(given, 1)?, text(given, 2)?);
    if from.is_empty() {
        return copied(given, &text);
    }
    let added = text.matches(from.as_ref()).count().checked_mul(to.len());
    affordable(given, added.and_then(|added| added.checked_add(text.len())))?;
    answer(text.replace(from.as_ref(), &to))
}

fn indent(given: &dyn Given) -> Answer {
    let source = text(given, 0)?;
    let width = value(given, 1);
    affordable(given, count(width).or(Some(0)))?;
    let prefix = match count(width) {
        Some(width) => " ".repeat(width),
        None => text(given, 1)?.into_owned(),
    };
    let lines = source.split_inclusive('\n').count();
    affordable(given, lines.checked_mul(prefix.len()).and_then(|added| added.checked_add(source.len())))?;
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
    let source = text(given, 0)?;
    let Some(limit) = count(value(given, 1)) else { return copied(given, &source) };
    if source.char_indices().nth(limit).is_none() {
        return copied(given, &source);
    }
    let end = given.named("end").unwrap_or(&Value::Null);
    let end = if end.is_null() { "…".into() } else { text_read(given, end)? };
    given.make(source.len() + end.len())?;
    let room = limit.saturating_sub(end.chars().count());
    let kept = source.chars().take(room);
    answer(kept.chain(end.chars()).take(limit).collect::<String>())
}

fn path(given: &dyn Given) -> Answer {
    let text = text(given, 0)?;
    given.make(text.len().saturating_mul(3))?;
    answer(encode_path(&text))
}
