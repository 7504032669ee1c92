//! What editors read in the schema beside plain JSON Schema, and rules in the form that they report best.
//!
//! yaml-language-server and VS Code show `markdownDescription`, `markdownEnumDescriptions`, `errorMessage` and
//! `patternErrorMessage`; for other validators these are annotations.

use std::collections::BTreeSet;

use schemars::Schema;
use serde_json::{Map, Value, json};

/// The names of entries, arguments and environment variables, by the type of what they name: a pattern, and its words.
/// `<<` merges maps.
const NAMES: [(&str, &str, &str); 4] = [
    ("Prompt", ENTRY_NAME, ENTRY_NAME_HELP),
    ("Tool", ENTRY_NAME, ENTRY_NAME_HELP),
    ("Argument", IDENTIFIER, IDENTIFIER_HELP),
    ("EnvVariable", IDENTIFIER, IDENTIFIER_HELP),
];
const ENTRY_NAME: &str = "^(<<|[A-Za-z0-9_-]{1,64})$";
const ENTRY_NAME_HELP: &str = "invalid name: use 1 to 64 letters, digits, `_` and `-`";
const IDENTIFIER: &str = "^(<<|[A-Za-z_][A-Za-z0-9_]*)$";
const IDENTIFIER_HELP: &str = "invalid name: use letters, digits and `_`, and start with a letter or `_`";

/// Adds what editors read.
pub(super) fn add_editor_keywords(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    merge_choices(object);
    name_choices(object);
    hide_choice_descriptions(object);
    require_one(object);
    check_names(object);
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties.iter_mut().for_each(|(key, property)| expect_shape(key, property));
    }
    if let Some(description) = object.get("description").cloned() {
        object.entry("markdownDescription").or_insert(description);
    }
}

/// Makes a scalar or a list of it one schema: of two, an editor shows the descriptions of both.
fn merge_choices(object: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = object.get("anyOf") else { return };
    let [scalar, list] = choices.as_slice() else { return };
    let (Some(kind), Some(items)) = (scalar.get("type"), list.get("items")) else { return };
    if scalar != items || scalar.as_object().is_none_or(|scalar| scalar.len() != 1) {
        return;
    }
    let mut kinds = kind.as_array().cloned().unwrap_or_else(|| vec![kind.clone()]);
    kinds.push(json!("array"));
    let items = items.clone();
    object.remove("anyOf");
    object.insert("type".to_owned(), Value::Array(kinds));
    object.insert("items".to_owned(), items);
}

/// Makes constants an `enum`, which an editor completes with the description of each, and shows below the key's own.
fn name_choices(object: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = object.get("oneOf") else { return };
    let field = |name: &str| choices.iter().map(|choice| choice.get(name).cloned()).collect::<Option<Vec<_>>>();
    let (Some(values), Some(descriptions)) = (field("const"), field("description")) else { return };
    object.remove("oneOf");
    object.insert("type".to_owned(), json!("string"));
    object.insert("enum".to_owned(), Value::Array(values));
    object.insert("markdownEnumDescriptions".to_owned(), Value::Array(descriptions));
}

/// Makes editors show the description of the key itself rather than that of the choice that matches.
fn hide_choice_descriptions(object: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = object.get_mut("anyOf") else { return };
    for choice in choices.iter_mut().filter_map(Value::as_object_mut).filter(|choice| choice.contains_key("$ref")) {
        choice.insert("description".to_owned(), json!(""));
        choice.insert("markdownDescription".to_owned(), json!(""));
    }
}

/// Expands `x-exactly-one` and `x-at-most-one`, keys that exclude each other; `x-if-several` is what to say of several.
fn require_one(object: &mut Map<String, Value>) {
    let exactly = object.remove("x-exactly-one");
    let Some(Value::Array(keys)) = exactly.clone().or_else(|| object.remove("x-at-most-one")) else { return };
    let names: Vec<&str> = keys.iter().filter_map(Value::as_str).collect();
    let listed = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if exactly.is_some() {
        let message = format!("expected exactly one of {listed}");
        let mut required: Vec<Value> = names.iter().map(|name| json!({ "required": [name] })).collect();
        // Where no alternative matches, an editor reports the first.
        if let Some(Value::Object(first)) = required.first_mut() {
            first.insert("errorMessage".to_owned(), json!(message));
        }
        object.insert("if".to_owned(), has_known_keys(object));
        object.insert("then".to_owned(), json!({ "anyOf": required }));
    }
    let several = object.remove("x-if-several").and_then(|words| words.as_str().map(str::to_owned));
    let message = several.unwrap_or_else(|| format!("expected only one of {listed}"));
    // Beside one key, those that are listed after it are refused: each at its own place, and none twice.
    let excluded = names.iter().enumerate().take(names.len().saturating_sub(1)).map(|(at, name)| {
        let refused: Map<String, Value> =
            names.iter().skip(at + 1).map(|other| ((*other).to_owned(), Value::Bool(false))).collect();
        ((*name).to_owned(), json!({ "properties": refused, "errorMessage": message }))
    });
    let excluded: Map<String, Value> = excluded.collect();
    object.insert("dependentSchemas".to_owned(), Value::Object(excluded));
}

