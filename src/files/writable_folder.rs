//! `WritableFolder`: a folder on disk whose files are read and changed, none outside of it.
//!
//! A change opens the folder of its file below this one, and from there on names only what is directly in it: the
//! kernel refuses a path that leaves, whatever is swapped meanwhile.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use cap_std::fs::{DirBuilder, FileType, Metadata, MetadataExt};

use super::atomic_write::{DirEntryName, is_temporary};
use super::disk::DiskFolder;
use super::error::{FileError, display_path};
use super::glob::Globs;
use super::open::OpenFile;
use super::path::{is_normalized, join};
use super::remove::{FolderRemoval, RemovalStep};
use super::walk::FolderBackend;

/// How many links in a row are followed to a file that is written.
const MAX_LINKS: usize = 16;

/// How many names a folder may have to be listed.
const MAX_NAMES: usize = 100_000;

/// A folder on disk whose files are read and changed. Its paths are relative, normalized and joined with `/`.
#[derive(Debug)]
pub struct WritableFolder {
    disk: DiskFolder,
    lock: Option<OwnedFd>,
}

/// What a name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    File,
    Directory,
    /// A link that leads nowhere, or out of the folder.
    Link,
    /// A pipe, a socket or a device.
    Other,
}

impl FileKind {
    /// Its name in outcomes.
    pub fn as_str(self) -> &'static str {
        match self {
            FileKind::File => "file",
            FileKind::Directory => "directory",
            FileKind::Link => "link",
            FileKind::Other => "other",
        }
    }

    fn from_file_type(kind: FileType) -> FileKind {
        match kind {
            kind if kind.is_dir() => FileKind::Directory,
            kind if kind.is_file() => FileKind::File,
            kind if kind.is_symlink() => FileKind::Link,
            _ => FileKind::Other,
        }
    }
}

/// What is known of a file or folder.
#[derive(Debug, Clone, Copy)]
pub struct FileInfo {
    pub kind: FileKind,
    /// Its size in bytes; 0 for a folder.
    pub size: u64,
    /// When it was last written.
    pub modified: Option<SystemTime>,
    /// When it was made, where the file system knows.
    pub created: Option<SystemTime>,
    /// When it was last read, where the file system knows.
    pub accessed: Option<SystemTime>,
    /// Its permissions, such as 0o644.
    pub mode: u32,
}

/// One name in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderEntry {
    pub name: String,
    /// What it is, with links followed.
    pub kind: FileKind,
    /// Whether it is a link.
    pub is_link: bool,
}

/// The names in a folder.
#[derive(Debug, Default)]
pub struct FolderEntries {
    /// Those that are UTF-8, sorted.
    pub entries: Vec<FolderEntry>,
    /// The others, as they can be shown; no path leads to them.
    pub not_utf8: Vec<FolderEntry>,
}

/// What may be there where a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverwritePolicy {
    /// A file, which is replaced.
    Replace,
    /// The same, unless it is changed between its reading and its writing.
    ReplaceUnchanged,
    /// Nothing.
    Refuse,
}

impl WritableFolder {
    /// Opens a folder. Only this path may lead through links anywhere.
    pub fn open(path: &Path) -> Result<WritableFolder, FileError> {
        DiskFolder::open(path).map(WritableFolder::of)
    }

    fn of(disk: DiskFolder) -> WritableFolder {
        WritableFolder { disk, lock: None }
    }

    /// Keeps the changes of others through this type away from the files directly in the folder, until it is dropped, and
    /// removes what killed ones have left. Where the file system has no locks, nothing is kept away.
    ///
    /// # Errors
    /// Somebody else has it locked for a long time.
    pub fn into_locked(self) -> Result<WritableFolder, FileError> {
        let entry = self.entry_in("", "", &self.path().to_string_lossy())?;
        let lock = entry.lock()?;
        if lock.is_some() {
            entry.remove_stale_files(MAX_NAMES);
        }
        Ok(WritableFolder { lock, ..self })
    }

    /// Opens a folder below this one, which is then the limit.
    pub fn into_subfolder(self, relative: &str) -> Result<WritableFolder, FileError> {
        if relative.is_empty() { Ok(self) } else { self.disk.disk_subfolder(relative).map(WritableFolder::of) }
    }

    /// The absolute path, with all links resolved.
    pub fn path(&self) -> &Path {
        self.disk.path()
    }

    /// Whether a path leads through a link to a hidden name. What is not there yet is where its folder is.
    pub fn leads_to_hidden(&self, path: &str) -> bool {
        let exists = |part: &&Path| self.path().join(part).symlink_metadata().is_ok();
        let overwrite = Path::new(path).ancestors().find(exists).and_then(Path::to_str).unwrap_or_default();
        Globs::new(&["**/*"], &[]).is_ok_and(|globs| self.disk.is_hidden(overwrite, &globs))
    }

    /// Opens a regular file.
    pub fn open_file(&self, path: &str) -> Result<OpenFile, FileError> {
        self.disk.open_file(path)
    }

