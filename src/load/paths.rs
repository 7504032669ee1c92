//! Resolves the paths and globs of `include` and `partials`, in order.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::compile::Compiler;
use crate::diagnostic::Code;
use crate::files::Globs;
use crate::manifest::OneOrManyPaths;
use crate::yaml::Spanned;

/// How many files one glob may match.
const MAX_GLOB_FILES: usize = 200_000;

/// The files that paths and globs match, relative to the folder of the pack, each once, with the place of its path.
pub(super) fn resolve_files(paths: Option<&OneOrManyPaths>, compiler: &mut Compiler<'_>) -> Vec<Spanned<PathBuf>> {
    let mut found: Vec<Spanned<PathBuf>> = Vec::new();
    let mut known: HashSet<PathBuf> = HashSet::new();
    for written in paths.map(OneOrManyPaths::items).unwrap_or_default() {
        let named =
            if Globs::is_glob(written) { files_by_glob(written, compiler) } else { files_by_path(written, compiler) };
        for path in named {
            if known.insert(path.clone()) {
                found.push(Spanned::new(path, written.location));
            }
        }
    }
    found
}

fn files_by_path(written: &Spanned<String>, compiler: &mut Compiler<'_>) -> Vec<PathBuf> {
    compiler.resolve_file(written, written.location).into_iter().collect()
}

fn files_by_glob(written: &Spanned<String>, compiler: &mut Compiler<'_>) -> Vec<PathBuf> {
    if compiler.resolve_path(written, written.location).is_none() {
        return Vec::new();
    }
    let globs = match Globs::new(&[written.as_str()], &[]) {
        Ok(globs) => globs,
        Err(error) => {
            compiler.error(Code::Glob, written.location, error.message);
            return Vec::new();
        }
    };
    let folder = compiler.pack.folder.clone();
    watch_folders(&globs, compiler);
    let mut found: Vec<String> = match folder.walk(&globs, MAX_GLOB_FILES) {
        Ok(entries) => entries.into_iter().map(|entry| entry.path).collect(),
        Err(error) => {
            compiler.error(Code::Unreadable, written.location, error.to_string());
            return Vec::new();
        }
    };
    add_buffers(&mut found, &globs, compiler);
    if found.is_empty() {
        compiler.warning(Code::Glob, written.location, format!("glob `{}` matches no files", written.value));
    }
    found.into_iter().map(PathBuf::from).collect()
}

/// Adds the files that an editor has not saved yet for the first time.
fn add_buffers(found: &mut Vec<String>, globs: &Globs, compiler: &Compiler<'_>) {
    let folder = compiler.pack.folder.path();
    let unsaved = compiler.findings.buffers.paths().filter_map(|path| path.strip_prefix(folder).ok()?.to_str());
    let new: Vec<&str> =
        unsaved.filter(|path| globs.matches(path) && !found.iter().any(|known| known == path)).collect();
    if !new.is_empty() {
        found.extend(new.into_iter().map(str::to_owned));
        found.sort();
    }
}

/// Watches the folders in which matching files may appear.
pub(super) fn watch_folders(globs: &Globs, compiler: &mut Compiler<'_>) {
    let folders = compiler.pack.folder.folders_to_watch(globs).unwrap_or_default();
    compiler.findings.dependencies.folders.extend(folders);
}

/// The name of a prompt or a partial from its file name.
pub(super) fn file_stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}
