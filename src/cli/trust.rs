//! `folio trust`.

use std::fmt::Write as _;

use super::pack_grant_uses::{PackGrantUses, is_grant};
use super::pack_project::{PackProject, PacksToResolve, print_failure, unknown_key_help};
use super::text_prompt::{ask, can_ask};
use super::{Exit, Output, TrustArgs};
use crate::compile::FileBuffers;
use crate::diagnostic::{count_noun, one_line, sanitize};
use crate::load::LockablePack;
use crate::pack_source::{LOCK_NAME, LockedPack, PackTree, TrustRecord};

/// How many of the files that are not shown are named.
const MAX_OTHER_FILES: usize = 50;

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
    if wanted.allow.is_subset(&locked.grants()) {
        output.print(&format!("`{key}` is already trusted\n"))?;
        return Ok(Exit::Success);
    }
    let grant_uses = PackGrantUses::load(&project, &lock, key, &FileBuffers::default());
    let tree = project.cache.read(&locked.digest)?;
    output.print(&sanitize(&describe(wanted, locked, &grant_uses, &tree)))?;
    if !arguments.yes && !confirm(key, output)? {
        return Ok(Exit::Failure);
    }
    let granted = TrustRecord { digest: locked.digest, allow: wanted.allow.clone() };
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
    if !can_ask() {
        output.eprint(
            "error: cannot ask: this is not a terminal\nhelp: read what is shown above, and confirm it with `--yes`\n",
        );
        return Ok(false);
    }
    let answer = |text: &str| match text.to_lowercase().as_str() {
        "y" | "yes" => Ok(true),
        "n" | "no" => Ok(false),
        _ => Err("expected `y` or `n`".to_owned()),
    };
    ask(&format!("Let `{key}` do this?"), "n", answer, output)
}

/// What a pack is, and what it would do.
fn describe(wanted: &LockablePack, locked: &LockedPack, grant_uses: &PackGrantUses, tree: &PackTree) -> String {
    let LockedPack { digest, files, source, .. } = locked;
    let files = count_noun(usize::try_from(*files).unwrap_or(usize::MAX), "file");
    let mut text = format!("pack `{}` from {source}\n  {}, {files}, {digest}\n", wanted.key, locked.version());
    let _ = writeln!(text, "  allowed: {}\n", names(wanted));
    text.push_str(&grant_uses.describe());
    for (path, bytes) in grant_uses.named_files(tree) {
        match std::str::from_utf8(bytes) {
            Ok(content) => {
                let lines: String = content.lines().map(|line| format!("    {line}\n")).collect();
                let _ = writeln!(text, "file {path}\n{lines}");
            }
            Err(_) => drop(writeln!(text, "file {path}: {} bytes, not text\n", bytes.len())),
        }
    }
    let allowed: Vec<&str> = wanted.allow.iter().map(|grant| grant.as_str()).collect();
    let others: Vec<&str> = tree.files().map(|(path, _)| path).filter(|path| !grant_uses.shows(path, tree)).collect();
    if !others.is_empty() {
        let (listed, rest) = others.split_at(others.len().min(MAX_OTHER_FILES));
        let more = if rest.is_empty() { String::new() } else { format!(", and {} more", rest.len()) };
        let _ = writeln!(text, "other files that its programs can read: {}{more}\n", listed.join(", "));
    }
    for (grant, count) in
        grant_uses.counts().into_iter().filter(|(title, _)| is_grant(title) && !allowed.contains(title))
    {
        let _ = writeln!(text, "not allowed, and left out: {} with `{grant}`", count_noun(count, "step"));
    }
    text
}
