//! The arguments of a tool, gathered from wherever an operation takes values.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::description_text;
use super::document::{ApiDocument, ApiNode};
use super::naming::ArgumentNames;
use super::schema_repair::repair_schema;
use crate::diagnostic::Code;
use crate::yaml::pointer::join;

/// The arguments of one tool.
#[derive(Default)]
pub(super) struct ToolArguments<'d> {
    names: ArgumentNames,
    properties: Map<String, Value>,
    required: Vec<Value>,
    /// Required ones that have a default in the description.
    defaulted: Vec<String>,
    /// Where each is described.
    nodes: HashMap<String, ApiNode<'d>>,
}

/// What a request takes in one place.
pub(super) struct NewArgument<'a, 'd> {
    /// Its name in the request.
    pub(super) wire_name: &'a str,
    /// What it is part of, such as `query`.
    pub(super) location: &'static str,
    pub(super) schema: Value,
    pub(super) required: bool,
    pub(super) node: ApiNode<'d>,
}

impl<'d> ToolArguments<'d> {
    /// Adds an argument, and returns its name.
    pub(super) fn add(&mut self, new: NewArgument<'_, 'd>) -> String {
        let name = self.names.claim(new.wire_name, new.location);
        let schema = new.schema;
        // Who leaves it out means its default, which is sent.
        match (new.required, schema.get("default")) {
            (true, None) => self.required.push(name.clone().into()),
            (true, Some(_)) => self.defaulted.push(name.clone()),
            (false, _) => {}
        }
        self.properties.insert(name.clone(), schema);
        self.nodes.insert(name.clone(), new.node);
        name
    }

    /// How large the schemas are, as JSON.
    pub(super) fn bytes(&self) -> usize {
        self.properties.values().map(|schema| schema.to_string().len()).sum()
    }

    /// How a tool says what it takes: nothing, `arguments` where each says so for itself, else `inputSchema`.
    pub(super) fn into_key(self, document: &ApiDocument) -> Option<(&'static str, Value)> {
        if self.properties.is_empty() {
            return None;
        }
        let (nodes, defaulted) = (self.nodes.clone(), self.defaulted.clone());
        let mut schema = self.into_schema();
        for removal in repair_schema(&mut schema)? {
            let name = removal.pointer.split('/').nth(2).unwrap_or_default();
            if let Some(node) = nodes.get(name).or_else(|| nodes.values().next()) {
                let what = removal.pointer.rsplit('/').next().unwrap_or_default();
                document.warn(*node, Code::Schema, format!("`{what}` is left out of the schema: {}", removal.reason));
            }
        }
        let lost = |name: &String| {
            schema.pointer(&join("/properties", name)).is_some_and(|property| property.get("default").is_none())
        };
        let lost: Vec<String> = defaulted.into_iter().filter(lost).collect();
        if let Some(map) = schema.as_object_mut().filter(|_| !lost.is_empty())
            && let Value::Array(required) = map.entry("required").or_insert_with(|| Vec::<Value>::new().into())
        {
            required.extend(lost.into_iter().map(Value::from));
        }
        Some(as_arguments(&schema).map_or(("inputSchema", schema), |arguments| ("arguments", arguments)))
    }

    fn into_schema(self) -> Value {
        let mut schema = Map::new();
        schema.insert("type".to_owned(), "object".into());
        schema.insert("properties".to_owned(), Value::Object(self.properties));
        if !self.required.is_empty() {
            schema.insert("required".to_owned(), Value::Array(self.required));
        }
        schema.insert("additionalProperties".to_owned(), Value::Bool(false));
        Value::Object(schema)
    }
}

/// Keywords by which a schema says what it is of: without one of them an argument would be a text.
const TYPED_KEYWORDS: &[&str] = &["type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"];

/// The same as folio's `arguments`. `None` where that cannot be said.
fn as_arguments(schema: &Value) -> Option<Value> {
    let required = schema.get("required").and_then(Value::as_array);
    let mut arguments = Map::new();
    for (name, property) in schema.get("properties")?.as_object()? {
        let property = property.as_object()?;
        // Of an argument `required` says something else than of an object.
        if !TYPED_KEYWORDS.iter().any(|key| property.contains_key(*key)) || property.contains_key("required") {
            return None;
        }
        let is_required = required.is_some_and(|names| names.contains(&Value::from(name.as_str())));
        arguments.insert(name.clone(), Value::Object(as_argument(property, is_required)));
    }
    Some(Value::Object(arguments))
}

fn as_argument(property: &Map<String, Value>, is_required: bool) -> Map<String, Value> {
    let is_text = property.get("type").is_some_and(|kind| kind == "string");
    let only_type = TYPED_KEYWORDS.iter().filter(|key| property.contains_key(**key)).count() == 1;
    let mut argument = Map::new();
    // Of what a schema says, the description of an argument alone is a template.
    let description = property.get("description").and_then(Value::as_str).map(description_text::as_template);
    argument.extend(description.map(|text| ("description".to_owned(), text.into())));
    let rest = property.iter().filter(|(key, _)| *key != "description" && !(*key == "type" && is_text && only_type));
    argument.extend(rest.map(|(key, value)| (key.clone(), value.clone())));
    if is_required {
        argument.insert("required".to_owned(), Value::Bool(true));
    }
    argument
}
