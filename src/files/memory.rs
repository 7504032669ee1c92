//! Folders in memory, for tests and fuzzing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::{FileError, display_path};
use super::folder::FileStat;
use super::glob::Globs;
use super::open::OpenFile;
use super::path::{join, normalize_to_slashes};
use super::stamp::FileStamp;
use super::walk::{DirEntryKind, FolderBackend, WalkItem};

#[derive(Debug)]
pub(super) struct MemoryFolder {
    path: PathBuf,
    files: BTreeMap<String, Vec<u8>>,
    /// Every folder with its entries: their names, and whether they are folders.
    folders: BTreeMap<String, BTreeSet<(String, bool)>>,
}

impl MemoryFolder {
    pub(super) fn new(files: BTreeMap<String, Vec<u8>>) -> Self {
        let named =
            files.into_iter().filter_map(|(path, bytes)| Some((normalize_to_slashes(Path::new(&path)).ok()?, bytes)));
        Self::with_path(PathBuf::from("/"), named.filter(|(path, _)| !path.is_empty()).collect())
    }

    fn with_path(path: PathBuf, files: BTreeMap<String, Vec<u8>>) -> Self {
        let mut folders = BTreeMap::from([(String::new(), BTreeSet::new())]);
        for file in files.keys() {
            let mut child = (file.as_str(), false);
            loop {
                let (folder, name) = child.0.rsplit_once('/').unwrap_or(("", child.0));
                folders.entry(folder.to_owned()).or_default().insert((name.to_owned(), child.1));
                if folder.is_empty() {
                    break;
                }
                child = (folder, true);
            }
        }
        Self { path, files, folders }
    }
}

impl FolderBackend for MemoryFolder {
    fn path(&self) -> &Path {
        &self.path
    }

    fn open_file(&self, path: &str) -> Result<OpenFile, FileError> {
        if self.stat(path)?.is_dir {
            return Err(FileError::IsFolder(display_path(path)));
        }
        Ok(OpenFile::in_memory(path, self.files.get(path).cloned().unwrap_or_default()))
    }

    fn subfolder(&self, path: &str) -> Result<Arc<dyn FolderBackend>, FileError> {
        if !self.stat(path)?.is_dir {
            return Err(FileError::NotAFolder(display_path(path)));
        }
        if path.is_empty() {
            return Ok(Arc::new(Self::with_path(self.path.clone(), self.files.clone())));
        }
        let inside = |(file, bytes): (&String, &Vec<u8>)| {
            Some((file.strip_prefix(path)?.strip_prefix('/')?.to_owned(), bytes.clone()))
        };
        Ok(Arc::new(Self::with_path(self.path.join(path), self.files.iter().filter_map(inside).collect())))
    }

    fn open_outside(&self, path: &Path) -> Result<Arc<dyn FolderBackend>, FileError> {
        Err(FileError::EscapesFolder(path.to_string_lossy().into_owned()))
    }

    fn stat(&self, path: &str) -> Result<FileStat, FileError> {
        if self.folders.contains_key(path) {
            return Ok(FileStat { size: 0, modified: None, is_dir: true, stamp: FileStamp::in_memory(b"") });
        }
        let bytes = self.files.get(path).ok_or_else(|| FileError::NotFound(display_path(path)))?;
        let stamp = FileStamp::in_memory(bytes);
        Ok(FileStat { size: bytes.len() as u64, modified: None, is_dir: false, stamp })
    }

    fn list(&self, folder: &str, globs: &Globs, each: &mut dyn FnMut(WalkItem<'_>)) -> Result<(), FileError> {
        let names = self.folders.get(folder).ok_or_else(|| FileError::NotFound(display_path(folder)))?;
        for (name, is_dir) in names.iter().filter(|(name, _)| globs.may_match_name(name)) {
            let path = join(folder, name);
            let kind = if *is_dir { DirEntryKind::Folder } else { DirEntryKind::File };
            each(WalkItem { path: &path, kind, stat: &|| self.stat(&path).ok() });
        }
        Ok(())
    }

    fn is_hidden(&self, _: &str, _: &Globs) -> bool {
        false
    }

    fn has_link(&self, _: &str) -> bool {
        false
    }

    fn resolve_links(&self, path: &str) -> Option<String> {
        Some(path.to_owned())
    }
}
