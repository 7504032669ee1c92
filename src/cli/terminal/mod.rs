//! The person at the terminal, who is asked for arguments, answers and confirmations.

mod form;
mod line_editor;
mod text_prompt;

use std::io::{IsTerminal, stderr, stdin};

use serde_json::Value;

use crate::cli::Output;
use crate::cli::output::LogFormat;
use crate::diagnostic::{one_line, sanitize};
use crate::template::value_to_text;
use form::EnumValue;
use line_editor::CompleteFn;

pub(crate) use form::{Form, FormField};
pub(crate) use line_editor::{Candidate, read_line};
pub(crate) use text_prompt::{ask, can_ask, discard_typed_text, is_output_seen};

/// A terminal with a person at it.
pub(crate) struct Terminal<'a> {
    output: &'a Output,
}

/// What was typed for a field.
pub(crate) enum FieldAnswer {
    Value(Value),
    /// An empty line for a field that may be left out.
    Skipped,
    /// An empty line for a field that is required.
    Empty,
    /// ^D.
    End,
}

impl Terminal<'_> {
    /// The terminal, where stdin and stderr are one that can place a cursor.
    pub(crate) fn detect(output: &Output) -> Option<Terminal<'_>> {
        let is_dumb = std::env::var("TERM").is_ok_and(|term| ["dumb", "cons25", "emacs"].contains(&term.as_str()));
        let is_terminal = stdin().is_terminal() && stderr().is_terminal();
        (is_terminal && !is_dumb && output.log_format() == LogFormat::Text).then_some(Terminal { output })
    }

    pub(crate) fn print(&self, text: &str) {
        self.output.eprint(&sanitize(text));
    }

    /// Asks for a field until what is typed fits.
    ///
    /// # Errors
    /// ^C, or the terminal cannot be read.
    pub(crate) fn ask_field(&self, field: &FormField<'_>, complete: &CompleteFn<'_>) -> anyhow::Result<FieldAnswer> {
        if let Some(description) = field.description() {
            self.print(&format!("  {}\n", one_line(description)));
        }
        let label = field_label(field);
        loop {
            let Some(text) = read_line(&label, complete, field.is_secret())? else { return Ok(FieldAnswer::End) };
            if text.is_empty() {
                return Ok(empty_answer(field));
            }
            match field.parse(&text) {
                Ok(Some(value)) => return Ok(FieldAnswer::Value(value)),
                Ok(None) => return Ok(empty_answer(field)),
                Err(message) => self.print(&format!("  {message}\n")),
            }
        }
    }
}

/// `tone (warm|cool) [warm]: `.
fn field_label(field: &FormField<'_>) -> String {
    let default = field.default_value().map(|value| format!(" [{}]", value_to_text(value)));
    let optional = if field.is_required || default.is_some() { "" } else { ", optional" };
    let label = format!("{} ({}{optional}){}: ", field.name, field.hint(), default.unwrap_or_default());
    one_line(&label).into_owned()
}

/// What an empty line is for a field.
fn empty_answer(field: &FormField<'_>) -> FieldAnswer {
    match field.default_value() {
        Some(default) => FieldAnswer::Value(default.clone()),
        None if field.is_required => FieldAnswer::Empty,
        None => FieldAnswer::Skipped,
    }
}

/// The choices of a field that begin as typed; of a list, for its last item.
pub(crate) fn choice_candidates(field: &FormField<'_>, typed: &str) -> Vec<Candidate> {
    let (before, begun) = match typed.rsplit_once(',').filter(|_| field.is_list()) {
        Some((before, begun)) => (format!("{before},"), begun.trim_start()),
        None => (String::new(), typed),
    };
    // What a terminal would obey is not offered.
    let is_offered = |choice: &EnumValue| choice.value.starts_with(begun) && one_line(&choice.value) == choice.value;
    let offered = field.choices().into_iter().filter(is_offered);
    let candidate = |choice: EnumValue| {
        let shown = choice.title.map_or_else(|| choice.value.clone(), |title| format!("{} ({title})", choice.value));
        Candidate { value: format!("{before}{}", choice.value), shown: one_line(&shown).into_owned() }
    };
    offered.map(candidate).collect()
}
