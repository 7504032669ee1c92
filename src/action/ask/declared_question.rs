//! The questions of an `ask` as the manifest declares them, before a call.

use serde_json::{Map, Value};

use super::{AskAction, CompiledQuestion, QuestionTemplate};

/// A question that a call may ask.
#[derive(Debug, Clone, Copy)]
pub struct DeclaredQuestion<'a> {
    /// The key of its answer.
    pub key: &'a str,
    /// What it asks for.
    pub kind: DeclaredQuestionKind<'a>,
    /// Whether it is skipped where the client does not support it.
    pub is_optional: bool,
}

/// What a question asks for.
#[derive(Debug, Clone, Copy)]
pub enum DeclaredQuestionKind<'a> {
    /// A form with this schema.
    Form(&'a Map<String, Value>),
    /// A visit of a page.
    Url,
    /// A message of the client's model.
    Sampling,
    /// The client's roots.
    Roots,
}

impl AskAction {
    pub fn declared_questions(&self) -> impl Iterator<Item = DeclaredQuestion<'_>> {
        self.questions.iter().map(CompiledQuestion::declaration)
    }
}

impl CompiledQuestion {
    fn declaration(&self) -> DeclaredQuestion<'_> {
        let kind = match &self.template {
            QuestionTemplate::Elicit(elicit) => {
                elicit.form_schema().map_or(DeclaredQuestionKind::Url, DeclaredQuestionKind::Form)
            }
            QuestionTemplate::Sample(_) => DeclaredQuestionKind::Sampling,
            QuestionTemplate::Roots => DeclaredQuestionKind::Roots,
        };
        DeclaredQuestion { key: &self.key, kind, is_optional: self.optional }
    }
}
