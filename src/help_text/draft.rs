//! The YAML of a tool, from what a help text says.

use serde_json::{Map, Value, json};

use super::option::{CommandOption, OptionValue};
use super::parse::{Help, Positional};
use crate::action::{PROBE_VALUE, runs_value};
use crate::openapi::{ArgumentNames, as_template, plain, plain_line};
use crate::yaml::entry;

/// How long a description of a tool or an argument may be.
const TOOL_CHARS: usize = 300;
const ARGUMENT_CHARS: usize = 200;

/// Words of commands that take something away.
const DESTRUCTIVE_WORDS: &[&str] = &[
    "clean", "clear", "delete", "destroy", "discard", "drop", "erase", "force", "format", "kill", "move", "mv",
    "overwrite", "prune", "purge", "push", "rebase", "remove", "replace", "reset", "restore", "rm", "stop",
    "terminate", "truncate", "uninstall", "unlink", "wipe", "yank",
];

/// A tool of the program, or of one of its subcommands.
#[derive(Debug)]
pub struct ToolSource<'a> {
    /// Its name.
    pub name: &'a str,
    /// The program, with the subcommand.
    pub command_words: &'a [&'a str],
    /// What its help text says.
    pub help: &'a Help,
    /// What the list of subcommands says of it.
    pub about: &'a str,
}

/// The arguments and elements of a tool while they are parts.
#[derive(Default)]
struct DraftParts {
    /// The program, with the subcommand, and a value for each positional argument.
    command: Vec<String>,
    names: ArgumentNames,
    arguments: Map<String, Value>,
    elements: Vec<Value>,
    review_notes: Vec<String>,
}

/// The tool as lines of YAML, with comments on what a person must look at.
pub fn draft_tool(draft: &ToolSource<'_>) -> String {
    let command = draft.command_words.iter().map(|word| (*word).to_owned()).collect();
    let mut parts = DraftParts { command, ..DraftParts::default() };
    parts.elements.extend(draft.command_words.iter().map(|word| Value::from(*word)));
    draft.help.options.iter().for_each(|option| parts.add_option(option));
    draft.help.positionals.iter().for_each(|positional| parts.add_positional(positional));
    let unparsed =
        draft.help.unparsed.iter().map(|spec| format!("`{}` is left out: it could not be read", plain_line(spec)));
    parts.review_notes.extend(unparsed.chain(draft.help.review_notes.clone()));
    let mut tool = Map::new();
    let about = if draft.about.is_empty() { &draft.help.about } else { draft.about };
    let about = plain(about, TOOL_CHARS);
    let about = if about.is_empty() { format!("Run {}", plain_line(&draft.command_words.join(" "))) } else { about };
    tool.insert("description".to_owned(), as_template(&about).into());
    tool.insert("annotations".to_owned(), annotations(draft, &mut parts.review_notes));
    if !parts.arguments.is_empty() {
        tool.insert("arguments".to_owned(), Value::Object(parts.arguments));
    }
    tool.insert("run".to_owned(), json!({ "exec": parts.elements }));
    let comments: String = parts.review_notes.iter().map(|review| format!("  # review: {review}\n")).collect();
    format!("{comments}{}", entry(draft.name, &Value::Object(tool), 2))
}

/// A tool destroys something unless a person says that it does not.
fn annotations(draft: &ToolSource<'_>, review_notes: &mut Vec<String>) -> Value {
    let named = draft.command_words.iter().flat_map(|word| word.split(['-', '_'])).skip(1);
    let is_destructive = |word: &str| DESTRUCTIVE_WORDS.contains(&word.to_ascii_lowercase().as_str());
    let by_name = named.into_iter().any(is_destructive);
    if !by_name {
        review_notes.push(
            "write `readOnlyHint: true` if it changes nothing, `destructiveHint: false` if it only adds".to_owned(),
        );
    }
    json!({ "destructiveHint": true })
}

