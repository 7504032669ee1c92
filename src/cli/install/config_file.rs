//! The configuration file of a host on disk, with its backups and the folders that were made for it.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};

use crate::cli::text_file::{ChangedSinceRead, replace_text_in, split};
use crate::diagnostic::one_line;
use crate::files::{FileError, OverwritePolicy, WritableFolder, make_folders, remove_marked_folders};

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// How large a file may be.
const MAX_BYTES: u64 = 16 << 20;

/// How many backups a file may have. Then the oldest one but the first is replaced: the first is what the file was before
/// folio wrote to it.
const MAX_BACKUPS: usize = 100;

/// The file of a host, as it was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ConfigFile {
    pub(super) path: PathBuf,
    /// Its text without a byte order mark, if it exists.
    pub(super) text: Option<String>,
    byte_order_mark: &'static str,
    /// Those that are beside it.
    pub(super) backups: Vec<Backup>,
}

/// A file as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Backup {
    pub(super) path: PathBuf,
    /// Its text without a byte order mark.
    pub(super) text: String,
    byte_order_mark: &'static str,
}

/// A backup that was just written.
struct NewBackup {
    path: PathBuf,
    /// Whether it has the name of an older one.
    is_replacement: bool,
}

/// A file that is as it was read, while no other run of folio writes it.
pub(super) struct LockedFile<'f> {
    file: &'f ConfigFile,
    /// The folder of the file itself, which a link may lead to, and its name there.
    folder: WritableFolder,
    name: String,
}

impl ConfigFile {
    /// Reads the file, which need not exist, and its backups.
    ///
    /// # Errors
    /// It is no regular file, cannot be read, or is not UTF-8.
    pub(super) fn read(path: PathBuf) -> anyhow::Result<ConfigFile> {
        let (text, byte_order_mark) = match read_text(&path)? {
            Some((text, byte_order_mark)) => (Some(text), byte_order_mark),
            None => (None, ""),
        };
        let read = |nth: usize| {
            let path = backup_path(&path, nth)?;
            let (text, byte_order_mark) = read_text(&path).ok()??;
            Some(Backup { path, text, byte_order_mark })
        };
        let backups = (1..=MAX_BACKUPS).map_while(read).collect();
        Ok(ConfigFile { path, text, byte_order_mark, backups })
    }

    /// Its path for messages, on one line.
    pub(super) fn display_path(&self) -> String {
        path_for_display(&self.path)
    }

    /// The text, which is empty if the file does not exist.
    pub(super) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Whether others than its owner can read it.
    pub(super) fn is_readable_by_others(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|found| found.permissions().mode() & 0o077 != 0)
    }

    /// Whether it can be one that folio has made: it is no link, and has no byte order mark.
    pub(super) fn can_create_file(&self) -> bool {
        self.byte_order_mark.is_empty() && !fs::symlink_metadata(&self.path).is_ok_and(|found| found.is_symlink())
    }

    /// A backup with this text, where there is one.
    pub(super) fn backup_of(&self, text: &str) -> Option<&Backup> {
        self.backups.iter().find(|backup| backup.text == text && backup.byte_order_mark == self.byte_order_mark)
    }

    /// The backup whose place a new one takes: the oldest but the first, where there are as many as may be.
    fn replaceable_backup(&self) -> Option<&Backup> {
        let written_at = |backup: &&Backup| fs::symlink_metadata(&backup.path).and_then(|found| found.modified()).ok();
        let is_full = self.backups.len() >= MAX_BACKUPS;
        self.backups.iter().skip(1).filter(|_| is_full).min_by_key(written_at)
    }

    /// Keeps other runs of folio away from the file; `None` if it or a backup is not as it was read any more. The folders
    /// of a file that does not exist are made.
    ///
    /// # Errors
    /// It is read-only, or its folder cannot be opened or made.
    pub(super) fn lock(&self) -> anyhow::Result<Option<LockedFile<'_>>> {
        let path = match &self.text {
            Some(_) => fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone()),
            None => {
                match make_folders(self.path.parent().unwrap_or(&self.path)) {
                    // Another one has taken one of them away.
                    Err(FileError::NotFound(_)) => return Ok(None),
                    made => made.context("cannot make its folder")?,
                }
                self.path.clone()
            }
        };
        if let Some(link) = self.path.ancestors().skip(1).find(|folder| folder.is_symlink() && !folder.exists()) {
            bail!("`{}` is a link that leads nowhere", path_for_display(link));
        }
        let (folder, name) = match split(&path) {
            Ok((folder, name)) => (folder.into_locked().map_err(locked_out)?, name),
            Err(error) if matches!(error.downcast_ref(), Some(FileError::NotFound(_))) => return Ok(None),
            Err(error) => return Err(error),
        };
        if ConfigFile::read(self.path.clone())? != *self {
            return Ok(None);
        }
        if self.text.is_some() {
            ensure!(!fs::metadata(&self.path)?.permissions().readonly(), "it is read-only");
        }
        Ok(Some(LockedFile { file: self, folder, name }))
    }
}

