use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirEntry, Metadata, OpenOptions};

use super::error::{FileError, display_path};
use super::folder::FileStat;
use super::glob::Globs;
use super::open::OpenFile;
use super::path::join;
use super::walk::{EntryKind, FolderBackend, WalkItem};

/// A folder of the disk, held open, so that every path is resolved beneath it by the kernel.
#[derive(Debug)]
pub(super) struct DiskFolder {
    dir: Dir,
    path: PathBuf,
}

impl DiskFolder {
    pub(super) fn open(path: &Path) -> Result<Self, FileError> {
        let fail = |source| to_not_a_folder(FileError::from_io(&path.to_string_lossy(), source), path);
        let path = fs::canonicalize(path).map_err(fail)?;
        let dir = Dir::open_ambient_dir(&path, ambient_authority()).map_err(fail)?;
        Ok(Self { dir, path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn subfolder(&self, path: &str) -> Result<Self, FileError> {
        let dir = match self.access_beneath(path, |path| self.dir.open_dir(path)) {
            Ok(dir) => dir,
            // The same kind tells of a file on the way and of a file at the end.
            Err(FileError::NotFound { path: missing }) => {
                self.stat(path)?;
                return Err(FileError::NotAFolder { path: missing });
            }
            Err(other) => return Err(other),
        };
        let inside = self.resolve_links(path).unwrap_or_else(|| path.to_owned());
        let path = if inside.is_empty() { self.path.clone() } else { self.path.join(inside) };
        Ok(Self { dir, path })
    }

    pub(super) fn open_file(&self, path: &str) -> Result<OpenFile, FileError> {
        OpenFile::on_disk(path, self.access_beneath(path, |path| self.dir.open_with(path, &read_options()))?)
    }

    /// Tries `open` on the path. Resolution beneath a folder refuses absolute links altogether, so that one which
    /// leads back into this folder is tried again by where it leads; that, too, is resolved beneath.
    fn access_beneath<T>(&self, path: &str, open: impl Fn(&Path) -> io::Result<T>) -> Result<T, FileError> {
        let first = match open(dot_if_empty(path)) {
            Ok(opened) => return Ok(opened),
            Err(source) => FileError::from_io(path, source),
        };
        match (&first, self.resolve_links(path)) {
            (FileError::EscapesFolder { .. }, Some(resolve_links)) => {
                open(dot_if_empty(&resolve_links)).map_err(|_| first)
            }
            _ => Err(first),
        }
    }

    /// Whether what a link leads to is hidden from `globs`. A mounted ConfigMap shows its files by links into `..data`:
    /// they are meant to be seen.
    fn leads_to_hidden(&self, link: &str, globs: &Globs) -> bool {
        let is_seen = |name: &str| globs.may_match_name(name) || name.starts_with("..");
        self.resolve_links(link).is_some_and(|real| !real.split('/').all(is_seen))
    }

    /// What an entry is and, where that had to be asked anyway, how it is described. Nothing, if it is gone.
    fn entry_kind(&self, entry: &DirEntry, path: &str) -> Option<(EntryKind, Option<FileStat>)> {
        let mut kind = entry.file_type().ok()?;
        if !(kind.is_dir() || kind.is_file() || kind.is_symlink()) {
            // Some file systems say it only when asked for the file itself.
            kind = entry.metadata().ok()?.file_type();
        }
        if kind.is_symlink() {
            return Some(match self.stat(path) {
                Ok(stat) if stat.is_dir => (EntryKind::LinkToFolder, Some(stat)),
                Ok(stat) => (EntryKind::LinkToFile, Some(stat)),
                Err(_) => (EntryKind::Other, None),
            });
        }
        Some(match kind {
            kind if kind.is_dir() => (EntryKind::Folder, None),
            kind if kind.is_file() => (EntryKind::File, None),
            _ => (EntryKind::Other, None),
        })
    }
}

impl FolderBackend for DiskFolder {
    fn stat(&self, path: &str) -> Result<FileStat, FileError> {
        let meta = self.access_beneath(path, |path| self.dir.metadata(path))?;
        stat_of(&meta).ok_or_else(|| FileError::NotAFile { path: display_path(path) })
    }

    fn list(&self, folder: &str, globs: &Globs, each: &mut dyn FnMut(WalkItem<'_>)) -> Result<(), FileError> {
        for entry in self.access_beneath(folder, |path| self.dir.read_dir(path))? {
            let entry = entry.map_err(|source| FileError::from_io(folder, source))?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                let path = join(folder, &name.to_string_lossy());
                each(WalkItem { path: &path, kind: EntryKind::Other, stat: &|| None });
                continue;
            };
            if !globs.may_match_name(name) {
                continue;
            }
            let path = join(folder, name);
            if let Some((kind, known)) = self.entry_kind(&entry, &path) {
                if matches!(kind, EntryKind::LinkToFile | EntryKind::LinkToFolder) && self.leads_to_hidden(&path, globs)
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
        let is_link = |part: &Path| fs::symlink_metadata(self.path.join(part)).is_ok_and(|meta| meta.is_symlink());
        let parts = Path::new(path).ancestors().filter(|part| !part.as_os_str().is_empty());
        parts.into_iter().any(is_link) && self.leads_to_hidden(path, globs)
    }

    fn resolve_links(&self, path: &str) -> Option<String> {
        let real = fs::canonicalize(self.path.join(path)).ok()?;
        real.strip_prefix(&self.path).ok()?.to_str().map(str::to_owned)
    }
}

fn to_not_a_folder(error: FileError, path: &Path) -> FileError {
    match error {
        FileError::NotFound { path: missing } if path.exists() => FileError::NotAFolder { path: missing },
        other => other,
    }
}

fn stat_of(meta: &Metadata) -> Option<FileStat> {
    let is_dir = meta.is_dir();
    (is_dir || meta.is_file()).then(|| FileStat {
        size: if is_dir { 0 } else { meta.len() },
        modified: meta.modified().ok().map(cap_std::time::SystemTime::into_std),
        is_dir,
    })
}

/// Never waits: a pipe without a writer opens at once, and is then refused for what it is.
fn read_options() -> OpenOptions {
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
