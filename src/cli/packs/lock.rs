//! `folio lock`.

use super::args::LockArgs;
use super::project::{PackProject, PacksToResolve, print_failure};
use crate::cli::{Exit, Output};
use crate::compile::FileBuffers;
use crate::diagnostic::count_noun;
use crate::load::{LockablePack, PackState};
use crate::pack_source::{LOCK_NAME, LockMismatch, LockedPack, PackHosts, PackLock, PackSource};

/// Locks the packs of a manifest, or says which are not.
pub(crate) fn run(arguments: &LockArgs, output: &Output) -> anyhow::Result<Exit> {
    let project = PackProject::open(&arguments.file, output)?;
    if arguments.check {
        return check(&project);
    }
    if arguments.remote {
        return compare_with_remotes(&project);
    }
    let lock = match project.resolve_lock(&PacksToResolve::New, &FileBuffers::default()) {
        Ok(lock) => lock,
        Err(error) => return Ok(print_failure(&error, output)),
    };
    let count = count_noun(lock.packs.len(), "pack");
    match project.write_lock(&lock)? {
        true if lock.packs.is_empty() => output.print(&format!("removed {LOCK_NAME}: no pack to lock\n"))?,
        true => output.print(&format!("wrote {LOCK_NAME}: {count}\n"))?,
        false => output.print(&format!("{LOCK_NAME} is up to date: {count}\n"))?,
    }
    Ok(Exit::Success)
}

fn check(project: &PackProject<'_>) -> anyhow::Result<Exit> {
    let lockable_packs = project.lockable_packs(&project.lock, &FileBuffers::default())?;
    let differences = differences(&project.lock, &lockable_packs);
    for line in &differences {
        project.output.eprint(&format!("error: {line}\n"));
    }
    if differences.is_empty() {
        project.output.print(&format!("{LOCK_NAME} is up to date: {}\n", count_noun(lockable_packs.len(), "pack")))?;
        return Ok(Exit::Success);
    }
    project.output.eprint("help: run `folio lock`\n");
    Ok(Exit::Failure)
}

/// The differences between the lock and the manifest, whose packs these are.
fn differences(lock: &PackLock, lockable_packs: &[LockablePack]) -> Vec<String> {
    let mismatch = |LockablePack { key, source, state, .. }: &LockablePack| match state {
        PackState::Unlocked => lock.pack_from(source, key).err(),
        PackState::Changed => Some(LockMismatch::ChangedInCache { key: key.clone() }),
        PackState::Missing | PackState::Cached => None,
    };
    let mismatches = lockable_packs.iter().filter_map(mismatch);
    let mut differences: Vec<String> = mismatches.map(|mismatch| mismatch.to_string()).collect();
    let state = |key: &str| lockable_packs.iter().find(|lockable| lockable.key == key).map(|lockable| lockable.state);
    for key in lock.packs.keys().filter(|key| state(key).is_none()) {
        // Whether a pack has this one is known where it is in the cache.
        let outer = key.rsplit_once('/').and_then(|(outer, _)| state(outer));
        let is_known = outer.is_none_or(|outer| outer == PackState::Cached);
        differences.extend(is_known.then(|| format!("{LOCK_NAME} has pack `{key}`, but the manifest does not")));
    }
    differences
}

fn compare_with_remotes(project: &PackProject<'_>) -> anyhow::Result<Exit> {
    let mut exit = Exit::Success;
    let lockable_packs = project.load(&project.lock, FileBuffers::default()).lockable_packs;
    for (key, locked) in &project.lock.packs {
        let lockable = lockable_packs.iter().find(|lockable| lockable.key == *key);
        // Which pack names one that the manifest no longer has is not in the lock.
        let hosts = lockable
            .map_or(if key.contains('/') { PackHosts::Public } else { PackHosts::Any }, |lockable| lockable.hosts);
        let now = match &locked.source {
            PackSource::Git(source) => project.remote_commit(source, hosts),
            PackSource::Archive(source) => project.remote_sha256(&source.url, hosts),
        };
        let now = match now {
            Ok(now) => now,
            Err(error) => {
                exit = print_failure(&error.context(format!("pack `{key}`")), project.output);
                continue;
            }
        };
        let line = format!("{key}: {}\n", describe_remote(locked, now.as_deref()));
        if now.as_deref() != Some(locked.revision()) {
            exit = Exit::Failure;
        }
        project.output.print(&line)?;
    }
    Ok(exit)
}

/// Where a pack is now, of which the lock says where it was.
fn describe_remote(locked: &LockedPack, now: Option<&str>) -> String {
    let before = locked.revision();
    let (rev, moved) = match &locked.source {
        PackSource::Git(source) => (source.rev.as_deref().unwrap_or("HEAD"), "moved from"),
        PackSource::Archive(source) => (source.url.as_str(), "has changed: its sha256 went from"),
    };
    match now {
        Some(now) if now == before => format!("{rev} is still {now}"),
        Some(now) => format!("{rev} {moved} {before} to {now}"),
        None => format!("{rev} no longer exists"),
    }
}
