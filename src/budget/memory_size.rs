//! The memory size of values.

use std::io;

use serde::Serialize;
use serde_json::Value;

/// The size of a value without its text: itself, and the header of an allocation.
const VALUE_OVERHEAD_BYTES: usize = 80;
/// What a field takes beside its value.
const FIELD_OVERHEAD_BYTES: usize = 60;
/// What the fields of an object take beside that, also where it has one: room for some is made at once.
const MIN_FIELDS_BYTES: usize = 300;

/// The approximate size of a value in bytes.
pub fn memory_size(value: &Value) -> usize {
    match value {
        Value::String(text) => VALUE_OVERHEAD_BYTES + text.len(),
        Value::Array(items) => items.iter().map(memory_size).sum::<usize>() + VALUE_OVERHEAD_BYTES,
        Value::Object(fields) => {
            let fields_bytes = if fields.is_empty() { 0 } else { MIN_FIELDS_BYTES };
            fields.iter().map(|(key, field)| key.len() + FIELD_OVERHEAD_BYTES + memory_size(field)).sum::<usize>()
                + VALUE_OVERHEAD_BYTES
                + fields_bytes
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => VALUE_OVERHEAD_BYTES,
    }
}

/// At most about how many bytes the value of a text takes, before it is parsed as JSON, or as lines of values.
pub fn json_memory_size(text: &[u8]) -> usize {
    let (mut values, mut fields, mut objects) = (1_usize, 0_usize, 0_usize);
    for byte in text {
        match byte {
            b',' | b'[' | b'\n' => values += 1,
            b':' => fields += 1,
            b'{' => objects += 1,
            _ => {}
        }
    }
    let of_objects = objects.saturating_mul(MIN_FIELDS_BYTES + VALUE_OVERHEAD_BYTES);
    text.len() + values.saturating_mul(VALUE_OVERHEAD_BYTES) + fields.saturating_mul(FIELD_OVERHEAD_BYTES) + of_objects
}

/// What a value or a name takes at most in a tree of values.
const PART_BYTES: u64 = 160;

/// About how many bytes a message takes, by its JSON.
pub fn serialized_size(message: &impl Serialize) -> u64 {
    let mut counter = JsonCounter::default();
    let _ = serde_json::to_writer(&mut counter, message);
    counter.bytes + counter.parts * PART_BYTES
}

/// Counts what is written.
#[derive(Default)]
struct JsonCounter {
    bytes: u64,
    parts: u64,
}

impl io::Write for JsonCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes += bytes.len() as u64;
        // Syntax is written by itself, and what is in strings in longer pieces.
        self.parts += u64::from(matches!(bytes, b"," | b":" | b"[" | b"{"));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
