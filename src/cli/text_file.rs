//! Writes the files that commands edit for a person: whole or not at all, and never over what somebody else has written.

use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};

use crate::files::{OverwritePolicy, WritableFolder};

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Replaces the text of a file. Its byte order mark stays.
///
/// # Errors
/// It cannot be written, or is not as it was read.
pub(super) fn replace_text(path: &Path, before: &str, after: &str) -> anyhow::Result<()> {
    // What a link leads to is changed, not the link.
    let path = fs::canonicalize(path)?;
    ensure!(!fs::metadata(&path)?.permissions().readonly(), "it is read-only");
    let now = fs::read_to_string(&path)?;
    let bare = now.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&now);
    ensure!(bare == before, "it has changed since it was read");
    let mark = now.strip_suffix(bare).unwrap_or_default();
    write(&path, OverwritePolicy::ReplaceUnchanged, &format!("{mark}{after}"))
}

/// Writes a file, whether or not it is there.
///
/// # Errors
/// It cannot be written.
pub(super) fn write_text(path: &Path, text: &str) -> anyhow::Result<()> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    write(&path, OverwritePolicy::Replace, text)
}

fn write(path: &Path, existing: OverwritePolicy, text: &str) -> anyhow::Result<()> {
    let name = path.file_name().and_then(|name| name.to_str()).context("its name is not UTF-8")?;
    let folder = WritableFolder::open(path.parent().unwrap_or(path))?;
    folder.write(name, existing, |_, file| -> anyhow::Result<()> { Ok(file.write_all(text.as_bytes())?) })
}
