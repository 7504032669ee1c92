//! Writes files whole or not at all: into a temporary file beside, which then takes the name.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::process;
use std::time::{Duration, Instant, SystemTime};

use cap_std::fs::{Dir, File, OpenOptions, Permissions, PermissionsExt};
use rustix::fs::{Access, AtFlags, FlockOperation, Mode, OFlags, RenameFlags, accessat, flock, openat, renameat_with};

use super::disk::read_options;
use super::error::{FileError, display_path};
use super::open::OpenFile;
use super::work_folder::Existing;

/// How long a change waits for another of the same folder.
const MAX_LOCK_WAIT: Duration = Duration::from_secs(10);
/// How often it looks.
const LOCK_POLL: Duration = Duration::from_millis(1);
/// How many names for a temporary file are tried.
const MAX_NAMES_TRIED: usize = 16;

const TEMPORARY_PREFIX: &str = ".folio-";
const TEMPORARY_SUFFIX: &str = ".tmp";

/// Whether a name is that of a temporary file, which is never listed, read or written.
pub fn is_temporary(name: &str) -> bool {
    name.starts_with(TEMPORARY_PREFIX) && name.ends_with(TEMPORARY_SUFFIX)
}

/// A name in an open folder.
pub(super) struct Place {
    pub(super) parent: Dir,
    pub(super) name: String,
    /// The path in messages.
    pub(super) path: String,
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

impl Place {
    /// Writes the file. It keeps the permissions of the file that it replaces; a new one has `mode`.
    pub(super) fn write<E: From<FileError>>(
        &self,
        existing: Existing,
        mode: Option<Permissions>,
        fill: impl FnOnce(Option<OpenFile>, &mut dyn Write) -> Result<(), E>,
    ) -> Result<(), E> {
        let _lock = self.lock()?;
        let old = self.old_file(existing)?;
        let mode = old.as_ref().map(|(_, mode)| mode.clone()).or(mode);
        let (mut temporary, mut file) = self.create_temporary()?;
        fill(old.map(|(file, _)| file), &mut file)?;
        self.finish(&file, mode).map_err(|source| self.failed(source))?;
        drop(file);
        self.take_name(&mut temporary, existing)?;
        Ok(())
    }

    fn failed(&self, source: io::Error) -> FileError {
        FileError::write_failed(&self.path, source)
    }

    /// The file is on the disk before it has its name.
    fn finish(&self, file: &File, mode: Option<Permissions>) -> io::Result<()> {
        if let Some(mode) = mode {
            file.set_permissions(mode)?;
        }
        file.sync_all()
    }

    fn take_name(&self, temporary: &mut TemporaryFile<'_>, existing: Existing) -> Result<(), FileError> {
        let Some(name) = &temporary.name else { return Ok(()) };
        match existing {
            Existing::Replace => self.parent.rename(name, &self.parent, &self.name),
            Existing::Refuse => {
                renameat_with(&self.parent, name.as_str(), &self.parent, self.name.as_str(), RenameFlags::NOREPLACE)
                    .map_err(io::Error::from)
            }
        }
        .map_err(|source| self.failed(source))?;
        temporary.name = None;
        Ok(())
    }

    /// The file that is there, with its permissions.
    fn old_file(&self, existing: Existing) -> Result<Option<(OpenFile, Permissions)>, FileError> {
        let meta = match self.parent.symlink_metadata(&self.name) {
            Ok(meta) => meta,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(FileError::from_io(&self.path, error)),
        };
        match meta.is_dir() {
            true => return Err(FileError::IsFolder(display_path(&self.path))),
            false if existing == Existing::Refuse => return Err(FileError::Exists(display_path(&self.path))),
            false if !meta.is_file() => return Err(FileError::NotAFile(display_path(&self.path))),
            false => {}
        }
        accessat(&self.parent, self.name.as_str(), Access::WRITE_OK, AtFlags::EACCESS)
            .map_err(|error| FileError::from_io(&self.path, error.into()))?;
        let opened = self.parent.open_with(&self.name, &read_options());
        let opened = opened.map_err(|source| FileError::from_io(&self.path, source))?;
        Ok(Some((OpenFile::on_disk(&self.path, opened)?, Permissions::from_mode(meta.permissions().mode() & 0o777))))
    }

    fn create_temporary(&self) -> Result<(TemporaryFile<'_>, File), FileError> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        for _ in 0..MAX_NAMES_TRIED {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            let name = format!("{TEMPORARY_PREFIX}{}-{:x}{TEMPORARY_SUFFIX}", process::id(), now.as_nanos());
            match self.parent.open_with(&name, &options) {
                Ok(file) => return Ok((TemporaryFile { parent: &self.parent, name: Some(name) }, file)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
        Err(FileError::Busy(display_path(&self.path)))
    }

    /// Gives the file or folder here the name of another place.
    pub(super) fn rename(&self, target: &Place, existing: Existing) -> Result<(), FileError> {
        let fail = |source| FileError::write_failed(&self.path, source);
        let meta = self.parent.symlink_metadata(&self.name).map_err(|source| FileError::from_io(&self.path, source))?;
        match (existing, target.parent.symlink_metadata(&target.name)) {
            (Existing::Refuse, Ok(_)) => return Err(FileError::Exists(display_path(&target.path))),
            (Existing::Replace, Ok(there)) if there.is_dir() && !meta.is_dir() => {
                return Err(FileError::IsFolder(display_path(&target.path)));
            }
            (Existing::Replace, Ok(there)) if !(there.is_dir() || there.is_file() || there.is_symlink()) => {
                return Err(FileError::NotAFile(display_path(&target.path)));
            }
            _ => {}
        }
        match existing {
            Existing::Replace => self.parent.rename(&self.name, &target.parent, &target.name).map_err(fail),
            Existing::Refuse => renameat_with(
                &self.parent,
                self.name.as_str(),
                &target.parent,
                target.name.as_str(),
                RenameFlags::NOREPLACE,
            )
            .map_err(|error| FileError::write_failed(&target.path, error.into())),
        }
    }

    /// Keeps other changes of files in this folder away, those of other processes too, until it is dropped.
    fn lock(&self) -> Result<Option<OwnedFd>, FileError> {
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
