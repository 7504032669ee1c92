//! `Folder`, a directory as a capability, on disk or in memory.

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
use super::stamp::FileStamp;
use super::walk::{self, FolderBackend, WalkOutcome};

/// A folder as a capability: access to its contents and to nothing else. Cheap to clone.
///
/// On disk the folder stays open: after its path is replaced (a swapped link), this one still reads the old folder.
#[derive(Debug, Clone)]
pub struct Folder {
    backend: Arc<dyn FolderBackend>,
}

/// The metadata of a file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStat {
    /// Its size in bytes; 0 for a folder.
    pub size: u64,
    /// When it was last written, where known.
    pub modified: Option<SystemTime>,
    /// Whether it is a folder.
    pub is_dir: bool,
    /// What tells this version from others.
    pub stamp: FileStamp,
}

/// A file that a walk found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    /// The path from the walked folder, with `/`.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// When it was last written, where known.
    pub modified: Option<SystemTime>,
    /// What tells this version from others.
    pub stamp: FileStamp,
}

impl Folder {
    /// Opens a folder on disk. Only this path may escape through links.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        Ok(Self { backend: Arc::new(DiskFolder::open(path)?) })
    }

    /// Reads a whole regular file on disk by its absolute path, in which all links may escape.
    pub fn read_anywhere(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let real = std::fs::canonicalize(path).map_err(|error| FileError::from_io(&name, error))?;
        match (real.parent(), real.file_name()) {
            (Some(folder), Some(name)) => Folder::open(folder)?.read(Path::new(name), limit),
            _ => Err(FileError::IsFolder(name.into_owned())),
        }
    }

    /// A folder in memory of files by their relative paths, for tests, editors and fuzzing. It behaves as one on disk,
    /// without links. Invalid paths are left out.
    pub fn in_memory(files: BTreeMap<String, Vec<u8>>) -> Self {
        Self { backend: Arc::new(MemoryFolder::new(files)) }
    }

    /// The absolute path, with all links resolved; `/` in memory.
    pub fn path(&self) -> &Path {
        self.backend.path()
    }

    /// Reads a whole regular file of at most `limit` bytes.
    pub fn read(&self, relative: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
        self.open_file(relative)?.read(limit)
    }

    /// Opens a regular file.
    pub fn open_file(&self, relative: &Path) -> Result<OpenFile, FileError> {
        self.backend.open_file(&normalize_to_slashes(relative)?)
    }

    /// The metadata of a regular file or folder; an empty path or `.` is the folder itself.
    pub fn stat(&self, relative: &Path) -> Result<FileStat, FileError> {
        self.backend.stat(&normalize_to_slashes(relative)?)
    }

    /// The names in a folder, without hidden ones; `None` if there is no such folder.
    pub fn names(&self, relative: &Path) -> Option<Vec<String>> {
        let (folder, globs) = (normalize_to_slashes(relative).ok()?, Globs::new(&["*"], &[]).ok()?);
        let mut names = Vec::new();
        let mut add = |item: walk::WalkItem<'_>| names.extend(item.path.rsplit('/').next().map(str::to_owned));
        self.backend.list(&folder, &globs, &mut add).ok()?;
        Some(names)
    }

    /// Whether a path leads through a link to a name that `globs` do not match: hidden files stay hidden under other
    /// names.
    pub fn is_hidden(&self, path: &str, globs: &Globs) -> bool {
        self.backend.is_hidden(path, globs)
    }

    /// Whether a path leads through a link to a hidden name that is not its own.
    pub fn links_to_hidden(&self, path: &str) -> bool {
        let is_own = |name: &str| path.split('/').any(|segment| segment == name);
        let real = self.backend.has_link(path).then(|| self.backend.resolve_links(path)).flatten();
        real.is_some_and(|real| real.split('/').any(|name| name.starts_with('.') && !is_own(name)))
    }

    /// Opens a folder below this one, which is then the limit.
    pub fn subfolder(&self, relative: &Path) -> Result<Self, FileError> {
        Ok(Self { backend: self.backend.subfolder(&normalize_to_slashes(relative)?)? })
    }

    /// Opens any folder, by its path from this one. It is not a part of this one, and is its own limit. A folder in memory has
    /// nothing around it.
    pub fn open_outside(&self, path: &Path) -> Result<Self, FileError> {
        Ok(Self { backend: self.backend.open_outside(path)? })
    }

    /// Lists the regular files that `globs` match, sorted by path, or fails when there are more than `limit`.
    ///
    /// Hidden names unless the globs include them, names that are not UTF-8, links that escape the folder and unreadable
    /// folders are left out. A link to a folder is followed, but not further links within it, so that a walk ends.
    pub fn walk(&self, globs: &Globs, limit: usize) -> Result<Vec<FileEntry>, FileError> {
        Ok(self.walk_outcome(globs, limit)?.files)
    }

    /// The same, with the walked folders and the skipped paths.
    pub fn walk_outcome(&self, globs: &Globs, limit: usize) -> Result<WalkOutcome, FileError> {
        walk::walk(self.backend.as_ref(), globs, limit)
    }

    /// The folders, absolute and sorted, in which a match of `globs` exists or could appear: those to watch. This
    /// folder is always one of them.
    pub fn folders_to_watch(&self, globs: &Globs) -> Result<Vec<PathBuf>, FileError> {
        let folders = self.walk_outcome(globs, usize::MAX)?.folders;
        Ok(folders.iter().map(|folder| self.path_of(folder)).collect())
    }

    /// The absolute path of a folder that a walk visited.
    pub fn path_of(&self, folder: &str) -> PathBuf {
        if folder.is_empty() { self.path().into() } else { self.path().join(folder) }
    }
}

/// A time as in MCP's `lastModified`, in UTC and whole seconds.
pub fn rfc3339(time: SystemTime) -> String {
    let stamp = jiff::Timestamp::try_from(time).unwrap_or(if time < SystemTime::UNIX_EPOCH {
        jiff::Timestamp::MIN
    } else {
        jiff::Timestamp::MAX
    });
    let second = jiff::Timestamp::from_second(stamp.as_second()).unwrap_or(stamp);
    second.to_string()
}