/// Requires each key to be known: an unknown one is probably the missing key misspelled, and reported already.
fn has_known_keys(object: &Map<String, Value>) -> Value {
    let properties = object.get("properties").and_then(Value::as_object);
    let keys: Vec<&str> = properties.into_iter().flat_map(Map::keys).map(String::as_str).collect();
    json!({ "propertyNames": { "pattern": format!("^(<<|x-.*|{})$", keys.join("|")) } })
}

/// Takes out the texts that no editor shows: of two equal descriptions one, and that of a definition where each reference
/// to it has its own.
pub(super) fn drop_unseen_texts(schema: &mut Value) {
    let mut described_by_definition = BTreeSet::new();
    references_without_text(schema, &mut described_by_definition);
    for (name, definition) in schema.get_mut("$defs").and_then(Value::as_object_mut).into_iter().flatten() {
        if let Some(definition) = definition.as_object_mut().filter(|_| !described_by_definition.contains(name)) {
            definition.remove("description");
            definition.remove("markdownDescription");
        }
    }
    drop_repeated_descriptions(schema);
}

fn references_without_text(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(object) => {
            let reference = object.get("$ref").and_then(Value::as_str).filter(|_| !object.contains_key("description"));
            found.extend(reference.and_then(|reference| reference.strip_prefix("#/$defs/")).map(str::to_owned));
            object.values().for_each(|inner| references_without_text(inner, found));
        }
        Value::Array(items) => items.iter().for_each(|inner| references_without_text(inner, found)),
        _ => {}
    }
}

/// Leaves `markdownDescription` where Markdown makes a difference, and else `description`, which every editor shows.
/// yaml-language-server shows the latter, as it is, of a schema whose alternatives it takes to match all.
fn drop_repeated_descriptions(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            let description = object.get("description").and_then(Value::as_str);
            let is_repeated = description.is_some_and(|text| !text.is_empty()) && !object.contains_key("anyOf");
            if is_repeated && object.get("description") == object.get("markdownDescription") {
                let is_plain = description.is_some_and(|text| !text.contains(['`', '\n']));
                object.remove(if is_plain { "markdownDescription" } else { "description" });
            }
            object.values_mut().for_each(drop_repeated_descriptions);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_repeated_descriptions),
        _ => {}
    }
}

fn check_names(object: &mut Map<String, Value>) {
    let named = object.get("additionalProperties").and_then(|named| named.get("$ref")).and_then(Value::as_str);
    let named = named.and_then(|named| named.strip_prefix("#/$defs/"));
    if let Some((_, pattern, help)) = NAMES.iter().find(|(name, ..)| Some(*name) == named) {
        let names = json!({ "pattern": pattern, "patternErrorMessage": help });
        object.insert("propertyNames".to_owned(), names);
    }
}

/// Says what a map or a list looks like to who wrote something else.
fn expect_shape(key: &str, property: &mut Value) {
    let Some(property) = property.as_object_mut() else { return };
    let (kind, start) = match property.get("type").and_then(Value::as_str) {
        Some("object") => ("map", '{'),
        Some("array") => ("list", '['),
        _ => return,
    };
    let description = property.get("description").and_then(Value::as_str).unwrap_or_default();
    let Some(example) = example_in(description, key, start) else { return };
    property.insert("errorMessage".to_owned(), json!(format!("expected a {kind}, such as `{key}: {example}`")));
}

/// The first example of a value in a description, alone or after its key.
fn example_in(description: &str, key: &str, start: char) -> Option<String> {
    let snippets = description.split('`').skip(1).step_by(2);
    let values = snippets.map(|snippet| {
        let behind_key = snippet.strip_prefix(key).and_then(|rest| rest.strip_prefix(": "));
        behind_key.unwrap_or(snippet).split_whitespace().collect::<Vec<_>>().join(" ")
    });
    values.into_iter().find(|value| value.starts_with(start) && !value.starts_with("{{"))
}
