//! `folio update`.

use std::collections::BTreeSet;

use anyhow::{Context, bail};
use similar::TextDiff;

use super::args::UpdateArgs;
use super::file_text::{file_text, is_own_schema, visible_lines};
use super::grant_uses::PackGrantUses;
use super::project::{PackProject, PacksToResolve, is_within, print_failure, unknown_key_help};
use crate::cli::manifest::ManifestFile;
use crate::cli::{Exit, Output};
use crate::compile::FileBuffers;
use crate::diagnostic::{count_noun, one_line, sanitize};
use crate::pack_source::{LOCK_NAME, LockedPack, PackHosts, PackLock, PackSource, PackTree};

/// How many digits of a commit, or of the SHA-256 of an archive, are shown.
const SHORT_COMMIT_CHARS: usize = 12;

/// Moves packs to where their revisions are now.
pub(crate) fn run(arguments: &UpdateArgs, output: &Output) -> anyhow::Result<Exit> {
    let project = PackProject::open(&arguments.file, output)?;
    let key = arguments.key.as_deref();
    if let Some(key) = key.filter(|key| !project.lock.packs.contains_key(*key)) {
        let keys: Vec<&str> = project.lock.packs.keys().map(String::as_str).collect();
        let otherwise = "a pack by `path` is read as it is; `folio lock` adds the others of the manifest";
        let help = unknown_key_help(key, &keys, otherwise);
        output.eprint(&format!("error: no pack `{}` in {LOCK_NAME}\nhelp: {help}\n", one_line(key)));
        return Ok(Exit::Failure);
    }
    let target = ManifestFile::find(&arguments.file)?;
    let text = match with_new_archives(&project, &target, key) {
        Ok(text) => text,
        Err(error) => return Ok(print_failure(&error, output)),
    };
    let texts = target.buffers(&text)?;
    let lock = match project.resolve_lock(&PacksToResolve::Updated(key), &texts) {
        Ok(lock) => lock,
        Err(error) => return Ok(print_failure(&error, output)),
    };
    let change = LockUpdate { project: &project, before: &project.lock, after: &lock, texts: &texts };
    for key in change.keys() {
        output.print(&change.summary(&key))?;
        if arguments.diff {
            output.print(&sanitize(&change.diff(&key)))?;
        }
    }
    if change.keys().is_empty() {
        output.print("all packs are up to date\n")?;
    }
    if let Some(report) = project.new_errors(&project.lock, &lock, &texts) {
        output.eprint_report(&report);
        output.eprint("error: nothing was updated: the manifest would have errors\n");
        return Ok(Exit::Failure);
    }
    if arguments.dry_run {
        project.check_lock_writable(&lock)?;
        if text != target.text {
            target.check_writable()?;
        }
        return Ok(Exit::Success);
    }
    if project.write_lock(&lock)? {
        output.print(&format!("wrote {LOCK_NAME}\n"))?;
    }
    if text != target.text {
        target.write(&text)?;
        output.print(&format!("wrote the new `sha256` to {}\n", target.display_path()))?;
    }
    Ok(Exit::Success)
}

/// The text of the manifest with the SHA-256 that its archives have now.
fn with_new_archives(project: &PackProject<'_>, target: &ManifestFile, key: Option<&str>) -> anyhow::Result<String> {
    let lockable_packs = project.lockable_packs(&project.lock, &FileBuffers::default())?;
    let mut text = target.text.clone();
    let chosen = lockable_packs.iter().filter(|wanted| key.is_none_or(|key| is_within(&wanted.key, key)));
    for wanted in chosen {
        let (PackSource::Archive(source), Some(at)) = (&wanted.source, wanted.sha256_at) else { continue };
        let now =
            project.remote_sha256(&source.url, PackHosts::Any).with_context(|| format!("pack `{}`", wanted.key))?;
        let now = now.with_context(|| format!("pack `{}`: {} no longer exists", wanted.key, source.url))?;
        if now == source.sha256 {
            continue;
        }
        // Both have 64 digits: what follows stays in its place.
        let range = at.start as usize..at.end as usize;
        let spelled = target.text.get(range.clone()).filter(|spelled| spelled.to_lowercase().contains(&source.sha256));
        let Some(spelled) = spelled else {
            bail!("the archive of pack `{}` has changed\nhelp: write `sha256: {now}`", wanted.key);
        };
        text.replace_range(range, &spelled.to_lowercase().replace(&source.sha256, &now));
    }
    Ok(text)
}

/// Two states of a lock.
pub(super) struct LockUpdate<'p> {
    pub(super) project: &'p PackProject<'p>,
    pub(super) before: &'p PackLock,
    pub(super) after: &'p PackLock,
    /// The manifest that is for the lock after.
    pub(super) texts: &'p FileBuffers,
}

