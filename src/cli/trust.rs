//! `folio trust`.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::Value;

use super::pack_file_text::file_text;
use super::pack_grant_uses::{INDENT, PackGrantUses, ShownFiles, is_grant};
use super::pack_project::{PackProject, PacksToResolve, print_failure, unknown_key_help};
use super::text_prompt::{ask, can_ask, discard_typed_text, is_output_seen};
use super::{Exit, Output, TrustArgs};
use crate::compile::FileBuffers;
use crate::diagnostic::{count_noun, one_line, sanitize};
use crate::load::LockablePack;
use crate::manifest::Grant;
use crate::pack_source::{LOCK_NAME, LockedPack, PackTree, TrustRecord};
use crate::yaml::entry;

/// A pack as it is in the cache.
struct CachedPack {
    tree: PackTree,
    folder: PathBuf,
}

/// Shows what a pack would do, and lets it.
pub(super) fn run(arguments: &TrustArgs, output: &Output) -> anyhow::Result<Exit> {
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
    if wanted.allow.is_subset(&locked.grants(&wanted.settings)) {
        output.print(&format!("`{key}` is already trusted\n"))?;
        return Ok(Exit::Success);
    }
    let grant_uses = PackGrantUses::load(&project, &lock, key, &FileBuffers::default());
    if grant_uses.has_errors {
        output.eprint(&format!(
            "error: pack `{key}` has errors, so it is not known what it would do\nhelp: `folio check` shows them\n"
        ));
        return Ok(Exit::Failure);
    }
    let folder = project.cache.folder_of(&locked.digest);
    let pack = CachedPack { tree: project.cache.read(&locked.digest)?, folder };
    output.print(&sanitize(&describe(wanted, locked, &grant_uses, &pack)))?;
    if !arguments.yes && !confirm(key, output)? {
        return Ok(Exit::Failure);
    }
    let (allow, settings) = (wanted.allow.clone(), wanted.settings.clone());
    let granted = TrustRecord { digest: locked.digest, allow, settings };
    let mut trusted = lock.clone();
    trusted.packs.entry(key.to_owned()).and_modify(|pack| pack.granted = Some(granted));
    project.write_lock(&trusted)?;
    project.lock = trusted;
    output.print(&format!("trusted `{key}` in {LOCK_NAME}, until its files change: {}\n", names(wanted)))?;
    Ok(Exit::Success)
}

fn names(wanted: &LockablePack) -> String {
    wanted.allow.iter().map(|grant| grant.as_str()).collect::<Vec<_>>().join(", ")
}

fn unknown_pack(key: &str, lockable_packs: &[LockablePack]) -> String {
    let known: Vec<&str> = lockable_packs.iter().map(|wanted| wanted.key.as_str()).collect();
    let help = unknown_key_help(key, &known, "packs with a `path` alone are your own, and need no trust");
    format!("error: the manifest has no pack `{}` from a repository or an archive\nhelp: {help}\n", one_line(key))
}

/// Asks, where somebody is there to answer.
fn confirm(key: &str, output: &Output) -> anyhow::Result<bool> {
    if !can_ask() || !is_output_seen() {
        output.eprint(
            "error: cannot ask: this is not a terminal\nhelp: read what is shown above, and confirm it with `--yes`\n",
        );
        return Ok(false);
    }
    // What was typed before all of it was shown is no answer.
    discard_typed_text();
    let answer = |text: &str| match text.to_lowercase().as_str() {
        "y" | "yes" => Ok(true),
        "n" | "no" => Ok(false),
        _ => Err("expected `y` or `n`".to_owned()),
    };
    ask(&format!("Let `{key}` do this?"), "n", answer, output)
}

/// What a pack is, and what it would do: its files first, so that what they do stands above the question.
fn describe(wanted: &LockablePack, locked: &LockedPack, grant_uses: &PackGrantUses, pack: &CachedPack) -> String {
    let LockedPack { digest, files, source, .. } = locked;
    let files = count_noun(usize::try_from(*files).unwrap_or(usize::MAX), "file");
    let (source, version) = (source.to_string(), locked.version());
    let mut text = format!("pack `{}` from {}\n  {}", wanted.key, one_line(&source), one_line(&version));
    let _ = writeln!(text, ", {files}, {digest}\n");
    let runs_programs = wanted.allow.contains(&Grant::Exec) || wanted.allow.contains(&Grant::Script);
    let ShownFiles { shown, mut others } = grant_uses.shown_files(&pack.tree, runs_programs);
    for (path, bytes) in shown {
        match file_text(bytes) {
            Some(lines) => drop(writeln!(text, "file {}\n{lines}", one_line(path))),
            None => others.push((path, bytes)),
        }
    }
    text.push_str(&grant_uses.describe());
    if !others.is_empty() {
        let _ = writeln!(text, "files that are not shown, in {}", pack.folder.display());
        for (path, bytes) in others {
            let _ = writeln!(text, "{:INDENT$}{}, {}", "", one_line(path), count_noun(bytes.len(), "byte"));
        }
        text.push('\n');
    }
    if let Value::Object(settings) = &wanted.settings {
        let settings: String = settings.iter().map(|(key, value)| entry(key, value, INDENT)).collect();
        let _ = writeln!(text, "settings of the pack in the manifest\n{settings}");
    }
    let _ = writeln!(text, "allowed: {}", names(wanted));
    let allowed: Vec<&str> = wanted.allow.iter().map(|grant| grant.as_str()).collect();
    let left_out = |(title, _): &(&str, usize)| is_grant(title) && !allowed.contains(title);
    for (grant, count) in grant_uses.counts().into_iter().filter(left_out) {
        let _ = writeln!(text, "not allowed, and left out: {} with `{grant}`", count_noun(count, "step"));
    }
    text
}
