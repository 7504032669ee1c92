//! `folio fetch`.

use super::pack_project::{PackProject, PacksToResolve, print_failure};
use super::{Exit, FetchArgs, Output};
use crate::compile::FileBuffers;
use crate::diagnostic::count_noun;

/// Fetches the packs of the lock that are not in the cache.
pub(super) fn run(arguments: &FetchArgs, output: &Output) -> anyhow::Result<Exit> {
    let project = PackProject::open(&arguments.file, output)?;
    match project.complete(&PacksToResolve::Nothing, &FileBuffers::default()) {
        Ok(lock) => {
            output.print(&format!("{} in the cache\n", count_noun(lock.packs.len(), "pack")))?;
            Ok(Exit::Success)
        }
        Err(error) => Ok(print_failure(&error, output)),
    }
}
