//! The configuration file of a host on disk, with its backups and the folders that were made for it.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};

use crate::cli::text_file::replace_text;
use crate::files::{FileError, OverwritePolicy, WritableFolder};

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// How large a file may be.
const MAX_BYTES: u64 = 16 << 20;

/// How many backups a file may have.
const MAX_BACKUPS: usize = 100;

/// What stands in a folder that was made here.
const MARKER: &str = ".made-by-folio";
const MARKER_TEXT: &str = "`folio install` made this folder. `folio uninstall` removes it if nothing else is in it.\n";

/// The file of a host.
#[derive(Debug)]
pub(super) struct ConfigFile {
    pub(super) path: PathBuf,
    /// Its text without a byte order mark, if it exists.
    pub(super) text: Option<String>,
    mark: &'static str,
    /// Those that are beside it.
    pub(super) backups: Vec<Backup>,
}

/// A file as it was.
#[derive(Debug, Clone)]
pub(super) struct Backup {
    pub(super) path: PathBuf,
    /// Its text without a byte order mark.
    pub(super) text: String,
    mark: &'static str,
}

impl ConfigFile {
    /// Reads the file, which need not exist, and its backups.
    ///
    /// # Errors
    /// It is no regular file, cannot be read, or is not UTF-8.
    pub(super) fn read(path: PathBuf) -> anyhow::Result<ConfigFile> {
        let (text, mark) = match read_text(&path)? {
            Some((text, mark)) => (Some(text), mark),
            None => (None, ""),
        };
        let read = |nth: usize| {
            let path = backup_path(&path, nth)?;
            let (text, mark) = read_text(&path).ok()??;
            Some(Backup { path, text, mark })
        };
        let backups = (1..=MAX_BACKUPS).map_while(read).collect();
        Ok(ConfigFile { path, text, mark, backups })
    }

    /// The text, which is empty if the file does not exist.
    pub(super) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Refuses what cannot be written later, before anything is.
    ///
    /// # Errors
    /// It is read-only.
    pub(super) fn check_writable(&self) -> anyhow::Result<()> {
        if self.text.is_some() {
            ensure!(!fs::metadata(&self.path)?.permissions().readonly(), "it is read-only");
        }
        Ok(())
    }

    /// Whether others than its owner can read it.
    pub(super) fn is_open_to_others(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|found| found.permissions().mode() & 0o077 != 0)
    }

    /// A backup with this text, where there is one.
    pub(super) fn backup_of(&self, text: &str) -> Option<&Backup> {
        self.backups.iter().find(|backup| backup.text == text && backup.mark == self.mark)
    }

    /// Writes a backup beside the file, with its permissions, unless there is one with this text.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn back_up(&self, text: &str) -> anyhow::Result<PathBuf> {
        if let Some(backup) = self.backup_of(text) {
            return Ok(backup.path.clone());
        }
        let path = backup_path(&self.path, self.backups.len() + 1);
        let path = path.filter(|_| self.backups.len() < MAX_BACKUPS).context("there are too many backups of it")?;
        let (folder, name) = split(&path)?;
        let (real_folder, real_name) = split(&fs::canonicalize(&self.path)?)?;
        let original = real_folder.open_file(&real_name)?;
        folder
            .copy(original, &name, OverwritePolicy::Refuse, |_, file| -> anyhow::Result<()> {
                Ok(file.write_all(format!("{}{text}", self.mark).as_bytes())?)
            })
            .with_context(|| format!("cannot write the backup `{}`", path.display()))?;
        Ok(path)
    }

    /// Writes a new text, unless the file has changed since it was read. A new file is for its owner alone if it is
    /// `private`.
    ///
    /// # Errors
    /// It has, or cannot be written.
    pub(super) fn write(&self, text: &str, private: bool) -> anyhow::Result<()> {
        if let Some(before) = &self.text {
            return replace_text(&self.path, before, text);
        }
        self.make_folders()?;
        let (folder, name) = split(&self.path)?;
        let mode = private.then_some(0o600);
        let written = folder.create(&name, mode, text.as_bytes());
        written.map_err(|error| match error {
            FileError::Exists(_) => anyhow::anyhow!("it has changed since it was read"),
            other => other.into(),
        })
    }

    /// Makes the folders of the file that do not exist, each with a mark.
    fn make_folders(&self) -> anyhow::Result<()> {
        let folder = self.path.parent().unwrap_or(&self.path);
        let missing: Vec<&Path> = folder.ancestors().take_while(|folder| folder.symlink_metadata().is_err()).collect();
        for folder in missing.into_iter().rev() {
            let cannot = || format!("cannot make the folder `{}`", folder.display());
            fs::create_dir(folder).with_context(cannot)?;
            fs::write(folder.join(MARKER), MARKER_TEXT).with_context(cannot)?;
        }
        Ok(())
    }

    /// Puts the file back as a backup has it, which is removed.
    ///
    /// # Errors
    /// The file has changed since it was read, or cannot be written.
    pub(super) fn restore(&self, backup: &Backup) -> anyhow::Result<()> {
        self.write(&backup.text, false)?;
        fs::remove_file(&backup.path).with_context(|| format!("cannot remove the backup `{}`", backup.path.display()))
    }

    /// Removes the file, which nobody had before, and the folders that were made for it.
    ///
    /// # Errors
    /// It has changed since it was read, or cannot be removed.
    pub(super) fn delete(&self) -> anyhow::Result<()> {
        let now = read_text(&self.path)?.map(|(text, _)| text);
        ensure!(now == self.text, "it has changed since it was read");
        ensure!(!fs::symlink_metadata(&self.path)?.is_symlink(), "it is a link");
        fs::remove_file(&self.path)?;
        self.path.ancestors().skip(1).try_for_each(remove_made_folder)
    }
}

