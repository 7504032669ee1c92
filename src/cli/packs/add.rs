//! `folio add`.

use std::collections::BTreeSet;

use anyhow::ensure;

use super::add_source::{NewPack, list_files, locate};
use super::args::AddArgs;
use super::pack_contents;
use super::project::{PackProject, PacksToResolve, print_failure};
use crate::catalog::{BuildOutcome, build};
use crate::cli::manifest::ManifestFile;
use crate::cli::{Exit, Output};
use crate::compile::FileBuffers;
use crate::diagnostic::{Code, Consequence, Diagnostic, Report, Severity, count_noun};
use crate::files::Globs;
use crate::manifest::{Grant, PackFormatName};
use crate::pack_format::WORKSPACE_TEMPLATE;
use crate::pack_source::PackLock;
use crate::yaml::{InsertError, NewEntry, flow_scalar, insert_entry};

/// Adds a pack to a manifest, if the manifest is as good with it.
pub(crate) fn run(arguments: &AddArgs, output: &Output) -> anyhow::Result<Exit> {
    if arguments.list {
        let project = PackProject::open_for_listing(&arguments.file, output)?;
        return pack_contents::list(arguments, &project).or_else(|error| Ok(print_failure(&error, output)));
    }
    let project = PackProject::open(&arguments.file, output)?;
    let target = ManifestFile::find(&arguments.file)?;
    let draft = match PackDraft::new(arguments, &project) {
        Ok(draft) => draft,
        Err(error) => return Ok(print_failure(&error, output)),
    };
    let text = match draft.insert_into(&target.text) {
        Ok(text) => text,
        Err(why) => {
            output.eprint(&insert_error_message(&why, &draft, &target));
            return Ok(Exit::Failure);
        }
    };
    let addition = Addition { project: &project, target: &target, draft: &draft };
    match addition.add(text) {
        Ok(exit) => Ok(exit),
        Err(error) => Ok(print_failure(&error, output)),
    }
}

fn insert_error_message(why: &InsertError, draft: &PackDraft, target: &ManifestFile) -> String {
    let display_path = target.display_path();
    if *why == InsertError::Exists {
        return format!(
            "error: the manifest has a pack `{0}` already\nhelp: choose another key with `--as`, or take it out first with `folio remove {0}`\n",
            draft.key
        );
    }
    let text: String = draft.lines().lines().map(|line| format!("  {line}\n")).collect();
    format!("error: cannot add to `{display_path}`: {why}\nhelp: write this yourself:\n\npacks:\n{text}")
}

/// A pack that is being added.
struct Addition<'a> {
    project: &'a PackProject<'a>,
    target: &'a ManifestFile,
    draft: &'a PackDraft,
}

