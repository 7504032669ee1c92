//! `gemini-commands`: the custom commands of Gemini CLI.

use toml_edit::{Document, Item};

use super::naming::path_below;
use super::placeholders::{add_argument, brace_ends, text_argument};
use super::prompt_actions::{ActionReader, CommandMarker, CommandText};
use super::template_text::{Piece, Replacement, ValueCollector, split, template_of};
use super::{ImportedFile, ImportedPrompt, PackFolder, PackFormat, PromptRights, ValueSource};
use crate::diagnostic::{Code, Consequence, Report, Span};
use crate::manifest::{Arguments, Prompt};
use crate::value_types::TextOrFile;
use crate::yaml::{Location, Spanned};

/// The argument with all that a user types.
const ARGS: &str = "args";
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

    fn read(&self, folder: &PackFolder<'_>, report: &mut Report) -> Vec<ImportedPrompt> {
        folder.files.iter().filter_map(|file| read_command(file, folder.grants, report)).collect()
    }
}

fn read_command(file: &ImportedFile, grants: PromptRights, report: &mut Report) -> Option<ImportedPrompt> {
    let command = match Document::parse(file.text.as_ref()) {
        Ok(command) => command,
        Err(error) => {
            let place = error.span().unwrap_or_default();
            report
                .warning(
                    Code::Syntax,
                    Span::new(file.id, place.start, place.end),
                    format!("invalid TOML: {}", error.message()),
                )
                .consequence(Consequence::PromptSkipped);
            return None;
        }
    };
    let text_of = |key: &str| command.get(key).and_then(Item::as_str).filter(|text| !text.trim().is_empty());
    let Some(body) = text_of("prompt") else {
        report
            .warning(Code::MissingKey, Span::start_of(file.id), "no text in `prompt`")
            .consequence(Consequence::PromptSkipped);
        return None;
    };
    let path = path_below(&file.path, "commands", ".toml");
    let ends = brace_ends(body, false);
    let mut actions = ActionReader::new(file, None, grants, report);
    let (at, mut values) = (Location::start_of(file.id), ValueCollector::default());
    let mut pieces = split(body, &['!', '@', '{'], |start| {
        placeholder_at(body, start, ends.get(&(start + 1)).copied(), &mut actions, &mut values)
    });
    if !values.is_used {
        values.append(&mut pieces, &format!("/{} ", path.replace('/', ":")), args_sources());
    }
    let mut arguments = Arguments::new();
    add_argument(&mut arguments, at, ARGS, text_argument(None, false));
    let prompt = Prompt {
        description: text_of("description").map(|text| text.trim().to_owned()),
        arguments,
        text: Some(Spanned::new(TextOrFile::Text(template_of(&pieces)), at)),
        ..Prompt::default()
    };
    Some(actions.add_to(ImportedPrompt::new(path.to_owned(), at, prompt, values.into_values(&[]))))
}

/// What is at `start`; a block in braces behind its first character ends at `end`.
fn placeholder_at(
    body: &str,
    start: usize,
    end: Option<usize>,
    actions: &mut ActionReader<'_>,
    values: &mut ValueCollector,
) -> Option<Replacement> {
    let rest = body.get(start..)?;
    if let Some(end) = end.filter(|_| rest.starts_with("!{")) {
        let text = body.get(start + 2..end - 1)?;
        let mut find = |at| {
            let is_marker = text.get(at..)?.starts_with(MARKER);
            let (end, variable) = (at + MARKER.len(), ARGS.to_owned());
            is_marker.then(|| CommandMarker { end, variable, sources: args_sources(), is_split_into_words: false })
        };
        let command = CommandText { text, start, end, has_markers_in_single_quotes: true };
        return Some(actions.command(body, &command, values, &mut find));
    }
    if let Some(end) = end.filter(|_| rest.starts_with("@{")) {
        let path = body.get(start + 2..end - 1)?.trim();
        let literal = Replacement::literal(body, start, end);
        // Its text is part of the path, whatever is granted: nothing else begins there.
        if path.is_empty() || !actions.may_read(path, &(start..end)) {
            return Some(literal);
        }
        let pieces = split(path, &['{'], |at| value_at(path, at, values));
        return Some(actions.file(path, start..end, &pieces, &[literal.piece]));
    }
    value_at(body, start, values)
}

/// `{{args}}` at `start`.
fn value_at(text: &str, start: usize, values: &mut ValueCollector) -> Option<Replacement> {
    text.get(start..)?.strip_prefix(MARKER)?;
    let piece = Piece::Tag(values.expression(args_sources(), "".into()));
    Some(Replacement { end: start + MARKER.len(), piece })
}

fn args_sources() -> Vec<ValueSource> {
    vec![ValueSource::Argument(ARGS.to_owned())]
}
