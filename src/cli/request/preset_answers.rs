//! The answers of `--answer`, checked against the questions that a call may ask.

use anyhow::{anyhow, bail};
use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::answer_pair::AnswerPair;
use super::questions::sampled_text;
use crate::action::{DeclaredQuestion, DeclaredQuestionKind};
use crate::cli::terminal::Form;
use crate::diagnostic::{nearest, quote_names};
use crate::transport::in_process::ServerQuestion;

/// The answers by the keys of their questions: results of the methods that ask.
#[derive(Default)]
pub(super) struct PresetAnswers {
    answers: IndexMap<String, Value>,
}

impl PresetAnswers {
    /// Checks the answers.
    ///
    /// # Errors
    /// There is no such question or field, or a value does not fit.
    pub(super) fn new(pairs: &[AnswerPair], questions: &[DeclaredQuestion<'_>]) -> anyhow::Result<PresetAnswers> {
        let mut by_key: IndexMap<&str, Vec<&AnswerPair>> = IndexMap::new();
        for pair in pairs {
            by_key.entry(&pair.key).or_default().push(pair);
        }
        let mut answers = IndexMap::new();
        for (key, pairs) in by_key {
            let matching_questions: Vec<_> = questions.iter().filter(|question| question.key == key).collect();
            let first = matching_questions.first().ok_or_else(|| unknown_question(key, questions))?;
            // Two steps may ask under one key.
            let fitting = matching_questions.iter().find_map(|question| answer_of(question, &pairs).ok());
            let answer = fitting.map_or_else(|| answer_of(first, &pairs), Ok)?;
            answers.insert(key.to_owned(), answer);
        }
        Ok(PresetAnswers { answers })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    /// The answer to a question, if there is one.
    ///
    /// # Errors
    /// It does not fit the form that is asked.
    pub(super) fn answer(&self, question: &ServerQuestion<'_>) -> Result<Option<Value>, String> {
        let Some((key, answer)) = question.key.and_then(|key| self.answers.get_key_value(key)) else { return Ok(None) };
        let form = question.params.get("requestedSchema").and_then(Value::as_object).and_then(Form::new);
        if let (Some(form), Some(content)) = (form, answer.get("content").and_then(Value::as_object)) {
            // Another step may ask for other fields under the same key.
            form.check(content).map_err(|error| format!("invalid answer to `{key}`: {error}"))?;
        }
        Ok(Some(answer.clone()))
    }
}

/// How an answer to a question is passed, for help: `KEY.FIELD=TYPE` for each field.
pub(super) fn answer_usage(question: &DeclaredQuestion<'_>) -> Vec<String> {
    let key = question.key;
    match question.kind {
        DeclaredQuestionKind::Form(schema) => form_usage(key, schema),
        DeclaredQuestionKind::Url => vec![format!("{key}=accept|decline|cancel")],
        DeclaredQuestionKind::Sampling => vec![format!("{key}=TEXT")],
        DeclaredQuestionKind::Roots => vec![format!("{key}=FOLDER")],
    }
}

/// The same for the fields of a form.
pub(super) fn form_usage(key: &str, schema: &Map<String, Value>) -> Vec<String> {
    let Some(form) = Form::new(schema) else { return Vec::new() };
    form.fields().map(|field| format!("{key}.{}=<{}>", field.name, field.hint())).collect()
}

fn unknown_question(key: &str, questions: &[DeclaredQuestion<'_>]) -> anyhow::Error {
    if questions.is_empty() {
        return anyhow!("unknown question `{key}`: nothing is asked here");
    }
    let mut usage: Vec<String> = questions.iter().flat_map(answer_usage).collect();
    usage.dedup();
    let near = nearest(key, questions.iter().map(|question| question.key));
    let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    anyhow!("unknown question `{key}`{near}\nhelp: pass {}", quote_answers(&usage))
}

/// Answers as they are passed.
pub(super) fn quote_answers(usage: &[String]) -> String {
    usage.iter().map(|answer| format!("`--answer '{answer}'`")).collect::<Vec<_>>().join(" ")
}

/// The result of the method that asks.
fn answer_of(question: &DeclaredQuestion<'_>, pairs: &[&AnswerPair]) -> anyhow::Result<Value> {
    let whole: Vec<&str> = pairs.iter().filter(|pair| pair.field.is_none()).map(|pair| pair.value.as_str()).collect();
    match (question.kind, whole.as_slice()) {
        (DeclaredQuestionKind::Form(schema), []) => form_answer(question.key, schema, pairs),
        (DeclaredQuestionKind::Form(_), [action @ ("decline" | "cancel")]) if pairs.len() == 1 => {
            Ok(json!({ "action": action }))
        }
        (DeclaredQuestionKind::Url, [action @ ("accept" | "decline" | "cancel")]) if pairs.len() == 1 => {
            Ok(json!({ "action": action }))
        }
        (DeclaredQuestionKind::Sampling, [text]) if pairs.len() == 1 => Ok(sampled_text(text)),
        (DeclaredQuestionKind::Roots, [_, ..]) if whole.len() == pairs.len() => roots_answer(&whole),
        _ => {
            let mut usage = answer_usage(question);
            if matches!(question.kind, DeclaredQuestionKind::Form(_)) {
                usage.push(format!("{}=decline|cancel", question.key));
            }
            bail!("invalid answer to `{}`\nhelp: pass {}", question.key, quote_answers(&usage))
        }
    }
}

fn form_answer(key: &str, schema: &Map<String, Value>, pairs: &[&AnswerPair]) -> anyhow::Result<Value> {
    let form = Form::new(schema).ok_or_else(|| anyhow!("invalid form of question `{key}`"))?;
    let mut content = Map::new();
    for pair in pairs {
        let name = pair.field.as_deref().unwrap_or_default();
        let field = form.field(name).ok_or_else(|| unknown_field(key, name, &form))?;
        let value = field.parse(&pair.value).map_err(|error| anyhow!("invalid answer to `{key}`: {error}"))?;
        if let Some(value) = value
            && content.insert(name.to_owned(), value).is_some()
        {
            bail!("duplicate answer `{key}.{name}`");
        }
    }
    form.check(&content).map_err(|error| {
        anyhow!("invalid answer to `{key}`: {error}\nhelp: pass {}", quote_answers(&form_usage(key, schema)))
    })?;
    Ok(json!({ "action": "accept", "content": content }))
}

fn unknown_field(key: &str, name: &str, form: &Form) -> anyhow::Error {
    let names: Vec<&str> = form.fields().map(|field| field.name).collect();
    anyhow!("unknown field `{name}` of question `{key}`, expected one of {}", quote_names(&names))
}

fn roots_answer(folders: &[&str]) -> anyhow::Result<Value> {
    let root = |folder: &&str| {
        if folder.starts_with("file:") {
            return Ok(json!({ "uri": folder }));
        }
        let uri = url::Url::from_directory_path(std::path::absolute(folder)?);
        let uri = uri.map_err(|()| anyhow!("invalid folder `{folder}`"))?;
        Ok(json!({ "uri": uri.as_str().trim_end_matches('/') }))
    };
    let roots: anyhow::Result<Vec<Value>> = folders.iter().map(root).collect();
    Ok(json!({ "roots": roots? }))
}

/// The current folder, as the roots of a client.
pub(super) fn current_folder_roots() -> anyhow::Result<Value> {
    roots_answer(&["."])
}
