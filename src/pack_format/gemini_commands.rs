//! `gemini-commands`: the custom commands of Gemini CLI.

use std::collections::HashMap;
use std::sync::Arc;

use toml_edit::{Document, Item};

use super::command::{ActionReader, CommandMarker, CommandText};
use super::naming::path_below;
use super::placeholders::{PlaceholderMatch, brace_ends, split};
use super::{
    ActionValue, ForeignArgument, ForeignBody, ForeignFile, ForeignPrompt, PackFolder, PackFormat, PromptRights,
    TextPiece, ValueSource,
};
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
        folder.files.iter().filter_map(|file| read_command(file, folder.grants, report)).collect()
    }
}

fn read_command(file: &ForeignFile, grants: PromptRights, report: &mut Report) -> Option<ForeignPrompt> {
    let command = match Document::parse(file.text.as_ref()) {
        Ok(command) => command,
        Err(error) => {
            let place = error.span().unwrap_or_default();
            let message = format!("invalid TOML: {}: prompt skipped", error.message());
            report.warning(Code::Syntax, Span::new(file.id, place.start, place.end), message);
            return None;
        }
    };
    let text_of = |key: &str| command.get(key).and_then(Item::as_str).filter(|text| !text.trim().is_empty());
    let Some(body) = text_of("prompt") else {
        report.warning(Code::MissingKey, Span::start_of(file.id), "no text in `prompt`: prompt skipped");
        return None;
    };
    let path = path_below(&file.path, "commands", ".toml");
    let ends = brace_ends(body, false);
    let mut actions = ActionReader::new(file, None, grants, report);
    let mut text = split(body, &['!', '@', '{'], |start| placeholder_at(body, start, &ends, &mut actions));
    text = actions.finish(text);
    if !text.has_values() {
        let label = format!("/{} ", path.replace('/', ":"));
        text.pieces.push(TextPiece::AppendedArgument { label, sources: vec![ValueSource::Argument(ARGS.to_owned())] });
    }
    Some(ForeignPrompt {
        name: path.to_owned(),
        title: None,
        description: text_of("description").map(|text| text.trim().to_owned()),
        arguments: vec![ForeignArgument::optional(ARGS)],
        body: ForeignBody::Text(text.into()),
        at: Location::start_of(file.id),
    })
}

fn placeholder_at(
    body: &str,
    start: usize,
    ends: &HashMap<usize, usize>,
    actions: &mut ActionReader<'_>,
) -> Option<PlaceholderMatch> {
    let rest = body.get(start..)?;
    let end = ends.get(&(start + 1)).copied();
    if let Some(end) = end.filter(|_| rest.starts_with("!{")) {
        let text = body.get(start + 2..end - 1)?;
        let mut find = |at| {
            let is_marker = text.get(at..)?.starts_with(MARKER);
            let variable = ActionValue::from_argument(ARGS);
            is_marker.then_some(CommandMarker { end: at + MARKER.len(), variable, is_split_into_words: false })
        };
        let command = CommandText { text, start, end, has_markers_in_single_quotes: true };
        return Some(actions.command(body, &command, &mut find));
    }
    if let Some(end) = end.filter(|_| rest.starts_with("@{")) {
        let path = body.get(start + 2..end - 1)?.trim();
        // What stands in it is part of the path, whatever is granted: nothing else begins there.
        if path.is_empty() || !actions.may_read(path, start..end) {
            return Some(PlaceholderMatch::literal(body, start, end));
        }
        let fallback = vec![TextPiece::Literal(body.get(start..end)?.to_owned())];
        let pieces = split(path, &['{'], |at| value_at(path, at)).pieces;
        return Some(PlaceholderMatch { end, piece: actions.file(pieces, fallback) });
    }
    value_at(body, start)
}

/// `{{args}}` at `start`.
fn value_at(text: &str, start: usize) -> Option<PlaceholderMatch> {
    let sources = vec![ValueSource::Argument(ARGS.to_owned())];
    let piece = TextPiece::Value { sources, fallback: Arc::default() };
    text.get(start..)?.starts_with(MARKER).then_some(PlaceholderMatch { end: start + MARKER.len(), piece })
}
