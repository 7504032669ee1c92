//! The answers of the client in a test.

use indexmap::IndexMap;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::manifest::Mock;
use crate::transport::in_process::ServerQuestion;

use super::plan::PlannedMock;

/// Answers to questions, in the order written. An answer serves once, but for the last one with its key.
pub(super) struct ScriptedAnswers {
    answers: Vec<(String, Value)>,
    used: Mutex<Vec<usize>>,
}

impl ScriptedAnswers {
    pub(super) fn new(mocks: &IndexMap<String, PlannedMock>) -> ScriptedAnswers {
        let mock_answers = mocks.values().filter_map(|planned| match &planned.mock {
            Mock::Answers(answers) => Some(answers),
            _ => None,
        });
        let answers = mock_answers.flatten().map(|(key, value)| (key.clone(), value.clone())).collect();
        ScriptedAnswers { answers, used: Mutex::default() }
    }

    /// The keys whose answers were never given.
    pub(super) fn unused_keys(&self) -> Vec<&str> {
        let used = self.used.lock();
        let answers = self.answers.iter().enumerate();
        answers.filter(|(number, _)| !used.contains(number)).map(|(_, (key, _))| key.as_str()).collect()
    }

    /// The answer to a question: by its key, or by what fits where no key is told.
    pub(super) fn answer(&self, question: &ServerQuestion<'_>) -> Result<Value, String> {
        let answers_question = |(key, value): &(String, Value)| match question.key {
            Some(asked) => key == asked,
            None => is_answer_to(question, value),
        };
        let fitting = self.answers.iter().enumerate().filter(|(_, answer)| answers_question(answer));
        let mut used = self.used.lock();
        let mut candidates: Vec<usize> = fitting.map(|(number, _)| number).collect();
        if candidates.iter().any(|number| !used.contains(number)) {
            candidates.retain(|number| !used.contains(number));
        } else {
            candidates.drain(..candidates.len().saturating_sub(1));
        }
        let number = candidates.first().ok_or_else(|| describe(question))?;
        used.push(*number);
        let (_, answer) = self.answers.get(*number).ok_or_else(|| describe(question))?;
        Ok(to_result(question.method, answer))
    }
}

/// A question without an answer, in words.
fn describe(question: &ServerQuestion<'_>) -> String {
    match (question.key, question.method) {
        (Some(key), _) => format!("question `{key}`"),
        (None, "sampling/createMessage") => "question to the client's model".to_owned(),
        (None, "roots/list") => "question for the client's roots".to_owned(),
        (None, _) => {
            let message = question.params.get("message").and_then(Value::as_str).unwrap_or_default();
            format!("question `{}`", crate::diagnostic::one_line(message))
        }
    }
}

/// Whether an answer is of the kind that is asked for.
fn is_answer_to(question: &ServerQuestion<'_>, answer: &Value) -> bool {
    match (question.method, answer) {
        ("sampling/createMessage", Value::String(_)) | ("roots/list", Value::Array(_)) => true,
        ("sampling/createMessage", Value::Object(fields)) => fields.contains_key("text"),
        ("elicitation/create", Value::Object(fields)) => {
            let asked = question.params.pointer("/requestedSchema/properties");
            fields.keys().all(|name| name == "action" || asked.is_some_and(|asked| asked.get(name).is_some()))
        }
        _ => false,
    }
}

/// An answer as the client sends it.
fn to_result(method: &str, answer: &Value) -> Value {
    match (method, answer) {
        ("sampling/createMessage", _) => sampled_message(answer),
        ("roots/list", Value::Array(roots)) => {
            let root = |root: &Value| if root.is_string() { json!({ "uri": root }) } else { root.clone() };
            json!({ "roots": roots.iter().map(root).collect::<Vec<_>>() })
        }
        ("elicitation/create", Value::Object(fields)) => match fields.get("action") {
            Some(action) => json!({ "action": action }),
            None => json!({ "action": "accept", "content": answer }),
        },
        _ => answer.clone(),
    }
}

/// The message of a model, from its text or its parts.
fn sampled_message(answer: &Value) -> Value {
    let part = |key: &str, default: &str| answer.get(key).cloned().unwrap_or_else(|| default.into());
    let text = if answer.is_object() { part("text", "") } else { answer.clone() };
    json!({
        "role": "assistant",
        "content": { "type": "text", "text": text },
        "model": part("model", "test"),
        "stopReason": part("stopReason", "endTurn"),
    })
}
