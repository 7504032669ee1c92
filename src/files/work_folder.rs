//! `WorkFolder`: a folder on disk whose files are read and changed, none outside of it.
//!
//! A change opens the folder of its file beneath this one, and from there on names only what is directly in it: the
//! kernel refuses a path that leaves, whatever is swapped meanwhile.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use cap_std::fs::{
    Dir, DirBuilder, FileType, Metadata, MetadataExt, OpenOptions, OpenOptionsExt, Permissions, PermissionsExt,
};
use rustix::fs::OFlags;

use super::disk::DiskFolder;
use super::error::{FileError, display_path};
use super::glob::Globs;
use super::open::OpenFile;
use super::path::{is_normalized, join};
use super::replace::{Place, is_temporary};
use super::walk::FolderBackend;

/// How many links in a row are followed to a file that is written.
const MAX_LINKS: usize = 16;

/// How many names a folder may have to be listed.
const MAX_NAMES: usize = 100_000;

/// How deep a folder may be that is removed with all that is in it.
const MAX_REMOVED_DEPTH: usize = 128;

/// A folder on disk whose files are read and changed. Its paths are relative, normalized and joined with `/`.
#[derive(Debug)]
pub struct WorkFolder(DiskFolder);

/// What a name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A folder.
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

    fn of(kind: FileType) -> FileKind {
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
    /// What it is.
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
pub struct FolderName {
    /// The name.
    pub name: String,
    /// What it is, with links followed.
    pub kind: FileKind,
    /// Whether it is a link.
    pub is_link: bool,
}

/// What may be there where a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// A file, which is replaced.
    Replace,
    /// Nothing.
    Refuse,
}

impl WorkFolder {
    /// Opens a folder. Only this path may lead through links anywhere.
    pub fn open(path: &Path) -> Result<WorkFolder, FileError> {
        DiskFolder::open(path).map(WorkFolder)
    }

    /// Opens a folder below this one, which is then the limit.
    pub fn into_subfolder(self, relative: &str) -> Result<WorkFolder, FileError> {
        if relative.is_empty() { Ok(self) } else { self.0.disk_subfolder(relative).map(WorkFolder) }
    }

    /// The absolute path, with all links resolved.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Whether a path leads through a link to a hidden name. What is not there yet is where its folder is.
    pub fn leads_to_hidden(&self, path: &str) -> bool {
        let exists = |part: &&Path| self.path().join(part).symlink_metadata().is_ok();
        let existing = Path::new(path).ancestors().find(exists).and_then(Path::to_str).unwrap_or_default();
        Globs::new(&["**/*"], &[]).is_ok_and(|globs| self.0.is_hidden(existing, &globs))
    }

    /// Opens a regular file.
    pub fn open_file(&self, path: &str) -> Result<OpenFile, FileError> {
        self.0.open_file(path)
    }

    /// What is known of a file or folder, with links followed.
    pub fn info(&self, path: &str) -> Result<FileInfo, FileError> {
        self.0.access_beneath(path, |path| self.0.dir.metadata(path)).map(|meta| FileInfo::of(&meta))
    }

    /// The names in a folder, sorted; those of hidden files where they are wanted.
    pub fn names(&self, folder: &str, hidden: bool) -> Result<Vec<FolderName>, FileError> {
        let mut names = Vec::new();
        let entries = match self.0.access_beneath(folder, |path| self.0.dir.read_dir(path)) {
            // Not found is also the error for a file.
            Err(FileError::NotFound(path)) if self.info(folder).is_ok() => return Err(FileError::NotAFolder(path)),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry.map_err(|source| FileError::from_io(folder, source))?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            if is_temporary(&name) || name.starts_with('.') && !hidden {
                continue;
            }
            let Ok(kind) = entry.file_type().map(FileKind::of) else { continue };
            names.push(self.followed(folder, FolderName { name, kind, is_link: kind == FileKind::Link }, hidden));
            if names.len() > MAX_NAMES {
                return Err(FileError::TooMany { limit: MAX_NAMES, what: "names in a folder" });
            }
        }
        let mut names: Vec<FolderName> = names.into_iter().flatten().collect();
        names.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(names)
    }

    /// The name with what its link leads to; `None` where that is hidden.
    fn followed(&self, folder: &str, entry: FolderName, hidden: bool) -> Option<FolderName> {
        if !entry.is_link {
            return Some(entry);
        }
        let path = join(folder, &entry.name);
        let kind = self.info(&path).map_or(FileKind::Link, |info| info.kind);
        (hidden || !self.leads_to_hidden(&path)).then_some(FolderName { kind, ..entry })
    }

    /// Makes a file of what `fill` writes, or replaces one by it, whole or not at all. `fill` gets the file that is
    /// replaced.
    pub fn write<E: From<FileError>>(
        &self,
        path: &str,
        existing: Existing,
        fill: impl FnOnce(Option<OpenFile>, &mut dyn Write) -> Result<(), E>,
    ) -> Result<(), E> {
        let place = match existing {
            Existing::Replace => self.target_of_links(path)?,
            Existing::Refuse => self.place(path)?,
        };
        place.write(existing, None, fill)
    }

