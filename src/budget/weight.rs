//! How much memory a value takes.

use serde_json::Value;

/// What each value takes beside its text: itself, and what an allocation costs.
const EACH: usize = 48;

/// About how many bytes a value takes.
pub fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => EACH + text.len(),
        Value::Array(items) => items.iter().map(weight).sum::<usize>() + EACH,
        Value::Object(fields) => {
            fields.iter().map(|(key, field)| key.len() + EACH + weight(field)).sum::<usize>() + EACH
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => EACH,
    }
}
