use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::disk::DiskFolder;
use super::error::FileError;
use super::glob::Globs;
use super::memory::MemoryFolder;
use super::open::OpenFile;
use super::path::normalize_to_slashes;
use super::walk::{self, FolderBackend, WalkOutcome};

/// A folder, and with it all that it holds and nothing else. Cheap to clone.
///
/// On disk it keeps the folder open: when the path comes to mean another folder (a swapped link), this one still
/// reads the old, until it is opened anew.
#[derive(Debug, Clone)]
pub struct Folder {
    kind: FolderKind,
}

#[derive(Debug, Clone)]
enum FolderKind {
    Disk(Arc<DiskFolder>),
    Memory(Arc<MemoryFolder>),
}

/// What is known of a file or folder without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStat {
    /// Its size in bytes; 0 of a folder.
    pub size: u64,
    /// When it was last written, where the system knows.
    pub modified: Option<SystemTime>,
    /// Whether it is a folder.
    pub is_dir: bool,
}

/// A file that a walk found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    /// The path from the folder walked, joined with `/`.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// When it was last written, where the system knows.
    pub modified: Option<SystemTime>,
}

impl Folder {
    /// Opens a folder of the disk. The path may itself lead through links; it is the last that may.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        Ok(Self { kind: FolderKind::Disk(Arc::new(DiskFolder::open(path)?)) })
    }

    /// Makes a folder out of files by their relative paths, for tests, editors and fuzzing. It behaves as one of
    /// the disk does, without links. Names that no folder could hold are left out.
    pub fn in_memory(files: BTreeMap<String, Vec<u8>>) -> Self {
        Self { kind: FolderKind::Memory(Arc::new(MemoryFolder::new(files))) }
    }

    /// The absolute path, every link resolved; `/` in memory.
    pub fn path(&self) -> &Path {
        match &self.kind {
            FolderKind::Disk(disk) => disk.path(),
            FolderKind::Memory(memory) => memory.path(),
        }
    }

    /// Reads a regular file whole, if it holds at most `limit` bytes.
    pub fn read(&self, relative: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
        self.open_file(relative)?.read(limit)
    }

    /// Opens a regular file.
    pub fn open_file(&self, relative: &Path) -> Result<OpenFile, FileError> {
        let path = normalize_to_slashes(relative)?;
        match &self.kind {
            FolderKind::Disk(disk) => disk.open_file(&path),
            FolderKind::Memory(memory) => memory.open_file(&path),
        }
    }

    /// Describes a regular file or a folder; an empty path or `.` is the folder itself.
    pub fn stat(&self, relative: &Path) -> Result<FileStat, FileError> {
        self.backend().stat(&normalize_to_slashes(relative)?)
    }

    /// Whether a path leads, by a link, to a name that `globs` do not see: what is hidden is so by all of its names.
    pub fn is_hidden(&self, path: &str, globs: &Globs) -> bool {
        self.backend().is_hidden(path, globs)
    }

    /// Opens a folder beneath this one; what it gives cannot leave that.
    pub fn subfolder(&self, relative: &Path) -> Result<Self, FileError> {
        let path = normalize_to_slashes(relative)?;
        let kind = match &self.kind {
            FolderKind::Disk(disk) => FolderKind::Disk(Arc::new(disk.subfolder(&path)?)),
            FolderKind::Memory(memory) => FolderKind::Memory(Arc::new(memory.subfolder(&path)?)),
        };
        Ok(Self { kind })
    }

    /// Lists the regular files that `globs` match, sorted by path, or fails when there are more than `limit`.
    ///
    /// Hidden names until it is said otherwise, names that are no UTF-8, links that leave the folder and folders that may not be read are left
    /// out. A link to a folder is followed, but within what it leads to, such links are not: so a walk always ends.
    pub fn walk(&self, globs: &Globs, limit: usize) -> Result<Vec<FileEntry>, FileError> {
        Ok(self.walk_outcome(globs, limit)?.files)
    }

    /// The same, with the folders that were gone through and what was left out on the way.
    pub fn walk_outcome(&self, globs: &Globs, limit: usize) -> Result<WalkOutcome, FileError> {
        walk::walk(self.backend(), globs, limit)
    }

    /// Lists the folders, absolute and sorted, in which a file that `globs` match exists or could appear: those that
    /// a watcher must watch. This folder is always one of them.
    pub fn folders_to_watch(&self, globs: &Globs) -> Result<Vec<PathBuf>, FileError> {
        let folders = walk::walk(self.backend(), globs, usize::MAX)?.folders;
        let absolute = |folder: String| if folder.is_empty() { self.path().into() } else { self.path().join(folder) };
        Ok(folders.into_iter().map(absolute).collect())
    }

    fn backend(&self) -> &dyn FolderBackend {
        match &self.kind {
            FolderKind::Disk(disk) => disk.as_ref(),
            FolderKind::Memory(memory) => memory.as_ref(),
        }
    }
}

/// Writes a time as MCP's `lastModified` wants it, in UTC and whole seconds.
pub fn rfc3339(time: SystemTime) -> String {
    let stamp = jiff::Timestamp::try_from(time).unwrap_or(if time < SystemTime::UNIX_EPOCH {
        jiff::Timestamp::MIN
    } else {
        jiff::Timestamp::MAX
    });
    let second = jiff::Timestamp::from_second(stamp.as_second()).unwrap_or(stamp);
    second.to_string()
}
