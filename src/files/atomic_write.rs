//! Writes files whole or not at all: into a temporary file beside, which then takes the name. What is added to a file goes
//! to its end, where it is, as programs add to it too.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::process;
use std::time::{Duration, Instant, SystemTime};

use cap_std::fs::{Dir, DirEntry, File, Metadata, MetadataExt, OpenOptions, OpenOptionsExt};
use rustix::fs::{Access, AtFlags, FlockOperation, Mode, OFlags, RenameFlags, accessat, flock, openat, renameat_with};

use super::attributes::FileAttributes;
use super::disk::read_options;
use super::error::{FileError, display_path};
use super::open::OpenFile;
use super::stamp::FileStamp;
use super::writable_folder::OverwritePolicy;

/// How long a change waits for another of the same folder.
const MAX_LOCK_WAIT: Duration = Duration::from_secs(10);
/// How often it looks.
const LOCK_POLL: Duration = Duration::from_millis(1);
/// How many names for a temporary file are tried.
const MAX_NAMES_TRIED: usize = 16;

/// When a temporary file is one that a killed process of another machine has left: who still writes it has the folder
/// locked.
const STALE_TEMPORARY_AGE: Duration = Duration::from_secs(60);
/// At how many names of a folder each write looks for such files.
const MAX_NAMES_SWEPT: usize = 1000;
/// Of a file that gets the permissions of another one when it is whole.
const PRIVATE_MODE: u32 = 0o600;

const TEMPORARY_PREFIX: &str = ".folio-";
const TEMPORARY_SUFFIX: &str = ".tmp";
/// The digits of the time in the name of a temporary file.
const TIME_DIGITS: usize = 16;

/// Whether a name is that of a temporary file, which is never listed, read or written.
pub fn is_temporary(name: &str) -> bool {
    process_of(name).is_some()
}

/// The process that made a temporary file: `.folio-PROCESS-NANOSECONDS.tmp`, the time since 1970 in hexadecimal.
fn process_of(name: &str) -> Option<i32> {
    let inner = name.strip_prefix(TEMPORARY_PREFIX)?.strip_suffix(TEMPORARY_SUFFIX)?;
    let (process, nanoseconds) = inner.split_once('-')?;
    let is_time = nanoseconds.len() == TIME_DIGITS
        && nanoseconds.bytes().all(|digit| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit));
    let is_number = process.bytes().all(|digit| digit.is_ascii_digit());
    process.parse().ok().filter(|_| is_time && is_number)
}

/// A name for a temporary file of this process.
pub(super) fn temporary_name() -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("{TEMPORARY_PREFIX}{}-{:0TIME_DIGITS$x}{TEMPORARY_SUFFIX}", process::id(), now.as_nanos())
}

/// Whether the process of a temporary file has ended, or the file is old.
fn is_stale(name: &str, entry: &DirEntry) -> bool {
    let process = process_of(name).and_then(rustix::process::Pid::from_raw);
    let has_ended = |process| rustix::process::test_kill_process(process) == Err(rustix::io::Errno::SRCH);
    let modified = entry.metadata().and_then(|meta| meta.modified());
    let age = modified.ok().and_then(|time| time.into_std().elapsed().ok());
    process.is_some_and(has_ended) || age.is_some_and(|age| age > STALE_TEMPORARY_AGE)
}

/// A name in an open folder.
pub(super) struct DirEntryName {
    pub(super) parent: Dir,
    pub(super) name: String,
    /// The path in messages.
    pub(super) path: String,
    /// Whether this process has the folder locked.
    pub(super) is_locked: bool,
}

/// A temporary file, which is removed unless it took a name.
struct TemporaryFile<'a> {
    parent: &'a Dir,
    name: Option<String>,
}

impl Drop for TemporaryFile<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = self.parent.remove_file(name);
        }
    }
}

/// A file that is replaced.
struct OldFile {
    file: OpenFile,
    attributes: FileAttributes,
    version: FileStamp,
}

impl DirEntryName {
    /// Writes the file. It keeps the attributes of the file that it replaces; a new one has `mode`.
    pub(super) fn write<E: From<FileError>>(
        &self,
        overwrite: OverwritePolicy,
        mode: Option<u32>,
        fill: impl FnOnce(Option<OpenFile>, &mut dyn Write) -> Result<(), E>,
    ) -> Result<(), E> {
        let lock = self.lock()?;
        if lock.is_some() {
            self.remove_stale_files(MAX_NAMES_SWEPT);
        }
        let (old, attributes, version) = match self.old_file(overwrite)? {
            Some(old) => (Some(old.file), Some(old.attributes), Some(old.version)),
            None => (None, mode.map(FileAttributes::with_mode), None),
        };
        let (mut temporary, mut file) = self.create_temporary(attributes.is_some())?;
        fill(old, &mut file)?;
        if let Some(attributes) = attributes {
            self.apply(&attributes, &file)?;
        }
        // The file is on the disk before it has its name.
        file.sync_all().map_err(|source| self.to_error(source))?;
        drop(file);
        if overwrite == OverwritePolicy::ReplaceUnchanged {
            self.check_unchanged(version)?;
        }
        self.rename_into_place(&mut temporary, overwrite)?;
        Ok(())
    }

