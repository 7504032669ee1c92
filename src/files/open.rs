//! A regular file that is open for reading.

use cap_std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use super::error::{FileError, display_path};
use super::stamp::FileStamp;

/// A regular file that is open for reading, even after its path is replaced.
#[derive(Debug)]
pub struct OpenFile {
    path: String,
    size: u64,
    stamp: FileStamp,
    source: FileContents,
}

#[derive(Debug)]
enum FileContents {
    Disk(File),
    Memory(Vec<u8>),
}

impl OpenFile {
    pub(super) fn on_disk(path: &str, file: File) -> Result<Self, FileError> {
        let meta = file.metadata().map_err(|source| FileError::from_io(path, source))?;
        if meta.is_dir() {
            return Err(FileError::IsFolder(display_path(path)));
        }
        if !meta.is_file() {
            return Err(FileError::NotAFile(display_path(path)));
        }
        let stamp = FileStamp::beneath_folder(&meta);
        Ok(Self { path: path.to_owned(), size: meta.len(), stamp, source: FileContents::Disk(file) })
    }

    pub(super) fn in_memory(path: &str, bytes: Vec<u8>) -> Self {
        let stamp = FileStamp::in_memory(&bytes);
        Self { path: path.to_owned(), size: bytes.len() as u64, stamp, source: FileContents::Memory(bytes) }
    }

    /// Its size in bytes, where known before reading: files of `/proc` do not report it.
    pub fn size(&self) -> Option<u64> {
        (self.size > 0).then_some(self.size)
    }

    /// Its stamp when it was opened.
    pub fn stamp(&self) -> FileStamp {
        self.stamp
    }

    /// Whether it is on a file system that is known to need no network and no other program.
    #[cfg(target_os = "linux")]
    pub fn is_local(&self) -> bool {
        /// ext4, XFS, Btrfs, F2FS, ZFS, tmpfs, and the layers of containers: see statfs(2).
        const LOCAL_TYPES: [rustix::fs::FsWord; 7] =
            [0xEF53, 0x5846_5342, 0x9123_683E, 0xF2F5_2010, 0x2FC1_2FC1, 0x0102_1994, 0x794C_7630];
        let FileContents::Disk(file) = &self.source else { return false };
        rustix::fs::fstatfs(file).is_ok_and(|system| LOCAL_TYPES.contains(&system.f_type))
    }

    /// Whether it is on a file system that is known to need no network and no other program.
    #[cfg(not(target_os = "linux"))]
    pub fn is_local(&self) -> bool {
        false
    }

    pub(super) fn metadata(&self) -> Option<cap_std::fs::Metadata> {
        match &self.source {
            FileContents::Disk(file) => file.metadata().ok(),
            FileContents::Memory(_) => None,
        }
    }

    /// Reads it piece by piece.
    pub fn into_reader(self) -> Box<dyn Read + Send> {
        match self.source {
            FileContents::Disk(file) => Box::new(file.into_std()),
            FileContents::Memory(bytes) => Box::new(io::Cursor::new(bytes)),
        }
    }

    /// Reads its beginning.
    pub fn read_head(self, limit: u64) -> Result<Vec<u8>, FileError> {
        let (path, mut bytes) = (self.path.clone(), Vec::new());
        self.into_reader().take(limit).read_to_end(&mut bytes).map_err(|source| FileError::from_io(&path, source))?;
        Ok(bytes)
    }

    /// Reads its end.
    pub fn read_tail(self, limit: u64) -> Result<Vec<u8>, FileError> {
        match self.source {
            FileContents::Disk(file) => {
                let mut bytes = Vec::new();
                let mut file = file.into_std();
                let start = self.size.saturating_sub(limit);
                let read = file.seek(SeekFrom::Start(start)).and_then(|_| file.take(limit).read_to_end(&mut bytes));
                read.map_err(|source| FileError::from_io(&self.path, source))?;
                Ok(bytes)
            }
            FileContents::Memory(bytes) => Ok(bytes),
        }
    }

    /// Reads the whole file, of at most `limit` bytes.
    ///
    /// # Errors
    /// It is larger or unreadable.
    pub fn read(self, limit: u64) -> Result<Vec<u8>, FileError> {
        let path = self.path;
        let too_large = |size| FileError::TooLarge { path: display_path(&path), limit, size };
        if self.size > limit {
            return Err(too_large(self.size));
        }
        let bytes = match self.source {
            FileContents::Disk(file) => {
                read_contents(file, self.size, limit).map_err(|source| FileError::from_io(&path, source))?
            }
            FileContents::Memory(bytes) => bytes,
        };
        let size = bytes.len() as u64;
        if size > limit { Err(too_large(size)) } else { Ok(bytes) }
    }
}

/// Reads a file in as few calls as its size allows, and never more than one byte over the limit.
fn read_contents(file: File, size: u64, limit: u64) -> io::Result<Vec<u8>> {
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let mut file = file.into_std().take(limit.saturating_add(1));
    let mut bytes = vec![0; size];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read(rest) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    // It may have grown, and files of /proc do not report their size.
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}
