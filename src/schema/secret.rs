//! Which values of a schema must never be shown.

use std::collections::HashSet;

use jsonschema::Draft;
use serde_json::{Map, Value};

use super::{keyword, pointer};

/// How many references are followed to find out whether a property is secret.
const MAX_REFERENCE_STEPS: usize = 64;

/// The names of properties that are secret somewhere in a self-contained schema. A name that is secret in one place
/// is hidden in all: that is the safe side.
pub(super) fn secret_names(root: &Value, draft: Draft) -> HashSet<String> {
    let mut names = HashSet::new();
    for (_, schema) in keyword::subschemas(root, draft) {
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            if contains_secret(root, property) {
                names.insert(name.clone());
            }
        }
    }
    names
}

/// Whether a schema itself says that its value is secret.
pub(super) fn is_secret(schema: &Value) -> bool {
    schema.get("writeOnly") == Some(&Value::Bool(true))
        || schema.get("format").and_then(Value::as_str) == Some("password")
}

/// Whether one of the schemas on the way to `place` is secret.
pub(super) fn is_secret_path(root: &Value, place: &str) -> bool {
    let mut current = Some(root);
    let mut segments = pointer::segments(place);
    while let Some(value) = current {
        if is_secret(value) {
            return true;
        }
        current = segments.next().and_then(|segment| child_value(value, &segment));
    }
    false
}

fn child_value<'v>(value: &'v Value, segment: &str) -> Option<&'v Value> {
    match value {
        Value::Array(list) => list.get(segment.parse::<usize>().ok()?),
        _ => value.get(segment),
    }
}

/// Whether a schema, one that it refers to or one that stands in it for the same value or its items is secret.
fn contains_secret(root: &Value, schema: &Value) -> bool {
    let mut queue = vec![schema];
    for _ in 0..MAX_REFERENCE_STEPS {
        let Some(schema) = queue.pop() else { return false };
        if is_secret(schema) {
            return true;
        }
        let Some(map) = schema.as_object() else { continue };
        queue.extend(resolve_local_ref(root, map));
        let lists = ["allOf", "anyOf", "oneOf"].iter().filter_map(|key| map.get(*key)?.as_array());
        queue.extend(lists.flatten());
        queue.extend(["items", "then", "else", "additionalProperties"].iter().filter_map(|key| map.get(*key)));
    }
    false
}

/// The schema behind a `$ref` into the same document.
pub(super) fn resolve_local_ref<'v>(root: &'v Value, schema: &Map<String, Value>) -> Option<&'v Value> {
    let place = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
    root.pointer(&pointer::percent_decode_lossy(place))
}
