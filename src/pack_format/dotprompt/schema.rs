//! The variables that front matter declares: Picoschema, or JSON Schema.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

/// A variable that is declared.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct InputField {
    pub(super) name: String,
    pub(super) description: Option<String>,
    /// The JSON Schema of its values.
    pub(super) schema: Value,
    pub(super) required: bool,
    pub(super) default: Option<Value>,
}

/// The types of Picoschema that are types of JSON Schema too.
const SCALAR_TYPES: &[&str] = &["string", "boolean", "null", "number", "integer"];

/// The fields of `input.schema`.
pub(super) fn input_fields(schema: &Value) -> Vec<InputField> {
    let Some(keys) = schema.as_object() else { return Vec::new() };
    let is_type = |name: &str| SCALAR_TYPES.contains(&name) || matches!(name, "object" | "array" | "any");
    if keys.get("type").and_then(Value::as_str).is_some_and(is_type)
        || keys.get("properties").is_some_and(Value::is_object)
    {
        return json_fields(keys);
    }
    keys.iter().filter(|(key, _)| key.as_str() != "(*)").map(|(key, value)| picoschema_field(key, value)).collect()
}

fn json_fields(keys: &Map<String, Value>) -> Vec<InputField> {
    let required: HashSet<&str> =
        keys.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = keys.get("properties").and_then(Value::as_object).into_iter().flatten();
    let field = |(name, property): (&String, &Value)| {
        let default = property.get("default").cloned();
        InputField {
            name: name.clone(),
            description: property.get("description").and_then(Value::as_str).map(str::to_owned),
            schema: values_of(property),
            required: default.is_none() && required.contains(name.as_str()),
            default,
        }
    };
    properties.map(field).collect()
}

/// What a property says of its values themselves: their type, and which they are.
fn values_of(property: &Value) -> Value {
    let types: Vec<&str> = match property.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let named = types.iter().find(|name| **name == "string").or_else(|| types.iter().find(|name| **name != "null"));
    let mut schema = named.map_or_else(|| json!({}), |name| json!({ "type": name }));
    if let (Some(values), Some(keys)) = (property.get("enum"), schema.as_object_mut()) {
        keys.insert("enum".to_owned(), values.clone());
    }
    schema
}

/// The field of a key such as `name?(enum, description)`.
fn picoschema_field(key: &str, value: &Value) -> InputField {
    let (name, inside) =
        key.split_once('(').map_or((key, None), |(name, rest)| (name, Some(rest.trim_end_matches(')'))));
    let name = name.trim();
    let (of_key, description) = inside.map_or(("", None), with_description);
    let (of_value, of_value_description) = value.as_str().map_or(("", None), with_description);
    let schema = match (of_key, value) {
        ("array", _) => json!({ "type": "array" }),
        ("enum", Value::Array(values)) => json!({ "enum": values }),
        (_, Value::Object(_)) => json!({ "type": "object" }),
        _ if SCALAR_TYPES.contains(&of_value) => json!({ "type": of_value }),
        _ => json!({}),
    };
    let description = if inside.is_some() { description } else { of_value_description };
    InputField {
        name: name.trim_end_matches('?').to_owned(),
        description: description.filter(|text| !text.is_empty()).map(str::to_owned),
        schema,
        required: !name.ends_with('?'),
        default: None,
    }
}

/// A type, and what stands behind its comma.
fn with_description(text: &str) -> (&str, Option<&str>) {
    text.split_once(',').map_or((text.trim(), None), |(name, description)| (name.trim(), Some(description.trim())))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::input_fields;

    #[test]
    fn picoschema_and_json_schema_declare_fields() {
        let pico = json!({
            "name": "string, the name, in full", "age?": "integer", "tags(array, some)": "string",
            "kind(enum, one of two)": ["A", "B"], "o?(object)": { "x": "string" }, "it": "any", "other": "Named, a type",
            "(*)": "any",
        });
        let fields = input_fields(&pico);
        let short: Vec<_> = fields
            .iter()
            .map(|field| (field.name.as_str(), field.required, field.schema.to_string(), field.description.as_deref()))
            .collect();
        let text = |value: &str| value.to_owned();
        assert_eq!(
            short,
            [
                ("name", true, text(r#"{"type":"string"}"#), Some("the name, in full")),
                ("age", false, text(r#"{"type":"integer"}"#), None),
                ("tags", true, text(r#"{"type":"array"}"#), Some("some")),
                ("kind", true, text(r#"{"enum":["A","B"]}"#), Some("one of two")),
                ("o", false, text(r#"{"type":"object"}"#), None),
                ("it", true, text("{}"), None),
                ("other", true, text("{}"), Some("a type")),
            ]
        );
        let json = json!({ "properties": {
            "a": { "type": ["null", "number"], "description": "D" }, "b": { "default": 1 }, "c": {},
        }, "required": ["a", "b"] });
        let fields = input_fields(&json);
        let required: Vec<_> = fields.iter().map(|field| (field.name.as_str(), field.required)).collect();
        assert_eq!(required, [("a", true), ("b", false), ("c", false)]);
        assert_eq!(fields.first().map(|field| field.schema.clone()), Some(json!({ "type": "number" })));
        assert_eq!(input_fields(&json!("string, a text")), []);
    }
}
