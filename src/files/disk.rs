//! Folders on disk, through cap-std.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirEntry, Metadata, OpenOptions};

use super::error::{FileError, display_path};
use super::folder::FileStat;
use super::glob::Globs;
use super::open::OpenFile;
use super::path::join;
use super::stamp::FileStamp;
use super::walk::{DirEntryKind, FolderBackend, WalkItem};

/// An open folder on disk; the kernel resolves every path below it.
#[derive(Debug)]
pub(super) struct DiskFolder {
    pub(super) dir: Dir,
    path: PathBuf,
}

impl DiskFolder {
    pub(super) fn open(path: &Path) -> Result<Self, FileError> {
        let fail = |source| to_not_a_folder(FileError::from_io(&path.to_string_lossy(), source), path);
        let path = fs::canonicalize(path).map_err(fail)?;
        let dir = Dir::open_ambient_dir(&path, ambient_authority()).map_err(fail)?;
        Ok(Self { dir, path })
    }

    /// Runs `open` on the path. Resolution below a folder rejects all absolute links, so a link back into this folder is
    /// retried by its target, which is also resolved below the folder.
    pub(super) fn access_beneath<T>(&self, path: &str, open: impl Fn(&Path) -> io::Result<T>) -> Result<T, FileError> {
        let first = match open(dot_if_empty(path)) {
            Ok(opened) => return Ok(opened),
            Err(source) => FileError::from_io(path, source),
        };
        match (&first, self.resolve_links(path)) {
            (FileError::EscapesFolder { .. }, Some(target)) => open(dot_if_empty(&target)).map_err(|_| first),
            _ => Err(first),
        }
    }

    /// Whether the target of a link is hidden from `globs`. The links of a mounted ConfigMap lead into `..data`, which is
    /// not hidden.
    fn leads_to_hidden(&self, link: &str, globs: &Globs) -> bool {
        let is_visible = |name: &str| globs.may_match_name(name) || name.starts_with("..");
        self.resolve_links(link).is_some_and(|real| !real.split('/').all(is_visible))
    }

    /// Opens a folder below this one.
    pub(super) fn disk_subfolder(&self, path: &str) -> Result<DiskFolder, FileError> {
        let dir = match self.access_beneath(path, |path| self.dir.open_dir(path)) {
            Ok(dir) => dir,
            // Not found is also the error for a file in the path or at its end.
            Err(FileError::NotFound(missing)) => {
                self.stat(path)?;
                return Err(FileError::NotAFolder(missing));
            }
            Err(other) => return Err(other),
        };
        let inside = self.resolve_links(path).unwrap_or_else(|| path.to_owned());
        let path = if inside.is_empty() { self.path.clone() } else { self.path.join(inside) };
        Ok(Self { dir, path })
    }

    /// The kind of an entry and, where already known, its metadata. `None` if it is gone.
    fn entry_kind(&self, entry: &DirEntry, path: &str) -> Option<(DirEntryKind, Option<FileStat>)> {
        let mut kind = entry.file_type().ok()?;
        if !(kind.is_dir() || kind.is_file() || kind.is_symlink()) {
            // Some file systems report it only in the metadata.
            kind = entry.metadata().ok()?.file_type();
        }
        if kind.is_symlink() {
            return Some(match self.stat(path) {
                Ok(stat) if stat.is_dir => (DirEntryKind::LinkToFolder, Some(stat)),
                Ok(stat) => (DirEntryKind::LinkToFile, Some(stat)),
                Err(_) => (DirEntryKind::Other, None),
            });
        }
        Some(match kind {
            kind if kind.is_dir() => (DirEntryKind::Folder, None),
            kind if kind.is_file() => (DirEntryKind::File, None),
            _ => (DirEntryKind::Other, None),
        })
    }
}

impl FolderBackend for DiskFolder {
    fn path(&self) -> &Path {
        &self.path
    }

    fn open_file(&self, path: &str) -> Result<OpenFile, FileError> {
        OpenFile::on_disk(path, self.access_beneath(path, |path| self.dir.open_with(path, &read_options()))?)
    }

    fn subfolder(&self, path: &str) -> Result<Arc<dyn FolderBackend>, FileError> {
        Ok(Arc::new(self.disk_subfolder(path)?))
    }

    fn open_outside(&self, path: &Path) -> Result<Arc<dyn FolderBackend>, FileError> {
        Ok(Arc::new(DiskFolder::open(&self.path.join(path))?))
    }

    fn stat(&self, path: &str) -> Result<FileStat, FileError> {
        let meta = self.access_beneath(path, |path| self.dir.metadata(path))?;
        stat_of(&meta).ok_or_else(|| FileError::NotAFile(display_path(path)))
    }

    fn list(&self, folder: &str, globs: &Globs, each: &mut dyn FnMut(WalkItem<'_>)) -> Result<(), FileError> {
        for entry in self.access_beneath(folder, |path| self.dir.read_dir(path))? {
            let entry = entry.map_err(|source| FileError::from_io(folder, source))?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                let kind = if is_folder { DirEntryKind::NotUtf8Folder } else { DirEntryKind::NotUtf8File };
                let shown = name.to_string_lossy();
                if globs.may_match_name(&shown) {
                    each(WalkItem { path: &join(folder, &shown), kind, stat: &|| None });
                }
                continue;
            };
            if !globs.may_match_name(name) {
                continue;
            }
            let path = join(folder, name);
            if let Some((kind, known)) = self.entry_kind(&entry, &path) {
                if matches!(kind, DirEntryKind::LinkToFile | DirEntryKind::LinkToFolder)
                    && self.leads_to_hidden(&path, globs)
                {
                    continue;
                }
                let stat = || known.or_else(|| entry.metadata().ok().as_ref().and_then(stat_of));
                each(WalkItem { path: &path, kind, stat: &stat });
            }
        }
        Ok(())
    }

    fn is_hidden(&self, path: &str, globs: &Globs) -> bool {
        self.has_link(path) && self.leads_to_hidden(path, globs)
    }

    fn has_link(&self, path: &str) -> bool {
        let is_link = |part: &Path| fs::symlink_metadata(self.path.join(part)).is_ok_and(|meta| meta.is_symlink());
        Path::new(path).ancestors().filter(|part| !part.as_os_str().is_empty()).any(is_link)
    }

    fn resolve_links(&self, path: &str) -> Option<String> {
        let real = fs::canonicalize(self.path.join(path)).ok()?;
        real.strip_prefix(&self.path).ok()?.to_str().map(str::to_owned)
    }
}

fn to_not_a_folder(error: FileError, path: &Path) -> FileError {
    match error {
        FileError::NotFound(missing) if path.exists() => FileError::NotAFolder(missing),
        other => other,
    }
}

fn stat_of(meta: &Metadata) -> Option<FileStat> {
    let is_dir = meta.is_dir();
    (is_dir || meta.is_file()).then(|| FileStat {
        size: if is_dir { 0 } else { meta.len() },
        modified: meta.modified().ok().map(cap_std::time::SystemTime::into_std),
        is_dir,
        stamp: FileStamp::beneath_folder(meta),
    })
}

/// Never blocks: a pipe without a writer opens at once and is then rejected.
pub(super) fn read_options() -> OpenOptions {
    use cap_std::fs::OpenOptionsExt;
    use rustix::fs::OFlags;
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
    options
}

fn dot_if_empty(path: &str) -> &Path {
    Path::new(if path.is_empty() { "." } else { path })
}
