//! `allOf`, as one schema wherever that says the same.

use serde_json::{Map, Value};

/// What a schema may say and still be merged with another.
const MERGED_KEYWORDS: &[&str] =
    &["type", "properties", "required", "description", "additionalProperties", "deprecated"];

/// Merges the parts of an `allOf` into one schema of an object. `None` where they say more than what properties there
/// are, or say two things of one property.
pub(super) fn merge_objects(parts: &[Value]) -> Option<Map<String, Value>> {
    let mut merged = Map::new();
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for part in parts {
        let part = part.as_object()?;
        if !part.keys().all(|key| MERGED_KEYWORDS.contains(&key.as_str())) || !is_open_object(part) {
            return None;
        }
        for (name, schema) in part.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let known = properties.insert(name.clone(), schema.clone());
            if known.is_some_and(|known| !is_compatible(&known, schema)) {
                return None;
            }
        }
        for name in part.get("required").and_then(Value::as_array).into_iter().flatten() {
            if !required.contains(name) {
                required.push(name.clone());
            }
        }
        if let Some(description) = part.get("description") {
            merged.insert("description".to_owned(), description.clone());
        }
    }
    merged.shift_insert(0, "type".to_owned(), "object".into());
    merged.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        merged.insert("required".to_owned(), Value::Array(required));
    }
    Some(merged)
}

/// Whether a schema is of an object, or of anything, and takes properties that others declare.
fn is_open_object(schema: &Map<String, Value>) -> bool {
    let is_object = schema.get("type").is_none_or(|kind| kind == "object");
    is_object && schema.get("additionalProperties").is_none_or(|more| *more == Value::Bool(true))
}

/// Whether the later of two schemas of one property says all that the earlier does, but for its description.
fn is_compatible(earlier: &Value, later: &Value) -> bool {
    match (earlier.as_object(), later.as_object()) {
        (Some(earlier), Some(later)) => {
            earlier.iter().all(|(key, value)| key == "description" || later.get(key) == Some(value))
        }
        _ => earlier == later,
    }
}