impl Addition<'_> {
    /// Writes the lock and the manifest, unless the manifest is worse with them.
    fn add(&self, mut text: String) -> anyhow::Result<Exit> {
        let Addition { project, target, draft } = self;
        let lock = project.resolve_lock(&PacksToResolve::New, &target.buffers(&text)?)?;
        let before = build(project.load(&project.lock, FileBuffers::default()));
        let mut after = build(project.load(&lock, target.buffers(&text)?));
        if let Some(shorter) = self.without_prefix(&before, &after)
            && let built = build(project.load(&lock, target.buffers(&shorter)?))
            && built.report.first_new(&before.report, Severity::Error).is_none()
        {
            (text, after) = (shorter, built);
        }
        if let Some(first) = after.report.first_new(&before.report, Severity::Error) {
            let is_name = first.code == Code::Duplicate;
            let help = if is_name { "help: choose another key with `--as`, or a `--prefix`\n" } else { "" };
            project.output.eprint_report(&after.report.without_those_of(&before.report));
            project.output.eprint(&format!("error: nothing was added: the manifest would have errors\n{help}"));
            return Ok(Exit::Failure);
        }
        // A lock of more than the manifest has is harmless.
        project.write_lock(&lock)?;
        target.write(&text)?;
        project.output.print(&self.summary(&lock, &before, &after))?;
        let new = after.report.without_those_of(&before.report);
        tell_warnings(&new, project.output);
        tell_unserved(&new, project.output);
        let key = &draft.key;
        if let Some(url) = &draft.unlocked_repository {
            project.output.eprint(&format!(
                "pack `{key}` is a folder of yours: it is not locked, and edits of it are served at once\n\
                 help: to lock a commit of it, run `folio remove {key}` and `folio add {url}`\n"
            ));
        }
        match lock.packs.contains_key(key) && draft.has_grants {
            true => project.output.eprint(&format!("it serves texts only until you run `folio trust {key}`\n")),
            false => warn_of_missing_grants(&before.report, &after.report, project.output),
        }
        Ok(Exit::Success)
    }

    /// The manifest without the prefix of a pack with one prompt that has the name of the pack: `pdf`, and not `pdf-pdf`.
    fn without_prefix(&self, before: &BuildOutcome, after: &BuildOutcome) -> Option<String> {
        if self.draft.keys.iter().any(|(key, _)| *key == "prefix") {
            return None;
        }
        let names = |built: &BuildOutcome| -> BTreeSet<String> {
            let lists = built.catalog.as_deref().map(|catalog| catalog.lists());
            lists.iter().flat_map(|lists| &lists.prompts).map(|prompt| prompt.name.clone()).collect()
        };
        let earlier = names(before);
        let added: Vec<String> = names(after).into_iter().filter(|name| !earlier.contains(name)).collect();
        if added != [format!("{0}-{0}", self.draft.key)] {
            return None;
        }
        let mut shorter = self.draft.clone();
        shorter.keys.push(("prefix", flow_scalar("")));
        shorter.insert_into(&self.target.text).ok()
    }

    fn summary(&self, lock: &PackLock, before: &BuildOutcome, after: &BuildOutcome) -> String {
        let counts = |built: &BuildOutcome| {
            let lists = built.catalog.as_deref().map(|catalog| catalog.lists());
            lists.map(|lists| [lists.prompts.len(), lists.resources.len(), lists.tools.len()]).unwrap_or_default()
        };
        let added = counts(after).into_iter().zip(counts(before)).map(|(now, then)| now.saturating_sub(then));
        let nouns = added.zip(["prompt", "resource", "tool"]).filter(|(count, _)| *count > 0);
        let what: Vec<String> = nouns.map(|(count, noun)| count_noun(count, noun)).collect();
        let what = if what.is_empty() { "nothing new".to_owned() } else { what.join(", ") };
        let version = lock.packs.get(&self.draft.key).map(|pack| format!(" at {}", pack.version()));
        let (key, display_path) = (&self.draft.key, self.target.display_path());
        format!("added pack `{key}`{} to {display_path}: {what}\n", version.unwrap_or_default())
    }
}

/// Says how many files and rows of a pack are left out, and how many other warnings it has.
fn tell_warnings(new: &Report, output: &Output) {
    let of_pack = |warning: &&Diagnostic| warning.code != Code::NotGranted;
    let noun = |warning: &Diagnostic| match warning.consequence {
        Some(Consequence::RowSkipped) => "row",
        None | Some(Consequence::SkillUnlisted | Consequence::RestRead) => "warning",
        Some(_) => "file",
    };
    let nouns: Vec<&str> = new.warnings().filter(of_pack).map(noun).collect();
    let counts = [("file", " left out"), ("row", " left out"), ("warning", "")]
        .map(|(noun, end)| (nouns.iter().filter(|counted| **counted == noun).count(), noun, end));
    let counted = counts.into_iter().filter(|(count, _, _)| *count > 0);
    let words: Vec<String> = counted.map(|(count, noun, end)| format!("{}{end}", count_noun(count, noun))).collect();
    if !words.is_empty() {
        output.eprint(&format!("{}: `folio check` says which and why\n", words.join(", ")));
    }
}

/// Says what the pack has that is not served.
fn tell_unserved(new: &Report, output: &Output) {
    for note in new.diagnostics().iter().filter(|note| note.severity == Severity::Note && note.code == Code::Unused) {
        let help = note.help.iter().map(|help| format!(": {help}")).collect::<String>();
        output.eprint(&format!("note: {}{help}\n", note.message));
    }
}

