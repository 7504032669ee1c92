//! The arguments on the command line: `NAME=VALUE`, and `--args` below them.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use serde_json::{Map, Value};

use super::argument_pairs::ArgumentPairs;
use super::entry_kind::EntryKind;
use crate::cli::Output;
use crate::diagnostic::Report;
use crate::yaml;

/// What was written, before the manifest is loaded.
#[derive(Clone)]
pub(super) struct CommandLineArguments {
    pairs: ArgumentPairs,
    /// The object of `--args`.
    file: Map<String, Value>,
}

impl CommandLineArguments {
    /// Reads `words` and the file, of which one may be stdin.
    pub(super) fn read(words: &[String], file: Option<&Path>, output: &Output) -> anyhow::Result<CommandLineArguments> {
        let reads_stdin = |word: &String| word.split_once('=').is_some_and(|(_, value)| value == "@-");
        let file = match file {
            Some(path) if path == Path::new("-") && words.iter().any(reads_stdin) => {
                bail!("cannot read `--args` from stdin: already read for an argument")
            }
            Some(path) => read_object(path, output)?,
            None => Map::new(),
        };
        Ok(CommandLineArguments { pairs: ArgumentPairs::parse(words, &mut std::io::stdin())?, file })
    }

    /// All of them: typed by the schema for a tool, texts for a prompt and a resource.
    pub(super) fn into_arguments(self, kind: EntryKind, schema: &Map<String, Value>) -> Map<String, Value> {
        let mut arguments = self.file;
        arguments.extend(match kind {
            EntryKind::Tool => self.pairs.into_typed(&Value::Object(schema.clone())),
            EntryKind::Prompt | EntryKind::Resource => self.pairs.into_strings(),
        });
        arguments
    }
}

/// An object in JSON or YAML.
fn read_object(path: &Path, output: &Output) -> anyhow::Result<Map<String, Value>> {
    let source_name = if path == Path::new("-") { "stdin".to_owned() } else { path.display().to_string() };
    let mut bytes = Vec::new();
    let read = match path == Path::new("-") {
        true => std::io::stdin().read_to_end(&mut bytes).map(|_| ()),
        false => std::fs::read(path).map(|read| bytes = read),
    };
    read.with_context(|| format!("cannot read `--args` from `{source_name}`"))?;
    let mut report = Report::default();
    let parsed = yaml::decode(&bytes, &source_name, &mut report).and_then(|file| yaml::parse(file, &mut report));
    let document = parsed.filter(|_| !report.has_errors()).ok_or_else(|| {
        output.eprint_report(&report);
        anyhow!("invalid `--args`: `{source_name}` is neither JSON nor YAML")
    })?;
    match document.json(document.root()) {
        Value::Object(arguments) => Ok(arguments),
        _ => bail!("invalid `--args`, expected an object of arguments in `{source_name}`"),
    }
}
