//! How much memory a value takes.

use serde_json::Value;

/// What each value takes beside its text: itself, and what an allocation costs.
const VALUE_OVERHEAD_BYTES: usize = 48;

/// About how many bytes a value takes.
pub fn memory_size(value: &Value) -> usize {
    match value {
        Value::String(text) => VALUE_OVERHEAD_BYTES + text.len(),
        Value::Array(items) => items.iter().map(memory_size).sum::<usize>() + VALUE_OVERHEAD_BYTES,
        Value::Object(fields) => {
            fields.iter().map(|(key, field)| key.len() + VALUE_OVERHEAD_BYTES + memory_size(field)).sum::<usize>()
                + VALUE_OVERHEAD_BYTES
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => VALUE_OVERHEAD_BYTES,
    }
}
