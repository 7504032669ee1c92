//! The memory size of values.

use serde_json::Value;

/// The size of a value without its text: itself, and the header of an allocation.
const VALUE_OVERHEAD_BYTES: usize = 80;

/// The approximate size of a value in bytes.
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
