//! Finds the values of a schema that must be redacted.

use std::collections::HashSet;

use jsonschema::Draft;
use serde_json::Value;

use super::keyword;
use super::local_ref::{MAX_REFERENCE_STEPS, in_place_schemas};
use crate::yaml::pointer;

/// The names of properties that are secret somewhere in a self-contained schema. A name that is secret in one place is
/// redacted everywhere.
pub(super) fn secret_names(root: &Value, draft: Draft) -> HashSet<String> {
    let schemas = keyword::subschemas(root, draft);
    let properties = schemas.iter().filter_map(|(_, schema)| schema.get("properties")?.as_object()).flatten();
    properties.filter(|(_, property)| contains_secret(root, property)).map(|(name, _)| name.clone()).collect()
}

/// Whether a schema itself marks its value as secret.
fn is_secret(schema: &Value) -> bool {
    schema.get("writeOnly") == Some(&Value::Bool(true))
        || schema.get("format").and_then(Value::as_str) == Some("password")
}

/// Whether one of the schemas on the way to `pointer` is secret.
pub(super) fn is_secret_path(root: &Value, pointer: &str) -> bool {
    let mut current = Some(root);
    let mut segments = pointer::segments(pointer);
    while let Some(value) = current {
        if is_secret(value) {
            return true;
        }
        current = segments.next().and_then(|segment| child_value(value, &segment));
    }
    false
}

/// The item of a list or the field of an object.
pub(super) fn child_value<'v>(value: &'v Value, segment: &str) -> Option<&'v Value> {
    match value {
        Value::Array(list) => list.get(segment.parse::<usize>().ok()?),
        _ => value.get(segment),
    }
}

/// Whether a schema, or one that it names for the same value or its items, is secret.
fn contains_secret(root: &Value, schema: &Value) -> bool {
    let mut queue = vec![schema];
    for _ in 0..MAX_REFERENCE_STEPS {
        let Some(schema) = queue.pop() else { return false };
        if is_secret(schema) {
            return true;
        }
        let Some(map) = schema.as_object() else { continue };
        queue.extend(in_place_schemas(root, map, &["allOf", "anyOf", "oneOf"]));
        queue.extend(["items", "then", "else", "additionalProperties"].iter().filter_map(|key| map.get(*key)));
    }
    false
}
