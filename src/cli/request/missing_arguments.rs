//! The required arguments that a command line lacks: asked for at a terminal, an error in a script.

use serde_json::{Map, Value};

use super::{ArgumentCompletion, EntryKind};
use crate::cli::terminal::{Candidate, FieldAnswer, Form, FormField, Terminal, choice_candidates};
use crate::diagnostic::{nearest, one_line, quote_names};

/// An entry whose arguments are filled in.
pub(super) struct EntryArguments<'a> {
    pub(super) kind: EntryKind,
    pub(super) name: &'a str,
    pub(super) form: &'a Form,
}

impl EntryArguments<'_> {
    fn missing(&self, given: &Map<String, Value>) -> Vec<FormField<'_>> {
        let is_missing = |field: &FormField<'_>| {
            field.is_required && field.default_value().is_none() && !given.contains_key(field.name)
        };
        self.form.fields().filter(is_missing).collect()
    }

    /// What a script is told, if arguments are missing.
    pub(super) fn missing_error(&self, given: &Map<String, Value>) -> Option<String> {
        let missing: Vec<&str> = self.missing(given).iter().map(|field| field.name).collect();
        if missing.is_empty() {
            return None;
        }
        let plural = if missing.len() == 1 { "" } else { "s" };
        let (noun, usage) = (self.kind.noun(), self.usage());
        // Those that were given by another name.
        let unknown = given.keys().filter(|name| self.form.field(name).is_none());
        let near = unknown.filter_map(|name| Some((name, nearest(name, missing.iter().copied())?)));
        let near: String =
            near.map(|(name, near)| format!("help: `{name}` is unknown, did you mean `{near}`?\n")).collect();
        Some(format!(
            "missing argument{plural} {} of {noun} `{}`\n{near}help: {usage}",
            quote_names(&missing),
            self.name
        ))
    }

    /// What is wrong with a list that is written as one text.
    pub(super) fn list_error(&self, given: &Map<String, Value>) -> Option<String> {
        let is_text = |field: &FormField<'_>| given.get(field.name).is_some_and(Value::is_string);
        let field = self.form.fields().find(|field| field.is_list() && is_text(field))?;
        let text = given.get(field.name)?;
        let help = format!("write `{}='{}'`", field.name, Value::Array(vec![text.clone()]));
        Some(format!("argument `{}` of {} `{}` is a list\nhelp: {help}", field.name, self.kind.noun(), self.name))
    }

    /// What is wrong with the names of the arguments of a template, which would otherwise not count.
    pub(super) fn unknown_error(&self, given: &Map<String, Value>) -> Option<String> {
        let unknown = given.keys().find(|name| self.form.field(name).is_none())?;
        Some(format!("unknown argument `{unknown}` of {} `{}`\nhelp: {}", self.kind.noun(), self.name, self.usage()))
    }

    /// `folio get greet who=<string> [tone=<warm|cool>]`.
    fn usage(&self) -> String {
        let fields = self.form.fields().map(|field| {
            let pair = format!("{}=<{}>", field.name, field.hint());
            if field.is_required && field.default_value().is_none() { pair } else { format!("[{pair}]") }
        });
        let words: Vec<String> = fields.collect();
        one_line(&format!("folio {} {} {}", self.kind.command(), self.name, words.join(" "))).into_owned()
    }

    /// Asks for what is missing. What is left out after ^D is still missing.
    ///
    /// # Errors
    /// ^C, or the terminal cannot be read.
    pub(super) fn ask_missing(
        &self,
        given: &mut Map<String, Value>,
        terminal: &Terminal<'_>,
        completion: &ArgumentCompletion,
    ) -> anyhow::Result<()> {
        let missing = self.missing(given);
        if !missing.is_empty() {
            let noun = self.kind.noun();
            terminal.print(&format!("{noun} `{}` needs arguments; Tab completes, ^D ends\n", self.name));
        }
        for field in missing {
            let Some(value) = ask(&field, given, terminal, completion)? else { return Ok(()) };
            given.insert(field.name.to_owned(), value);
        }
        Ok(())
    }
}

/// The value of an argument, or `None` after ^D.
fn ask(
    field: &FormField<'_>,
    given: &Map<String, Value>,
    terminal: &Terminal<'_>,
    completion: &ArgumentCompletion,
) -> anyhow::Result<Option<Value>> {
    let candidates = |typed: &str| {
        if !field.choices().is_empty() {
            return choice_candidates(field, typed);
        }
        // Those that begin as typed, or all that match in another way.
        let values = completion.values(field.name, typed, given);
        let is_prefixed = |value: &&String| value.starts_with(typed);
        let has_prefixed = values.iter().any(|value| is_prefixed(&value));
        let offered = values.iter().filter(|value| !has_prefixed || is_prefixed(value));
        offered.map(|value| Candidate { shown: value.clone(), value: value.clone() }).collect()
    };
    loop {
        match terminal.ask_field(field, &candidates)? {
            FieldAnswer::Value(value) => return Ok(Some(value)),
            FieldAnswer::End => return Ok(None),
            FieldAnswer::Empty | FieldAnswer::Skipped => terminal.print("  a value is needed; ^D ends\n"),
        }
    }
}
