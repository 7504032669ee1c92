//! `folio lock`.

use super::pack_project::{PackProject, PacksToResolve, differences, print_failure};
use super::{Exit, LockArgs, Output};
use crate::compile::FileBuffers;
use crate::diagnostic::count_noun;
use crate::pack_source::{LOCK_NAME, LockedPack, PackHosts, PackSource};

/// Locks the packs of a manifest, or says which are not.
pub(super) fn run(arguments: &LockArgs, output: &Output) -> anyhow::Result<Exit> {
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
    let found = differences(&project.lock, &lockable_packs);
    for line in &found {
        project.output.eprint(&format!("error: {line}\n"));
    }
    if found.is_empty() {
        project.output.print(&format!("{LOCK_NAME} is up to date: {}\n", count_noun(lockable_packs.len(), "pack")))?;
        return Ok(Exit::Success);
    }
    project.output.eprint("help: run `folio lock`\n");
    Ok(Exit::Failure)
}

fn compare_with_remotes(project: &PackProject<'_>) -> anyhow::Result<Exit> {
    let mut exit = Exit::Success;
    let lockable_packs = project.load(&project.lock, FileBuffers::default()).lockable_packs;
    for (key, locked) in &project.lock.packs {
        let lockable = lockable_packs.iter().find(|lockable| lockable.key == *key);
        // Which pack names one that the manifest no longer has is not in the lock.
        let hosts = lockable
            .map_or(if key.contains('/') { PackHosts::Public } else { PackHosts::Any }, |lockable| lockable.hosts);
        let now = match project.remote_revision(&locked.source, hosts) {
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
