//! Lets the schema take what `check` takes: a key without a value, as if it were not there.
//!
//! What an entry needs stays needed: a prompt, or its `text`, without a value is an error in both.

use serde_json::{Value, json};

/// The keywords of definitions that say what must be there.
const RULES: &[&str] = &["required", "if", "then", "dependentSchemas", "allOf", "anyOf", "oneOf", "not", "enum"];

/// Adds `null` to the values of keys that may be left out, and to maps of which every key may be.
pub(super) fn allow_null(schema: &mut Value) {
    let Some(Value::Object(definitions)) = schema.get_mut("$defs") else { return };
    // Maps without a rule.
    let is_plain_map = |definition: &Value| {
        definition.get("type").is_some_and(|kind| kind == "object")
            && RULES.iter().all(|rule| definition.get(rule).is_none())
    };
    let plain = definitions.iter().filter(|(_, definition)| is_plain_map(definition));
    let plain: Vec<String> = plain.map(|(name, _)| name.clone()).collect();
    for definition in definitions.values_mut() {
        let needed = needed_keys(definition);
        keys_of(definition, &needed, &plain);
    }
    for definition in definitions.iter_mut().filter(|(name, _)| plain.contains(name)) {
        add_null_type(definition.1);
    }
}

/// The keys that a definition requires, alone or one of several.
fn needed_keys(value: &Value) -> Vec<String> {
    let mut needed = Vec::new();
    match value {
        Value::Object(object) => {
            for (key, value) in object.iter().filter(|(key, _)| !["properties", "if", "not"].contains(&key.as_str())) {
                match value.as_array().filter(|_| key == "required") {
                    Some(names) => needed.extend(names.iter().filter_map(Value::as_str).map(str::to_owned)),
                    None => needed.extend(needed_keys(value)),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| needed.extend(needed_keys(item))),
        _ => {}
    }
    needed
}

/// Adds `null` to the keys of maps, below a definition too.
fn keys_of(value: &mut Value, needed: &[String], plain: &[String]) {
    match value {
        Value::Object(object) => {
            for (key, value) in object.iter_mut() {
                match value.as_object_mut().filter(|_| key == "properties") {
                    Some(properties) => {
                        let optional = properties.iter_mut().filter(|(name, _)| !needed.contains(name));
                        optional.for_each(|(_, property)| add_null(property, plain));
                    }
                    None => keys_of(value, needed, plain),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| keys_of(item, needed, plain)),
        _ => {}
    }
}

fn add_null(property: &mut Value, plain: &[String]) {
    let Some(object) = property.as_object_mut() else { return };
    let null = json!({ "type": "null" });
    if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
        choices.push(null);
        return;
    }
    if let Some(reference) = object.get("$ref").and_then(Value::as_str).map(str::to_owned) {
        let name = reference.rsplit('/').next().unwrap_or_default();
        if !plain.iter().any(|plain| plain == name) {
            object.remove("$ref");
            // The description of the key itself is the one to show.
            let choice = json!({ "$ref": reference, "description": "", "markdownDescription": "" });
            object.insert("anyOf".to_owned(), Value::Array(vec![choice, null]));
        }
        return;
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.push(Value::Null);
    }
    add_null_type(property);
}

fn add_null_type(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else { return };
    let kinds = match object.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().cloned().chain([json!("null")]).collect(),
        Some(kind) => vec![kind.clone(), json!("null")],
        None => return,
    };
    object.insert("type".to_owned(), Value::Array(kinds));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optional_keys_take_null_and_needed_ones_do_not() {
        let mut schema = json!({ "$defs": {
            "Prompt": {
                "type": "object",
                "properties": { "text": { "type": "string" }, "title": { "type": "string" }, "a": { "$ref": "#/$defs/A" } },
                "then": { "anyOf": [{ "required": ["text"] }] },
            },
            "A": { "type": "object", "properties": { "p": { "$ref": "#/$defs/Prompt" } } },
        } });
        allow_null(&mut schema);
        let prompt = &schema["$defs"]["Prompt"];
        assert_eq!(prompt["type"], "object");
        assert_eq!(prompt["properties"]["text"]["type"], "string");
        assert_eq!(prompt["properties"]["title"]["type"], json!(["string", "null"]));
        assert_eq!(prompt["properties"]["a"], json!({ "$ref": "#/$defs/A" }));
        assert_eq!(schema["$defs"]["A"]["type"], json!(["object", "null"]));
        assert_eq!(schema["$defs"]["A"]["properties"]["p"]["anyOf"][1], json!({ "type": "null" }));
    }
}