    /// Adds to the end of the file, and returns whether it is new.
    pub(super) fn append(&self, bytes: &[u8]) -> Result<bool, FileError> {
        if self.regular_file()?.is_none() {
            match self.create_with(bytes) {
                // Another one was faster.
                Err(FileError::Exists(_)) => {}
                made => return made.map(|()| true),
            }
        }
        let _lock = self.lock()?;
        self.append_existing(bytes).map(|()| false).map_err(|source| self.to_error(source))
    }

    fn create_with(&self, bytes: &[u8]) -> Result<(), FileError> {
        self.write(OverwritePolicy::Refuse, None, |_, file| {
            file.write_all(bytes).map_err(|source| self.to_error(source))
        })
    }

    /// What is written in part is taken back, unless another program has added to it.
    fn append_existing(&self, bytes: &[u8]) -> io::Result<()> {
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
        let mut options = OpenOptions::new();
        options.append(true).custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
        let mut file = self.parent.open_with(&self.name, &options)?;
        let meta = file.metadata()?;
        if !meta.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        let mut written = 0;
        let outcome = write_counted(&mut file, bytes, &mut written).and_then(|()| file.sync_all());
        if outcome.is_err() && file.metadata().is_ok_and(|now| now.len() == meta.len() + written) {
            file.set_len(meta.len())?;
        }
        outcome
    }

    fn to_error(&self, source: io::Error) -> FileError {
        FileError::write_failed(&self.path, source)
    }

