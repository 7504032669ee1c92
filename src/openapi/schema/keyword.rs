//! Keywords that hold no schemas: types, limits, and the values that are named.

use serde_json::{Map, Value};

use super::Direction;
use crate::openapi::document::ApiNode;

/// Formats that folio checks, or that say something to whoever reads them.
const FORMATS: &[&str] = &[
    "date", "date-time", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uri-reference", "uuid",
    "password", "byte", "binary",
];
/// How long an example may be, as JSON.
const MAX_EXAMPLE_BYTES: usize = 80;
/// How many values an `enum` may have.
const MAX_CHOICES: usize = 1000;
/// How many values an `enum` of an answer may have.
const MAX_OUTPUT_CHOICES: usize = 50;

/// Writes `type`: a list where it may be null.
pub(super) fn name_types(node: ApiNode<'_>, schema: &mut Map<String, Value>) {
    let mut types: Vec<&str> = match node.value.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    types.iter_mut().filter(|kind| **kind == "file").for_each(|kind| *kind = "string");
    types.retain(|kind| ["string", "integer", "number", "boolean", "array", "object", "null"].contains(kind));
    types.dedup();
    if is_nullable(node) && !types.is_empty() && !types.contains(&"null") {
        types.push("null");
    }
    match types.as_slice() {
        [] => {}
        [one] => _ = schema.insert("type".to_owned(), Value::from(*one)),
        several => _ = schema.insert("type".to_owned(), Value::from(several.to_vec())),
    }
}

/// Whether a schema of OpenAPI 3.0 or Swagger 2 says that its value may be null.
pub(super) fn is_nullable(node: ApiNode<'_>) -> bool {
    ["nullable", "x-nullable"].iter().any(|key| node.flag(key) == Some(true))
}

/// Whether a schema's `type` allows null.
pub(super) fn is_null_type(schema: &Map<String, Value>) -> bool {
    match schema.get("type") {
        Some(Value::Array(types)) => types.contains(&Value::from("null")),
        Some(one) => one == "null",
        None => false,
    }
}

/// Whether a schema's `type` names this one.
fn has_type(schema: &Map<String, Value>, wanted: &[&str]) -> bool {
    let named = |kind: &Value| kind.as_str().is_some_and(|kind| wanted.contains(&kind));
    match schema.get("type") {
        Some(Value::Array(types)) => types.iter().any(named),
        Some(one) => named(one),
        None => true,
    }
}

/// Copies what bounds a value, as far as it concerns the type.
pub(super) fn copy_limits(node: ApiNode<'_>, schema: &mut Map<String, Value>) {
    if has_type(schema, &["number", "integer"]) {
        copy_numbers(node, schema);
    }
    if has_type(schema, &["string"]) {
        copy_counts(node, &["minLength", "maxLength"], schema);
        copy_text(node, schema);
    }
    if has_type(schema, &["array"]) {
        copy_counts(node, &["minItems", "maxItems"], schema);
        if node.flag("uniqueItems") == Some(true) {
            schema.insert("uniqueItems".to_owned(), Value::Bool(true));
        }
    }
    if has_type(schema, &["object"]) {
        copy_counts(node, &["minProperties", "maxProperties"], schema);
    }
    for key in ["deprecated", "writeOnly"] {
        if node.flag(key) == Some(true) {
            schema.insert(key.to_owned(), Value::Bool(true));
        }
    }
}

fn copy_text(node: ApiNode<'_>, schema: &mut Map<String, Value>) {
    if let Some(pattern) = node.text("pattern") {
        schema.insert("pattern".to_owned(), pattern.into());
    }
    if let Some(format) = node.text("format").filter(|format| FORMATS.contains(format)) {
        schema.insert("format".to_owned(), format.into());
    }
}

fn copy_counts(node: ApiNode<'_>, keys: &[&str], schema: &mut Map<String, Value>) {
    for key in keys {
        if let Some(count) = node.value.get(key).filter(|count| count.as_u64().is_some()) {
            schema.insert((*key).to_owned(), count.clone());
        }
    }
}

/// Numbers; in OpenAPI 3.0 and Swagger 2 `exclusiveMinimum: true` says how `minimum` is meant.
fn copy_numbers(node: ApiNode<'_>, schema: &mut Map<String, Value>) {
    let number = |key: &str| node.value.get(key).filter(|number| number.is_number()).cloned();
    for (limit, exclusive) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
        let key = if node.flag(exclusive) == Some(true) { exclusive } else { limit };
        schema.extend(number(limit).map(|value| (key.to_owned(), value)));
        schema.extend(number(exclusive).map(|value| (exclusive.to_owned(), value)));
    }
    schema.extend(
        number("multipleOf").filter(|step| step.as_f64() > Some(0.0)).map(|step| ("multipleOf".to_owned(), step)),
    );
}

/// Copies values that are named: choices, the default, examples. What YAML read as a number is a text again where the
/// type says so.
pub(super) fn copy_values(node: ApiNode<'_>, direction: Direction, schema: &mut Map<String, Value>) {
    copy_choices(node, direction, schema);
    if direction == Direction::Output {
        return;
    }
    if let Some(default) = node.value.get("default").filter(|default| !default.is_null()) {
        schema.insert("default".to_owned(), as_declared(default, schema));
    }
    let single = node.value.get("example");
    let several = node.value.get("examples").and_then(Value::as_array).into_iter().flatten();
    let is_shown = |value: &&Value| value.is_string() || value.is_number() || value.is_array();
    let short = |value: &Value| value.to_string().len() <= MAX_EXAMPLE_BYTES;
    let examples: Vec<Value> = single
        .into_iter()
        .chain(several)
        .filter(is_shown)
        .map(|value| as_declared(value, schema))
        .filter(short)
        .take(2)
        .collect();
    if !examples.is_empty() && !schema.contains_key("enum") {
        schema.insert("examples".to_owned(), Value::Array(examples));
    }
}

fn copy_choices(node: ApiNode<'_>, direction: Direction, schema: &mut Map<String, Value>) {
    if let Some(constant) = node.value.get("const") {
        schema.insert("const".to_owned(), as_declared(constant, schema));
    }
    let Some(choices) = node.value.get("enum").and_then(Value::as_array).filter(|choices| !choices.is_empty()) else {
        return;
    };
    let max_choices = if direction == Direction::Output { MAX_OUTPUT_CHOICES } else { MAX_CHOICES };
    if choices.len() > max_choices {
        return;
    }
    let mut unique_choices: Vec<Value> = Vec::new();
    for choice in choices {
        let choice = as_declared(choice, schema);
        if !unique_choices.contains(&choice) {
            unique_choices.push(choice);
        }
    }
    if is_null_type(schema) && !unique_choices.contains(&Value::Null) {
        unique_choices.push(Value::Null);
    }
    schema.insert("enum".to_owned(), Value::Array(unique_choices));
}

/// A value as its type writes it: `1` is `"1"` where only texts are taken.
fn as_declared(value: &Value, schema: &Map<String, Value>) -> Value {
    let text_only =
        schema.get("type").is_some() && !has_type(schema, &["number", "integer", "boolean", "array", "object"]);
    match value {
        Value::Number(number) if text_only => Value::from(number.to_string()),
        Value::Bool(flag) if text_only => Value::from(flag.to_string()),
        Value::String(text) if !text_only && schema.contains_key("type") && !has_type(schema, &["string"]) => {
            serde_json::from_str(text)
                .ok()
                .filter(|parsed: &Value| !parsed.is_string())
                .unwrap_or_else(|| value.clone())
        }
        other => other.clone(),
    }
}
