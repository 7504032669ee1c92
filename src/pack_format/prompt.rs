//! A prompt of another program: a prompt of folio, with the values that its template shows beside its arguments.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::dotprompt::DotpromptTemplate;
use super::shell_words;

use crate::budget::{self, BudgetExceeded};
use crate::manifest::Prompt;
use crate::yaml::{Location, Spanned};

/// A prompt of another program.
#[derive(Debug, Clone)]
pub struct ImportedPrompt {
    /// Its name, as its file or row has it.
    pub name: String,
    /// The prompt. Its text is a template; its title and all descriptions are not.
    pub prompt: Spanned<Prompt>,
    /// What its templates show beside the arguments themselves.
    pub values: Vec<ImportedValue>,
    /// What its steps do.
    pub uses: Vec<ImportedUse>,
    /// Whether it names commands or files, which are done or stay as text.
    pub names_actions: bool,
    /// A template of dotprompt instead of the text.
    pub dotprompt: Option<Arc<DotpromptTemplate>>,
}

impl ImportedPrompt {
    /// A prompt that does nothing but show these values.
    pub(super) fn new(name: String, at: Location, prompt: Prompt, values: Vec<ImportedValue>) -> ImportedPrompt {
        let prompt = Spanned::new(prompt, at);
        ImportedPrompt { name, prompt, values, uses: Vec::new(), names_actions: false, dotprompt: None }
    }

    /// Where it is defined.
    pub fn at(&self) -> Location {
        self.prompt.location
    }
}

/// What a prompt does before it is rendered, for people.
#[derive(Debug, Clone)]
pub struct ImportedUse {
    /// Where it is.
    pub at: Location,
    /// What it is.
    pub action: ImportedAction,
}

/// A command or a file of a prompt.
#[derive(Debug, Clone)]
pub enum ImportedAction {
    /// Runs this command.
    Script(String),
    /// Reads the file with this path, with `…` for each value.
    Read(String),
}

/// A value of a template, under a name that no argument has.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ImportedValue {
    /// Its name among the arguments.
    pub name: String,
    /// Where it may come from.
    pub sources: Vec<ValueSource>,
    /// What comes before it. With a label, an empty value counts as none.
    pub label: Option<String>,
    /// The text where no source has a value.
    pub otherwise: Arc<str>,
}

/// A source of a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ValueSource {
    Argument(String),
    /// A word of an argument, split as by a shell, counted from 0.
    Word {
        argument: String,
        /// The number of the word.
        index: usize,
    },
    /// The arguments that are given, joined by spaces.
    JoinedArguments(Vec<String>),
}

/// Adds these values to the arguments of a call, of which they are made.
///
/// # Errors
/// The running call ends, or may not hold them.
pub fn add_values(values: &[ImportedValue], arguments: &mut Map<String, Value>) -> Result<(), BudgetExceeded> {
    let mut texts = Vec::with_capacity(values.len());
    for value in values {
        budget::tick()?;
        let text = value.text(arguments);
        budget::hold(text.len())?;
        texts.push((value.name.clone(), Value::String(text)));
    }
    arguments.extend(texts);
    Ok(())
}

impl ImportedValue {
    /// The value of the first source that has one.
    fn text(&self, arguments: &Map<String, Value>) -> String {
        let value = self.sources.iter().find_map(|source| source.value(arguments));
        match (value, &self.label) {
            (Some(value), None) => value,
            (Some(value), Some(label)) if !value.is_empty() => format!("{label}{value}"),
            _ => self.otherwise.to_string(),
        }
    }
}

impl ValueSource {
    fn value(&self, arguments: &Map<String, Value>) -> Option<String> {
        match self {
            ValueSource::Argument(name) => argument_value(arguments, name).map(str::to_owned),
            ValueSource::Word { argument, index } => {
                argument_value(arguments, argument).and_then(|text| shell_words::split(text).into_iter().nth(*index))
            }
            ValueSource::JoinedArguments(names) => {
                let values: Vec<&str> = names.iter().filter_map(|name| argument_value(arguments, name)).collect();
                (!values.is_empty()).then(|| values.join(" "))
            }
        }
    }
}

fn argument_value<'a>(arguments: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    arguments.get(name).and_then(Value::as_str)
}
