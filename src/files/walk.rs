//! The walk through folders, for both backends.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use super::error::FileError;
use super::folder::{FileEntry, FileStat};
use super::glob::Globs;
use super::open::OpenFile;

/// How many names a walk visits at most: more than any sensible root has.
const MAX_WALKED_NAMES: usize = 1_000_000;

/// A folder on disk or in memory.
pub(super) trait FolderBackend: Debug + Send + Sync {
    /// The absolute path.
    fn path(&self) -> &Path;
    /// Opens a regular file.
    fn open_file(&self, path: &str) -> Result<OpenFile, FileError>;
    /// Opens a folder below this one.
    fn subfolder(&self, path: &str) -> Result<Arc<dyn FolderBackend>, FileError>;
    /// Opens any folder, by its path from this one.
    fn open_outside(&self, path: &Path) -> Result<Arc<dyn FolderBackend>, FileError>;
    /// The metadata of a regular file or folder.
    fn stat(&self, path: &str) -> Result<FileStat, FileError>;
    /// Visits each name in a folder that `globs` may match.
    fn list(&self, folder: &str, globs: &Globs, each: &mut dyn FnMut(WalkItem<'_>)) -> Result<(), FileError>;
    /// Whether a path leads through a link to a name that `globs` do not match.
    fn is_hidden(&self, path: &str, globs: &Globs) -> bool;
    /// Whether a path leads through a link.
    fn has_link(&self, path: &str) -> bool;
    /// The path with its links resolved, if it is below the root.
    fn resolve_links(&self, path: &str) -> Option<String>;
}

/// One name in a folder.
pub(super) struct WalkItem<'a> {
    pub(super) path: &'a str,
    pub(super) kind: DirEntryKind,
    /// Called only for matches: it costs a system call.
    pub(super) stat: &'a dyn Fn() -> Option<FileStat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DirEntryKind {
    File,
    Folder,
    LinkToFile,
    LinkToFolder,
    /// A dangling or escaping link, or a socket.
    Other,
    /// A file with a name that is not UTF-8.
    NotUtf8File,
    /// A folder with such a name.
    NotUtf8Folder,
}

/// The result of a walk.
#[derive(Debug, Default)]
pub struct WalkOutcome {
    /// The matching files, sorted by path.
    pub files: Vec<FileEntry>,
    /// The folders in which a match exists or could appear, sorted; empty for the walked folder.
    pub folders: Vec<String>,
    /// The matching paths that are not files or are unreadable, sorted; links too, where they are not followed.
    pub skipped: Vec<String>,
    /// How many of those have a name that is not UTF-8.
    pub not_utf8: usize,
    /// The indexes of the exclude patterns that left something out.
    pub used_excludes: BTreeSet<usize>,
    /// The files and folders that exclude patterns left out, sorted, where links are not followed.
    pub excluded: Vec<String>,
}

/// A folder to list, and whether a link led to it.
struct PendingFolder {
    folder: String,
    linked: bool,
}

/// Walks all folders in which `globs` could match. Only the root must be readable.
pub(super) fn walk(backend: &dyn FolderBackend, globs: &Globs, limit: usize) -> Result<WalkOutcome, FileError> {
    let root = PendingFolder { folder: String::new(), linked: false };
    let mut walk = Walk { backend, globs, limit, seen: 0, pending: vec![root], outcome: WalkOutcome::default() };
    while let Some(current) = walk.pending.pop() {
        match backend.list(&current.folder, globs, &mut |item| walk.visit(&current, &item)) {
            Err(_) if !current.folder.is_empty() => walk.outcome.skipped.push(current.folder.clone()),
            listed => listed?,
        }
        check_limit(walk.outcome.files.len(), limit, "matching files")?;
        check_limit(walk.seen, MAX_WALKED_NAMES, "files")?;
        walk.outcome.folders.push(current.folder);
    }
    let mut outcome = walk.outcome;
    outcome.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    outcome.folders.sort_unstable();
    outcome.skipped.sort_unstable();
    outcome.excluded.sort_unstable();
    Ok(outcome)
}

fn check_limit(count: usize, limit: usize, what: &'static str) -> Result<(), FileError> {
    if count > limit { Err(FileError::TooMany { limit, what }) } else { Ok(()) }
}

struct Walk<'a> {
    backend: &'a dyn FolderBackend,
    globs: &'a Globs,
    limit: usize,
    seen: usize,
    pending: Vec<PendingFolder>,
    outcome: WalkOutcome,
}

impl Walk<'_> {
    /// Beyond the limits, nothing more is kept.
    fn visit(&mut self, current: &PendingFolder, item: &WalkItem<'_>) {
        self.seen += 1;
        if self.seen > MAX_WALKED_NAMES || self.outcome.files.len() > self.limit {
            return;
        }
        match item.kind {
            DirEntryKind::File => self.visit_file(item),
            DirEntryKind::Folder => self.enqueue_folder(item.path, current.linked),
            DirEntryKind::Other => self.skip(item.path),
            DirEntryKind::NotUtf8File => self.skip_name(item.path, self.globs.matches_normalized(item.path)),
            DirEntryKind::NotUtf8Folder => self.skip_name(item.path, self.globs.could_match_in(item.path)),
            DirEntryKind::LinkToFile | DirEntryKind::LinkToFolder if !self.globs.follow_links => self.skip(item.path),
            DirEntryKind::LinkToFile => self.visit_file(item),
            DirEntryKind::LinkToFolder if current.linked || self.is_loop(current, item.path) => {}
            DirEntryKind::LinkToFolder => self.enqueue_folder(item.path, true),
        }
    }

    fn skip(&mut self, path: &str) {
        if self.globs.matches_normalized(path) && self.globs.could_match_in(path) {
            self.outcome.skipped.push(path.to_owned());
        }
    }

    /// Skips a name that is not UTF-8.
    fn skip_name(&mut self, path: &str, is_match: bool) {
        self.outcome.not_utf8 += usize::from(is_match);
        self.skip(path);
    }

    fn visit_file(&mut self, item: &WalkItem<'_>) {
        if self.globs.matches_normalized(item.path) {
            let path = item.path.to_owned();
            let entry = |FileStat { size, modified, stamp, .. }| FileEntry { path, size, modified, stamp };
            self.outcome.files.extend((item.stat)().filter(|stat| !stat.is_dir).map(entry));
        } else {
            self.exclude(item.path);
        }
    }

    fn exclude(&mut self, path: &str) {
        let patterns = self.globs.matching_excludes(path);
        if !patterns.is_empty() && !self.globs.follow_links {
            self.outcome.excluded.push(path.to_owned());
        }
        self.outcome.used_excludes.extend(patterns);
    }

    fn enqueue_folder(&mut self, path: &str, linked: bool) {
        if self.globs.could_match_in(path) {
            self.pending.push(PendingFolder { folder: path.to_owned(), linked });
        } else {
            self.exclude(path);
        }
    }

    /// Whether a link leads to a folder around it, and so would repeat everything.
    fn is_loop(&self, current: &PendingFolder, link: &str) -> bool {
        self.backend.resolve_links(link).is_none_or(|real| {
            let below = current.folder.strip_prefix(&real);
            real.is_empty() || below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}
