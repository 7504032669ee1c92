//! `gemini-commands`: the custom commands of Gemini CLI.

use std::collections::HashMap;

use serde::Deserialize;

use super::markers::{Marker, split};
use super::naming::path_below;
use super::{ForeignArgument, ForeignBody, ForeignPrompt, PackFile, PackFolder, PackFormat, TextPiece, ValueSource};
use crate::diagnostic::{Code, Report, Span};
use crate::yaml::Location;

/// The argument with all that a user types.
const ARGS: &str = "args";
/// Its marker.
const MARKER: &str = "{{args}}";

/// `**/*.toml`: named after the path below the last `commands/`.
pub(super) struct GeminiCommands;

impl PackFormat for GeminiCommands {
    fn globs(&self) -> &'static [&'static str] {
        &["**/*.toml"]
    }

    fn auto_globs(&self) -> &'static [&'static str] {
        &["**/commands/**/*.toml"]
    }

    fn auto_excludes(&self) -> &'static [&'static str] {
        &["**/.claude/**"]
    }

    fn read(&self, folder: &PackFolder<'_>, report: &mut Report) -> Vec<ForeignPrompt> {
        folder.files.iter().filter_map(|file| read_command(file, report)).collect()
    }
}

/// The keys that are read.
#[derive(Deserialize)]
struct CommandFile {
    prompt: Option<String>,
    description: Option<String>,
}

fn read_command(file: &PackFile, report: &mut Report) -> Option<ForeignPrompt> {
    let command: CommandFile = match toml::from_str(&file.text) {
        Ok(command) => command,
        Err(error) => {
            let place = error.span().unwrap_or_default();
            let message = format!("invalid TOML: {}: prompt skipped", error.message());
            report.warning(Code::Syntax, Span::new(file.id, place.start, place.end), message);
            return None;
        }
    };
    let Some(body) = command.prompt.filter(|body| !body.trim().is_empty()) else {
        report.warning(Code::MissingKey, Span::start_of(file.id), "no text in `prompt`: prompt skipped");
        return None;
    };
    let path = path_below(&file.path, "commands", ".toml");
    let ends = block_ends(&body);
    let mut text = split(&body, &['!', '{'], |start| marker_at(&body, start, &ends));
    if !text.has_values() {
        let label = format!("/{} ", path.replace('/', ":"));
        text.pieces.push(TextPiece::Appended { label, argument: ARGS.to_owned() });
    }
    Some(ForeignPrompt {
        name: path.to_owned(),
        title: None,
        description: command.description.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()),
        arguments: vec![ForeignArgument::optional(ARGS)],
        body: ForeignBody::Text(text),
        at: Location::start_of(file.id),
    })
}

fn marker_at(body: &str, start: usize, ends: &HashMap<usize, usize>) -> Option<Marker> {
    let rest = body.get(start..)?;
    if rest.starts_with("!{") {
        return ends.get(&(start + 1)).map(|end| Marker::untouched(body, start, *end));
    }
    let sources = vec![ValueSource::Argument(ARGS.to_owned())];
    let piece = TextPiece::Value { sources, absent: String::new() };
    rest.starts_with(MARKER).then_some(Marker { end: start + MARKER.len(), piece })
}

/// Where each block in braces ends, by where it begins. What is not closed is none.
fn block_ends(body: &str) -> HashMap<usize, usize> {
    let mut open = Vec::new();
    let mut ends = HashMap::new();
    for (at, brace) in body.match_indices(['{', '}']) {
        match brace {
            "{" => open.push(at),
            _ => ends.extend(open.pop().map(|start| (start, at + 1))),
        }
    }
    ends
}
