//! `vscode-prompts`: the prompt files of VS Code.

use super::front_matter::read_markdown;
use super::naming::ArgumentNames;
use super::placeholders::{ArgumentCollector, PlaceholderMatch, brace_ends, split};
use super::{ForeignArgument, ForeignBody, ForeignFile, ForeignPrompt, PackFolder, PackFormat, TextPiece, ValueSource};
use crate::diagnostic::Report;
use crate::yaml::Location;

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

    fn read(&self, folder: &PackFolder<'_>, report: &mut Report) -> Vec<ForeignPrompt> {
        folder.files.iter().filter_map(|file| read_prompt(file, report)).collect()
    }
}

fn read_prompt(file: &ForeignFile, report: &mut Report) -> Option<ForeignPrompt> {
    let markdown = read_markdown(file, report)?;
    let body = markdown.body;
    let ends = brace_ends(body, true);
    let mut arguments = ArgumentCollector::default();
    let mut names = ArgumentNames::default();
    let text = split(body, &['$'], |start| {
        let end = ends.get(&(start + 1)).copied()?;
        let inside = body.get(start..end)?.strip_prefix("${")?.strip_suffix('}')?;
        let argument = argument_of(inside, &mut names)?;
        let sources = vec![ValueSource::Argument(argument.name.clone())];
        arguments.add(argument);
        Some(PlaceholderMatch { end, piece: TextPiece::Value { sources, fallback: body.get(start..end)?.into() } })
    });
    let name = file.path.rsplit('/').next()?.strip_suffix(".prompt.md")?;
    let prompt = ForeignPrompt {
        name: name.to_owned(),
        title: markdown.text("name"),
        description: markdown.text("description"),
        arguments: arguments.into_list(),
        body: ForeignBody::Text(text.into()),
        at: Location::start_of(file.id),
    };
    prompt.with_few_arguments(report)
}

/// The argument of a marker, from what stands in its braces.
fn argument_of(inside: &str, names: &mut ArgumentNames) -> Option<ForeignArgument> {
    if EDITOR_VARIABLES.contains(&inside) {
        return Some(ForeignArgument::optional(names.claim(inside)));
    }
    let input = inside.strip_prefix("input:")?;
    let (id, hint) = input.split_once([':', '|']).unwrap_or((input, ""));
    let hint = Some(hint.trim()).filter(|hint| !hint.is_empty());
    (!id.trim().is_empty()).then(|| ForeignArgument {
        name: names.claim(id.trim()),
        description: hint.map(str::to_owned),
        required: true,
        schema: None,
    })
}
