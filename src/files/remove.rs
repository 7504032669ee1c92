//! Removes folders with all that is in them.

use std::ffi::OsStr;
use std::io;

use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use rustix::fs::OFlags;

use super::atomic_write::{DirEntryName, is_temporary};
use super::error::{FileError, display_path};

/// How deep a folder may be that is removed with all that is in it.
const MAX_REMOVED_DEPTH: usize = 128;

/// A step of a removal, before it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovalStep {
    /// A name in a folder is looked at.
    Inspect,
    /// A file or folder is removed.
    Remove,
}

/// The removal of a folder.
pub(super) struct FolderRemoval<'a, E> {
    /// The path in messages.
    pub(super) path: &'a str,
    /// Called before each step, which it may refuse.
    pub(super) before: &'a mut dyn FnMut(RemovalStep) -> Result<(), E>,
}

impl<E: From<FileError>> FolderRemoval<'_, E> {
    /// Removes it; links in it are removed themselves.
    ///
    /// # Errors
    /// It is nested too deeply, of which nothing is removed; or the system refuses a removal.
    pub(super) fn run(&mut self, parent: &Dir, name: &OsStr) -> Result<(), E> {
        self.check_depth(parent, name, MAX_REMOVED_DEPTH)?;
        self.remove(parent, name, MAX_REMOVED_DEPTH)
    }

    fn check_depth(&mut self, parent: &Dir, name: &OsStr, depth: usize) -> Result<(), E> {
        let below = self.below(depth)?;
        let folder = self.open(parent, name)?;
        for entry in folder.entries().map_err(|source| self.to_error(source))? {
            (self.before)(RemovalStep::Inspect)?;
            let entry = entry.map_err(|source| self.to_error(source))?;
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.check_depth(&folder, &entry.file_name(), below)?;
            }
        }
        Ok(())
    }

    fn remove(&mut self, parent: &Dir, name: &OsStr, depth: usize) -> Result<(), E> {
        let below = self.below(depth)?;
        let folder = self.open(parent, name)?;
        for entry in folder.entries().map_err(|source| self.to_error(source))? {
            let entry = entry.map_err(|source| self.to_error(source))?;
            let name = entry.file_name();
            if entry.file_type().map_err(|source| self.to_error(source))?.is_dir() {
                self.remove(&folder, &name, below)?;
            } else {
                (self.before)(RemovalStep::Remove)?;
                folder.remove_file(&name).map_err(|source| self.to_error(source))?;
            }
        }
        (self.before)(RemovalStep::Remove)?;
        Ok(parent.remove_dir(name).map_err(|source| self.to_error(source))?)
    }

    fn below(&self, depth: usize) -> Result<usize, FileError> {
        let too_deep = || FileError::TooDeep { path: display_path(self.path), limit: MAX_REMOVED_DEPTH };
        depth.checked_sub(1).ok_or_else(too_deep)
    }

    fn open(&self, parent: &Dir, name: &OsStr) -> Result<Dir, FileError> {
        open_folder(parent, name).map_err(|source| self.to_error(source))
    }

    fn to_error(&self, source: io::Error) -> FileError {
        FileError::write_failed(self.path, source)
    }
}

impl DirEntryName {
    /// Removes a folder that is empty but for what writes that were killed have left.
    pub(super) fn remove_folder(&self) -> Result<(), FileError> {
        let fail = |source| FileError::write_failed(&self.path, source);
        match self.parent.remove_dir(&self.name) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
            outcome => return outcome.map_err(fail),
        }
        let folder = open_folder(&self.parent, OsStr::new(&self.name)).map_err(fail)?;
        let inside = DirEntryName { parent: folder, name: String::new(), path: self.path.clone(), is_locked: false };
        let _lock = inside.lock()?;
        let names = inside.parent.entries().map_err(fail)?.map(|entry| entry.map(|entry| entry.file_name()));
        let names = names.collect::<io::Result<Vec<_>>>().map_err(fail)?;
        if names.iter().all(|name| name.to_str().is_some_and(is_temporary)) {
            names.iter().try_for_each(|name| inside.parent.remove_file(name)).map_err(fail)?;
        }
        self.parent.remove_dir(&self.name).map_err(fail)
    }
}

/// Opens a folder; a link instead of it is not followed.
fn open_folder(parent: &Dir, name: &OsStr) -> io::Result<Dir> {
    let mut options = OpenOptions::new();
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
    options.read(true).custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
    Ok(Dir::from_std_file(parent.open_with(name, &options)?.into_std()))
}
