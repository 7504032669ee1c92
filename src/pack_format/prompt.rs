//! A prompt of another format: literal text with the places of values.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::dotprompt::DotpromptTemplate;
use super::shell_words;
use crate::budget::{Budget, BudgetExceeded};
use crate::diagnostic::{Code, Report, Span};
use crate::digest::Digest;
use crate::manifest::MAX_ARGUMENTS;
use crate::value_types::Role;
use crate::yaml::Location;

/// A prompt of another format.
#[derive(Debug, Clone)]
pub struct ForeignPrompt {
    /// Its name, as its file or row has it.
    pub name: String,
    /// A name for users.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Its arguments, all of them texts.
    pub arguments: Vec<ForeignArgument>,
    /// What it says.
    pub body: ForeignBody,
    /// Where it is defined.
    pub at: Location,
}

/// An argument of such a prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForeignArgument {
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: Option<String>,
    /// Whether a call without it is refused.
    pub required: bool,
    /// The JSON Schema of its values, which are texts without one.
    pub schema: Option<Value>,
}

/// What a prompt says.
#[derive(Debug, Clone)]
pub enum ForeignBody {
    /// One message of the user.
    Text(Arc<ForeignText>),
    /// A template of dotprompt.
    Dotprompt(Arc<DotpromptTemplate>),
}

/// A message.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignMessage {
    /// Whose it is.
    pub role: Role,
    /// What it says.
    pub content: ForeignContent,
}

/// The content of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForeignContent {
    /// Text.
    Text(String),
    /// A picture or a sound.
    Media {
        /// Its bytes.
        bytes: Vec<u8>,
        /// What its type is said to be.
        mime_type: String,
    },
    /// A link.
    Link {
        /// Where to.
        uri: String,
        /// The type of what is there.
        mime_type: Option<String>,
    },
}

impl ForeignBody {
    /// Changes with what it says and does.
    pub fn digest(&self) -> u64 {
        match self {
            ForeignBody::Dotprompt(template) => template.digest(),
            ForeignBody::Text(text) => Digest::new("foreign prompt")
                .chain_update(text.source.as_bytes())
                .chain_update(format!("{:?}", text.actions).as_bytes())
                .finish_u64(),
        }
    }

    /// The messages with these values in them.
    ///
    /// # Errors
    /// The budget is exhausted.
    pub fn render(&self, values: &ForeignValues<'_>, budget: &Budget) -> Result<Vec<ForeignMessage>, BudgetExceeded> {
        match self {
            ForeignBody::Dotprompt(template) => template.render(values.arguments, budget),
            ForeignBody::Text(text) => {
                let content = ForeignContent::Text(text.render(values, budget)?);
                Ok(vec![ForeignMessage { role: Role::User, content }])
            }
        }
    }
}

impl ForeignPrompt {
    /// The prompt, unless it has too many arguments.
    pub(super) fn with_few_arguments(self, report: &mut Report) -> Option<ForeignPrompt> {
        if self.arguments.len() > MAX_ARGUMENTS {
            let message = format!("more than {MAX_ARGUMENTS} arguments: prompt skipped");
            report.warning(Code::TooLarge, self.at.span(), message);
            return None;
        }
        Some(self)
    }
}

impl ForeignArgument {
    /// An argument that may be absent.
    pub fn optional(name: impl Into<String>) -> ForeignArgument {
        ForeignArgument { name: name.into(), ..ForeignArgument::default() }
    }
}

/// A text with values in it.
#[derive(Debug, Clone, Default)]
pub struct ForeignText {
    /// What it was read from.
    pub source: Arc<str>,
    /// Its pieces, in order.
    pub pieces: Vec<TextPiece>,
    /// What is done before it is rendered.
    pub actions: Vec<ForeignAction>,
    /// Where these stand.
    pub action_spans: Vec<Span>,
    /// The environment variables of all its commands.
    pub variables: Vec<ActionValue>,
    /// Whether it names commands or files, which are done or stay as text.
    pub names_actions: bool,
}

/// What a prompt does before it is rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForeignAction {
    /// Runs a command, which has no values in it.
    Script(String),
    /// Reads a file with this path.
    Read(Vec<TextPiece>),
}

/// A value that commands get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionValue {
    /// The name of the environment variable.
    pub name: String,
    /// Where the value may come from.
    pub sources: Vec<ValueSource>,
}

/// A piece of such a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextPiece {
    /// Literal text.
    Literal(String),
    /// The value of the first of `sources` that has one.
    Value {
        /// Where the value may come from.
        sources: Vec<ValueSource>,
        /// The text in its place where none has one, which many pieces may share.
        fallback: Arc<str>,
    },
    /// What an action found.
    Outcome {
        /// The number of the action.
        action: usize,
        /// The text in its place where it found nothing.
        fallback: Vec<TextPiece>,
    },
    /// A value at the end, after a blank line; nothing where it is absent or empty.
    AppendedArgument {
        /// The text before the value.
        label: String,
        /// Where the value may come from.
        sources: Vec<ValueSource>,
    },
}

