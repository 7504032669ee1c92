//! `folio add`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};

use super::new::Target;
use super::pack_project::{Moves, PackProject, print_failure};
use super::{AddArgs, Exit, Output};
use crate::catalog::{BuildOutcome, build};
use crate::compile::FileBuffers;
use crate::diagnostic::{Severity, count_noun, one_line, quote_names};
use crate::pack_source::{
    GitSource, MARKETPLACE_FILE, PackLock, Plugin, PluginSource, SourceError, check_folder, plugins, repository_url,
    scalar,
};
use crate::yaml::{InsertError, NewEntry, insert_entry};

/// How many names a message shows.
const MAX_SHOWN: usize = 20;

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
    let shown = target.display_path();
    if *why == InsertError::Exists {
        return format!(
            "error: the manifest has a pack `{0}` already\nhelp: choose another key with `--as`, or `folio update {0}`\n",
            draft.key
        );
    }
    let text: String = draft.lines().lines().map(|line| format!("  {line}\n")).collect();
    format!("error: cannot add to `{shown}`: {why}\nhelp: write this yourself:\n\npacks:\n{text}")
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
        let whole = format!("{}{text}", target.mark);
        let lock = project.complete(&Moves::New, &self.buffers(&whole)?)?;
        let before = build(project.load(&project.lock, FileBuffers::default()));
        let after = build(project.load(&lock, self.buffers(&whole)?));
        if after.report.first_new(&before.report, Severity::Error).is_some() {
            project.output.eprint_report(&after.report);
            project.output.eprint("error: nothing is added: the manifest would have errors\n");
            return Ok(Exit::Failure);
        }
        // A lock of more than the manifest has is harmless.
        project.write_lock(&lock)?;
        target.write(text)?;
        project.output.print(&self.summary(&lock, (&before, &after)))?;
        draft.warn_of_trust(&lock, project.output);
        Ok(Exit::Success)
    }

    /// The manifest with the pack.
    fn buffers(&self, text: &str) -> anyhow::Result<FileBuffers> {
        let path = fs::canonicalize(&self.target.path)?;
        let mut buffers = FileBuffers::default();
        buffers.insert(path, text.as_bytes().to_vec());
        Ok(buffers)
    }

    fn summary(&self, lock: &PackLock, (before, after): (&BuildOutcome, &BuildOutcome)) -> String {
        let counts = |built: &BuildOutcome| {
            let lists = built.catalog.as_deref().map(|catalog| catalog.lists());
            lists.map(|lists| [lists.prompts.len(), lists.resources.len(), lists.tools.len()]).unwrap_or_default()
        };
        let added = counts(after).into_iter().zip(counts(before)).map(|(now, then)| now.saturating_sub(then));
        let nouns = added.zip(["prompt", "resource", "tool"]).filter(|(count, _)| *count > 0);
        let what: Vec<String> = nouns.map(|(count, noun)| count_noun(count, noun)).collect();
        let what = if what.is_empty() { "nothing new is listed".to_owned() } else { what.join(", ") };
        let commit = lock.packs.get(&self.draft.key).map(|pack| format!(" at commit {}", pack.commit));
        let (key, shown) = (&self.draft.key, self.target.display_path());
        format!("added pack `{key}`{} to {shown}: {what}\n", commit.unwrap_or_default())
    }
}

/// What is written to the manifest.
struct PackDraft {
    key: String,
    /// The keys and their values in YAML.
    keys: Vec<(&'static str, String)>,
    has_grants: bool,
}

/// Where a pack is added from.
enum NewSource {
    /// A folder, relative to the manifest.
    Folder(String),
    Repository(GitSource),
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

    fn warn_of_trust(&self, lock: &PackLock, output: &Output) {
        if self.has_grants && lock.packs.contains_key(&self.key) {
            output.eprint(&format!("it has texts only, until `folio trust {}`\n", self.key));
        }
    }
}

impl NewSource {
    /// The last name in it.
    fn name(&self) -> String {
        let path = match self {
            NewSource::Folder(path) => path,
            NewSource::Repository(source) => source.path.as_ref().unwrap_or(&source.url),
        };
        let last = path.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
        last.strip_suffix(".git").unwrap_or(last).to_owned()
    }

    fn keys(&self) -> Vec<(&'static str, String)> {
        match self {
            NewSource::Folder(path) => vec![("path", scalar(path))],
            NewSource::Repository(source) => {
                let keys = [("git", Some(&source.url)), ("rev", source.rev.as_ref()), ("path", source.path.as_ref())];
                keys.into_iter().filter_map(|(key, value)| Some((key, scalar(value?)))).collect()
            }
        }
    }
}

/// A key of the characters that names have.
fn key_of(name: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c.to_ascii_lowercase() } else { '-' };
    name.chars().map(allowed).collect::<String>().trim_matches('-').to_owned()
}

/// The place of what the command line names.
fn locate(arguments: &AddArgs, project: &PackProject<'_>) -> anyhow::Result<NewSource> {
    let written = arguments.source.as_str();
    let is_folder = written.starts_with(['.', '/', '~']) || (!written.contains("://") && Path::new(written).is_dir());
    if is_folder {
        ensure!(arguments.rev.is_none(), "`--rev` is for repositories, and `{}` is a folder", one_line(written));
        ensure!(arguments.name.is_none(), "a skill or a plugin of a folder is added by its path");
        let folder = PathBuf::from(written).join(arguments.path.as_deref().unwrap_or_default());
        return folder_below(&folder, project).map(NewSource::Folder);
    }
    let written = WrittenSource::parse(written);
    let (rev, path) = (arguments.rev.clone().or(written.rev), arguments.path.clone().or(written.path));
    let source = GitSource::new(&written.url, rev.as_deref(), path.as_deref()).map_err(explain)?;
    match &arguments.name {
        Some(name) => find_named(name, source, project),
        None => Ok(NewSource::Repository(source)),
    }
}

