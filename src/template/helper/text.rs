//! Helpers that make text of text.

use handlebars::{Handlebars, Helper};
use serde_json::Value;

use super::argument::{Answer, affordable, answer, count, plain, text, value};
use crate::template::encode::encode_path;

pub(super) fn register(registry: &mut Handlebars<'static>) {
    registry.register_helper("json", Box::new(Json));
    registry.register_helper("upper", Box::new(Upper));
    registry.register_helper("lower", Box::new(Lower));
    registry.register_helper("capitalize", Box::new(Capitalize));
    registry.register_helper("trim", Box::new(Trim));
    registry.register_helper("replace", Box::new(Replace));
    registry.register_helper("indent", Box::new(Indent));
    registry.register_helper("truncate", Box::new(Truncate));
    registry.register_helper("path", Box::new(Path));
}

plain!(Json, json);
plain!(Upper, upper);
plain!(Lower, lower);
plain!(Capitalize, capitalize);
plain!(Trim, trim);
plain!(Replace, replace);
plain!(Indent, indent);
plain!(Truncate, truncate);
plain!(Path, path);

/// The widest indentation of JSON, so that it cannot be used to fill memory.
const MAX_INDENT: usize = 16;

fn json<'rc>(helper: &Helper<'rc>) -> Answer<'rc> {
    let value = value(helper, 0);
    let width = helper.hash_get("indent").and_then(|indent| count(indent.value())).unwrap_or(0).min(MAX_INDENT);
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

fn upper<'rc>(helper: &Helper<'rc>) -> Answer<'rc> {
    answer(text(helper, 0).to_uppercase())
}

fn lower<'rc>(helper: &Helper<'rc>) -> Answer<'rc> {
    answer(text(helper, 0).to_lowercase())
}

fn capitalize<'rc>(helper: &Helper<'rc>) -> Answer<'rc> {
    let text = text(helper, 0);
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => answer(first.to_uppercase().chain(chars).collect::<String>()),
        None => answer(""),
    }
}

fn trim<'rc>(helper: &Helper<'rc>) -> Answer<'rc> {
    answer(text(helper, 0).trim())
}

fn replace<'rc>(helper: &Helper<'rc>) -> Answer<'rc> {
    let (text, from, to) = (text(helper, 0), text(helper, 1), text(helper, 2));
    if from.is_empty() {
        return answer(text);
    }
    let added = text.matches(from.as_ref()).count().checked_mul(to.len());
    affordable(added.and_then(|added| added.checked_add(text.len())))?;
    answer(text.replace(from.as_ref(), &to))
}

fn indent<'rc>(helper: &Helper<'rc>) -> Answer<'rc> {
    let source = text(helper, 0);
    let width = value(helper, 1);
    affordable(count(width).or(Some(0)))?;
    let prefix = match count(width) {
        Some(width) => " ".repeat(width),
        None => text(helper, 1).into_owned(),
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

fn truncate<'rc>(helper: &Helper<'rc>) -> Answer<'rc> {
    let source = text(helper, 0);
    let Some(limit) = count(value(helper, 1)) else { return answer(source) };
    if source.char_indices().nth(limit).is_none() {
        return answer(source);
    }
    let end = helper.hash_get("end").map_or(&Value::Null, |end| end.value());
    let end = if end.is_null() { "…".into() } else { crate::template::render::text_of(end) };
    let room = limit.saturating_sub(end.chars().count());
    let kept = source.chars().take(room);
    answer(kept.chain(end.chars()).take(limit).collect::<String>())
}

fn path<'rc>(helper: &Helper<'rc>) -> Answer<'rc> {
    answer(encode_path(&text(helper, 0)))
}