/// A source of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueSource {
    /// An argument.
    Argument(String),
    /// A word of an argument, split as by a shell, counted from 0.
    Word {
        /// The argument.
        argument: String,
        /// The number of the word.
        index: usize,
    },
    /// The arguments that are given, joined by spaces.
    JoinedArguments(Arc<[String]>),
}

impl ForeignText {
    /// The text with these values in it.
    ///
    /// # Errors
    /// The budget is exhausted.
    pub fn render(&self, values: &ForeignValues<'_>, budget: &Budget) -> Result<String, BudgetExceeded> {
        let mut text = String::new();
        render_pieces(&self.pieces, values, &mut text, budget)?;
        Ok(text)
    }

    /// The values that its commands get.
    pub fn variable_values(&self, arguments: &Map<String, Value>) -> Map<String, Value> {
        let value = |variable: &ActionValue| {
            let value = variable.sources.iter().find_map(|source| source.value(arguments))?;
            Some((variable.name.clone(), Value::from(value)))
        };
        self.variables.iter().filter_map(value).collect()
    }

    /// All sources of values, of commands too.
    pub(super) fn sources_mut(&mut self) -> impl Iterator<Item = &mut ValueSource> {
        let in_actions = self.actions.iter_mut().flat_map(|action| match action {
            ForeignAction::Read(path) => path.as_mut_slice(),
            ForeignAction::Script(_) => &mut [],
        });
        let in_text = self.pieces.iter_mut().flat_map(|piece| match piece {
            TextPiece::Outcome { fallback, .. } => fallback.as_mut_slice(),
            piece => std::slice::from_mut(piece),
        });
        let in_pieces = in_text.chain(in_actions).flat_map(|piece| match piece {
            TextPiece::Value { sources, .. } | TextPiece::AppendedArgument { sources, .. } => sources.as_mut_slice(),
            _ => &mut [],
        });
        in_pieces.chain(self.variables.iter_mut().flat_map(|variable| variable.sources.as_mut_slice()))
    }

    /// Whether any value is in it.
    pub fn has_values(&self) -> bool {
        let is_value = |piece: &TextPiece| match piece {
            TextPiece::Literal(_) => false,
            TextPiece::Outcome { fallback, .. } => {
                fallback.iter().any(|piece| matches!(piece, TextPiece::Value { .. }))
            }
            TextPiece::Value { .. } | TextPiece::AppendedArgument { .. } => true,
        };
        !self.variables.is_empty() || self.pieces.iter().any(is_value)
    }
}

/// What a prompt is rendered with.
pub struct ForeignValues<'v> {
    /// The arguments of the call.
    pub arguments: &'v Map<String, Value>,
    /// What its actions found, in their order.
    pub outcomes: &'v [Option<String>],
}

/// Renders pieces to the end of a text.
pub fn render_pieces(
    pieces: &[TextPiece],
    values: &ForeignValues<'_>,
    text: &mut String,
    budget: &Budget,
) -> Result<(), BudgetExceeded> {
    for piece in pieces {
        match piece {
            TextPiece::Literal(literal) => push(text, literal, budget)?,
            TextPiece::Value { sources, fallback } => {
                let value = first_value(sources, values.arguments, budget)?;
                push(text, value.as_deref().unwrap_or(fallback), budget)?;
            }
            TextPiece::Outcome { action, fallback } => match values.outcomes.get(*action).and_then(Option::as_deref) {
                Some(outcome) => push(text, outcome, budget)?,
                None => render_pieces(fallback, values, text, budget)?,
            },
            TextPiece::AppendedArgument { label, sources } => {
                let value = first_value(sources, values.arguments, budget)?.filter(|value| !value.is_empty());
                let Some(value) = value else { continue };
                text.truncate(text.trim_end().len());
                for part in ["\n\n", label, &value] {
                    push(text, part, budget)?;
                }
            }
        }
    }
    Ok(())
}

/// The value of the first source that has one.
fn first_value(
    sources: &[ValueSource],
    arguments: &Map<String, Value>,
    budget: &Budget,
) -> Result<Option<String>, BudgetExceeded> {
    budget.charge_work(sources.iter().map(|source| source.size(arguments)).sum())?;
    Ok(sources.iter().find_map(|source| source.value(arguments)))
}

impl ValueSource {
    /// How much is read to find the value.
    fn size(&self, arguments: &Map<String, Value>) -> usize {
        match self {
            ValueSource::Argument(name) | ValueSource::Word { argument: name, .. } => {
                argument_value(arguments, name).map_or(0, str::len)
            }
            ValueSource::JoinedArguments(names) => {
                names.iter().filter_map(|name| argument_value(arguments, name)).map(str::len).sum()
            }
        }
    }

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

fn push(text: &mut String, part: &str, budget: &Budget) -> Result<(), BudgetExceeded> {
    budget.charge_work(part.len())?;
    budget.charge_memory(part.len())?;
    text.push_str(part);
    Ok(())
}
