//! Validates simple schemas without compiling them: for defaults at load, compiling costs more than all other checks.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::check;

/// A number of properties below every limit.
const MAX_SIMPLE_PROPERTIES: usize = 1000;

/// Whether a schema is an object whose properties have only types, descriptions, choices of texts and defaults that fit,
/// as most arguments: it has no errors or lints.
pub(super) fn is_simple(schema: &Value) -> bool {
    let Some(schema) = schema.as_object() else { return false };
    let properties = schema.get("properties").and_then(Value::as_object);
    schema.iter().all(|(keyword, value)| match keyword.as_str() {
        "type" => value == "object",
        "properties" => value.as_object().is_some_and(|properties| {
            properties.len() <= MAX_SIMPLE_PROPERTIES && properties.values().all(is_simple_property)
        }),
        "required" => value.as_array().is_some_and(|names| are_declared(names, properties)),
        "additionalProperties" => value == &Value::Bool(false),
        _ => false,
    })
}

fn are_declared(names: &[Value], properties: Option<&Map<String, Value>>) -> bool {
    let declared = |name: &str| properties.is_some_and(|properties| properties.contains_key(name));
    let mut seen = HashSet::new();
    names.iter().all(|name| seen.insert(name) && name.as_str().is_some_and(declared))
}

fn is_simple_property(property: &Value) -> bool {
    let Some(property) = property.as_object() else { return false };
    property.iter().all(|(keyword, value)| match keyword.as_str() {
        "type" => matches!(value.as_str(), Some("string" | "number" | "integer" | "boolean")),
        "title" | "description" => value.is_string(),
        "enum" => value.as_array().is_some_and(|choices| are_distinct_texts(choices, property)),
        "default" => is_valid_simple(property, value) == Some(true),
        _ => false,
    })
}

fn are_distinct_texts(choices: &[Value], property: &Map<String, Value>) -> bool {
    let mut seen = HashSet::new();
    let is_text = property.get("type").is_none_or(|name| name == "string");
    is_text && !choices.is_empty() && choices.iter().all(|choice| choice.is_string() && seen.insert(choice))
}

/// Whether a value matches a schema; `None` where the schema is not simple.
pub(super) fn is_valid_simple(schema: &Map<String, Value>, value: &Value) -> Option<bool> {
    let mut fits = true;
    for (keyword, limit) in schema {
        fits &= keyword_holds(keyword, limit, value)?;
    }
    Some(fits)
}

/// Whether a value has a declared type of a schema, or the schema declares none.
pub(super) fn has_declared_type(schema: &Map<String, Value>, value: &Value) -> bool {
    let types = check::declared_types(schema);
    types.is_empty() || types.iter().any(|name| is_json_type(name, value))
}

fn keyword_holds(keyword: &str, limit: &Value, value: &Value) -> Option<bool> {
    let length = || value.as_str().map(|text| text.chars().count() as u64);
    Some(match keyword {
        "title" | "description" | "default" | "examples" | "deprecated" | "readOnly" | "writeOnly" | "$comment" => true,
        name if name.starts_with("x-") => true,
        "type" => match limit {
            Value::String(name) => is_json_type(name, value),
            Value::Array(names) => names.iter().filter_map(Value::as_str).any(|name| is_json_type(name, value)),
            _ => return None,
        },
        "enum" if value.is_string() => limit.as_array()?.contains(value),
        "minLength" => length().is_none_or(|length| limit.as_u64().is_some_and(|limit| length >= limit)),
        "maxLength" => length().is_none_or(|length| limit.as_u64().is_some_and(|limit| length <= limit)),
        "minimum" => return as_small_floats(limit, value).map(|(limit, number)| number >= limit),
        "maximum" => return as_small_floats(limit, value).map(|(limit, number)| number <= limit),
        "exclusiveMinimum" => return as_small_floats(limit, value).map(|(limit, number)| number > limit),
        "exclusiveMaximum" => return as_small_floats(limit, value).map(|(limit, number)| number < limit),
        _ => return None,
    })
}

/// Both as floats, where that is exact enough.
fn as_small_floats(limit: &Value, value: &Value) -> Option<(f64, f64)> {
    let both = (limit.as_f64()?, value.as_f64()?);
    (both.0.abs() < 1e15 && both.1.abs() < 1e15).then_some(both)
}

fn is_json_type(name: &str, value: &Value) -> bool {
    match name {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => value.is_null(),
    }
}
