//! `folio fetch`.

use super::args::FetchArgs;
use super::project::{PackProject, PacksToResolve, print_failure};
use crate::cli::{Exit, Output};
use crate::compile::FileBuffers;
use crate::diagnostic::count_noun;

/// Fetches the packs of the lock that are not in the cache.
pub(crate) fn run(arguments: &FetchArgs, output: &Output) -> anyhow::Result<Exit> {
    let project = PackProject::open(&arguments.file, output)?;
    match project.resolve_lock(&PacksToResolve::Nothing, &FileBuffers::default()) {
        Ok(lock) => {
            let (count, verb) = (lock.packs.len(), if lock.packs.len() == 1 { "is" } else { "are" });
            output.print(&format!("{} {verb} in the cache\n", count_noun(count, "pack")))?;
            Ok(Exit::Success)
        }
        Err(error) => Ok(print_failure(&error, output)),
    }
}