impl LockedFile<'_> {
    /// Writes a new text, and a backup with another one beside it. A new file is for its owner alone if it is `private`.
    /// Returns the path of the backup.
    ///
    /// # Errors
    /// The file has changed since it was read, or one of both cannot be written.
    pub(super) fn write(&self, text: &str, backup: Option<&str>, private: bool) -> anyhow::Result<Option<PathBuf>> {
        let known = backup.and_then(|text| self.file.backup_of(text)).map(|backup| backup.path.clone());
        let new = match backup.filter(|_| known.is_none()) {
            Some(text) => Some(self.back_up(text)?),
            None => None,
        };
        let written = match &self.file.text {
            Some(before) => replace_text_in(&self.folder, &self.name, before, text),
            None => {
                self.folder.create(&self.name, private.then_some(0o600), text.as_bytes()).map_err(|error| match error {
                    // Another one has made it, or has taken its folder away.
                    FileError::Exists(_) | FileError::NotFound(_) => ChangedSinceRead.into(),
                    other => other.into(),
                })
            }
        };
        if let (Err(_), Some(NewBackup { path, is_replacement: false })) = (&written, &new) {
            let _ = fs::remove_file(path);
        }
        written.map(|()| known.or(new.map(|new| new.path)))
    }

    /// Writes a backup beside the file, with its permissions.
    fn back_up(&self, text: &str) -> anyhow::Result<NewBackup> {
        let file = self.file;
        let replaces = file.replaceable_backup();
        let next = || backup_path(&file.path, file.backups.len() + 1);
        let path = replaces.map(|backup| backup.path.clone()).or_else(next).context("its name is not UTF-8")?;
        let cannot = || format!("cannot write the backup `{}`", path_for_display(&path));
        let (beside, name) = split(&path)?;
        // The folder is locked already, unless a link leads to another one.
        let folder = if beside.path() == self.folder.path() { &self.folder } else { &beside };
        let original = self.folder.open_file(&self.name)?;
        let policy = if replaces.is_some() { OverwritePolicy::Replace } else { OverwritePolicy::Refuse };
        let copied = folder.copy(original, &name, policy, |_, copy| -> anyhow::Result<()> {
            Ok(copy.write_all(format!("{}{text}", file.byte_order_mark).as_bytes())?)
        });
        copied.with_context(cannot)?;
        Ok(NewBackup { path, is_replacement: replaces.is_some() })
    }

    /// Puts the file back as a backup has it, which is removed.
    ///
    /// # Errors
    /// The file has changed since it was read, or cannot be written.
    pub(super) fn restore(&self, backup: &Backup) -> anyhow::Result<()> {
        self.write(&backup.text, None, false)?;
        remove_backup(backup)
    }

    /// Removes the file, which nobody had before, and the folders that were made for it.
    ///
    /// # Errors
    /// It cannot be removed.
    pub(super) fn delete(self, client_folder_depth: usize) -> anyhow::Result<()> {
        self.folder.remove(&self.name)?;
        remove_marked_folders(self.folder, client_folder_depth).context("cannot remove its folder")
    }
}

impl ConfigFile {
    /// Removes what a killed run has left: temporary files, a backup of what the file is, and folders for a file that is not
    /// there. Says whether there was a backup or a folder.
    ///
    /// # Errors
    /// It cannot be removed.
    pub(super) fn remove_leftovers(&self, client_folder_depth: usize) -> anyhow::Result<bool> {
        let real = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        // Whoever locks a folder removes the temporary files in it.
        for around in self.path.ancestors().skip(2).take(client_folder_depth) {
            drop(WritableFolder::open(around).and_then(WritableFolder::into_locked));
        }
        let folder = real.ancestors().skip(1).find(|folder| folder.exists());
        let Some(Ok(locked)) = folder.map(|folder| WritableFolder::open(folder)?.into_locked()) else {
            return Ok(false);
        };
        if ConfigFile::read(self.path.clone())? != *self {
            return Ok(false);
        }
        match &self.text {
            Some(text) => match self.backup_of(text) {
                Some(backup) => remove_backup(backup).map(|()| true),
                None => Ok(false),
            },
            None => {
                // A run that was killed may have removed the inner ones.
                let missing = real.ancestors().skip(1).take_while(|folder| !folder.exists()).count();
                let unmarked = client_folder_depth.saturating_sub(missing);
                remove_marked_folders(locked, unmarked).context("cannot remove its folder")?;
                Ok(!folder.is_some_and(Path::exists))
            }
        }
    }
}

