//! Resolves the paths and globs of `include` and `partials`, in order.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::compile::Compiler;
use crate::diagnostic::{Code, quote_names};
use crate::files::{FileEntry, FileStamp, Globs, normalize};
use crate::manifest::OneOrManyPaths;
use crate::yaml::Spanned;

/// How many files one glob may match.
const MAX_GLOB_FILES: usize = 200_000;

/// A file that a path or a glob matches.
pub struct MatchedFile {
    /// Its path from the folder of the pack, at the place of the path or glob.
    pub path: Spanned<PathBuf>,
    /// Its stamp, unless it is not saved yet.
    pub stamp: Option<FileStamp>,
}

impl MatchedFile {
    /// Its folder, from that of the pack.
    pub fn base(&self) -> &Path {
        self.path.value.parent().unwrap_or(Path::new(""))
    }
}

/// The files that paths and globs match, each once.
pub(super) fn resolve_files(paths: Option<&OneOrManyPaths>, compiler: &mut Compiler<'_>) -> Vec<MatchedFile> {
    let mut files: Vec<MatchedFile> = Vec::new();
    let mut seen: HashSet<PathBuf> = HashSet::new();
    for text in paths.map(OneOrManyPaths::items).unwrap_or_default() {
        let named = if Globs::is_glob(text) { files_by_glob(text, compiler) } else { files_by_path(text, compiler) };
        for (path, stamp) in named {
            if seen.insert(path.clone()) {
                files.push(MatchedFile { path: Spanned::new(path, text.location), stamp });
            }
        }
    }
    files
}

/// Paths, with the stamps of what is saved there.
type StampedPaths = Vec<(PathBuf, Option<FileStamp>)>;

fn files_by_path(text: &Spanned<String>, compiler: &mut Compiler<'_>) -> StampedPaths {
    if refuse_folder(text, compiler) {
        return Vec::new();
    }
    let path = compiler.resolve_file(text, text.location);
    let stamp = |path: &PathBuf| compiler.pack.folder.stat(path).ok().map(|stat| stat.stamp);
    path.into_iter().map(|path| (path.clone(), stamp(&path))).collect()
}

/// Reports a folder, with the globs of the files that are in it.
fn refuse_folder(text: &Spanned<String>, compiler: &mut Compiler<'_>) -> bool {
    let Ok(path) = normalize(&compiler.base.join(text.as_str()).to_string_lossy()) else { return false };
    if !compiler.pack.folder.stat(&path).is_ok_and(|stat| stat.is_dir) {
        return false;
    }
    let globs = globs_of_folder(text, &path, compiler);
    let diagnostic = compiler.error(Code::NotFound, text.location, format!("`{}` is a folder", text.value));
    match globs.as_slice() {
        [] => {
            let stem = text.trim_end_matches('/');
            diagnostic.help(format!("write a path, or a glob such as `{stem}/*.md` or `{stem}/*.yaml`"));
        }
        [only] => {
            diagnostic.help(format!("write `{only}`")).fix(text.location.span(), only.as_str());
        }
        several => {
            diagnostic.help(format!("write a glob for each kind of file: {}", quote_names(several)));
        }
    }
    true
}

/// The globs of the kinds of files that a folder holds.
fn globs_of_folder(written: &str, path: &Path, compiler: &Compiler<'_>) -> Vec<String> {
    let stem = written.trim_end_matches('/');
    let Ok(folder) = compiler.pack.folder.subfolder(path) else { return Vec::new() };
    let has_files = |glob: &str| {
        let files = Globs::new(&[glob], &[]).ok().and_then(|globs| folder.walk(&globs, MAX_GLOB_FILES).ok());
        files.is_some_and(|files| !files.is_empty())
    };
    let kinds = ["md", "yaml", "yml", "hbs"].into_iter().filter_map(|extension| {
        let flat = format!("*.{extension}");
        let deep = format!("**/{flat}");
        let glob = [flat, deep].into_iter().find(|glob| has_files(glob))?;
        Some(format!("{stem}/{glob}"))
    });
    kinds.collect()
}

fn files_by_glob(text: &Spanned<String>, compiler: &mut Compiler<'_>) -> StampedPaths {
    if compiler.resolve_path(text, text.location).is_none() {
        return Vec::new();
    }
    let globs = match Globs::new(&[text.as_str()], &[]) {
        Ok(globs) => globs,
        Err(error) => {
            compiler.error(Code::Glob, text.location, error.message);
            return Vec::new();
        }
    };
    let folder = compiler.pack.folder.clone();
    let mut files: StampedPaths = match folder.walk_outcome(&globs, MAX_GLOB_FILES) {
        Ok(outcome) => {
            let absolute = outcome.folders.iter().map(|below| folder.path_of(below));
            compiler.load_context.dependencies.folders.extend(absolute);
            let stamped = |FileEntry { path, stamp, .. }| (PathBuf::from(path), Some(stamp));
            outcome.files.into_iter().map(stamped).collect()
        }
        Err(error) => {
            let folders = compiler.pack.folder.folders_to_watch(&globs).unwrap_or_default();
            compiler.load_context.dependencies.folders.extend(folders);
            compiler.error(Code::Unreadable, text.location, error.to_string());
            return Vec::new();
        }
    };
    add_buffers(&mut files, &globs, compiler);
    if files.is_empty() {
        compiler.warning(Code::Glob, text.location, format!("glob `{}` matches no files", text.value));
    }
    files
}

/// Adds the files that an editor has not saved yet for the first time.
fn add_buffers(files: &mut StampedPaths, globs: &Globs, compiler: &Compiler<'_>) {
    let folder = compiler.pack.folder.path();
    let unsaved = compiler.load_context.buffers.paths().filter_map(|path| path.strip_prefix(folder).ok()?.to_str());
    // The walk sorts by the bytes of the paths.
    let is_found = |path: &str| files.binary_search_by(|(known, _)| known.as_os_str().cmp(OsStr::new(path))).is_ok();
    let new: Vec<&str> = unsaved.filter(|path| globs.matches(path) && !is_found(path)).collect();
    if !new.is_empty() {
        files.extend(new.into_iter().map(|path| (PathBuf::from(path), None)));
        files.sort_by(|(one, _), (other, _)| one.as_os_str().cmp(other.as_os_str()));
    }
}

/// The name of a prompt or a partial from its file name.
pub(super) fn file_stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}
