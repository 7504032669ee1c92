//! The configuration file of a client on disk, with its backup.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};

use crate::cli::text_file::{BYTE_ORDER_MARK, ChangedSinceRead, replace_text_in, split};
use crate::diagnostic::one_line;
use crate::files::{FileError, OverwritePolicy, WritableFolder};

/// How large a file may be.
const MAX_BYTES: u64 = 16 << 20;

/// The file of a client, as it was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ConfigFile {
    pub(super) path: PathBuf,
    /// Its text without a byte order mark, if it exists.
    pub(super) text: Option<String>,
    /// The text of its backup, likewise.
    pub(super) backup: Option<String>,
    byte_order_mark: &'static str,
}

/// A file that is as it was read, while no other run of folio writes it.
pub(super) struct LockedFile<'f> {
    file: &'f ConfigFile,
    /// The folder of the file itself, which a link may lead to, and its name there.
    folder: WritableFolder,
    name: String,
}

impl ConfigFile {
    /// Reads the file, which need not exist, and its backup.
    ///
    /// # Errors
    /// It is not a regular file, cannot be read, or is not UTF-8.
    pub(super) fn read(path: PathBuf) -> anyhow::Result<ConfigFile> {
        let (text, byte_order_mark) = read_text(&path)?.map_or((None, ""), |(text, mark)| (Some(text), mark));
        let backup = read_text(&backup_path(&path)).ok().flatten();
        let backup = backup.filter(|(_, mark)| *mark == byte_order_mark).map(|(text, _)| text);
        Ok(ConfigFile { path, text, backup, byte_order_mark })
    }

    /// Its path for messages, on one line.
    pub(super) fn display_path(&self) -> String {
        path_for_display(&self.path)
    }

    /// That of its backup.
    pub(super) fn display_backup_path(&self) -> String {
        path_for_display(&backup_path(&self.path))
    }

    /// The text, which is empty if the file does not exist.
    pub(super) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Keeps other runs of folio away from the file; `None` if it or its backup is not as it was read any more. The folder
    /// of a file that does not exist is made.
    ///
    /// # Errors
    /// It is read-only, or its folder cannot be opened or made.
    pub(super) fn lock(&self) -> anyhow::Result<Option<LockedFile<'_>>> {
        let path = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        if let Some(link) = path.ancestors().skip(1).find(|folder| folder.is_symlink() && !folder.exists()) {
            bail!("`{}` is a link that leads nowhere", path_for_display(link));
        }
        if self.text.is_none() {
            fs::create_dir_all(path.parent().unwrap_or(&path)).context("cannot make its folder")?;
        }
        let (folder, name) = split(&path)?;
        let folder = folder.into_locked().map_err(|error| match error {
            FileError::Busy(_) => {
                anyhow::anyhow!("another program has its folder locked\nhelp: end it, and run this again")
            }
            other => other.into(),
        })?;
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
    /// Writes a new text, and a backup beside it, if there is one to write. A new file is for its owner alone if it is
    /// `private`.
    ///
    /// # Errors
    /// The file has changed since it was read, or one of both cannot be written.
    pub(super) fn write(&self, text: &str, backup: Option<&str>, private: bool) -> anyhow::Result<()> {
        let backup = backup.filter(|backup| self.file.backup.as_deref() != Some(*backup));
        if let Some(backup) = backup {
            let cannot = || format!("cannot write the backup `{}`", self.file.display_backup_path());
            self.write_backup(backup).with_context(cannot)?;
        }
        let outcome = match &self.file.text {
            Some(before) => replace_text_in(&self.folder, &self.name, before, text),
            None => {
                self.folder.create(&self.name, private.then_some(0o600), text.as_bytes()).map_err(|error| match error {
                    // Another program has made it.
                    FileError::Exists(_) => ChangedSinceRead.into(),
                    other => other.into(),
                })
            }
        };
        if outcome.is_err() && backup.is_some() {
            let _ = self.remove_backup();
        }
        outcome
    }

    /// Writes the backup, instead of an earlier one, with the permissions of the file.
    fn write_backup(&self, text: &str) -> anyhow::Result<()> {
        let _ = self.remove_backup();
        let (beside, name) = split(&backup_path(&self.file.path))?;
        // The folder is locked already, unless a link leads to another one.
        let folder = if beside.path() == self.folder.path() { &self.folder } else { &beside };
        let original = self.folder.open_file(&self.name)?;
        folder.copy(original, &name, OverwritePolicy::Refuse, |_, copy| -> anyhow::Result<()> {
            Ok(copy.write_all(format!("{}{text}", self.file.byte_order_mark).as_bytes())?)
        })
    }

    /// Removes the backup.
    ///
    /// # Errors
    /// It cannot be removed.
    pub(super) fn remove_backup(&self) -> anyhow::Result<()> {
        fs::remove_file(backup_path(&self.file.path))
            .with_context(|| format!("cannot remove the backup `{}`", self.file.display_backup_path()))
    }
}

/// A path for messages: on one line, and without control characters.
pub(super) fn path_for_display(path: &Path) -> String {
    one_line(&path.display().to_string()).into_owned()
}

fn backup_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".folio-backup");
    path.with_file_name(name)
}
/// The text of a file and its byte order mark; `None` if it does not exist.
fn read_text(path: &Path) -> anyhow::Result<Option<(String, &'static str)>> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => bail!("its folder is a file"),
        metadata => metadata?,
    };
    let metadata = fs::metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => anyhow::anyhow!("it is a link that leads nowhere"),
        _ => error.into(),
    })?;
    ensure!(metadata.is_file(), "it is not a regular file");
    ensure!(metadata.len() <= MAX_BYTES, "it is larger than 16 MiB");
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
    use std::os::unix::fs::PermissionsExt;

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
        assert_eq!(names, 1, "the backup for the new text is gone");
    }

    #[test]
    fn new_file_with_values_is_for_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let file = ConfigFile::read(folder.path().join("a/b/c.json")).unwrap();
        file.lock().unwrap().unwrap().write("{}", None, true).unwrap();
        assert_eq!(fs::metadata(&file.path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn link_at_the_name_of_the_backup_is_replaced_itself() {
        let folder = tempfile::tempdir().unwrap();
        let [path, other] = ["a.json", "other"].map(|name| folder.path().join(name));
        fs::write(&path, "now").unwrap();
        fs::write(&other, "mine").unwrap();
        std::os::unix::fs::symlink(&other, backup_path(&path)).unwrap();
        let file = ConfigFile::read(path.clone()).unwrap();
        file.lock().unwrap().unwrap().write("then", Some("now"), false).unwrap();
        assert_eq!(fs::read_to_string(&other).unwrap(), "mine");
        assert!(!backup_path(&path).is_symlink());
        assert_eq!(fs::read_to_string(backup_path(&path)).unwrap(), "now");
    }
}
