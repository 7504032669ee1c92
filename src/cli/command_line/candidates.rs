//! `folio candidates`: how a command line may go on, by the manifest. The scripts of `folio completions` ask.

use std::path::Path;
use std::sync::Arc;

use clap::{Arg, Command, CommandFactory, ValueEnum};
use serde_json::Value;

use super::Cli;
use crate::catalog::listing::Object;
use crate::catalog::{Catalog, ServingMode};
use crate::cli::manifest::{ManifestFile, load_and_build};
use crate::cli::request::{ArgumentCompletion, EntryKind};
use crate::cli::{Exit, Output};
use crate::diagnostic::one_line;
use crate::load::ManifestLocation;
use crate::schema::allowed_values;
use crate::world::DryRunWorld;
use crate::yaml::json_of;

/// Prints each candidate on a line. If anything is wrong, it prints nothing.
pub(crate) fn run(line: &str, output: &Output) -> anyhow::Result<Exit> {
    let candidates = candidates(line, output).unwrap_or_default();
    output.print(&candidates.iter().map(|candidate| format!("{candidate}\n")).collect::<String>())?;
    Ok(Exit::Success)
}

fn candidates(line: &str, output: &Output) -> Option<Vec<String>> {
    let typed = TypedLine::parse(line, &Cli::command())?;
    let path = Path::new(typed.path.as_deref().unwrap_or("."));
    let names_pack = typed.positionals.is_empty() && ["remove", "trust", "update"].contains(&typed.command.as_str());
    let mut candidates: Vec<String> = if names_pack {
        let document = json_of(&ManifestFile::find(path).ok()?.text)?;
        document.get("packs")?.as_object()?.keys().cloned().collect()
    } else {
        let mut built = load_and_build(&ManifestLocation::resolve(path).ok()?, output);
        match typed.values(built.catalog.as_deref()?) {
            values if !values.is_empty() => values,
            _ => built.accept(&ServingMode::Local).map(|catalog| typed.completions(catalog)).unwrap_or_default(),
        }
    };
    candidates.retain(|candidate| candidate.starts_with(&typed.word_at_cursor) && one_line(candidate) == *candidate);
    Some(candidates)
}

/// A command line up to the cursor.
#[derive(Debug, PartialEq, Eq)]
struct TypedLine {
    command: String,
    /// The value of `--file`.
    path: Option<String>,
    /// The other arguments, but for options.
    positionals: Vec<String>,
    /// The word at the cursor.
    word_at_cursor: String,
}

impl TypedLine {
    /// `None` where the manifest has no names to offer.
    fn parse(line: &str, folio: &Command) -> Option<TypedLine> {
        let mut words = last_command(line);
        let word_at_cursor = words.pop()?;
        // Assignments before the program.
        let mut words = words.into_iter().skip_while(|word| is_assignment(word)).skip(1);
        let global: Vec<&Arg> = folio.get_arguments().collect();
        let command = loop {
            let word = words.next()?;
            match option_of(&word, &global) {
                Some(takes_value) => drop(takes_value.then(|| words.next())),
                None => break word,
            }
        };
        let options: Vec<&Arg> = folio.find_subcommand(&command)?.get_arguments().chain(global).collect();
        let mut typed = TypedLine { command, path: None, positionals: Vec::new(), word_at_cursor };
        while let Some(word) = words.next() {
            match option_of(&word, &options) {
                Some(true) if word == "-f" || word == "--file" => typed.path = Some(words.next()?),
                // The word at the cursor is the value.
                Some(true) => drop(words.next()?),
                Some(false) => typed.path = word.strip_prefix("--file=").map(str::to_owned).or(typed.path),
                None => typed.positionals.push(word),
            }
        }
        (!typed.word_at_cursor.starts_with('-')).then_some(typed)
    }

