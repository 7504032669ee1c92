//! `vscode-prompts`: the prompt files of VS Code.

use super::front_matter::read_markdown;
use super::naming::ArgumentNames;
use super::placeholders::{add_argument, brace_ends, text_argument};
use super::template_text::{Piece, Replacement, ValueCollector, split, template_of};
use super::{ImportedFile, ImportedPrompt, PackFolder, PackFormat, ValueSource};
use crate::diagnostic::Report;
use crate::manifest::{Argument, Arguments, Prompt};
use crate::value_types::TextOrFile;
use crate::yaml::{Location, Spanned};

/// What the editor knows of its own, and a client does not.
const EDITOR_VARIABLES: &[&str] = &[
    "file", "fileBasename", "fileBasenameNoExtension", "fileDirname", "fileDirnameBasename", "fileExtname",
    "fileWorkspaceFolder", "lineNumber", "relativeFile", "relativeFileDirname", "selectedText", "selection",
    "workspaceFolder", "workspaceFolderBasename",
];

/// `**/*.prompt.md`: named after the file.
pub(super) struct VscodePrompts;

impl PackFormat for VscodePrompts {
    fn globs(&self) -> &'static [&'static str] {
        &["**/*.prompt.md"]
    }

    fn read(&self, folder: &PackFolder<'_>, report: &mut Report) -> Vec<ImportedPrompt> {
        folder.files.iter().filter_map(|file| read_prompt(file, report)).collect()
    }
}

fn read_prompt(file: &ImportedFile, report: &mut Report) -> Option<ImportedPrompt> {
    let markdown = read_markdown(file, report)?;
    let body = markdown.body;
    let ends = brace_ends(body, true);
    let at = Location::start_of(file.id);
    let (mut arguments, mut values) = (Arguments::new(), ValueCollector::default());
    let mut names = ArgumentNames::default();
    let pieces = split(body, &['$'], |start| {
        let end = ends.get(&(start + 1)).copied()?;
        let marker = body.get(start..end)?;
        let (name, argument) = argument_of(marker.strip_prefix("${")?.strip_suffix('}')?)?;
        let name = names.claim(name);
        add_argument(&mut arguments, at, &name, argument);
        let expression = values.expression(vec![ValueSource::Argument(name)], marker.into());
        Some(Replacement { end, piece: Piece::Tag(expression) })
    });
    let prompt = Prompt {
        title: markdown.text("name"),
        description: markdown.text("description"),
        arguments,
        text: Some(Spanned::new(TextOrFile::Text(template_of(&pieces)), at)),
        ..Prompt::default()
    };
    let name = file.path.rsplit('/').next()?.strip_suffix(".prompt.md")?.to_owned();
    Some(ImportedPrompt::new(name, at, prompt, values.into_values(&[])))
}

/// The argument of a marker, from what is in its braces, and what that calls it.
fn argument_of(inside: &str) -> Option<(&str, Argument)> {
    if EDITOR_VARIABLES.contains(&inside) {
        return Some((inside, text_argument(None, false)));
    }
    let input = inside.strip_prefix("input:")?;
    let (id, hint) = input.split_once([':', '|']).unwrap_or((input, ""));
    let hint = Some(hint.trim()).filter(|hint| !hint.is_empty());
    (!id.trim().is_empty()).then(|| (id.trim(), text_argument(hint.map(str::to_owned), true)))
}
