//! `folio trust`.

use std::fmt::Write as _;

use serde_json::Value;

use super::args::TrustArgs;
use super::file_text::{file_text, hidden_chars, indented_lines, is_own_schema};
use super::grant_uses::{INDENT, PackGrantUses, is_grant};
use super::project::{PackProject, PacksToResolve, print_failure, unknown_key_help};
use super::update::LockUpdate;
use crate::cli::terminal::{ask, can_ask, discard_typed_text, is_output_seen};
use crate::cli::{Exit, Output};
use crate::compile::FileBuffers;
use crate::diagnostic::{count_noun, one_line, sanitize};
use crate::load::LockablePack;
use crate::manifest::Grant;
use crate::pack_source::{LOCK_NAME, LockedPack, PackLock, PackTree, TrustRecord};
use crate::yaml::entry;

/// Shows what a pack would do, and lets it.
pub(crate) fn run(arguments: &TrustArgs, output: &Output) -> anyhow::Result<Exit> {
    let mut project = PackProject::open(&arguments.file, output)?;
    let lock = match project.resolve_lock(&PacksToResolve::Nothing, &FileBuffers::default()) {
        Ok(lock) => lock,
        Err(error) => return Ok(print_failure(&error, output)),
    };
    let lockable_packs = project.lockable_packs(&lock, &FileBuffers::default())?;
    let key = arguments.key.as_str();
    let (Some(wanted), Some(locked)) = (lockable_packs.iter().find(|wanted| wanted.key == key), lock.packs.get(key))
    else {
        output.eprint(&unknown_pack(key, &lockable_packs));
        return Ok(Exit::Failure);
    };
    if wanted.allow.is_empty() {
        let grant_uses = PackGrantUses::load(&project, &lock, key, &FileBuffers::default());
        let help = match grant_uses.grants().join(", ") {
            needed if needed.is_empty() => "help: it serves texts only, and needs no trust".to_owned(),
            needed => format!("help: write what it may do: `allow: [{needed}]`"),
        };
        output.eprint(&format!("error: the manifest allows pack `{key}` nothing\n{help}\n"));
        return Ok(Exit::Failure);
    }
    let grant_uses = PackGrantUses::load(&project, &lock, key, &FileBuffers::default());
    if grant_uses.has_errors {
        output.eprint(&format!(
            "error: pack `{key}` has errors, so it is not known what it would do\nhelp: `folio check` shows them\n"
        ));
        return Ok(Exit::Failure);
    }
    let page = TrustPage { project: &project, lock: &lock, wanted, locked, grant_uses: &grant_uses };
    output.print(&sanitize(&page.text()?))?;
    if wanted.allow.is_subset(&locked.grants(&wanted.settings)) {
        output.print(&format!("`{key}` is already trusted\n"))?;
        return Ok(Exit::Success);
    }
    if !arguments.yes && !confirm(key, output)? {
        output.eprint("nothing is written\n");
        return Ok(Exit::Failure);
    }
    let (allow, settings) = (wanted.allow.clone(), wanted.settings.clone());
    let granted = TrustRecord { digest: locked.digest, allow, settings };
    let mut trusted = lock.clone();
    trusted.packs.entry(key.to_owned()).and_modify(|pack| pack.trust = Some(granted));
    project.write_lock(&trusted)?;
    project.lock = trusted;
    output.print(&format!("trusted `{key}` in {LOCK_NAME}, until its files change: {}\n", names(wanted)))?;
    Ok(Exit::Success)
}

fn names(wanted: &LockablePack) -> String {
    wanted.allow.iter().map(|grant| grant.as_str()).collect::<Vec<_>>().join(", ")
}

fn unknown_pack(key: &str, lockable_packs: &[LockablePack]) -> String {
    let keys: Vec<&str> = lockable_packs.iter().map(|wanted| wanted.key.as_str()).collect();
    let help = unknown_key_help(key, &keys, "packs with a `path` alone are your own, and need no trust");
    format!("error: the manifest has no pack `{}` from a repository or an archive\nhelp: {help}\n", one_line(key))
}

/// Asks the person at the terminal.
fn confirm(key: &str, output: &Output) -> anyhow::Result<bool> {
    if !can_ask() || !is_output_seen() {
        output.eprint(
            "error: cannot ask: this is not a terminal\nhelp: read what is shown above, and confirm it with `--yes`\n",
        );
        return Ok(false);
    }
    // What was typed before all of it was shown does not count.
    discard_typed_text();
    let answer = |text: &str| match text.to_lowercase().as_str() {
        "y" | "yes" => Ok(true),
        "n" | "no" => Ok(false),
        _ => Err("expected `y` or `n`".to_owned()),
    };
    ask(&format!("Let `{key}` do this?"), "n", answer, output)
}

/// What a person sees before a pack is trusted.
struct TrustPage<'p> {
    project: &'p PackProject<'p>,
    lock: &'p PackLock,
    wanted: &'p LockablePack,
    locked: &'p LockedPack,
    grant_uses: &'p PackGrantUses,
}

