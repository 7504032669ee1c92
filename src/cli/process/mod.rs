//! The process of folio: its runtime and world, its signals and limits, and its own path.

mod allocator;
mod file_size_limit;
mod folio_path;
mod stop_signals;

use std::path::PathBuf;

use anyhow::Context;
use tokio::runtime::{Builder, Runtime};

use crate::world::RealWorld;

pub(crate) use allocator::{return_free_memory, tune_allocator};
pub(crate) use file_size_limit::fail_writes_beyond_limit;
pub(crate) use folio_path::{folio_path, is_same_file};
pub(crate) use stop_signals::{stop_on_signals, stop_with_terminal};

/// A runtime of one thread, for a command that sends a few requests.
pub(crate) fn build_runtime() -> anyhow::Result<Runtime> {
    Builder::new_current_thread().enable_all().build().context("could not start the runtime")
}

/// The real world, with folio itself as the supervisor of programs.
pub(crate) fn new_world() -> RealWorld {
    // On Linux this is the running file, even if its path has changed.
    let own = if cfg!(target_os = "linux") { Ok(PathBuf::from("/proc/self/exe")) } else { std::env::current_exe() };
    match own {
        Ok(own) => RealWorld::new().with_supervisor(own),
        Err(_) => RealWorld::new(),
    }
}