    fn apply(&self, attributes: &FileAttributes, file: &File) -> Result<(), FileError> {
        attributes.apply(file).map_err(|source| match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidInput => {
                FileError::OtherOwner(display_path(&self.path))
            }
            _ => self.to_error(source),
        })
    }

    fn check_unchanged(&self, version: Option<FileStamp>) -> Result<(), FileError> {
        let now = self.parent.symlink_metadata(&self.name).ok().map(|meta| FileStamp::beneath_folder(&meta));
        if now == version { Ok(()) } else { Err(FileError::Changed(display_path(&self.path))) }
    }

    /// Removes what writes that were killed have left in the folder, which is locked.
    pub(super) fn remove_stale_files(&self, limit: usize) {
        let Ok(entries) = self.parent.entries() else { return };
        for entry in entries.take(limit).flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| is_temporary(name) && is_stale(name, &entry)) else {
                continue;
            };
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let _ = if is_folder { self.parent.remove_dir(name) } else { self.parent.remove_file(name) };
        }
    }

    fn rename_into_place(
        &self,
        temporary: &mut TemporaryFile<'_>,
        overwrite: OverwritePolicy,
    ) -> Result<(), FileError> {
        let Some(name) = &temporary.name else { return Ok(()) };
        match overwrite {
            OverwritePolicy::Replace | OverwritePolicy::ReplaceUnchanged => {
                self.parent.rename(name, &self.parent, &self.name)
            }
            OverwritePolicy::Refuse => {
                renameat_with(&self.parent, name.as_str(), &self.parent, self.name.as_str(), RenameFlags::NOREPLACE)
                    .map_err(io::Error::from)
            }
        }
        .map_err(|source| self.to_error(source))?;
        temporary.name = None;
        Ok(())
    }

    /// What is known of the file that is there.
    fn regular_file(&self) -> Result<Option<Metadata>, FileError> {
        match self.parent.symlink_metadata(&self.name) {
            Ok(meta) if meta.is_dir() => Err(FileError::IsFolder(display_path(&self.path))),
            Ok(meta) if !meta.is_file() => Err(FileError::NotAFile(display_path(&self.path))),
            Ok(meta) => Ok(Some(meta)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FileError::from_io(&self.path, error)),
        }
    }

    /// The file that is there.
    fn old_file(&self, overwrite: OverwritePolicy) -> Result<Option<OldFile>, FileError> {
        let fail = |source| FileError::from_io(&self.path, source);
        let exists = || FileError::Exists(display_path(&self.path));
        match self.regular_file() {
            Ok(None) => return Ok(None),
            Err(FileError::NotAFile(_)) | Ok(Some(_)) if overwrite == OverwritePolicy::Refuse => return Err(exists()),
            Err(error) => return Err(error),
            Ok(Some(_)) => {}
        }
        accessat(&self.parent, self.name.as_str(), Access::WRITE_OK, AtFlags::EACCESS)
            .map_err(|error| fail(error.into()))?;
        let file = self.parent.open_with(&self.name, &read_options()).map_err(fail)?;
        let version = FileStamp::beneath_folder(&file.metadata().map_err(fail)?);
        let attributes = FileAttributes::read(&file).map_err(fail)?;
        Ok(Some(OldFile { attributes, version, file: OpenFile::on_disk(&self.path, file)? }))
    }

    /// A file beside, which no one else reads if it is `private`.
    fn create_temporary(&self, private: bool) -> Result<(TemporaryFile<'_>, File), FileError> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        if private {
            options.mode(PRIVATE_MODE);
        }
        for _ in 0..MAX_NAMES_TRIED {
            let name = temporary_name();
            match self.parent.open_with(&name, &options) {
                Ok(file) => return Ok((TemporaryFile { parent: &self.parent, name: Some(name) }, file)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(self.to_error(error)),
            }
        }
        Err(FileError::Busy(display_path(&self.path)))
    }

    /// Gives the file or folder here the name of another place.
    pub(super) fn rename(&self, target: &DirEntryName, overwrite: OverwritePolicy) -> Result<(), FileError> {
        let meta = self.parent.symlink_metadata(&self.name).map_err(|source| FileError::from_io(&self.path, source))?;
        let existing = target.parent.symlink_metadata(&target.name).ok();
        check_replaced(&meta, existing.as_ref(), target, overwrite)?;
        if existing.is_some_and(|existing| is_other_link(&meta, &existing)) && !self.is_same(target) {
            // The system renames no file to another name of itself, and says that it did.
            return self.parent.remove_file(&self.name).map_err(|source| self.to_error(source));
        }
        match overwrite {
            OverwritePolicy::Replace | OverwritePolicy::ReplaceUnchanged => {
                self.parent.rename(&self.name, &target.parent, &target.name).map_err(|source| self.to_error(source))
            }
            OverwritePolicy::Refuse => renameat_with(
                &self.parent,
                self.name.as_str(),
                &target.parent,
                target.name.as_str(),
                RenameFlags::NOREPLACE,
            )
            .map_err(|error| target.to_error(error.into())),
        }
        .map_err(|error| match error {
            FileError::Change { source, .. } if source.kind() == io::ErrorKind::InvalidInput => {
                FileError::IntoItself(display_path(&self.path))
            }
            other => other,
        })
    }

    /// Whether another place has this name, on systems that do not tell case apart too.
    fn is_same(&self, other: &DirEntryName) -> bool {
        let folder = |place: &DirEntryName| place.parent.dir_metadata().ok().map(|meta| (meta.dev(), meta.ino()));
        self.name.to_lowercase() == other.name.to_lowercase() && folder(self) == folder(other)
    }

    /// Keeps other changes of files in this folder away, those of other processes too, until it is dropped.
    pub(super) fn lock(&self) -> Result<Option<OwnedFd>, FileError> {
        if self.is_locked {
            return Ok(None);
        }
        // The open folder is a path only (`O_PATH`), which cannot be locked.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(lock) = openat(&self.parent, ".", flags, Mode::empty()) else { return Ok(None) };
        let began = Instant::now();
        loop {
            match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Some(lock)),
                Err(error) if error == rustix::io::Errno::WOULDBLOCK => {}
                // Not every file system has locks.
                Err(_) => return Ok(None),
            }
            if began.elapsed() > MAX_LOCK_WAIT {
                return Err(FileError::Busy(display_path(&self.path)));
            }
            std::thread::sleep(LOCK_POLL);
        }
    }
}

/// Whether what is there may be replaced.
fn check_replaced(
    meta: &Metadata,
    existing: Option<&Metadata>,
    target: &DirEntryName,
    overwrite: OverwritePolicy,
) -> Result<(), FileError> {
    let Some(existing) = existing else { return Ok(()) };
    match overwrite {
        OverwritePolicy::Refuse => Err(FileError::Exists(display_path(&target.path))),
        _ if existing.is_dir() && !meta.is_dir() => Err(FileError::IsFolder(display_path(&target.path))),
        _ if !(existing.is_dir() || existing.is_file() || existing.is_symlink()) => {
            Err(FileError::NotAFile(display_path(&target.path)))
        }
        _ => Ok(()),
    }
}

/// Whether both are names of one file.
fn is_other_link(left: &Metadata, right: &Metadata) -> bool {
    !left.is_dir() && left.nlink() > 1 && (left.dev(), left.ino()) == (right.dev(), right.ino())
}

/// Writes it all, and counts what is written before it fails.
fn write_counted(file: &mut File, mut bytes: &[u8], written: &mut u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => {
                *written += count as u64;
                bytes = bytes.get(count..).unwrap_or_default();
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
