//! The path of this program, as others are to start it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::world::find_program;

/// The absolute path by which the program was found, as a package manager moves what its links lead to; else that of the
/// file that runs.
pub(crate) fn folio_path() -> PathBuf {
    let running = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("folio"));
    let started = std::env::args_os().next().and_then(|word| path_of(&word));
    started.filter(|started| is_same_file(started, &running)).unwrap_or(running)
}

fn path_of(word: &OsStr) -> Option<PathBuf> {
    let program = find_program(word, &std::env::var_os("PATH").unwrap_or_default())?;
    std::path::absolute(program).ok()
}

/// Whether both paths lead to one file.
pub(crate) fn is_same_file(left: &Path, right: &Path) -> bool {
    left == right || fs::canonicalize(left).is_ok_and(|left| fs::canonicalize(right).is_ok_and(|right| left == right))
}