    /// Copies a regular file, whole or not at all.
    pub fn copy<E: From<FileError>>(
        &self,
        from: OpenFile,
        to: (&str, Existing),
        pump: impl FnOnce(&mut dyn Read, &mut dyn Write) -> Result<(), E>,
    ) -> Result<(), E> {
        let (to, existing) = to;
        let place = match existing {
            Existing::Replace => self.target_of_links(to)?,
            Existing::Refuse => self.place(to)?,
        };
        let mode = from.permissions();
        place.write(existing, mode, |_, file| pump(&mut from.into_reader(), file))
    }

    /// Moves a file or folder into another folder or to another name; a link is moved itself.
    pub fn rename(&self, from: &str, to: (&WorkFolder, &str), existing: Existing) -> Result<(), FileError> {
        let (source, target) = (self.place(from)?, to.0.place(to.1)?);
        source.rename(&target, existing)
    }

    /// Removes a file, a link itself, or a folder; one that is not empty only if `recursive`.
    pub fn remove(&self, path: &str, recursive: bool) -> Result<(), FileError> {
        let place = self.place(path)?;
        let meta = place.parent.symlink_metadata(&place.name).map_err(|source| FileError::from_io(path, source))?;
        let fail = |source| FileError::write_failed(path, source);
        match (meta.is_dir(), recursive) {
            (false, _) => place.parent.remove_file(&place.name).map_err(fail),
            (true, false) => place.parent.remove_dir(&place.name).map_err(fail),
            (true, true) => remove_tree(&place.parent, &place.name, MAX_REMOVED_DEPTH).map_err(fail),
        }
    }

    /// Makes a folder and those around it; one that exists is none of its errors.
    pub fn create_folder(&self, path: &str) -> Result<(), FileError> {
        for (end, _) in path.match_indices('/').chain([(path.len(), "")]) {
            let Some(folder) = path.get(..end).filter(|folder| !folder.is_empty()) else { continue };
            let place = self.place(folder)?;
            match place.parent.create_dir_with(&place.name, &DirBuilder::new()) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => made.map_err(|source| FileError::write_failed(folder, source))?,
            }
        }
        match self.info(path)?.kind {
            FileKind::Directory => Ok(()),
            _ => Err(FileError::NotAFolder(display_path(path))),
        }
    }

    /// The open folder of a path, and its name in it. Links in the folder are followed beneath this one.
    fn place(&self, path: &str) -> Result<Place, FileError> {
        if path.is_empty() || !is_normalized(path) {
            return Err(FileError::IsFolder(display_path(path)));
        }
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        self.place_in(folder, name, path)
    }

    fn place_in(&self, folder: &str, name: &str, path: &str) -> Result<Place, FileError> {
        let parent = self.0.access_beneath(folder, |folder| self.0.dir.open_dir(folder))?;
        Ok(Place { parent, name: name.to_owned(), path: path.to_owned() })
    }

    /// The place of the file that a path leads to, which need not exist.
    fn target_of_links(&self, path: &str) -> Result<Place, FileError> {
        let mut place = self.place(path)?;
        let mut folder = path.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned());
        for _ in 0..MAX_LINKS {
            let Ok(target) = place.parent.read_link_contents(&place.name) else { return Ok(place) };
            let target = self.beneath(&folder, target).ok_or_else(|| FileError::EscapesFolder(display_path(path)))?;
            let (Some(around), Some(name)) = (target.parent(), target.file_name()) else {
                return Err(FileError::IsFolder(display_path(path)));
            };
            let (Some(around), Some(name)) = (around.to_str(), name.to_str()) else {
                return Err(FileError::EscapesFolder(display_path(path)));
            };
            place = self.place_in(around, name, path)?;
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
    fn of(meta: &Metadata) -> FileInfo {
        let into_std = |time: io::Result<cap_std::time::SystemTime>| time.ok().map(|time| time.into_std());
        let kind = FileKind::of(meta.file_type());
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
        self.metadata().map(|meta| FileInfo::of(&meta))
    }

    /// Its permissions, for a copy.
    fn permissions(&self) -> Option<Permissions> {
        self.metadata().map(|meta| Permissions::from_mode(meta.mode() & 0o777))
    }
}

/// Removes a folder with all that is in it; links in it are removed themselves.
fn remove_tree(parent: &Dir, name: &str, depth: usize) -> io::Result<()> {
    let nofollow = parent.symlink_metadata(name)?;
    if !nofollow.is_dir() {
        return parent.remove_file(name);
    }
    if depth == 0 {
        return Err(io::Error::other("nested too deeply"));
    }
    // A link in its place is not followed.
    let mut options = OpenOptions::new();
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
    options.read(true).custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
    let folder = Dir::from_std_file(parent.open_with(name, &options)?.into_std());
    for entry in folder.entries()? {
        let entry = entry?;
        match (entry.file_type()?.is_dir(), entry.file_name().to_str()) {
            (true, Some(name)) => remove_tree(&folder, name, depth - 1)?,
            _ => folder.remove_file(entry.file_name())?,
        }
    }
    parent.remove_dir(name)
}
