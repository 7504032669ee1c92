//! Completes arguments as the server completes them for clients.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::request::send_without_questions;
use crate::catalog::Catalog;
use crate::diagnostic::one_line;
use crate::template::value_to_text;
use crate::world::World;

/// Completes the arguments of one entry.
pub(super) struct ArgumentCompletion {
    pub(super) catalog: Arc<Catalog>,
    pub(super) world: Arc<dyn World>,
    /// The entry as a request for completion names it; `None` without completion.
    pub(super) reference: Option<Value>,
}

impl ArgumentCompletion {
    /// The values for what is typed of an argument. None, if the server refuses.
    pub(super) fn values(&self, argument: &str, typed: &str, given: &Map<String, Value>) -> Vec<String> {
        let Some(reference) = &self.reference else { return Vec::new() };
        let texts = given.iter().map(|(name, value)| (name.clone(), value_to_text(value).into()));
        let params = json!({
            "ref": reference,
            "argument": { "name": argument, "value": typed },
            "context": { "arguments": texts.collect::<Map<String, Value>>() },
        });
        let method = "completion/complete";
        let Ok(Ok(result)) = send_without_questions(&self.catalog, &self.world, method, params) else {
            return Vec::new();
        };
        let values = result.pointer("/completion/values").and_then(Value::as_array).into_iter().flatten();
        // What a terminal would obey cannot be shown.
        let values = values.filter_map(Value::as_str).filter(|value| one_line(value) == *value);
        values.map(str::to_owned).collect()
    }
}