/// Removes a backup.
///
/// # Errors
/// It cannot be removed.
pub(super) fn remove_backup(backup: &Backup) -> anyhow::Result<()> {
    fs::remove_file(&backup.path)
        .with_context(|| format!("cannot remove the backup `{}`", path_for_display(&backup.path)))
}

fn locked_out(error: FileError) -> anyhow::Error {
    match error {
        FileError::Busy(_) => {
            anyhow::anyhow!("another program has its folder locked\nhelp: end it, and run this again")
        }
        other => other.into(),
    }
}

/// A path for messages: on one line, and without control characters.
pub(super) fn path_for_display(path: &Path) -> String {
    one_line(&path.display().to_string()).into_owned()
}

/// The path of a backup: the first has no number.
fn backup_path(path: &Path, nth: usize) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let number = if nth > 1 { format!("-{nth}") } else { String::new() };
    Some(path.with_file_name(format!("{name}.folio-backup{number}")))
}

/// The text of a file and its byte order mark; `None` if it does not exist.
fn read_text(path: &Path) -> anyhow::Result<Option<(String, &'static str)>> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => bail!("its folder is a file"),
        found => found?,
    };
    let found = fs::metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => anyhow::anyhow!("it is a link that leads nowhere"),
        _ => error.into(),
    })?;
    ensure!(found.is_file(), "it is no regular file");
    ensure!(found.len() <= MAX_BYTES, "it is larger than 16 MiB");
    let text = match String::from_utf8(fs::read(path)?) {
        Ok(text) => text,
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let line = error.as_bytes().iter().take(valid).filter(|byte| **byte == b'\n').count() + 1;
            bail!("it is not UTF-8, at line {line}");
        }
    };
    Ok(Some(match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(bare) => (bare.to_owned(), BYTE_ORDER_MARK),
        None => (text, ""),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_that_changed_meanwhile_is_not_locked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let absent = ConfigFile::read(path.clone()).unwrap();
        fs::write(&path, "{}").unwrap();
        assert!(absent.lock().unwrap().is_none());
        let present = ConfigFile::read(path.clone()).unwrap();
        fs::write(folder.path().join("a.json.folio-backup"), "{}").unwrap();
        assert!(present.lock().unwrap().is_none(), "a backup counts too");
        let present = ConfigFile::read(path.clone()).unwrap();
        let locked = present.lock().unwrap().unwrap();
        // Who does not know of the lock.
        fs::write(&path, "{ }").unwrap();
        let error = locked.write("new", Some("old"), false).unwrap_err();
        assert!(error.downcast_ref::<ChangedSinceRead>().is_some(), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "{ }");
        let names = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(names, 2, "the backup for the new text is gone");
    }

    #[test]
    fn new_file_with_values_is_for_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let file = ConfigFile::read(folder.path().join("a/b/c.json")).unwrap();
        file.lock().unwrap().unwrap().write("{}", None, true).unwrap();
        assert_eq!(fs::metadata(&file.path).unwrap().permissions().mode() & 0o777, 0o600);
        let file = ConfigFile::read(file.path).unwrap();
        file.lock().unwrap().unwrap().delete(0).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn oldest_backup_but_the_first_makes_room() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        fs::write(&path, "now").unwrap();
        let epoch = std::time::SystemTime::UNIX_EPOCH;
        for nth in 1..=MAX_BACKUPS {
            let backup = fs::File::create(backup_path(&path, nth).unwrap()).unwrap();
            std::io::Write::write_all(&mut &backup, format!("{nth}").as_bytes()).unwrap();
            // The third is the oldest of those behind the first.
            let age = if nth == 3 { 1 } else { 10 + nth as u64 };
            backup.set_modified(epoch + std::time::Duration::from_secs(if nth == 1 { 0 } else { age })).unwrap();
        }
        let write = |text: &str, backup: &str| {
            let file = ConfigFile::read(path.clone()).unwrap();
            file.lock().unwrap().unwrap().write(text, Some(backup), false).unwrap().unwrap()
        };
        let text = |nth: usize| fs::read_to_string(backup_path(&path, nth).unwrap()).unwrap();
        assert_eq!(write("then", "now"), backup_path(&path, 3).unwrap());
        assert_eq!((text(1), text(2), text(3)), ("1".to_owned(), "2".to_owned(), "now".to_owned()));
        assert_eq!(write("later", "50"), backup_path(&path, 50).unwrap(), "one with the same text is kept");
        assert_eq!(write("last", "then"), backup_path(&path, 2).unwrap());
        assert!(backup_path(&path, MAX_BACKUPS + 1).is_some_and(|path| !path.exists()));
    }
}
