//! Writes the files that commands edit for a person: whole or not at all, and never over what has changed meanwhile.

use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};

use crate::files::{FileError, OverwritePolicy, WritableFolder};

pub(super) const BYTE_ORDER_MARK: &str = "\u{feff}";

/// A file is not written because it has changed since it was read.
#[derive(Debug, thiserror::Error)]
#[error("it has changed since it was read")]
pub(super) struct ChangedSinceRead;

/// How large a text may be.
const MAX_BYTES: u64 = 64 << 20;

/// Whether [`replace_text`] could replace a file.
///
/// # Errors
/// It could not.
pub(super) fn check_replaceable(path: &Path) -> anyhow::Result<()> {
    let (folder, name) = split(&fs::canonicalize(path)?)?;
    check_not_read_only(&folder, &name)
}

fn check_not_read_only(folder: &WritableFolder, name: &str) -> anyhow::Result<()> {
    ensure!(folder.info(name)?.mode & 0o222 != 0, "it is read-only");
    Ok(())
}

/// Replaces the text of a file. Its byte order mark stays.
///
/// # Errors
/// It cannot be written, or is not as it was read.
pub(super) fn replace_text(path: &Path, before: &str, after: &str) -> anyhow::Result<()> {
    // What a link leads to is changed, not the link.
    let path = fs::canonicalize(path)?;
    let (folder, name) = split(&path)?;
    replace_text_in(&folder, &name, before, after)
}

/// The same in an open folder.
///
/// # Errors
/// It cannot be written, or is not as it was read.
pub(super) fn replace_text_in(folder: &WritableFolder, name: &str, before: &str, after: &str) -> anyhow::Result<()> {
    check_not_read_only(folder, name)?;
    // The text is compared while the folder is locked: another run of folio comes before or after.
    let outcome = folder.write(name, OverwritePolicy::ReplaceUnchanged, |old, file| -> anyhow::Result<()> {
        let now = old.ok_or(ChangedSinceRead)?.read(MAX_BYTES)?;
        let bare = now.strip_prefix(BYTE_ORDER_MARK.as_bytes()).unwrap_or(&now);
        ensure!(bare == before.as_bytes(), ChangedSinceRead);
        file.write_all(now.strip_suffix(bare).unwrap_or_default())?;
        Ok(file.write_all(after.as_bytes())?)
    });
    outcome.map_err(|error| match error.downcast_ref() {
        Some(FileError::Changed(_)) => ChangedSinceRead.into(),
        _ => error,
    })
}

/// Removes a file.
///
/// # Errors
/// It cannot be removed, or is not as it was read.
pub(super) fn remove_text(path: &Path, before: &str) -> anyhow::Result<()> {
    let (folder, name) = split(path)?;
    let folder = folder.into_locked()?;
    let now = folder.open_file(&name)?.read(MAX_BYTES)?;
    ensure!(now.strip_prefix(BYTE_ORDER_MARK.as_bytes()).unwrap_or(&now) == before.as_bytes(), ChangedSinceRead);
    Ok(folder.remove(&name)?)
}

/// Makes a file of a text.
///
/// # Errors
/// Something has its name, or it cannot be written.
pub(super) fn create_text(path: &Path, text: &str) -> anyhow::Result<()> {
    let (folder, name) = split(path)?;
    folder.create(&name, None, text.as_bytes()).map_err(|error| match error {
        FileError::Exists(_) => ChangedSinceRead.into(),
        other => other.into(),
    })
}

/// The folder of a path, and its name.
pub(super) fn split(path: &Path) -> anyhow::Result<(WritableFolder, String)> {
    let name = path.file_name().and_then(|name| name.to_str()).context("its name is not UTF-8")?;
    Ok((WritableFolder::open(path.parent().unwrap_or(path))?, name.to_owned()))
}
