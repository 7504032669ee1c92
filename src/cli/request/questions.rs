//! Answers the questions of a call: from `--answer`, at the terminal, or not at all.

use serde_json::{Map, Value, json};

use super::preset_answers::{PresetAnswers, answer_usage, current_folder_roots, form_usage, quote_answers};
use crate::action::{DeclaredQuestion, DeclaredQuestionKind};
use crate::cli::output::error_text;
use crate::cli::terminal::Terminal;
use crate::diagnostic::quote_names;
use crate::transport::in_process::ServerQuestion;

/// The result of the method that asks, from `--answer`, or else from the person at the terminal.
///
/// # Errors
/// The question has no answer, and the call ends.
pub(super) fn answer_question(
    question: &ServerQuestion<'_>,
    preset: &PresetAnswers,
    terminal: Option<&Terminal<'_>>,
) -> Result<Value, String> {
    if let Some(answer) = preset.answer(question)? {
        return Ok(answer);
    }
    if let Some(terminal) = terminal {
        return terminal.answer(question).map_err(|error| error_text(&error));
    }
    let key = question.key.unwrap_or_default();
    let usage = match (question.method, question.params.get("requestedSchema").and_then(Value::as_object)) {
        ("roots/list", _) => return current_folder_roots().map_err(|error| error.to_string()),
        ("sampling/createMessage", _) => vec![format!("{key}=TEXT")],
        (_, Some(schema)) => form_usage(key, schema),
        (_, None) => vec![format!("{key}=accept|decline|cancel")],
    };
    let message = question.params.get("message").and_then(Value::as_str);
    let message = message.map(|message| format!(": {message}")).unwrap_or_default();
    Err(format!("no answer to question `{key}`{message}\nhelp: pass {}", quote_answers(&usage)))
}

/// The message of a model, in whose place the caller writes.
pub(super) fn sampled_text(text: &str) -> Value {
    json!({
        "role": "assistant",
        "content": { "type": "text", "text": text },
        "model": "none",
        "stopReason": "endTurn",
    })
}

/// What a client declares that is asked these questions. One without answers declares nothing, so that optional questions
/// are skipped. Roots are only declared where a question asks for them: other entries then use the folder of
/// `{{workspace}}`.
pub(super) fn client_capabilities(has_answers: bool, questions: &[DeclaredQuestion<'_>]) -> Value {
    let asks_roots = |question: &DeclaredQuestion<'_>| {
        matches!(question.kind, DeclaredQuestionKind::Roots) && (has_answers || !question.is_optional)
    };
    let mut declared = Map::new();
    if has_answers {
        declared.insert("elicitation".to_owned(), json!({ "form": {}, "url": {} }));
        declared.insert("sampling".to_owned(), json!({ "tools": {} }));
    }
    if questions.iter().any(asks_roots) {
        declared.insert("roots".to_owned(), json!({}));
    }
    Value::Object(declared)
}

/// What is said where a call ends because there is no one to ask; `None` if it asks nothing.
pub(super) fn unanswered_error(questions: &[DeclaredQuestion<'_>]) -> Option<String> {
    let is_asked = |question: &&DeclaredQuestion<'_>| {
        !question.is_optional && !matches!(question.kind, DeclaredQuestionKind::Roots)
    };
    let asked: Vec<&DeclaredQuestion<'_>> = questions.iter().filter(is_asked).collect();
    if asked.is_empty() {
        return None;
    }
    let mut keys: Vec<&str> = asked.iter().map(|question| question.key).collect();
    keys.dedup();
    let mut usage: Vec<String> = asked.iter().flat_map(|question| answer_usage(question)).collect();
    usage.dedup();
    let plural = if keys.len() == 1 { "" } else { "s" };
    Some(format!("no answer to question{plural} {}\nhelp: pass {}", quote_names(&keys), quote_answers(&usage)))
}
