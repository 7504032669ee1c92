//! Structured results for versions that only know objects: another value is wrapped as `{ "result": value }`.

use std::{collections::HashMap, sync::Arc};

use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};

use crate::catalog::listing;

/// How a tool's structured results look to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputShape {
    /// As they are.
    Plain,
    /// As `{ "result": … }`.
    Wrapped,
}

/// Tells, for each tool with an output schema, how its results look to a session.
pub(crate) fn output_shapes(tools: &[listing::ToolListing]) -> HashMap<String, OutputShape> {
    let shape = |schema: &JsonObject| match schema.get("type").and_then(Value::as_str) {
        Some("object") => OutputShape::Plain,
        _ => OutputShape::Wrapped,
    };
    tools.iter().filter_map(|tool| Some((tool.name.clone(), shape(tool.output_schema.as_ref()?)))).collect()
}

/// Returns the list of tools as sessions see it, where that is another one.
pub(crate) fn session_tools(tools: &[Tool], shapes: &HashMap<String, OutputShape>) -> Option<Vec<Tool>> {
    if shapes.values().all(|shape| *shape == OutputShape::Plain) {
        return None;
    }
    let mut tools = tools.to_vec();
    for tool in &mut tools {
        if shapes.get(tool.name.as_ref()) == Some(&OutputShape::Wrapped) {
            tool.output_schema = tool.output_schema.as_deref().map(wrap_schema);
        }
    }
    Some(tools)
}

/// Definitions stay at the root, where `#/$defs/…` refers to them.
fn wrap_schema(schema: &JsonObject) -> Arc<JsonObject> {
    let mut inner = schema.clone();
    let mut outer = JsonObject::new();
    for key in ["$schema", "$id", "$defs", "definitions"] {
        if let Some(value) = inner.shift_remove(key) {
            outer.insert(key.to_owned(), value);
        }
    }
    outer.insert("type".to_owned(), json!("object"));
    outer.insert("properties".to_owned(), json!({ "result": inner }));
    outer.insert("required".to_owned(), json!(["result"]));
    Arc::new(outer)
}

/// Returns a structured result as a session sees it.
pub(crate) fn session_value(value: Value, shape: Option<OutputShape>) -> Value {
    match (shape, &value) {
        (Some(OutputShape::Plain), _) | (None, Value::Object(_)) => value,
        (Some(OutputShape::Wrapped), _) | (None, _) => json!({ "result": value }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_schema_keeps_defs_at_root() {
        let schema =
            json!({ "type": "array", "items": { "$ref": "#/$defs/x" }, "$defs": { "x": { "type": "string" } } });
        let wrapped = wrap_schema(schema.as_object().unwrap());
        assert_eq!(wrapped["$defs"]["x"]["type"], "string");
        assert_eq!(wrapped["properties"]["result"], json!({ "type": "array", "items": { "$ref": "#/$defs/x" } }));
        assert_eq!(wrapped["required"], json!(["result"]));
    }

    #[test]
    fn session_value_is_wrapped_like_its_schema() {
        assert_eq!(session_value(json!([1]), None), json!({ "result": [1] }));
        assert_eq!(session_value(json!({ "a": 1 }), None), json!({ "a": 1 }));
        assert_eq!(session_value(json!({ "a": 1 }), Some(OutputShape::Wrapped)), json!({ "result": { "a": 1 } }));
    }
}
