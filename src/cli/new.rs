//! `folio new`: adds an entry to a manifest, and keeps every other byte.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, ensure};
use clap::ValueEnum;

use super::env_pair::environment;
use super::new_entry::{EntryDraft, NewAction, SharedKeys, name_in_words};
use super::text_file::{check_replaceable, replace_text};
use super::text_prompt::{ask, can_ask};
use super::{EntryKind, Exit, NewArgs, Output};
use crate::catalog::{BuildOutcome, Catalog, build, check_entry_name};
use crate::compile::FileBuffers;
use crate::diagnostic::{Severity, one_line};
use crate::load::{MANIFEST_NAMES, ManifestLocation, load_buffers};
use crate::world::shell_quote;
use crate::yaml::{InsertError, Insertion, NewEntry, insert_entry};

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Adds an entry, if the manifest is as good with it.
pub(super) fn run(arguments: NewArgs, output: &Output) -> anyhow::Result<Exit> {
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
        Ok(insertion) => target.add(&draft, insertion, &before, output),
        Err(why) => {
            eprint_entry(&target, NewEntryError::Insert(why), &draft, output);
            Ok(Exit::Failure)
        }
    }
}

/// The file to which an entry is added.
pub(super) struct ManifestFile {
    pub(super) path: PathBuf,
    /// The manifest that it belongs to, or that it is.
    location: ManifestLocation,
    /// Its text, without a byte order mark.
    pub(super) text: String,
    pub(super) byte_order_mark: &'static str,
}

impl ManifestFile {
    pub(super) fn find(given: &Path) -> anyhow::Result<ManifestFile> {
        let location = ManifestLocation::resolve(given)?;
        let path = match given.is_dir() {
            true => MANIFEST_NAMES.iter().map(|name| given.join(name)).find(|path| path.is_file()),
            false => Some(given.to_owned()),
        };
        let path = path.with_context(|| format!("cannot read the manifest in `{}`", given.display()))?;
        let read = || format!("cannot read `{}`", path.display());
        let bytes = fs::read(&path).with_context(read)?;
        let text = String::from_utf8(bytes).map_err(|_| anyhow!("it is not UTF-8")).with_context(read)?;
        let (byte_order_mark, text) = match text.strip_prefix(BYTE_ORDER_MARK) {
            Some(bare) => (BYTE_ORDER_MARK, bare.to_owned()),
            None => ("", text),
        };
        // A manifest says its version; what a manifest includes does not.
        let is_manifest = text.lines().any(|line| line.starts_with("folio:"));
        let location = if given.is_dir() || is_manifest { location } else { ManifestLocation::from_file(given)? };
        Ok(ManifestFile { path, location, text, byte_order_mark })
    }

    pub(super) fn display_path(&self) -> String {
        let path = self.path.display().to_string();
        one_line(path.strip_prefix("./").unwrap_or(&path)).into_owned()
    }

    /// A text in the place of the file.
    ///
    /// # Errors
    /// The file is gone.
    pub(super) fn buffers(&self, text: &str) -> anyhow::Result<FileBuffers> {
        let mut buffers = FileBuffers::default();
        buffers.insert(fs::canonicalize(&self.path)?, format!("{}{text}", self.byte_order_mark).into_bytes());
        Ok(buffers)
    }

    /// Builds the manifest with a text in the place of the file.
    fn build(&self, text: &str) -> BuildOutcome {
        let buffers = self.buffers(text).unwrap_or_default();
        build(load_buffers(&self.location, &environment(&[], None), &buffers))
    }

    /// Writes the file with the entry, unless the manifest is worse with it.
    fn add(
        &self,
        draft: &EntryDraft,
        insertion: Insertion,
        before: &BuildOutcome,
        output: &Output,
    ) -> anyhow::Result<Exit> {
        let mut text = self.text.clone();
        text.insert_str(insertion.at, &insertion.text);
        let after = self.build(&text);
        let is_served = after.catalog.as_deref().is_some_and(|catalog| is_added(draft, catalog, before));
        if let Some(error) = after.report.first_new(&before.report, Severity::Warning) {
            eprint_entry(self, NewEntryError::CausesError(error.message.clone()), draft, output);
            return Ok(Exit::Failure);
        }
        if !is_served {
            eprint_entry(self, NewEntryError::NotIncluded, draft, output);
            return Ok(Exit::Failure);
        }
        self.write(&text)?;
        let (entry, lines) = (draft.text(), insertion.text.split_inclusive('\n'));
        let above: usize = lines.take_while(|line| Some(line.trim()) != entry.lines().next()).map(str::len).sum();
        let line = text.get(..insertion.at + above).unwrap_or_default().matches('\n').count() + 1;
        let display_path = self.display_path();
        let folder = match self.location.path() == std::env::current_dir().unwrap_or_default() {
            true => String::new(),
            false => format!(" -f {}", shell_quote(self.location.path().as_os_str())),
        };
        output.print(&format!(
            "added {} `{}` at {display_path}:{line}\n\nTry it:\n  folio {}{folder}\n",
            draft.kind.noun(),
            draft.name,
            draft.first_command()
        ))?;
        Ok(Exit::Success)
    }

    /// Writes the file, unless it has changed since it was read.
    ///
    /// # Errors
    /// It has, or cannot be written.
    pub(super) fn write(&self, text: &str) -> anyhow::Result<()> {
        replace_text(&self.path, &self.text, text).with_context(|| self.unwritten())
    }

    /// Whether it could be written.
    ///
    /// # Errors
    /// It could not.
    pub(super) fn check_writable(&self) -> anyhow::Result<()> {
        check_replaceable(&self.path).with_context(|| self.unwritten())
    }

    fn unwritten(&self) -> String {
        format!("cannot write `{}`", self.path.display())
    }
}

/// Whether the manifest has the entry now: one whose file it does not include has not.
fn is_added(draft: &EntryDraft, after: &Catalog, before: &BuildOutcome) -> bool {
    let earlier = before.catalog.as_deref().map(|catalog| names(catalog, draft.kind).len()).unwrap_or_default();
    let now = names(after, draft.kind);
    now.contains(&draft.name) && now.len() > earlier
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
    let names = || T::value_variants().iter().filter_map(|one| one.to_possible_value());
    T::from_str(answer, true).map_err(|_| {
        let names: Vec<String> = names().map(|name| format!("`{}`", name.get_name())).collect();
        format!("expected one of {}", names.join(", "))
    })
}

fn parse_name(answer: &str) -> Result<String, String> {
    check_entry_name(answer).map(|()| answer.to_owned()).map_err(|help| help.to_string())
}