impl TrustPage<'_> {
    /// The page: the files first, so that what they do is right above the question.
    fn text(&self) -> anyhow::Result<String> {
        let LockedPack { digest, files, source, .. } = self.locked;
        let files = count_noun(usize::try_from(*files).unwrap_or(usize::MAX), "file");
        let (source, version) = (source.to_string(), self.locked.version());
        let mut text = format!("pack `{}` from {}\n  {}", self.wanted.key, one_line(&source), one_line(&version));
        let _ = writeln!(text, ", {files}, {digest}\n");
        let tree = self.project.cache.read(digest)?;
        let hidden_files = self.add_files(&tree, &mut text);
        text.push_str(&self.grant_uses.describe());
        self.add_hidden_files(&hidden_files, &mut text);
        self.add_grants(&mut text);
        Ok(text)
    }

    /// Adds what changed since the pack was trusted with the same grants, or else its files whole. Returns what is not
    /// shown of each file.
    fn add_files<'t>(&self, tree: &'t PackTree, text: &mut String) -> Vec<(&'t str, String)> {
        let runs_programs = self.wanted.allow.contains(&Grant::Exec) || self.wanted.allow.contains(&Grant::Script);
        let (acting_files, names) = (&self.grant_uses.acting_files, |path: &str| self.grant_uses.names(path));
        // A program may run or read any file.
        let is_shown = |path: &str| runs_programs || acting_files.contains(path) || names(path);
        let (mut shown, others): (Vec<_>, Vec<_>) = tree.files().partition(|(path, _)| is_shown(path));
        // The files that say what the pack does come last, next to what it does.
        shown.sort_by_key(|(path, _)| (acting_files.contains(*path), names(path)));
        let mut hidden: Vec<_> =
            others.into_iter().map(|(path, bytes)| (path, count_noun(bytes.len(), "byte"))).collect();
        let changes = self.changes();
        if let Some(changes) = &changes {
            let _ = writeln!(text, "changed since it was trusted\n{}", indented_lines(changes));
        }
        for (path, bytes) in shown {
            match file_text(bytes) {
                _ if is_own_schema(bytes) => hidden.push((path, "folio's own schema".to_owned())),
                None => hidden.push((path, count_noun(bytes.len(), "byte"))),
                Some(content) => {
                    if changes.is_none() {
                        let _ = writeln!(text, "file {}\n{}", one_line(path), indented_lines(&content));
                    }
                    let folded = hidden_chars(&content);
                    if folded > 0 {
                        hidden.push((path, format!("{} of long lines", count_noun(folded, "character"))));
                    }
                }
            }
        }
        hidden
    }

    /// What is different from the files that were trusted with these grants and settings, where they are in the cache.
    fn changes(&self) -> Option<String> {
        let granted = self.locked.trust.as_ref().filter(|granted| granted.digest != self.locked.digest)?;
        let covers_all = self.wanted.allow.is_subset(&granted.allow) && granted.settings == self.wanted.settings;
        let mut before = self.lock.clone();
        before.packs.get_mut(&self.wanted.key)?.digest = granted.digest;
        let is_there = covers_all && self.project.cache.read(&granted.digest).is_ok();
        let texts = FileBuffers::default();
        let update = LockUpdate { project: self.project, before: &before, after: self.lock, texts: &texts };
        is_there.then(|| update.diff(&self.wanted.key))
    }

    fn add_hidden_files(&self, hidden_files: &[(&str, String)], text: &mut String) {
        if hidden_files.is_empty() {
            return;
        }
        let folder = self.project.cache.folder_of(&self.locked.digest);
        let _ = writeln!(text, "files that are not shown, in {}", folder.display());
        for (path, what) in hidden_files {
            let named = if self.grant_uses.names(path) { ", named by what it does" } else { "" };
            let _ = writeln!(text, "{:INDENT$}{}, {what}{named}", "", one_line(path));
        }
        text.push('\n');
    }

    /// Adds the settings and the grants of the manifest, and what they leave out.
    fn add_grants(&self, text: &mut String) {
        if let Value::Object(settings) = &self.wanted.settings {
            let settings: String = settings.iter().map(|(key, value)| entry(key, value, INDENT)).collect();
            let _ = writeln!(text, "settings of the pack in the manifest\n{settings}");
        }
        let _ = writeln!(text, "allowed: {}", names(self.wanted));
        let allowed: Vec<&str> = self.wanted.allow.iter().map(|grant| grant.as_str()).collect();
        let is_left_out = |(title, _): &(&str, usize)| is_grant(title) && !allowed.contains(title);
        for (grant, count) in self.grant_uses.counts().into_iter().filter(is_left_out) {
            let _ = writeln!(text, "not allowed, and left out: {} with `{grant}`", count_noun(count, "step"));
        }
    }
}
