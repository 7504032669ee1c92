//! The arguments on the command line: `NAME=VALUE`, and `--args` below them.

use std::path::Path;

use anyhow::bail;
use serde_json::{Map, Value};

use super::argument_pairs::ArgumentPairs;
use super::entry_kind::EntryKind;
use super::value_file::{read_document, source_name};
use crate::cli::Output;

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
    let document = read_document(path, "--args", output)?;
    match document.json(document.root()) {
        Value::Object(arguments) => Ok(arguments),
        _ => bail!("invalid `--args`, expected an object of arguments in `{}`", source_name(path)),
    }
}