fn explain(error: SourceError) -> anyhow::Error {
    match error.help() {
        Some(help) => anyhow::anyhow!("{error}\nhelp: {help}"),
        None => anyhow::anyhow!("{error}"),
    }
}

/// The path of a folder from that of the manifest.
fn folder_below(folder: &Path, project: &PackProject<'_>) -> anyhow::Result<String> {
    let real = |path: &Path| fs::canonicalize(path).with_context(|| format!("cannot read `{}`", path.display()));
    let (folder, root) = (real(folder)?, real(project.place.path())?);
    let Ok(below) = folder.strip_prefix(&root) else {
        bail!(
            "`{}` is not below the folder of the manifest\nhelp: add a repository on this machine by its URL: `file://{0}`",
            folder.display()
        );
    };
    ensure!(!below.as_os_str().is_empty(), "a manifest is no pack of itself");
    below.to_str().map(str::to_owned).context("its path is not UTF-8")
}

/// A repository as people write it.
struct WrittenSource {
    url: String,
    rev: Option<String>,
    path: Option<String>,
}

impl WrittenSource {
    /// `OWNER/REPO`, a URL, the address of ssh, or the page of a folder on GitHub.
    fn parse(written: &str) -> WrittenSource {
        let page = written.strip_prefix("https://github.com/").and_then(|rest| rest.split_once("/tree/"));
        if let Some((repository, rest)) = page.filter(|(repository, _)| repository.split('/').count() == 2) {
            let (rev, path) = rest.split_once('/').map_or((rest, None), |(rev, path)| (rev, Some(path.to_owned())));
            return WrittenSource { url: format!("https://github.com/{repository}"), rev: Some(rev.to_owned()), path };
        }
        WrittenSource { url: repository_url(written), rev: None, path: None }
    }
}

/// The folder of a plugin or a skill of a repository.
fn find_named(name: &str, source: GitSource, project: &PackProject<'_>) -> anyhow::Result<NewSource> {
    let (paths, marketplace) = project.list_repository(&source, MARKETPLACE_FILE)?;
    let plugins = marketplace.map(|text| plugins(&text)).unwrap_or_default();
    if let Some(plugin) = plugins.iter().find(|plugin| plugin.name == name) {
        return source_of(plugin, source).map(NewSource::Repository);
    }
    let below = source.path.as_ref().map(|path| format!("{path}/")).unwrap_or_default();
    let is_skill = |folder: &&str| folder.rsplit('/').next() == Some(name) && folder.starts_with(&below);
    let folders = paths.iter().filter_map(|path| path.strip_suffix("/SKILL.md"));
    let found: Vec<&str> = folders.clone().filter(is_skill).collect();
    match found.as_slice() {
        [folder] => {
            Ok(NewSource::Repository(GitSource { path: Some(check_folder(folder).map_err(explain)?), ..source }))
        }
        [] => {
            let skills = folders.map(|folder| folder.rsplit('/').next().unwrap_or(folder).to_owned());
            let known: Vec<String> =
                plugins.iter().map(|plugin| plugin.name.clone()).chain(skills).take(MAX_SHOWN).collect();
            let help =
                if known.is_empty() { "it has none".to_owned() } else { format!("it has {}", quote_names(&known)) };
            bail!("no plugin or skill `{}` in {}\nhelp: {help}", one_line(name), source.url)
        }
        several => bail!("several skills `{}`\nhelp: choose one with `--path`: {}", one_line(name), several.join(", ")),
    }
}

fn source_of(plugin: &Plugin, marketplace: GitSource) -> anyhow::Result<GitSource> {
    match &plugin.source {
        PluginSource::Folder(path) => {
            let path = check_folder(path).map_err(explain)?;
            Ok(GitSource { path: Some(path).filter(|path| !path.is_empty()), ..marketplace })
        }
        PluginSource::Repository { url, rev, path } => {
            let is_local = |url: &str| url.starts_with("file:");
            ensure!(
                !is_local(url) || is_local(&marketplace.url),
                "plugin `{}` of a marketplace elsewhere is on this machine: `{}`",
                one_line(&plugin.name),
                one_line(url)
            );
            GitSource::new(url, rev.as_deref(), path.as_deref()).map_err(explain)
        }
        PluginSource::Other(kind) => {
            bail!("plugin `{}` is not in a repository: its source is `{}`", one_line(&plugin.name), one_line(kind))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn marketplace_elsewhere_names_no_repository_of_this_machine() {
        let source = PluginSource::Repository { url: "file:///srv/x".to_owned(), rev: None, path: None };
        let plugin = Plugin { name: "x".to_owned(), source };
        let marketplace = |url: &str| GitSource::new(url, None, None).unwrap();
        assert!(source_of(&plugin, marketplace("https://example.com/x/y")).is_err());
        assert_eq!(source_of(&plugin, marketplace("file:///srv/m")).unwrap().url, "file:///srv/x");
    }
}
