//! `folio new`: adds an entry to a manifest, and keeps every other byte.

use std::collections::HashSet;

use anyhow::{anyhow, ensure};
use clap::ValueEnum;

use super::args::NewArgs;
use super::new_entry::{EntryDraft, NewAction, SharedKeys, name_in_words};
use crate::catalog::{BuildOutcome, Catalog, check_entry_name};
use crate::cli::manifest::ManifestFile;
use crate::cli::request::EntryKind;
use crate::cli::terminal::{ask, can_ask};
use crate::cli::{Exit, Output};
use crate::diagnostic::{Severity, one_line};
use crate::world::shell_quote;
use crate::yaml::{InsertError, Insertion, NewEntry, insert_entry};

/// Adds an entry, if the manifest is as good with it.
pub(crate) fn run(arguments: NewArgs, output: &Output) -> anyhow::Result<Exit> {
    let target = ManifestFile::find(&arguments.file)?;
    let before = target.build(&target.text);
    output.set_redactor(before.redactor.clone());
    let Some(catalog) = before.catalog.as_deref().filter(|_| !before.report.has_errors()) else {
        output.eprint_report(&before.report);
        output.eprint("error: nothing is added to a manifest with errors\n");
        return Ok(Exit::Failure);
    };
    let head = EntryHeader::new(&arguments, catalog, output)?;
    if let Err(message) = head.check_unused(catalog) {
        output.eprint(&format!("error: {message}\n"));
        return Ok(Exit::Failure);
    }
    let draft = head.into_draft(arguments, &target.text, catalog, output)?;
    let (kind, text) = (draft.kind, draft.text());
    match insert_entry(&target.text, &NewEntry { section: kind.section(), name: &draft.name, text: &text, flow: None })
    {
        Ok(insertion) => add(&target, &draft, insertion, &before, output),
        Err(why) => {
            eprint_entry(&target, NewEntryError::Insert(why), &draft, output);
            Ok(Exit::Failure)
        }
    }
}

/// Writes the file with the entry, unless the manifest is worse with it.
fn add(
    target: &ManifestFile,
    draft: &EntryDraft,
    insertion: Insertion,
    before: &BuildOutcome,
    output: &Output,
) -> anyhow::Result<Exit> {
    let mut text = target.text.clone();
    text.insert_str(insertion.at, &insertion.text);
    let after = target.build(&text);
    // An entry of a file that the manifest does not include is not in the catalog.
    let entry_names =
        |built: &BuildOutcome| built.catalog.as_deref().map(|catalog| names(catalog, draft.kind)).unwrap_or_default();
    let names_now = entry_names(&after);
    let is_served = names_now.contains(&draft.name) && names_now.len() > entry_names(before).len();
    if let Some(error) = after.report.first_new(&before.report, Severity::Warning) {
        eprint_entry(target, NewEntryError::CausesError(error.message.clone()), draft, output);
        return Ok(Exit::Failure);
    }
    if !is_served {
        eprint_entry(target, NewEntryError::NotIncluded, draft, output);
        return Ok(Exit::Failure);
    }
    target.write(&text)?;
    let (entry, lines) = (draft.text(), insertion.text.split_inclusive('\n'));
    let above: usize = lines.take_while(|line| Some(line.trim()) != entry.lines().next()).map(str::len).sum();
    let line = text.get(..insertion.at + above).unwrap_or_default().matches('\n').count() + 1;
    let display_path = target.display_path();
    let folder = match target.location.path() == std::env::current_dir().unwrap_or_default() {
        true => String::new(),
        false => format!(" -f {}", shell_quote(target.location.path().as_os_str())),
    };
    output.print(&format!(
        "added {} `{}` at {display_path}:{line}\n\nTry it:\n  folio {}{folder}\n",
        draft.kind.noun(),
        draft.name,
        draft.first_command()
    ))?;
    Ok(Exit::Success)
}

/// The names of one kind.
fn names(catalog: &Catalog, kind: EntryKind) -> HashSet<String> {
    let lists = catalog.lists();
    match kind {
        EntryKind::Prompt => lists.prompts.iter().map(|prompt| prompt.name.clone()).collect(),
        EntryKind::Tool => lists.tools.iter().map(|tool| tool.name.clone()).collect(),
        EntryKind::Resource => {
            let templates = lists.resource_templates.iter().map(|template| template.info.name.clone());
            lists.resources.iter().map(|resource| resource.info.name.clone()).chain(templates).collect()
        }
    }
}

/// Why an entry is not written.
enum NewEntryError {
    /// The text leaves no place for it.
    Insert(InsertError),
    /// What the manifest would have wrong.
    CausesError(String),
    /// The manifest does not include the file.
    NotIncluded,
}

