//! Types of arguments as programming languages write them: `string[]`, `Optional[int]`, `low | high`.

use serde_json::{Value, json};

/// The types of JSON Schema.
pub(super) const TYPE_NAMES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// Types of JSON Schema, each with its names in other languages.
const TYPES: &[(&str, &[&str])] = &[
    ("string", &["str", "text", "String"]),
    ("number", &["float", "double", "Number"]),
    ("integer", &["int", "Integer"]),
    ("boolean", &["bool", "Boolean"]),
    ("array", &["list", "List", "Array"]),
    ("object", &["dict", "map", "Object"]),
];

/// The type of JSON Schema that a word means.
pub(super) fn type_of(word: &str) -> Option<&'static str> {
    let word = word.trim();
    TYPES.iter().find(|(name, others)| *name == word || others.contains(&word)).map(|(name, _)| *name)
}

/// The keys of an argument of a type of another language; `None` where the text is not a type.
pub(super) fn read(written: &str) -> Option<Value> {
    let text = written.trim();
    if let Some(inner) = ["Optional[", "Option<"].iter().find_map(|open| text.strip_prefix(open)) {
        return read(inner.strip_suffix([']', '>'])?);
    }
    if let Some((kind, default)) = text.split_once('=') {
        let kind = type_of(kind)?;
        let default = default.trim().trim_matches(['"', '\'']);
        let default = if kind == "string" { None } else { serde_json::from_str(default).ok() }
            .unwrap_or_else(|| Value::from(default));
        return Some(json!({ "type": kind, "default": default }));
    }
    if text.contains('|') {
        return union(text);
    }
    if let Some(item) = item_of_list(text) {
        return Some(match type_of(item) {
            Some(item) => json!({ "type": "array", "items": { "type": item } }),
            None => json!({ "type": "array" }),
        });
    }
    if let Some((kind, description)) = text.split_once(',') {
        return Some(json!({ "type": type_of(kind)?, "description": description.trim() }));
    }
    let word = text.strip_suffix('?').or_else(|| text.strip_suffix("(optional)")).unwrap_or(text);
    Some(json!({ "type": type_of(word)? }))
}

/// `low | high`, and `string | null`.
fn union(text: &str) -> Option<Value> {
    let parts: Vec<&str> = text.split('|').map(|part| part.trim().trim_matches(['"', '\''])).collect();
    if parts.iter().any(|part| part.is_empty() || part.contains(char::is_whitespace)) {
        return None;
    }
    let some: Vec<&str> = parts.into_iter().filter(|part| !["null", "None", "undefined"].contains(part)).collect();
    let types: Vec<&str> = some.iter().filter_map(|part| type_of(part)).collect();
    match *some.as_slice() {
        [only] => read(only),
        _ if types.len() == some.len() => Some(json!({ "type": types })),
        _ if types.is_empty() => Some(json!({ "enum": some })),
        _ => None,
    }
}

/// `string[]`, `list[str]` and `Array<string>`.
fn item_of_list(text: &str) -> Option<&str> {
    if let Some(item) = text.strip_suffix("[]") {
        return type_of(item).map(|_| item);
    }
    let open = ["list[", "List[", "Array<", "array<", "Vec<"].iter().find_map(|open| text.strip_prefix(open))?;
    open.strip_suffix([']', '>'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_other_languages_are_read() {
        for (written, meant) in [
            ("string[]", Some(json!({ "type": "array", "items": { "type": "string" } }))),
            ("list[int]", Some(json!({ "type": "array", "items": { "type": "integer" } }))),
            ("Array<Thing>", Some(json!({ "type": "array" }))),
            ("Optional[str]", Some(json!({ "type": "string" }))),
            ("str | None", Some(json!({ "type": "string" }))),
            ("string?", Some(json!({ "type": "string" }))),
            ("string | integer", Some(json!({ "type": ["string", "integer"] }))),
            ("low | high", Some(json!({ "enum": ["low", "high"] }))),
            ("'a' | 'b'", Some(json!({ "enum": ["a", "b"] }))),
            ("int = 5", Some(json!({ "type": "integer", "default": 5 }))),
            ("string = x", Some(json!({ "type": "string", "default": "x" }))),
            ("string, the person", Some(json!({ "type": "string", "description": "the person" }))),
            ("the person", None),
            ("a | b c", None),
            ("x = y", None),
        ] {
            assert_eq!(read(written), meant, "{written}");
        }
    }
}
