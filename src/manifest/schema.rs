//! The JSON Schema of the manifest: generated from its types for the tests, and the program has the text that they check.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::editor::{add_editor_keywords, drop_unseen_texts};
use super::null::allow_null;
use super::{Fragment, Manifest};

/// The JSON Schema of the manifest, for editors: draft 2020-12, a line for each definition. It is the text that
/// [`generate_schema`] writes, so that the generator is not part of the program.
pub const SCHEMA: &str = include_str!("../../schemas/folio.schema.json");

/// Generates [`SCHEMA`] from the types of the manifest.
pub fn generate_schema() -> String {
    let mut schema = typed_schema();
    allow_null(&mut schema);
    drop_unseen_texts(&mut schema);
    let entries = |schema: &Value| -> Vec<String> {
        let keys = schema.as_object().into_iter().flatten();
        keys.map(|(key, value)| format!("{}:{value}", Value::from(key.as_str()))).collect()
    };
    let definitions = schema.get("$defs").map(entries).unwrap_or_default().join(",\n");
    if let Some(keys) = schema.as_object_mut() {
        keys.remove("$defs");
    }
    format!("{{\n{},\n\"$defs\":{{\n{definitions}\n}}}}\n", entries(&schema).join(",\n"))
}

/// The schema without the `null` of keys that have no value, as the reference describes it.
pub(super) fn typed_schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = root_schema(&mut generator);
    RecursiveTransform(simplify).transform(&mut schema);
    RecursiveTransform(add_editor_keywords).transform(&mut schema);
    schema.to_value()
}

fn root_schema(generator: &mut SchemaGenerator) -> Schema {
    let manifest = generator.subschema_for::<Manifest>();
    let fragment = generator.subschema_for::<Fragment>();
    let definitions: Map<String, Value> = generator.take_definitions(true);
    let mut schema = Schema::default();
    schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("title".to_owned(), json!("folio manifest"));
    schema.insert("if".to_owned(), fragment_schema());
    schema.insert("then".to_owned(), fragment.to_value());
    schema.insert("else".to_owned(), manifest.to_value());
    schema.insert("$defs".to_owned(), Value::Object(definitions));
    schema
}

/// A file is a fragment where it has entries and neither `folio` nor `server`; else it is, or becomes, a manifest.
fn fragment_schema() -> Value {
    let has = |keys: &[&str]| -> Vec<Value> { keys.iter().map(|key| json!({ "required": [key] })).collect() };
    json!({
        "not": { "anyOf": has(&["folio", "server"]) },
        "anyOf": has(&["prompts", "resources", "tools", "tests"]),
    })
}

/// Takes out what says nothing to an author: sizes of integers, defaults that are nothing, and the `null` that every
/// key which may be left out would otherwise take.
fn simplify(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    let sized =
        |format: &str| format.starts_with("uint") || format.starts_with("int") || matches!(format, "double" | "float");
    if object.get("format").and_then(Value::as_str).is_some_and(sized) {
        object.remove("format");
    }
    object.remove("default");
    gather_required(object);
    if object.get("additionalProperties") == Some(&Value::Bool(false)) {
        // Keys that begin so are the author's own, wherever they are.
        object.insert("patternProperties".to_owned(), json!({ "^x-": true }));
    }
    drop_null_type(object);
    drop_null_choice(object);
}

/// Every field is optional to serde, as a missing one is reported with its place; what must be there says so itself.
fn gather_required(object: &mut Map<String, Value>) {
    let Some(Value::Object(properties)) = object.get_mut("properties") else { return };
    let mut required = Vec::new();
    for (name, property) in properties {
        if property.as_object_mut().and_then(|property| property.remove("x-required")).is_some() {
            required.push(Value::from(name.clone()));
        }
    }
    if !required.is_empty() {
        object.insert("required".to_owned(), Value::Array(required));
    }
}

fn drop_null_type(object: &mut Map<String, Value>) {
    let Some(Value::Array(types)) = object.get_mut("type") else { return };
    types.retain(|kind| kind != "null");
    if let [only] = types.as_slice() {
        let only = only.clone();
        object.insert("type".to_owned(), only);
    }
}

fn drop_null_choice(object: &mut Map<String, Value>) {
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    let Some(Value::Array(choices)) = object.get_mut("anyOf") else { return };
    choices.retain(|choice| choice != &json!({ "type": "null" }));
    if let [Value::Object(only)] = choices.as_slice() {
        let only = only.clone();
        object.remove("anyOf");
        for (key, value) in only {
            // What the key itself says of its value is nearer to the author.
            object.entry(key).or_insert(value);
        }
    }
}