/// Says why nothing is written, and what to paste instead.
fn eprint_entry(target: &ManifestFile, why: NewEntryError, draft: &EntryDraft, output: &Output) {
    let path = target.display_path();
    let why = match why {
        NewEntryError::Insert(InsertError::Exists) => {
            let (kind, name) = (draft.kind.noun(), &draft.name);
            return output.eprint(&format!("error: the file has a {kind} `{name}` already\n"));
        }
        NewEntryError::Insert(why) => why.to_string(),
        NewEntryError::CausesError(message) => {
            return output
                .eprint(&format!("error: cannot add to `{path}`: the manifest would have errors: {message}\n"));
        }
        NewEntryError::NotIncluded => "the manifest does not include the file".to_owned(),
    };
    let text: String = draft.text().lines().map(|line| format!("  {line}\n")).collect();
    output.eprint(&format!(
        "error: cannot add to `{path}`: {why}\nhelp: write this yourself:\n\n{}:\n{text}",
        draft.kind.section()
    ));
}

/// What is added, before it is asked what it does.
struct EntryHeader {
    kind: EntryKind,
    name: String,
}

impl EntryHeader {
    /// The kind and the name. On a terminal it is asked what is left out.
    ///
    /// # Errors
    /// Something is missing or invalid.
    fn new(arguments: &NewArgs, catalog: &Catalog, output: &Output) -> anyhow::Result<EntryHeader> {
        let question = "Add a prompt, a tool or a resource?";
        let kind = given_or_prompt(arguments.kind, || ask(question, "prompt", parse_choice, output))?;
        let kind = kind.ok_or_else(|| missing_error("kind of the entry"))?;
        let unused = |answer: &str| {
            let head = EntryHeader { kind, name: parse_name(answer)? };
            head.check_unused(catalog).map(|()| head.name)
        };
        let name = given_or_prompt(arguments.name.clone(), || ask("Its name", "", unused, output))?;
        let name = name.ok_or_else(|| missing_error(&format!("name of the {}", kind.noun())))?;
        parse_name(&name).map_err(|help| anyhow!("invalid name `{}`\nhelp: {help}", one_line(&name)))?;
        Ok(EntryHeader { kind, name })
    }

    fn check_unused(&self, catalog: &Catalog) -> Result<(), String> {
        match names(catalog, self.kind).contains(&self.name) {
            true => Err(format!("the manifest has a {} `{}` already", self.kind.noun(), self.name)),
            false => Ok(()),
        }
    }

    /// The entry to add to `manifest`. On a terminal it is asked what is left out.
    ///
    /// # Errors
    /// Something does not fit.
    fn into_draft(
        self,
        arguments: NewArgs,
        manifest: &str,
        catalog: &Catalog,
        output: &Output,
    ) -> anyhow::Result<EntryDraft> {
        let EntryHeader { kind, name } = self;
        let is_tool = kind == EntryKind::Tool;
        ensure!(arguments.action.is_none() || is_tool, "`--action` is for tools, and this is a {}", kind.noun());
        let (question, words) = ("What it is, in a sentence", name_in_words(&name));
        let sentence = |answer: &str| Ok(answer.to_owned());
        let description = given_or_prompt(arguments.description, || ask(question, &words, sentence, output))?;
        let question = "A program (exec), a script, an http request or a file?";
        let action = match arguments.action {
            None if is_tool => given_or_prompt(None, || ask(question, "exec", parse_choice, output))?,
            given => given,
        };
        let (description, action) = (description.unwrap_or(words), action.unwrap_or_default());
        let shared = SharedKeys::read(manifest);
        let needs_folder = is_tool && action == NewAction::File && shared.folder.is_none();
        ensure!(
            !needs_folder,
            "a tool that reads files needs a folder\nhelp: add `folders: {{ notes: notes }}` to the manifest first"
        );
        Ok(EntryDraft { kind, name, description, action, server: catalog.server().name.clone(), shared })
    }
}

/// What is given, or answered on a terminal. In a script nothing is asked.
fn given_or_prompt<T>(given: Option<T>, answer: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<Option<T>> {
    match given {
        None if can_ask() => answer().map(Some),
        given => Ok(given),
    }
}

fn missing_error(what: &str) -> anyhow::Error {
    anyhow!("missing {what}\nhelp: `folio new prompt NAME`, or `tool` or `resource`; on a terminal it is asked for")
}

fn parse_choice<T: ValueEnum>(answer: &str) -> Result<T, String> {
    let names = || T::value_variants().iter().filter_map(|choice| choice.to_possible_value());
    T::from_str(answer, true).map_err(|_| {
        let names: Vec<String> = names().map(|name| format!("`{}`", name.get_name())).collect();
        format!("expected one of {}", names.join(", "))
    })
}

fn parse_name(answer: &str) -> Result<String, String> {
    check_entry_name(answer).map(|()| answer.to_owned()).map_err(|help| help.to_string())
}
