//! Answers to the questions of a call, from the person at the terminal.

use anyhow::bail;
use serde_json::{Map, Value, json};

use super::preset_answers::current_folder_roots;
use super::questions::sampled_text;
use crate::cli::terminal::{FieldAnswer, Form, Terminal, choice_candidates, read_line};
use crate::diagnostic::one_line;
use crate::transport::in_process::ServerQuestion;

impl Terminal<'_> {
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
        match read_line("assistant: ", &|_| Vec::new(), false)? {
            Some(text) => Ok(sampled_text(&text)),
            None => bail!("no answer for the model"),
        }
    }

    /// The result of the method that asks.
    ///
    /// # Errors
    /// ^C, or there is no answer.
    pub(super) fn answer(&self, question: &ServerQuestion<'_>) -> anyhow::Result<Value> {
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
                self.print(&format!("\n{message}\n  {}\n", one_line(url)));
                let typed = read_line("done there (yes|no): ", &|_| Vec::new(), false)?;
                let is_done = typed.is_some_and(|typed| ["y", "yes"].contains(&typed.to_lowercase().as_str()));
                Ok(if is_done { json!({ "action": "accept" }) } else { self.decline() })
            }
            _ => bail!("cannot ask question `{}` here", question.key.unwrap_or_default()),
        }
    }
}
