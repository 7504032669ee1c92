//! Folders that are made for a file, and go with it. An extended attribute says which those are: a file in them would show in
//! the repository of a project.

use std::fs;
use std::io;
use std::path::Path;

use rustix::fs::{Mode, OFlags, RenameFlags, XattrFlags, fsetxattr, getxattr, openat, removexattr, renameat_with};
use rustix::io::Errno;

use super::atomic_write::{DirEntryName, temporary_name};
use super::error::FileError;
use super::writable_folder::WritableFolder;

/// The attribute of a folder that was made here.
const MARK: &str = "user.folio.made";

/// What is known of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FolderMaker {
    Folio,
    Other,
    /// The file system has no extended attributes.
    Unknown,
}

/// Makes a folder and those around it that do not exist, each with its mark from the beginning.
///
/// # Errors
/// One cannot be made.
pub fn make_folders(folder: &Path) -> Result<(), FileError> {
    let missing: Vec<&Path> = folder.ancestors().take_while(|folder| folder.symlink_metadata().is_err()).collect();
    for folder in missing.into_iter().rev() {
        let (Some(parent), Some(name)) = (folder.parent(), folder.file_name().and_then(|name| name.to_str())) else {
            continue;
        };
        WritableFolder::open(parent)?.make_marked_folder(name)?;
    }
    Ok(())
}

/// Removes a locked folder and those around it, from the inside out, as far as they were made here and nothing is in them.
/// One with something in it loses its mark, unless a folder in it has one. Where the file system has no marks, the innermost
/// `unmarked` of them are taken for such folders.
///
/// # Errors
/// One cannot be removed.
pub fn remove_marked_folders(locked: WritableFolder, unmarked: usize) -> Result<(), FileError> {
    let (path, mut locked) = (locked.path().to_owned(), Some(locked));
    for (depth, folder) in path.ancestors().enumerate() {
        match maker_of(folder) {
            FolderMaker::Folio => {}
            FolderMaker::Unknown if depth < unmarked => {}
            _ => return Ok(()),
        }
        // Whoever makes a file in it waits, and finds it gone, or with its mark.
        let _lock = match locked.take() {
            Some(locked) => locked,
            None => WritableFolder::open(folder)?.into_locked()?,
        };
        match fs::remove_dir(folder) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => return unmark(folder),
            Err(error) => return Err(failed(folder, error)),
        }
    }
    Ok(())
}

fn failed(folder: &Path, error: io::Error) -> FileError {
    FileError::write_failed(&folder.to_string_lossy(), error)
}

fn unmark(folder: &Path) -> Result<(), FileError> {
    let mut inside = fs::read_dir(folder).map_err(|error| failed(folder, error))?.flatten();
    if maker_of(folder) == FolderMaker::Folio && !inside.any(|entry| maker_of(&entry.path()) == FolderMaker::Folio) {
        removexattr(folder, MARK).map_err(|error| failed(folder, error.into()))?;
    }
    Ok(())
}

fn maker_of(folder: &Path) -> FolderMaker {
    let mut value = [0_u8; 1];
    match getxattr(folder, MARK, &mut value) {
        Ok(_) | Err(Errno::RANGE) => FolderMaker::Folio,
        Err(Errno::NOTSUP) => FolderMaker::Unknown,
        Err(_) => FolderMaker::Other,
    }
}

impl DirEntryName {
    /// Makes a folder with its mark, unless something has the name.
    pub(super) fn make_marked_folder(&self) -> Result<(), FileError> {
        let fail = |source: io::Error| FileError::write_failed(&self.path, source);
        let _lock = self.lock()?;
        let temporary = temporary_name();
        self.parent.create_dir(&temporary).map_err(fail)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        if let Ok(made) = openat(&self.parent, temporary.as_str(), flags, Mode::empty()) {
            // Without a mark it is told by its place.
            let _ = fsetxattr(&made, MARK, b"1", XattrFlags::empty());
        }
        let renamed =
            renameat_with(&self.parent, temporary.as_str(), &self.parent, self.name.as_str(), RenameFlags::NOREPLACE);
        if renamed.is_err() {
            let _ = self.parent.remove_dir(&temporary);
        }
        match renamed {
            // Another one was faster.
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(fail(error.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    fn remove(folder: &Path, unmarked: usize) {
        remove_marked_folders(WritableFolder::open(folder).unwrap().into_locked().unwrap(), unmarked).unwrap();
    }

    #[test]
    fn folders_that_were_made_go_and_others_stay() {
        let root = tempfile::tempdir().unwrap();
        let (theirs, made) = (root.path().join("theirs"), root.path().join("theirs/a/b"));
        fs::create_dir(&theirs).unwrap();
        make_folders(&made).unwrap();
        make_folders(&made).unwrap();
        assert_eq!(names(&theirs), ["a"]);
        remove(&made, 2);
        assert!(theirs.exists() && names(&theirs).is_empty());
        remove(&theirs, 0);
        assert!(theirs.exists());
    }

    #[test]
    fn folder_with_something_else_stays_without_its_mark() {
        let root = tempfile::tempdir().unwrap();
        let outer = root.path().join("a");
        make_folders(&outer.join("b")).unwrap();
        make_folders(&outer.join("c")).unwrap();
        remove(&outer.join("b"), 2);
        assert_eq!((names(&outer), maker_of(&outer)), (vec!["c".to_owned()], FolderMaker::Folio));
        fs::write(outer.join("c/mine"), "").unwrap();
        remove(&outer.join("c"), 2);
        assert_eq!(maker_of(&outer.join("c")), FolderMaker::Other);
        fs::remove_dir_all(outer.join("c")).unwrap();
        fs::write(outer.join("mine"), "").unwrap();
        remove(&outer, 1);
        assert_eq!((names(&outer), maker_of(&outer)), (vec!["mine".to_owned()], FolderMaker::Other));
    }
}
