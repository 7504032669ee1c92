//! Helpers from text to text.

use std::io::{self, Write};

use serde::Serialize as _;
use serde_json::Value;
use serde_json::ser::PrettyFormatter;

use super::argument::{
    HelperFn, HelperParams, HelperValue, as_count, check_text_size, param_or_null, param_text, text_value,
};
use crate::template::limit::MAX_OUTPUT_BYTES;
use crate::template::render::{RenderError, is_truthy, value_to_text};
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
    json_text(value, width)
}

/// A value as JSON, indented by so many spaces where that is not zero.
pub(super) fn json_text(value: &Value, width: usize) -> HelperValue {
    let mut text = LimitedText(Vec::new());
    let json = if width == 0 {
        serde_json::to_writer(&mut text, value)
    } else {
        let indent = " ".repeat(width);
        let formatter = PrettyFormatter::with_indent(indent.as_bytes());
        value.serialize(&mut serde_json::Serializer::with_formatter(&mut text, formatter))
    };
    json.map_err(|_| RenderError::TooLarge { limit: MAX_OUTPUT_BYTES })?;
    text_value(String::from_utf8(text.0).unwrap_or_default())
}

/// A text up to the output limit: lists in lists are much longer where they are indented.
struct LimitedText(Vec<u8>);

impl Write for LimitedText {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_OUTPUT_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn upper(params: &dyn HelperParams) -> HelperValue {
    text_value(param_text(params, 0).to_uppercase())
}

fn lower(params: &dyn HelperParams) -> HelperValue {
    text_value(param_text(params, 0).to_lowercase())
}

fn capitalize(params: &dyn HelperParams) -> HelperValue {
    let text = param_text(params, 0);
    let mut chars = text.chars();
    text_value(chars.next().into_iter().flat_map(char::to_uppercase).chain(chars).collect::<String>())
}

fn trim(params: &dyn HelperParams) -> HelperValue {
    text_value(param_text(params, 0).trim())
}

fn replace(params: &dyn HelperParams) -> HelperValue {
    let (text, from, to) = (param_text(params, 0), param_text(params, 1), param_text(params, 2));
    if from.is_empty() {
        return text_value(text);
    }
    let added = text.matches(from.as_ref()).count().checked_mul(to.len());
    check_text_size(added.and_then(|added| added.checked_add(text.len())))?;
    text_value(text.replace(from.as_ref(), &to))
}

fn indent(params: &dyn HelperParams) -> HelperValue {
    let source = param_text(params, 0);
    let width = param_or_null(params, 1);
    check_text_size(as_count(width).or(Some(0)))?;
    let prefix = match as_count(width) {
        Some(width) => " ".repeat(width),
        None => param_text(params, 1).into_owned(),
    };
    let lines = source.split_inclusive('\n').count();
    check_text_size(lines.checked_mul(prefix.len()).and_then(|added| added.checked_add(source.len())))?;
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
    let source = param_text(params, 0);
    let Some(limit) = as_count(param_or_null(params, 1)) else { return text_value(source) };
    if source.char_indices().nth(limit).is_none() {
        return text_value(source);
    }
    let end = params.option("end").unwrap_or(&Value::Null);
    let end = if end.is_null() { "…".into() } else { value_to_text(end) };
    let room = limit.saturating_sub(end.chars().count());
    let kept = source.chars().take(room);
    text_value(kept.chain(end.chars()).take(limit).collect::<String>())
}

fn pad(params: &dyn HelperParams) -> HelperValue {
    let source = param_text(params, 0);
    let width = as_count(param_or_null(params, 1)).unwrap_or(0);
    let spaces = width.saturating_sub(source.chars().count());
    check_text_size(spaces.checked_add(source.len()))?;
    let spaces = " ".repeat(spaces);
    let is_left = params.option("left").is_some_and(is_truthy);
    text_value(if is_left { format!("{spaces}{source}") } else { format!("{source}{spaces}") })
}

fn path(params: &dyn HelperParams) -> HelperValue {
    let text = param_text(params, 0);
    text_value(text.split('/').map(percent_encode).collect::<Vec<_>>().join("/"))
}
