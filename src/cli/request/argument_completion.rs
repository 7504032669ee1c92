//! Completes arguments as the server completes them for clients.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::send_request;
use crate::catalog::Catalog;
use crate::diagnostic::one_line;
use crate::template::value_to_text;
use crate::transport::in_process::InProcessClient;
use crate::world::World;

/// Completes the arguments of one entry.
pub(crate) struct ArgumentCompletion {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) world: Arc<dyn World>,
    /// The entry as a request for completion names it; `None` without completion.
    pub(crate) reference: Option<Value>,
}

impl ArgumentCompletion {
    /// The values for what is typed of an argument. None, if the server refuses.
    pub(crate) fn values(&self, argument: &str, typed: &str, given: &Map<String, Value>) -> Vec<String> {
        let Some(reference) = &self.reference else { return Vec::new() };
        let texts = given.iter().map(|(name, value)| (name.clone(), value_to_text(value).into()));
        let params = json!({
            "ref": reference,
            "argument": { "name": argument, "value": typed },
            "context": { "arguments": texts.collect::<Map<String, Value>>() },
        });
        let (client, method) = (InProcessClient::without_answers(), "completion/complete");
        let sent = send_request(&client, self.catalog.clone(), self.world.clone(), method, params);
        let Ok(Ok(result)) = sent else { return Vec::new() };
        let values = result.pointer("/completion/values").and_then(Value::as_array).into_iter().flatten();
        // What a terminal would obey cannot be shown.
        let values = values.filter_map(Value::as_str).filter(|value| one_line(value) == *value);
        values.map(str::to_owned).collect()
    }
}
