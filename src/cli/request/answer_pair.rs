//! `--answer KEY.FIELD=VALUE`, for a question that a call asks.

use std::str::FromStr;

/// What is answered to one question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerPair {
    /// The key of the question.
    pub key: String,
    /// The field of its form.
    pub field: Option<String>,
    /// The value, or what is done with the whole question.
    pub value: String,
}

const EXPECTED: &str = "expected KEY.FIELD=VALUE, or KEY=decline";

impl FromStr for AnswerPair {
    type Err = &'static str;

    fn from_str(word: &str) -> Result<AnswerPair, &'static str> {
        let (name, value) = word.split_once('=').ok_or(EXPECTED)?;
        let (key, field) = match name.split_once('.') {
            Some((key, field)) => (key, Some(field.to_owned())),
            None => (name, None),
        };
        if key.is_empty() || field.as_ref().is_some_and(String::is_empty) {
            return Err(EXPECTED);
        }
        Ok(AnswerPair { key: key.to_owned(), field, value: value.to_owned() })
    }
}
