//! Compares JSON with what is expected of it: of maps the keys that are named, of lists every item.

use serde_json::Value;

use crate::diagnostic::count_noun;
use crate::yaml::pointer;

/// A part that differs.
#[derive(Debug, PartialEq)]
pub(super) struct Difference {
    /// Where, as a JSON pointer.
    pub(super) pointer: String,
    pub(super) message: String,
}

/// The parts of `received` that differ from `expected`.
pub(super) fn differences(expected: &Value, received: &Value) -> Vec<Difference> {
    let mut differences = Vec::new();
    compare(expected, received, "", &mut differences);
    differences
}

fn compare(expected: &Value, received: &Value, path: &str, differences: &mut Vec<Difference>) {
    let mut differ = |message: String| differences.push(Difference { pointer: path.to_owned(), message });
    match (expected, received) {
        (Value::Object(expected), Value::Object(received)) => {
            for (key, value) in expected {
                let pointer = pointer::join(path, key);
                match received.get(key) {
                    Some(received) => compare(value, received, &pointer, differences),
                    None => differences
                        .push(Difference { pointer, message: format!("expected {value}, found no key `{key}`") }),
                }
            }
        }
        (Value::Array(expected), Value::Array(received)) => {
            if expected.len() != received.len() {
                differ(format!("expected {}, found {}", count_noun(expected.len(), "item"), received.len()));
            }
            for (at, (expected, received)) in expected.iter().zip(received).enumerate() {
                compare(expected, received, &pointer::join(path, &at.to_string()), differences);
            }
        }
        // `1` and `1.0` are one number.
        _ if expected == received || expected.as_f64().is_some() && expected.as_f64() == received.as_f64() => {}
        _ => differ(format!("expected {expected}, found {received}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::differences;

    #[test]
    fn only_named_keys_of_maps_are_compared() {
        assert_eq!(differences(&json!({ "a": { "b": 1 } }), &json!({ "a": { "b": 1.0, "c": 2 }, "d": 3 })), []);
        let found = differences(&json!({ "a": { "b": 1 } }), &json!({ "a": { "b": 2 } }));
        assert_eq!(found.iter().map(|part| part.pointer.as_str()).collect::<Vec<_>>(), ["/a/b"]);
        assert_eq!(differences(&json!({ "a": null }), &json!({})).len(), 1);
    }

    #[test]
    fn every_item_of_lists_is_compared() {
        assert_eq!(differences(&json!([{ "a": 1 }, 2]), &json!([{ "a": 1, "b": 2 }, 2])), []);
        assert_eq!(differences(&json!([1]), &json!([1, 2])).len(), 1);
        assert_eq!(differences(&json!([1, 3]), &json!([1, 2])).len(), 1);
        assert_eq!(differences(&json!({}), &json!([])).len(), 1);
    }
}