impl DraftParts {
    fn add_option(&mut self, option: &CommandOption) {
        if option.value.is_some()
            && [true, false]
                .iter()
                .any(|attached| self.would_run_value(&option_elements(&option.spelling, "", *attached)))
        {
            self.review_notes.push(format!("`{}` is left out: its value may be code, or a program", option.spelling));
            return;
        }
        let name = self.names.claim(option.spelling.trim_start_matches('-'), "option");
        let mut schema = Map::new();
        let about = plain(&option.about, ARGUMENT_CHARS);
        if !about.is_empty() {
            schema.insert("description".to_owned(), as_template(&about).into());
        }
        let element = match &option.value {
            None => {
                schema.insert("type".to_owned(), "boolean".into());
                json!({ "if": name, "then": [option.spelling] })
            }
            Some(value) => self.add_value(option, value, &name, &mut schema),
        };
        self.elements.push(element);
        self.arguments.insert(name, Value::Object(schema));
    }

    fn add_value(
        &mut self,
        option: &CommandOption,
        value: &OptionValue,
        name: &str,
        schema: &mut Map<String, Value>,
    ) -> Value {
        if value.is_optional {
            self.review_notes.push(format!("`{name}` cannot be given without a value, as `{}` can", option.spelling));
        }
        let one = value_schema(value);
        if one.get("type") == Some(&"integer".into()) && !option.is_repeated {
            self.review_notes.push(format!("`{name}` cannot be 0, which counts as not given"));
        }
        if option.is_repeated {
            schema.insert("type".to_owned(), "array".into());
            schema.insert("items".to_owned(), Value::Object(one));
            return json!({ "each": name, "then": option_elements(&option.spelling, "this", value.is_attached) });
        }
        schema.extend(one);
        json!({ "if": name, "then": option_elements(&option.spelling, name, value.is_attached) })
    }

    /// Whether a value in further elements of the command would be code, or name a program.
    fn would_run_value(&self, elements: &[String]) -> bool {
        runs_value(&[self.command.as_slice(), elements].concat())
    }

    fn add_positional(&mut self, positional: &Positional) {
        let element = PROBE_VALUE.to_owned();
        if self.would_run_value(std::slice::from_ref(&element)) {
            self.review_notes.push(format!("`{}` is left out: it may be code, or a program", positional.name));
            return;
        }
        self.command.push(element);
        let name = self.names.claim(&positional.name.to_ascii_lowercase(), "argument");
        let mut schema = Map::new();
        if positional.is_repeated {
            schema.insert("type".to_owned(), "array".into());
            schema.insert("items".to_owned(), json!({ "type": "string" }));
            self.elements.push(json!({ "each": name, "then": ["{{this}}"] }));
        } else {
            self.elements.push(format!("{{{{{name}}}}}").into());
        }
        if positional.is_required {
            schema.insert("required".to_owned(), true.into());
        }
        self.arguments.insert(name, Value::Object(schema));
    }
}

/// An option with its value: one element where the help shows `=`, as not every program takes that.
fn option_elements(spelling: &str, name: &str, is_attached: bool) -> Vec<String> {
    match is_attached {
        true => vec![format!("{spelling}={{{{{name}}}}}")],
        false => vec![spelling.to_owned(), format!("{{{{{name}}}}}")],
    }
}

fn value_schema(value: &OptionValue) -> Map<String, Value> {
    let mut schema = Map::new();
    let name = value.name.to_ascii_lowercase();
    let name = name.as_str();
    let whole =
        ["n", "num", "number", "int", "integer", "cols", "uint", "count", "jobs", "port", "int32", "int64", "ints"];
    if !value.choices.is_empty() {
        schema.insert("enum".to_owned(), value.choices.clone().into());
    } else if whole.contains(&name) {
        schema.insert("type".to_owned(), "integer".into());
        schema.insert("minimum".to_owned(), 1.into());
    } else if ["float", "float64", "ratio"].contains(&name) {
        schema.insert("type".to_owned(), "string".into());
        schema.insert("pattern".to_owned(), r"^[0-9]+(\.[0-9]+)?$".into());
    }
    schema
}
