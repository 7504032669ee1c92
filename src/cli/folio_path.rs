//! The path of this program, as others are to start it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::world::find_program;

/// The absolute path by which the program was found, as a package manager moves what its links lead to; else that of the
/// file that runs.
pub(super) fn folio_path() -> PathBuf {
    let running = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("folio"));
    let found = std::env::args_os().next().and_then(|word| path_of(&word));
    found.filter(|found| is_same_file(found, &running)).unwrap_or(running)
}

fn path_of(word: &OsStr) -> Option<PathBuf> {
    let found = find_program(word, &std::env::var_os("PATH").unwrap_or_default())?;
    std::path::absolute(found).ok()
}

/// Whether both paths lead to one file.
pub(super) fn is_same_file(one: &Path, other: &Path) -> bool {
    one == other || fs::canonicalize(one).is_ok_and(|one| fs::canonicalize(other).is_ok_and(|other| one == other))
}