/// Removes a folder that was made here, if nothing else is in it; else its mark, unless that still counts.
fn remove_made_folder(folder: &Path) -> anyhow::Result<()> {
    if !is_made_here(folder) {
        return Ok(());
    }
    let others = fs::read_dir(folder)?.filter_map(Result::ok).filter(|entry| entry.file_name() != MARKER);
    let others: Vec<PathBuf> = others.map(|entry| entry.path()).collect();
    if others.iter().any(|other| is_made_here(other)) {
        return Ok(());
    }
    fs::remove_file(folder.join(MARKER))?;
    if others.is_empty() {
        fs::remove_dir(folder)?;
    }
    Ok(())
}

fn is_made_here(folder: &Path) -> bool {
    fs::read_to_string(folder.join(MARKER)).is_ok_and(|text| text == MARKER_TEXT)
}

/// The path of a backup: the first has no number.
fn backup_path(path: &Path, nth: usize) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let number = if nth > 1 { format!("-{nth}") } else { String::new() };
    Some(path.with_file_name(format!("{name}.folio-backup{number}")))
}

/// The folder of a path, and its name.
fn split(path: &Path) -> anyhow::Result<(WritableFolder, String)> {
    let name = path.file_name().and_then(|name| name.to_str()).context("its name is not UTF-8")?;
    Ok((WritableFolder::open(path.parent().unwrap_or(path))?, name.to_owned()))
}

/// The text of a file and its byte order mark; `None` if it does not exist.
fn read_text(path: &Path) -> anyhow::Result<Option<(String, &'static str)>> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
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
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn file_that_changed_meanwhile_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let absent = ConfigFile::read(path.clone()).unwrap();
        fs::write(&path, "{}").unwrap();
        assert!(absent.write("new", false).is_err());
        let present = ConfigFile::read(path.clone()).unwrap();
        fs::write(&path, "{ }").unwrap();
        assert!(present.write("new", false).unwrap_err().to_string().contains("changed"));
        assert!(present.delete().unwrap_err().to_string().contains("changed"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "{ }");
    }

    #[test]
    fn folder_with_something_else_stays_without_its_mark() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/c.json");
        ConfigFile::read(path.clone()).unwrap().write("{}", true).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(folder.path().join("a/mine"), "").unwrap();
        ConfigFile::read(path).unwrap().delete().unwrap();
        let left: Vec<_> =
            fs::read_dir(folder.path().join("a")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["mine"]);
    }
}
