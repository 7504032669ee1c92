//! The person at the terminal: is asked for arguments, and for answers to questions of a call.

use std::io::{IsTerminal, stderr, stdin};

use anyhow::bail;
use serde_json::{Map, Value, json};

use super::form::{Form, FormField};
use super::line_editor::{Candidate, CompleteFn, LineEditor, LineInput};
use super::output::error_text;
use super::preset_answers::current_folder_roots;
use super::question_answerer::{QuestionAnswerer, sampled_text};
use super::{LogFormat, Output};
use crate::diagnostic::{one_line, sanitize};
use crate::template::value_to_text;
use crate::transport::in_process::ServerQuestion;

/// A terminal with somebody at it.
pub(super) struct Terminal<'a> {
    output: &'a Output,
}

/// What was typed for a field.
pub(super) enum FieldAnswer {
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
    pub(super) fn detect(output: &Output) -> Option<Terminal<'_>> {
        let is_dumb = std::env::var("TERM").is_ok_and(|term| ["dumb", "cons25", "emacs"].contains(&term.as_str()));
        let is_terminal = stdin().is_terminal() && stderr().is_terminal();
        (is_terminal && !is_dumb && output.log_format() == LogFormat::Text).then_some(Terminal { output })
    }

    /// Writes to the person.
    pub(super) fn print(&self, text: &str) {
        self.output.eprint(&sanitize(text));
    }

    /// Asks for a field until what is typed fits.
    ///
    /// # Errors
    /// ^C, or the terminal cannot be read.
    pub(super) fn ask_field(&self, field: &FormField<'_>, complete: &CompleteFn<'_>) -> anyhow::Result<FieldAnswer> {
        if let Some(description) = field.description() {
            self.print(&format!("  {}\n", one_line(description)));
        }
        let label = field_label(field);
        loop {
            let text = match self.read_line(&label, complete, field.is_secret())? {
                Some(text) => text,
                None => return Ok(FieldAnswer::End),
            };
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

    /// A line, or `None` at ^D.
    fn read_line(&self, label: &str, complete: &CompleteFn<'_>, is_secret: bool) -> anyhow::Result<Option<String>> {
        match (LineEditor { label, complete, is_secret }).read()? {
            LineInput::Text(text) => Ok(Some(text)),
            LineInput::End => Ok(None),
            LineInput::Interrupted => bail!("interrupted"),
        }
    }

    /// The result of `elicitation/create` with a form.
    fn fill_in(&self, schema: &Map<String, Value>) -> anyhow::Result<Value> {
        let Some(form) = Form::new(schema) else { bail!("invalid form") };
        loop {
            let Some(content) = self.ask_fields(&form)? else { return Ok(self.decline()) };
            match form.check(&content) {
                Ok(()) => return Ok(json!({ "action": "accept", "content": content })),
                Err(message) => self.print(&format!("  {message}\n")),
            }
        }
    }

    /// The fields of a form, or `None` if the person declines.
    fn ask_fields(&self, form: &Form) -> anyhow::Result<Option<Map<String, Value>>> {
        let mut content = Map::new();
        for field in form.fields() {
            let complete = |typed: &str| choice_candidates(&field, typed);
            match self.ask_field(&field, &complete)? {
                FieldAnswer::Value(value) => drop(content.insert(field.name.to_owned(), value)),
                FieldAnswer::Skipped => {}
                FieldAnswer::Empty | FieldAnswer::End => return Ok(None),
            }
        }
        Ok(Some(content))
    }

    /// The result of `elicitation/create` with a page.
    fn ask_to_open_url(&self, url: &str) -> anyhow::Result<Value> {
        self.print(&format!("  {}\n", one_line(url)));
        let typed = self.read_line("done there (yes|no): ", &|_| Vec::new(), false)?;
        let is_done = typed.is_some_and(|typed| ["y", "yes"].contains(&typed.to_lowercase().as_str()));
        Ok(if is_done { json!({ "action": "accept" }) } else { self.decline() })
    }

    fn decline(&self) -> Value {
        self.print("declined\n");
        json!({ "action": "decline" })
    }

    /// The result of `sampling/createMessage`, where the person is the model.
    fn sample(&self, params: &Value) -> anyhow::Result<Value> {
        self.print("\nthe tool asks the model of its client; answer in its place\n");
        for message in params.get("messages").and_then(Value::as_array).into_iter().flatten() {
            let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
            let text = message.pointer("/content/text").and_then(Value::as_str).unwrap_or("(no text)");
            self.print(&format!("  {role}: {text}\n"));
        }
        match self.read_line("assistant: ", &|_| Vec::new(), false)? {
            Some(text) => Ok(sampled_text(&text)),
            None => bail!("no answer in the place of the model"),
        }
    }

    fn result_of(&self, question: &ServerQuestion<'_>) -> anyhow::Result<Value> {
        let message = question.params.get("message").and_then(Value::as_str).unwrap_or_default();
        let schema = question.params.get("requestedSchema").and_then(Value::as_object);
        let url = question.params.get("url").and_then(Value::as_str);
        match (question.method, schema, url) {
            ("roots/list", ..) => current_folder_roots(),
            ("sampling/createMessage", ..) => self.sample(question.params),
            (_, Some(schema), _) => {
                self.print(&format!(
                    "\n{message}\n  Tab completes; ^D, or an empty line where a value is needed, declines\n"
                ));
                self.fill_in(schema)
            }
            (_, None, Some(url)) => {
                self.print(&format!("\n{message}\n"));
                self.ask_to_open_url(url)
            }
            _ => bail!("cannot ask question `{}` here", question.key.unwrap_or_default()),
        }
    }
}

impl QuestionAnswerer for Terminal<'_> {
    fn answer(&self, question: &ServerQuestion<'_>) -> Result<Option<Value>, String> {
        self.result_of(question).map(Some).map_err(|error| error_text(&error))
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
pub(super) fn choice_candidates(field: &FormField<'_>, typed: &str) -> Vec<Candidate> {
    let (before, begun) = match typed.rsplit_once(',').filter(|_| field.is_list()) {
        Some((before, begun)) => (format!("{before},"), begun.trim_start()),
        None => (String::new(), typed),
    };
    // What a terminal would obey is not offered.
    let is_offered =
        |choice: &super::form::EnumValue| choice.value.starts_with(begun) && one_line(&choice.value) == choice.value;
    let fitting = field.choices().into_iter().filter(is_offered);
    let candidate = |choice: super::form::EnumValue| {
        let shown = choice.title.map_or_else(|| choice.value.clone(), |title| format!("{} ({title})", choice.value));
        Candidate { value: format!("{before}{}", choice.value), shown: one_line(&shown).into_owned() }
    };
    fitting.map(candidate).collect()
}