/// Says what of a pack needs a grant that it does not have.
fn warn_of_missing_grants(before: &Report, after: &Report, output: &Output) {
    let count =
        |report: &Report| report.diagnostics().iter().filter(|diagnostic| diagnostic.code == Code::NotGranted).count();
    let missing = count(after).saturating_sub(count(before));
    if missing > 0 {
        output.eprint(&format!(
            "{} not allowed yet: `folio check` lists the grants that each needs, `allow` in the pack gives them\n",
            count_noun(missing, "action")
        ));
    }
}

/// What is written to the manifest.
#[derive(Clone)]
struct PackDraft {
    key: String,
    /// The keys and their values in YAML.
    keys: Vec<(&'static str, String)>,
    has_grants: bool,
    /// The URL of a repository that is added as a folder.
    unlocked_repository: Option<String>,
}

impl PackDraft {
    fn new(arguments: &AddArgs, project: &PackProject<'_>) -> anyhow::Result<PackDraft> {
        let NewPack { source, mut only, mut formats } = locate(arguments, project)?;
        if arguments.all {
            let files = list_files(arguments, project)?;
            formats = &[PackFormatName::Auto];
            if files.contents()?.has_only_agents() {
                formats = &[PackFormatName::Agents];
                // Any Markdown could be an agent.
                only = files.plugin_folders().iter().map(|folder| format!("{}/**", Globs::escape(folder))).collect();
            }
        }
        let name = arguments.key.clone().or_else(|| arguments.name.clone()).unwrap_or_else(|| source.name());
        let key = key_of(&name);
        ensure!(!key.is_empty(), "no key for the pack\nhelp: choose one with `--as`");
        let mut keys = source.keys();
        let list = |items: &[String]| {
            format!("[{}]", items.iter().map(|item| flow_scalar(item)).collect::<Vec<_>>().join(", "))
        };
        let formats: Vec<String> = match arguments.format.is_empty() {
            true => formats.iter().map(|format| format.as_str().to_owned()).collect(),
            false => arguments.format.clone(),
        };
        match formats.as_slice() {
            [] => {}
            [format] => keys.push(("format", flow_scalar(format))),
            formats => keys.push(("format", list(formats))),
        }
        if !only.is_empty() {
            keys.push(("only", list(&only)));
        }
        keys.extend(arguments.prefix.as_ref().map(|prefix| ("prefix", flow_scalar(prefix))));
        if !arguments.allow.is_empty() {
            keys.push(("allow", format!("[{}]", arguments.allow.join(", "))));
        }
        if arguments.allow.iter().any(|grant| grant == Grant::Read.as_str()) {
            keys.push(("workspace", flow_scalar(WORKSPACE_TEMPLATE)));
        }
        let unlocked_repository = source.unlocked_repository(project);
        Ok(PackDraft { key, keys, has_grants: !arguments.allow.is_empty(), unlocked_repository })
    }

    /// A manifest with the pack in it.
    fn insert_into(&self, manifest: &str) -> Result<String, InsertError> {
        let (lines, flow) = (self.lines(), self.flow());
        let entry = NewEntry { section: "packs", name: &self.key, text: &lines, flow: Some(&flow) };
        let insertion = insert_entry(manifest, &entry)?;
        let mut text = manifest.to_owned();
        text.insert_str(insertion.at, &insertion.text);
        Ok(text)
    }

    /// Its lines in a manifest.
    fn lines(&self) -> String {
        let keys = self.keys.iter().map(|(key, value)| format!("  {key}: {value}\n"));
        format!("{}:\n{}", flow_scalar(&self.key), keys.collect::<String>())
    }

    /// The same in braces.
    fn flow(&self) -> String {
        let keys: Vec<String> = self.keys.iter().map(|(key, value)| format!("{key}: {value}")).collect();
        format!("{}: {{ {} }}", flow_scalar(&self.key), keys.join(", "))
    }
}

/// A key of the characters that names have.
fn key_of(name: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c.to_ascii_lowercase() } else { '-' };
    name.chars().map(allowed).collect::<String>().trim_matches('-').to_owned()
}
