//! Structured results for versions that only know objects: another value is wrapped as `{ "result": value }`.

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use rmcp::model::JsonObject;
use serde_json::{Value, json};

use crate::catalog::listing::ToolListing;
use crate::spec_version::SpecVersion;

/// How a tool's structured results look to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputShape {
    /// As they are.
    Plain,
    /// As `{ "result": … }`.
    Wrapped,
}

/// Tells, for each tool with an output schema, how its results look to a session.
pub(crate) fn output_shapes(tools: &[ToolListing]) -> HashMap<String, OutputShape> {
    let shape = |schema: &JsonObject| match schema.get("type").and_then(Value::as_str) {
        Some("object") => OutputShape::Plain,
        _ => OutputShape::Wrapped,
    };
    tools.iter().filter_map(|tool| Some((tool.name.clone(), shape(tool.output_schema.as_ref()?)))).collect()
}

/// A tool as a version sees it: sessions know no schema of a result but an object's.
pub(crate) fn listed_tool<'a>(
    tool: &'a ToolListing,
    shapes: &HashMap<String, OutputShape>,
    version: SpecVersion,
) -> Cow<'a, ToolListing> {
    let wraps = !version.is_sessionless() && shapes.get(&tool.name) == Some(&OutputShape::Wrapped);
    match &tool.output_schema {
        Some(schema) if wraps => Cow::Owned(ToolListing { output_schema: Some(wrap_schema(schema)), ..tool.clone() }),
        _ => Cow::Borrowed(tool),
    }
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