    /// What is known of a file or folder, with links followed.
    pub fn info(&self, path: &str) -> Result<FileInfo, FileError> {
        self.disk.access_beneath(path, |path| self.disk.dir.metadata(path)).map(|meta| FileInfo::from_metadata(&meta))
    }

    /// The names in a folder, sorted; those of hidden files where they are wanted.
    pub fn entries(&self, folder: &str, hidden: bool) -> Result<FolderEntries, FileError> {
        let (mut names, mut not_utf8) = (Vec::new(), Vec::new());
        let entries = match self.disk.access_beneath(folder, |path| self.disk.dir.read_dir(path)) {
            // Not found is also the error for a file.
            Err(FileError::NotFound(path)) if self.info(folder).is_ok() => return Err(FileError::NotAFolder(path)),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry.map_err(|source| FileError::from_io(folder, source))?;
            let (name, is_utf8) = match entry.file_name().into_string() {
                Ok(name) => (name, true),
                Err(name) => (name.to_string_lossy().into_owned(), false),
            };
            if is_temporary(&name) || name.starts_with('.') && !hidden {
                continue;
            }
            let Ok(kind) = entry.file_type().map(FileKind::from_file_type) else { continue };
            let found = FolderEntry { name, kind, is_link: kind == FileKind::Link };
            match is_utf8 {
                true => names.push(self.resolve_link(folder, found, hidden)),
                false => not_utf8.push(found),
            }
            if names.len() + not_utf8.len() > MAX_NAMES {
                return Err(FileError::TooMany { limit: MAX_NAMES, what: "names in a folder" });
            }
        }
        let mut names: Vec<FolderEntry> = names.into_iter().flatten().collect();
        names.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(FolderEntries { entries: names, not_utf8 })
    }

    /// The name with what its link leads to; `None` where that is hidden.
    fn resolve_link(&self, folder: &str, entry: FolderEntry, hidden: bool) -> Option<FolderEntry> {
        if !entry.is_link {
            return Some(entry);
        }
        let path = join(folder, &entry.name);
        let kind = self.info(&path).map_or(FileKind::Link, |info| info.kind);
        (hidden || !self.leads_to_hidden(&path)).then_some(FolderEntry { kind, ..entry })
    }

    /// Makes a file of what `fill` writes, or replaces one by it, whole or not at all. `fill` gets the file that is
    /// replaced.
    pub fn write<E: From<FileError>>(
        &self,
        path: &str,
        overwrite: OverwritePolicy,
        fill: impl FnOnce(Option<OpenFile>, &mut dyn Write) -> Result<(), E>,
    ) -> Result<(), E> {
        self.write_target(path, overwrite)?.write(overwrite, None, fill)
    }

    /// Makes a file of these bytes, whole or not at all, with these permissions from the beginning, if any are given.
    ///
    /// # Errors
    /// The name is taken, or the file cannot be written.
    pub fn create(&self, path: &str, mode: Option<u32>, bytes: &[u8]) -> Result<(), FileError> {
        let write =
            |file: &mut dyn Write| file.write_all(bytes).map_err(|source| FileError::write_failed(path, source));
        self.locate(path)?.write(OverwritePolicy::Refuse, mode, |_, file| write(file))
    }

    /// Adds to the end of a file, or makes a new one, and returns whether it is new. What is added is there whole or not at
    /// all, unless the server is killed meanwhile.
    pub fn append(&self, path: &str, bytes: &[u8]) -> Result<bool, FileError> {
        self.target_of_links(path)?.append(bytes)
    }

    /// Where a file is written: a link is followed to the file that is replaced.
    fn write_target(&self, path: &str, overwrite: OverwritePolicy) -> Result<DirEntryName, FileError> {
        match overwrite {
            OverwritePolicy::Replace | OverwritePolicy::ReplaceUnchanged => self.target_of_links(path),
            OverwritePolicy::Refuse => self.locate(path),
        }
    }

    /// Copies a regular file, whole or not at all.
    pub fn copy<E: From<FileError>>(
        &self,
        from: OpenFile,
        to: &str,
        overwrite: OverwritePolicy,
        pump: impl FnOnce(&mut dyn Read, &mut dyn Write) -> Result<(), E>,
    ) -> Result<(), E> {
        let mode = from.mode();
        self.write_target(to, overwrite)?.write(overwrite, mode, |_, file| pump(&mut from.into_reader(), file))
    }

    /// Moves a file or folder into another folder or to another name; a link is moved itself.
    pub fn rename(
        &self,
        from: &str,
        target: &WritableFolder,
        to: &str,
        overwrite: OverwritePolicy,
    ) -> Result<(), FileError> {
        let (source, target) = (self.locate(from)?, target.locate(to)?);
        source.rename(&target, overwrite)
    }

    /// Removes a file, a link itself, or an empty folder.
    pub fn remove(&self, path: &str) -> Result<(), FileError> {
        let entry = self.locate(path)?;
        match self.is_folder(&entry)? {
            false => entry.parent.remove_file(&entry.name).map_err(|source| FileError::write_failed(path, source)),
            true => entry.remove_folder(),
        }
    }

