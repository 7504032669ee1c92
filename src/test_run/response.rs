//! What a call answered, as expectations see it.

use serde_json::Value;

use crate::transport::in_process::InProcessError;

/// The answer of a call.
pub(super) struct Response {
    result: Result<Value, InProcessError>,
}

impl Response {
    pub(super) fn new(result: Result<Value, InProcessError>) -> Response {
        Response { result }
    }

    /// What the call lacks to go on, where it is a mock.
    pub(super) fn missing_answer(&self) -> Option<&str> {
        match &self.result {
            Err(InProcessError::Unanswered(question)) => Some(question),
            _ => None,
        }
    }

    /// The error of the request or the tool.
    pub(super) fn error(&self) -> Option<String> {
        match &self.result {
            Err(InProcessError::Refused { message, data: Some(data), .. }) => Some(format!("{message}\n{data}")),
            Err(error) => Some(error.to_string()),
            Ok(_) if self.is_error() => Some(self.text()),
            Ok(_) => None,
        }
    }

    /// Whether the tool reports an error, or the request is refused.
    pub(super) fn is_error(&self) -> bool {
        self.result.as_ref().map_or(true, |result| result.get("isError") == Some(&Value::Bool(true)))
    }

    /// The texts of its blocks, one after the other.
    pub(super) fn text(&self) -> String {
        let Ok(result) = &self.result else { return self.error().unwrap_or_default() };
        let texts: Vec<&str> = blocks(result).filter_map(block_text).collect();
        texts.join("\n")
    }

    /// Its structured content, or else its text as JSON.
    pub(super) fn json(&self) -> Option<Value> {
        let structured = self.result.as_ref().ok()?.get("structuredContent").cloned();
        structured.or_else(|| serde_json::from_str(&self.text()).ok())
    }

    /// The messages of a prompt.
    pub(super) fn messages(&self) -> &[Value] {
        let messages = self.result.as_ref().ok().and_then(|result| result.get("messages")?.as_array());
        messages.map(Vec::as_slice).unwrap_or_default()
    }

    /// All of it, for a snapshot.
    pub(super) fn to_snapshot(&self) -> String {
        let Ok(result) = &self.result else { return format!("--- error\n{}\n", self.text()) };
        let mut shown = String::new();
        if self.is_error() {
            shown.push_str("--- isError\n");
        }
        for message in
            ["messages", "content", "contents"].iter().filter_map(|key| result.get(key)?.as_array()).flatten()
        {
            let block = message.get("content").unwrap_or(message);
            let text = block_text(block).map(str::to_owned);
            let body = text.unwrap_or_else(|| serde_json::to_string_pretty(block).unwrap_or_default());
            shown.push_str(&format!("--- {}\n{}\n", heading(message, block), body.trim_end_matches('\n')));
        }
        if let Some(structured) = result.get("structuredContent") {
            let json = serde_json::to_string_pretty(structured).unwrap_or_default();
            shown.push_str(&format!("--- structuredContent\n{json}\n"));
        }
        shown
    }
}

/// What a block of a snapshot is: its role, its URI, its type.
fn heading(message: &Value, block: &Value) -> String {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let uri = text(message, "uri").or_else(|| text(block.get("resource")?, "uri"));
    let kind = text(block, "type").unwrap_or_else(|| "contents".to_owned());
    let parts = [text(message, "role"), Some(kind), uri, text(message, "mimeType")];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The blocks of a tool's answer, a prompt's messages or a resource's contents.
fn blocks(result: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["content", "messages", "contents"].into_iter().filter_map(|key| result.get(key)?.as_array());
    lists.flatten().map(|item| item.get("content").unwrap_or(item))
}

/// The text of a block, if it has one.
fn block_text(block: &Value) -> Option<&str> {
    block.get("text").or_else(|| block.get("resource")?.get("text")).and_then(Value::as_str)
}