impl LockUpdate<'_> {
    /// The packs that are there before or after, and not the same.
    fn keys(&self) -> BTreeSet<String> {
        let all = self.before.packs.keys().chain(self.after.packs.keys());
        all.filter(|key| self.before.packs.get(*key) != self.after.packs.get(*key)).cloned().collect()
    }

    fn summary(&self, key: &str) -> String {
        let shown = one_line(key);
        let (before, after) = (self.before.packs.get(key), self.after.packs.get(key));
        match (before, after) {
            (Some(before), Some(after)) => {
                let (old, new) = (short(before.revision()), short(after.revision()));
                let what = match before.digest == after.digest {
                    true => "with the same files".to_owned(),
                    false => self.changed_files(before, after),
                };
                let trust = match (before.trust_of_files(), after.trust_of_files()) {
                    (Some(_), None) => format!("  it serves texts only until you run `folio trust {shown}`\n"),
                    (_, Some(_)) if before.digest != after.digest => {
                        format!("  {LOCK_NAME} says that these files are trusted already\n")
                    }
                    _ => String::new(),
                };
                format!("{shown}: {old} to {new}, {what}\n{trust}")
            }
            (None, Some(after)) => format!("{shown}: new at {}\n", short(after.revision())),
            _ => format!("{shown}: no longer in the manifest\n"),
        }
    }

    fn changed_files(&self, before: &LockedPack, after: &LockedPack) -> String {
        match (self.project.cache.read(&before.digest), self.project.cache.read(&after.digest)) {
            (Ok(old), Ok(new)) => {
                let changed = changed_paths(&old, &new);
                format!("{} changed", count_noun(changed.len(), "file"))
            }
            _ => "with other files".to_owned(),
        }
    }

    /// The lock before, with the source of a pack as the manifest has it now: after a new `rev`, only what is new is new.
    fn lock_before(&self, key: &str) -> PackLock {
        let mut lock = self.before.clone();
        let lockable_packs = self.project.lockable_packs(self.before, &FileBuffers::default()).unwrap_or_default();
        let wanted = lockable_packs.into_iter().find(|wanted| wanted.key == key);
        if let (Some(pack), Some(wanted)) = (lock.packs.get_mut(key), wanted) {
            pack.source = wanted.source;
        }
        lock
    }

    /// What is different in a pack: first what it does, then its files.
    pub(super) fn diff(&self, key: &str) -> String {
        let tree = |lock: &PackLock| lock.packs.get(key).and_then(|pack| self.project.cache.read(&pack.digest).ok());
        let (Some(new), old) = (tree(self.after), tree(self.before)) else { return String::new() };
        let Some(old) = old else { return "  no diff: the previous version is not in the cache\n".to_owned() };
        let before = PackGrantUses::load(self.project, &self.lock_before(key), key, &FileBuffers::default());
        let after = PackGrantUses::load(self.project, self.after, key, self.texts);
        let mut text = unified("what it does", &before.comparable(), &after.comparable());
        let (first, rest): (Vec<&str>, Vec<&str>) =
            changed_paths(&old, &new).into_iter().partition(|path| before.names(path) || after.names(path));
        for path in first.into_iter().chain(rest) {
            text.push_str(&file_diff(path, &old, &new));
        }
        text
    }
}

fn short(commit: &str) -> &str {
    commit.get(..SHORT_COMMIT_CHARS).unwrap_or(commit)
}

/// The files that only one of two trees has, or that they have with other bytes.
fn changed_paths<'t>(old: &'t PackTree, new: &'t PackTree) -> Vec<&'t str> {
    let all: BTreeSet<&str> = old.files().chain(new.files()).map(|(path, _)| path).collect();
    all.into_iter().filter(|path| old.get(path) != new.get(path)).collect()
}

fn file_diff(path: &str, old: &PackTree, new: &PackTree) -> String {
    let (before, after) = (old.get(path).unwrap_or_default(), new.get(path).unwrap_or_default());
    let what = match (file_text(before), file_text(after)) {
        _ if is_own_schema(after) => "folio's own schema",
        (Some(old_text), Some(new_text)) if old_text != new_text || before == after => {
            return unified(path, &old_text, &new_text);
        }
        (Some(_), Some(_)) => "changed, in bytes that are not text",
        _ => "changed, not text",
    };
    format!("{}: {what}\n", one_line(path))
}

fn unified(name: &str, before: &str, after: &str) -> String {
    let diff = TextDiff::configure().timeout(std::time::Duration::from_secs(1)).diff_lines(before, after);
    let name = one_line(name);
    visible_lines(&diff.unified_diff().header(&name, &name).to_string())
}