    /// The same, and a folder with all that is in it. `before` is called before each step, and may refuse it.
    pub fn remove_all<E: From<FileError>>(
        &self,
        path: &str,
        before: &mut dyn FnMut(RemovalStep) -> Result<(), E>,
    ) -> Result<(), E> {
        let entry = self.locate(path)?;
        match self.is_folder(&entry)? {
            false => Ok(self.remove(path)?),
            true => FolderRemoval { path, before }.run(&entry.parent, entry.name.as_ref()),
        }
    }

    fn is_folder(&self, entry: &DirEntryName) -> Result<bool, FileError> {
        let meta = entry.parent.symlink_metadata(&entry.name);
        meta.map(|meta| meta.is_dir()).map_err(|source| FileError::from_io(&entry.path, source))
    }

    /// Makes a folder and those around it, all or none; a folder that exists is not an error.
    pub fn create_folder(&self, path: &str) -> Result<(), FileError> {
        let mut made = Vec::new();
        let outcome = self.create_folders(path, &mut made);
        if outcome.is_err() {
            made.iter().rev().for_each(|entry: &DirEntryName| drop(entry.parent.remove_dir(&entry.name)));
        }
        outcome
    }

    fn create_folders(&self, path: &str, created: &mut Vec<DirEntryName>) -> Result<(), FileError> {
        for (end, _) in path.match_indices('/').chain([(path.len(), "")]) {
            let Some(folder) = path.get(..end).filter(|folder| !folder.is_empty()) else { continue };
            let entry = self.locate(folder)?;
            match entry.parent.create_dir_with(&entry.name, &DirBuilder::new()) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => {
                    made.map_err(|source| FileError::write_failed(folder, source))?;
                    created.push(entry);
                }
            }
        }
        match self.info(path)?.kind {
            FileKind::Directory => Ok(()),
            _ => Err(FileError::NotAFolder(display_path(path))),
        }
    }

    /// The open folder of a path, and its name in it. Links in the folder are followed below this one.
    fn locate(&self, path: &str) -> Result<DirEntryName, FileError> {
        if path.is_empty() || !is_normalized(path) {
            return Err(FileError::IsFolder(display_path(path)));
        }
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        self.entry_in(folder, name, path)
    }

    fn entry_in(&self, folder: &str, name: &str, path: &str) -> Result<DirEntryName, FileError> {
        let parent = self.disk.access_beneath(folder, |folder| self.disk.dir.open_dir(folder))?;
        let is_locked = self.lock.is_some() && folder.is_empty();
        Ok(DirEntryName { parent, name: name.to_owned(), path: path.to_owned(), is_locked })
    }

    /// The place of the file that a path leads to, which need not exist.
    fn target_of_links(&self, path: &str) -> Result<DirEntryName, FileError> {
        let mut entry = self.locate(path)?;
        let mut folder = path.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned());
        for _ in 0..MAX_LINKS {
            let Ok(target) = entry.parent.read_link_contents(&entry.name) else { return Ok(entry) };
            let target = self.beneath(&folder, target).ok_or_else(|| FileError::EscapesFolder(display_path(path)))?;
            let (Some(around), Some(name)) = (target.parent(), target.file_name()) else {
                return Err(FileError::IsFolder(display_path(path)));
            };
            let (Some(around), Some(name)) = (around.to_str(), name.to_str()) else {
                return Err(FileError::EscapesFolder(display_path(path)));
            };
            entry = self.entry_in(around, name, path)?;
            folder = around.to_owned();
        }
        Err(FileError::NotFound(display_path(path)))
    }

    /// Where a link in `folder` leads, from this folder on. It is not normalized: `..` after a link is for the kernel.
    fn beneath(&self, folder: &str, target: PathBuf) -> Option<PathBuf> {
        match target.is_absolute() {
            true => target.strip_prefix(self.path()).ok().map(Path::to_owned),
            false => Some(Path::new(folder).join(target)),
        }
    }
}

impl FileInfo {
    fn from_metadata(meta: &Metadata) -> FileInfo {
        let into_std = |time: io::Result<cap_std::time::SystemTime>| time.ok().map(|time| time.into_std());
        let kind = FileKind::from_file_type(meta.file_type());
        FileInfo {
            kind,
            size: if kind == FileKind::File { meta.len() } else { 0 },
            modified: into_std(meta.modified()),
            created: into_std(meta.created()),
            accessed: into_std(meta.accessed()),
            mode: meta.mode() & 0o7777,
        }
    }
}

impl OpenFile {
    /// What is known of it, if it is on disk.
    pub fn info(&self) -> Option<FileInfo> {
        self.metadata().map(|meta| FileInfo::from_metadata(&meta))
    }

    /// Its permissions, for a copy.
    fn mode(&self) -> Option<u32> {
        self.metadata().map(|meta| meta.mode())
    }
}