    /// What the catalog has for the word at the cursor.
    fn values(&self, catalog: &Catalog) -> Vec<String> {
        let lists = catalog.lists();
        match (self.command.as_str(), self.positionals.as_slice()) {
            ("get", []) => lists.prompts.iter().map(|prompt| prompt.name.clone()).collect(),
            ("call", []) => lists.tools.iter().map(|tool| tool.name.clone()).collect(),
            ("read", []) => {
                // A template up to its first variable.
                let templates =
                    lists.resource_templates.iter().filter_map(|listed| listed.uri_template.split('{').next());
                lists
                    .resources
                    .iter()
                    .map(|resource| resource.uri.as_str())
                    .chain(templates)
                    .map(str::to_owned)
                    .collect()
            }
            (_, [name, given @ ..]) => {
                let schema = self.kind().and_then(|kind| kind.input_schema(catalog, name));
                schema.map(|schema| self.arguments(schema, given)).unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }

    /// The kind of the entry that the command names.
    fn kind(&self) -> Option<EntryKind> {
        EntryKind::value_variants().iter().copied().find(|kind| kind.command() == self.command)
    }

    /// The values of an argument as the server completes them, where that needs no program and no request.
    fn completions(&self, catalog: Arc<Catalog>) -> Vec<String> {
        let (Some(kind), Some((argument, typed))) = (self.kind(), self.word_at_cursor.split_once('=')) else {
            return Vec::new();
        };
        let [name, given @ ..] = self.positionals.as_slice() else { return Vec::new() };
        let given = given.iter().filter_map(|pair| pair.split_once('='));
        let given = given.map(|(name, value)| (name.to_owned(), value.into())).collect();
        let world = Arc::new(DryRunWorld::new(catalog.redactor().clone()));
        let completion = ArgumentCompletion { catalog, world, reference: kind.completion_ref(name) };
        let values = completion.values(argument, typed, &given).into_iter();
        values.map(|value| format!("{argument}={value}")).collect()
    }

    /// `name=` of each argument that is not given, or its allowed values where the name is written.
    fn arguments(&self, schema: &Object, given: &[String]) -> Vec<String> {
        let properties = schema.get("properties").and_then(Value::as_object);
        if let Some((name, _)) = self.word_at_cursor.split_once('=') {
            return choices(schema, name).into_iter().map(|choice| format!("{name}={choice}")).collect();
        }
        let is_given = |name: &str| given.iter().any(|pair| pair.split('=').next() == Some(name));
        let names = properties.into_iter().flatten().map(|(name, _)| name);
        names.filter(|name| !is_given(name)).map(|name| format!("{name}=")).collect()
    }
}

/// The values that an argument may have, where its schema lists them.
fn choices(schema: &Object, name: &str) -> Vec<String> {
    let root = Value::Object(schema.clone());
    let property = root.get("properties").and_then(|properties| properties.get(name));
    let choices = property.and_then(|property| allowed_values(&root, property)).unwrap_or_default();
    let text = |value: &&Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    choices.iter().filter(|value| !value.is_null()).map(text).collect()
}

/// Whether a word is an option, and if so, whether the next word is its value.
fn option_of(word: &str, options: &[&Arg]) -> Option<bool> {
    let name = word.strip_prefix('-').filter(|name| !name.is_empty())?;
    let option = match name.strip_prefix('-') {
        Some(long) => options.iter().find(|arg| arg.get_long() == Some(long)),
        // The letter may be followed by its value.
        None if name.len() > 1 => None,
        None => options.iter().find(|arg| arg.get_short() == name.chars().next()),
    };
    let is_optional = |arg: &Arg| arg.get_num_args().is_some_and(|range| range.min_values() == 0);
    Some(option.is_some_and(|arg| arg.get_action().takes_values() && !is_optional(arg)))
}

fn is_assignment(word: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
    };
    word.split_once('=').is_some_and(|(name, _)| is_name(name))
}

/// The words of the last command of a line, as a shell splits them. The last is that at the cursor.
fn last_command(line: &str) -> Vec<String> {
    let (mut words, mut quote, mut is_open) = (vec![String::new()], None, false);
    let mut letters = line.chars();
    while let Some(character) = letters.next() {
        match (quote, character) {
            (Some(open), character) if character == open => quote = None,
            (None, '"' | '\'') => (quote, is_open) = (Some(character), true),
            (None, '|' | ';' | '&' | '(' | '\n') => (words, is_open) = (vec![String::new()], false),
            (None, character) if character.is_whitespace() => {
                let is_word = is_open || words.last().is_some_and(|word| !word.is_empty());
                words.extend(is_word.then(String::new));
                is_open = false;
            }
            (quote, character) => {
                let is_escape = character == '\\' && quote != Some('\'');
                let character = if is_escape { letters.next() } else { Some(character) };
                words.last_mut().into_iter().for_each(|word| word.extend(character));
            }
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_is_split_as_a_shell_does() {
        for (line, words) in [
            ("folio get gr", &["folio", "get", "gr"][..]),
            ("folio get ", &["folio", "get", ""]),
            ("git diff | folio  get 'a b' x\\ y=\"1 2", &["folio", "get", "a b", "x y=1 2"]),
            ("x; T=1 folio call '' ", &["T=1", "folio", "call", "", ""]),
            ("", &[""]),
        ] {
            assert_eq!(last_command(line), words, "{line}");
        }
    }

    #[test]
    fn options_are_not_positionals() {
        let parse = |line: &str| TypedLine::parse(line, &Cli::command());
        let typed = parse("T=1 folio --log-level off get -f desk --json greet who=Ada to").unwrap();
        assert_eq!(
            (typed.command.as_str(), typed.path.as_deref(), typed.word_at_cursor.as_str()),
            ("get", Some("desk"), "to")
        );
        assert_eq!(typed.positionals, ["greet", "who=Ada"]);
        assert_eq!(parse("folio call --file=x ").unwrap().path.as_deref(), Some("x"));
        for line in ["folio", "folio ge", "folio get -", "folio get -f ", "folio get --log-format ", "folio nonsense "]
        {
            assert_eq!(parse(line), None, "{line}");
        }
    }
}
