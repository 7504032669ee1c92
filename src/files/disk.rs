use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirEntry, Metadata, OpenOptions};

use super::error::{FileError, shown};
use super::folder::Stat;
use super::glob::Globs;
use super::open::OpenFile;
use super::path::join;
use super::walk::{Item, Kind, Tree};

/// A folder of the disk, held open, so that every path is resolved beneath it by the kernel.
#[derive(Debug)]
pub(super) struct Disk {
    dir: Dir,
    path: PathBuf,
}

impl Disk {
    pub(super) fn open(path: &Path) -> Result<Self, FileError> {
        let fail = |source| not_a_folder(FileError::from_io(&path.to_string_lossy(), source), path);
        let path = fs::canonicalize(path).map_err(fail)?;
        let dir = Dir::open_ambient_dir(&path, ambient_authority()).map_err(fail)?;
        Ok(Self { dir, path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn subfolder(&self, path: &str) -> Result<Self, FileError> {
        let dir = match self.beneath(path, |path| self.dir.open_dir(path)) {
            Ok(dir) => dir,
            // The same kind tells of a file on the way and of a file at the end.
            Err(FileError::NotFound { path: missing }) => {
                self.stat(path)?;
                return Err(FileError::NotAFolder { path: missing });
            }
            Err(other) => return Err(other),
        };
        let inside = self.real(path).unwrap_or_else(|| path.to_owned());
        let path = if inside.is_empty() { self.path.clone() } else { self.path.join(inside) };
        Ok(Self { dir, path })
    }

    pub(super) fn file(&self, path: &str) -> Result<OpenFile, FileError> {
        OpenFile::on_disk(path, self.beneath(path, |path| self.dir.open_with(path, &for_reading()))?)
    }

    /// Tries `open` on the path. Resolution beneath a folder refuses absolute links altogether, so that one which
    /// leads back into this folder is tried again by where it leads; that, too, is resolved beneath.
    fn beneath<T>(&self, path: &str, open: impl Fn(&Path) -> io::Result<T>) -> Result<T, FileError> {
        let first = match open(dotted(path)) {
            Ok(opened) => return Ok(opened),
            Err(source) => FileError::from_io(path, source),
        };
        match (&first, self.real(path)) {
            (FileError::Outside { .. }, Some(real)) => open(dotted(&real)).map_err(|_| first),
            _ => Err(first),
        }
    }

    /// Whether what a link leads to is hidden from `globs`. A mounted ConfigMap shows its files by links into `..data`:
    /// they are meant to be seen.
    fn leads_to_hidden(&self, link: &str, globs: &Globs) -> bool {
        let is_seen = |name: &str| globs.sees(name) || name.starts_with("..");
        self.real(link).is_some_and(|real| !real.split('/').all(is_seen))
    }

    /// What an entry is and, where that had to be asked anyway, how it is described. Nothing, if it is gone.
    fn kind(&self, entry: &DirEntry, path: &str) -> Option<(Kind, Option<Stat>)> {
        let mut kind = entry.file_type().ok()?;
        if !(kind.is_dir() || kind.is_file() || kind.is_symlink()) {
            // Some file systems say it only when asked for the file itself.
            kind = entry.metadata().ok()?.file_type();
        }
        if kind.is_symlink() {
            return Some(match self.stat(path) {
                Ok(stat) if stat.is_dir => (Kind::LinkToFolder, Some(stat)),
                Ok(stat) => (Kind::LinkToFile, Some(stat)),
                Err(_) => (Kind::Neither, None),
            });
        }
        Some(match kind {
            kind if kind.is_dir() => (Kind::Folder, None),
            kind if kind.is_file() => (Kind::File, None),
            _ => (Kind::Neither, None),
        })
    }
}

impl Tree for Disk {
    fn stat(&self, path: &str) -> Result<Stat, FileError> {
        let meta = self.beneath(path, |path| self.dir.metadata(path))?;
        described(&meta).ok_or_else(|| FileError::NotAFile { path: shown(path) })
    }

    fn list(&self, folder: &str, globs: &Globs, each: &mut dyn FnMut(Item<'_>)) -> Result<(), FileError> {
        for entry in self.beneath(folder, |path| self.dir.read_dir(path))? {
            let entry = entry.map_err(|source| FileError::from_io(folder, source))?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                let path = join(folder, &name.to_string_lossy());
                each(Item { path: &path, kind: Kind::Neither, stat: &|| None });
                continue;
            };
            if !globs.sees(name) {
                continue;
            }
            let path = join(folder, name);
            if let Some((kind, known)) = self.kind(&entry, &path) {
                if matches!(kind, Kind::LinkToFile | Kind::LinkToFolder) && self.leads_to_hidden(&path, globs) {
                    continue;
                }
                let stat = || known.or_else(|| entry.metadata().ok().as_ref().and_then(described));
                each(Item { path: &path, kind, stat: &stat });
            }
        }
        Ok(())
    }

    fn is_hidden(&self, path: &str, globs: &Globs) -> bool {
        let is_link = |part: &Path| fs::symlink_metadata(self.path.join(part)).is_ok_and(|meta| meta.is_symlink());
        let parts = Path::new(path).ancestors().filter(|part| !part.as_os_str().is_empty());
        parts.into_iter().any(is_link) && self.leads_to_hidden(path, globs)
    }

    fn real(&self, path: &str) -> Option<String> {
        let real = fs::canonicalize(self.path.join(path)).ok()?;
        real.strip_prefix(&self.path).ok()?.to_str().map(str::to_owned)
    }
}

fn not_a_folder(error: FileError, path: &Path) -> FileError {
    match error {
        FileError::NotFound { path: missing } if path.exists() => FileError::NotAFolder { path: missing },
        other => other,
    }
}

fn described(meta: &Metadata) -> Option<Stat> {
    let is_dir = meta.is_dir();
    (is_dir || meta.is_file()).then(|| Stat {
        size: if is_dir { 0 } else { meta.len() },
        modified: meta.modified().ok().map(cap_std::time::SystemTime::into_std),
        is_dir,
    })
}

/// Never waits: a pipe without a writer opens at once, and is then refused for what it is.
fn for_reading() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt;
        use rustix::fs::OFlags;
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        options.custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
    }
    options
}

fn dotted(path: &str) -> &Path {
    Path::new(if path.is_empty() { "." } else { path })
}
