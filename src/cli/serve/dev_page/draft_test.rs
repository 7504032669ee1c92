//! A test as it is written, from a call that has ended.

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::page_calls::PageCall;
use crate::dev_page::{PageEntry, PageEntryKind};

/// A test that is not written yet.
pub(super) struct DraftTest {
    /// The key of what it calls, and that.
    target: (&'static str, String),
    arguments: Map<String, Value>,
    answers: Map<String, Value>,
    expect: Value,
}

impl DraftTest {
    /// The test of a call in all its rounds; `name` is that of the entry in its pack.
    ///
    /// # Errors
    /// Why there is none, in words.
    pub(super) fn new(entry: &PageEntry, name: &str, rounds: &[PageCall]) -> Result<DraftTest, String> {
        let call = rounds.last().ok_or("the call is not known any more: run it again")?;
        let target = match entry.kind {
            PageEntryKind::Prompt => ("prompt", name.to_owned()),
            PageEntryKind::Tool => ("tool", name.to_owned()),
            PageEntryKind::Resource | PageEntryKind::Template => ("uri", call.entry().unwrap_or(&entry.id).to_owned()),
        };
        let answers = rounds.iter().flat_map(PageCall::answers);
        let answers = answers.map(|(key, answer)| (key, mock_answer(answer))).collect();
        Ok(DraftTest { target, arguments: call.arguments(), answers, expect: expectation(entry.kind, &call.response)? })
    }

    /// The test with these mocks; `live` is whether it acts on the world instead.
    pub(super) fn to_value(&self, mocks: &IndexMap<String, Value>, live: bool) -> Value {
        let mut test = Map::new();
        let (kind, name) = &self.target;
        test.insert((*kind).to_owned(), name.as_str().into());
        if !self.arguments.is_empty() {
            test.insert("arguments".to_owned(), self.arguments.clone().into());
        }
        if live {
            test.insert("live".to_owned(), true.into());
        }
        let mut all: Map<String, Value> = mocks.iter().map(|(name, mock)| (name.clone(), mock.clone())).collect();
        if !self.answers.is_empty() {
            all.insert("ask".to_owned(), self.answers.clone().into());
        }
        if !all.is_empty() {
            test.insert("mock".to_owned(), all.into());
        }
        test.insert("expect".to_owned(), self.expect.clone());
        test.into()
    }
}

/// The answer to a question, as a mock has it.
fn mock_answer(answer: Value) -> Value {
    let text = answer.pointer("/content/text").filter(|_| answer.get("role").is_some());
    if let Some(text) = text {
        return text.clone();
    }
    match (answer.get("action").and_then(Value::as_str), answer.get("content"), answer.get("roots")) {
        (Some("accept"), Some(content), _) => content.clone(),
        (Some(action), _, _) => json!({ "action": action }),
        (None, _, Some(Value::Array(roots))) => {
            roots.iter().map(|root| root.get("uri").cloned().unwrap_or_default()).collect()
        }
        _ => answer,
    }
}

/// What a test expects that gets the same answer.
fn expectation(kind: PageEntryKind, response: &Value) -> Result<Value, String> {
    if let Some(error) = response.get("error") {
        let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
        return Ok(json!({ "error": message }));
    }
    if response.get("resultType").and_then(Value::as_str) == Some("input_required") {
        return Err("it waits for an answer: answer it first".to_owned());
    }
    match kind {
        PageEntryKind::Prompt => expected_messages(response),
        PageEntryKind::Tool => expected_result(response),
        PageEntryKind::Resource | PageEntryKind::Template => {
            let texts =
                texts(response, "contents").ok_or("its contents are no text, and no test is written of bytes")?;
            Ok(json!({ "equals": texts }))
        }
    }
}

fn expected_messages(response: &Value) -> Result<Value, String> {
    let messages = response.get("messages").and_then(Value::as_array).ok_or("it has no messages")?;
    let message = |message: &Value| {
        let role = message.get("role").and_then(Value::as_str)?;
        let content = message.get("content")?;
        let text = content.get("text").and_then(Value::as_str).filter(|_| content.get("type") == Some(&"text".into()));
        Some((role.to_owned(), text.map_or_else(|| content.clone(), |text| without_break(text).into())))
    };
    let messages: Option<Vec<(String, Value)>> = messages.iter().map(message).collect();
    let messages = messages.ok_or("its messages are no messages of a prompt")?;
    match messages.as_slice() {
        [(role, Value::String(text))] if role == "user" => Ok(json!({ "equals": text })),
        all => {
            Ok(json!({ "messages": all.iter().map(|(role, content)| json!({ role: content })).collect::<Vec<_>>() }))
        }
    }
}

fn expected_result(response: &Value) -> Result<Value, String> {
    let text = texts(response, "content");
    if response.get("isError") == Some(&Value::Bool(true)) {
        let text = text.ok_or("its error has no text")?;
        return Ok(json!({ "error": text }));
    }
    if let Some(structured) = response.get("structuredContent").filter(|value| value.is_object() || value.is_array()) {
        return Ok(json!({ "equals": structured }));
    }
    // Of what is no text a test expects that it comes.
    Ok(text.map_or_else(|| json!({ "isError": false }), |text| json!({ "equals": text })))
}

/// The texts of all blocks, one after the other; `None` if one is no text.
fn texts(response: &Value, key: &str) -> Option<String> {
    let blocks = response.get(key)?.as_array()?;
    let text = |block: &Value| {
        let text = block.get("text").or_else(|| block.get("resource")?.get("text"))?;
        text.as_str().map(str::to_owned)
    };
    let texts = blocks.iter().map(text).collect::<Option<Vec<String>>>()?;
    Some(without_break(&texts.join("\n")).to_owned())
}

fn without_break(text: &str) -> &str {
    text.trim_end_matches('\n')
}
