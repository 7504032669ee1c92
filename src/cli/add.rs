//! `folio add`.

use anyhow::ensure;

use super::add_source::locate;
use super::new::Target;
use super::pack_project::{PackProject, PacksToResolve, print_failure};
use super::{AddArgs, Exit, Output};
use crate::catalog::{BuildOutcome, build};
use crate::compile::FileBuffers;
use crate::diagnostic::{Code, Report, Severity, count_noun};
use crate::load::WORKSPACE_TEMPLATE;
use crate::manifest::Grant;
use crate::pack_source::{PackLock, scalar};
use crate::yaml::{InsertError, NewEntry, insert_entry};

/// Adds a pack to a manifest, if the manifest is as good with it.
pub(super) fn run(arguments: &AddArgs, output: &Output) -> anyhow::Result<Exit> {
    let project = PackProject::open(&arguments.file, output)?;
    let target = Target::find(&arguments.file)?;
    let draft = match PackDraft::new(arguments, &project) {
        Ok(draft) => draft,
        Err(error) => return Ok(print_failure(&error, output)),
    };
    let (lines, flow) = (draft.lines(), draft.flow());
    let entry = NewEntry { section: "packs", name: &draft.key, text: &lines, flow: Some(&flow) };
    let insertion = match insert_entry(&target.text, &entry) {
        Ok(insertion) => insertion,
        Err(why) => {
            output.eprint(&refusal(&why, &draft, &target));
            return Ok(Exit::Failure);
        }
    };
    let mut text = target.text.clone();
    text.insert_str(insertion.at, &insertion.text);
    let addition = Addition { project: &project, target: &target, draft: &draft };
    match addition.add(&text) {
        Ok(exit) => Ok(exit),
        Err(error) => Ok(print_failure(&error, output)),
    }
}

fn refusal(why: &InsertError, draft: &PackDraft, target: &Target) -> String {
    let display_path = target.display_path();
    if *why == InsertError::Exists {
        return format!(
            "error: the manifest has a pack `{0}` already\nhelp: choose another key with `--as`, or `folio update {0}`\n",
            draft.key
        );
    }
    let text: String = draft.lines().lines().map(|line| format!("  {line}\n")).collect();
    format!("error: cannot add to `{display_path}`: {why}\nhelp: write this yourself:\n\npacks:\n{text}")
}

/// A pack that is being added.
struct Addition<'a> {
    project: &'a PackProject<'a>,
    target: &'a Target,
    draft: &'a PackDraft,
}

impl Addition<'_> {
    /// Writes the lock and the manifest, unless the manifest is worse with them.
    fn add(&self, text: &str) -> anyhow::Result<Exit> {
        let Addition { project, target, draft } = self;
        let lock = project.complete(&PacksToResolve::New, &target.buffers(text)?)?;
        let before = build(project.load(&project.lock, FileBuffers::default()));
        let after = build(project.load(&lock, target.buffers(text)?));
        if after.report.first_new(&before.report, Severity::Error).is_some() {
            project.output.eprint_report(&after.report);
            project.output.eprint("error: nothing is added: the manifest would have errors\n");
            return Ok(Exit::Failure);
        }
        // A lock of more than the manifest has is harmless.
        project.write_lock(&lock)?;
        target.write(text)?;
        project.output.print(&self.summary(&lock, &before, &after))?;
        match lock.packs.contains_key(&draft.key) && draft.has_grants {
            true => draft.warn_of_trust(project.output),
            false => warn_of_missing_grants(&before.report, &after.report, project.output),
        }
        Ok(Exit::Success)
    }

    fn summary(&self, lock: &PackLock, before: &BuildOutcome, after: &BuildOutcome) -> String {
        let counts = |built: &BuildOutcome| {
            let lists = built.catalog.as_deref().map(|catalog| catalog.lists());
            lists.map(|lists| [lists.prompts.len(), lists.resources.len(), lists.tools.len()]).unwrap_or_default()
        };
        let added = counts(after).into_iter().zip(counts(before)).map(|(now, then)| now.saturating_sub(then));
        let nouns = added.zip(["prompt", "resource", "tool"]).filter(|(count, _)| *count > 0);
        let what: Vec<String> = nouns.map(|(count, noun)| count_noun(count, noun)).collect();
        let what = if what.is_empty() { "nothing new is listed".to_owned() } else { what.join(", ") };
        let version = lock.packs.get(&self.draft.key).map(|pack| format!(" at {}", pack.version()));
        let (key, display_path) = (&self.draft.key, self.target.display_path());
        format!("added pack `{key}`{} to {display_path}: {what}\n", version.unwrap_or_default())
    }
}

/// Says what of a pack needs a grant that it does not have.
fn warn_of_missing_grants(before: &Report, after: &Report, output: &Output) {
    let count = |report: &Report| report.diagnostics().iter().filter(|one| one.code == Code::NotGranted).count();
    let missing = count(after).saturating_sub(count(before));
    if missing > 0 {
        output.eprint(&format!(
            "{} without a grant: `folio check` lists what needs one\n",
            count_noun(missing, "action")
        ));
    }
}

/// What is written to the manifest.
struct PackDraft {
    key: String,
    /// The keys and their values in YAML.
    keys: Vec<(&'static str, String)>,
    has_grants: bool,
}

impl PackDraft {
    fn new(arguments: &AddArgs, project: &PackProject<'_>) -> anyhow::Result<PackDraft> {
        let source = locate(arguments, project)?;
        let name = arguments.key.clone().or_else(|| arguments.name.clone()).unwrap_or_else(|| source.name());
        let key = key_of(&name);
        ensure!(!key.is_empty(), "no key for the pack\nhelp: choose one with `--as`");
        let mut keys = source.keys();
        let list = |items: &[String]| match items {
            [one] => scalar(one),
            items => format!("[{}]", items.iter().map(|item| scalar(item)).collect::<Vec<_>>().join(", ")),
        };
        if !arguments.format.is_empty() {
            keys.push(("format", list(&arguments.format)));
        }
        keys.extend(arguments.prefix.as_ref().map(|prefix| ("prefix", scalar(prefix))));
        if !arguments.allow.is_empty() {
            keys.push(("allow", format!("[{}]", arguments.allow.join(", "))));
        }
        if arguments.allow.iter().any(|grant| grant == Grant::Read.as_str()) {
            keys.push(("workspace", scalar(WORKSPACE_TEMPLATE)));
        }
        Ok(PackDraft { key, keys, has_grants: !arguments.allow.is_empty() })
    }

    /// Its lines in a manifest.
    fn lines(&self) -> String {
        let keys = self.keys.iter().map(|(key, value)| format!("  {key}: {value}\n"));
        format!("{}:\n{}", scalar(&self.key), keys.collect::<String>())
    }

    /// The same in braces.
    fn flow(&self) -> String {
        let keys: Vec<String> = self.keys.iter().map(|(key, value)| format!("{key}: {value}")).collect();
        format!("{}: {{ {} }}", scalar(&self.key), keys.join(", "))
    }

    fn warn_of_trust(&self, output: &Output) {
        output.eprint(&format!("only its texts are served until you run `folio trust {}`\n", self.key));
    }
}

/// A key of the characters that names have.
fn key_of(name: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c.to_ascii_lowercase() } else { '-' };
    name.chars().map(allowed).collect::<String>().trim_matches('-').to_owned()
}
