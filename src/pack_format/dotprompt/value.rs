//! Values as JavaScript sees them, for which these templates are written.

use serde_json::Value;

/// A value as text.
pub(super) fn to_text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Bool(flag)) => flag.to_string(),
        Some(Value::Number(number)) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => float.to_string(),
            None => number.to_string(),
        },
        Some(Value::Array(items)) => items.iter().map(|item| to_text(Some(item))).collect::<Vec<_>>().join(","),
        Some(Value::Object(_)) => "[object Object]".to_owned(),
    }
}

/// Whether a block with this value takes its first branch.
pub(super) fn is_truthy(value: Option<&Value>) -> bool {
    !is_zero(value) && !is_empty(value)
}

pub(super) fn is_zero(value: Option<&Value>) -> bool {
    value.and_then(Value::as_f64) == Some(0.0)
}

/// Whether there is nothing: `0` is something.
pub(super) fn is_empty(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null | Value::Bool(false)) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Bool(true) | Value::Number(_) | Value::Object(_)) => false,
    }
}

/// Equal values of one type.
pub(super) fn is_equal(one: Option<&Value>, other: Option<&Value>) -> bool {
    match (one, other) {
        (Some(Value::Number(one)), Some(Value::Number(other))) => one.as_f64() == other.as_f64(),
        (Some(Value::Array(_) | Value::Object(_)), _) => false,
        (one, other) => one == other,
    }
}

/// A value as JSON with this indentation.
pub(super) fn to_json(value: &Value, indent: usize) -> String {
    if indent == 0 {
        return value.to_string();
    }
    let spaces = " ".repeat(indent.min(10));
    let formatter = serde_json::ser::PrettyFormatter::with_indent(spaces.as_bytes());
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    match serde::Serialize::serialize(value, &mut serializer) {
        Ok(()) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => value.to_string(),
    }
}
