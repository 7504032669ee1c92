//! The file of a manifest that a command edits.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};

use crate::catalog::{BuildOutcome, build};
use crate::cli::text_file::{BYTE_ORDER_MARK, check_replaceable, replace_text};
use crate::compile::FileBuffers;
use crate::diagnostic::one_line;
use crate::load::{EnvSource, MANIFEST_NAMES, ManifestLocation, load_buffers};

/// The file to which an entry is added.
pub(crate) struct ManifestFile {
    pub(crate) path: PathBuf,
    /// The manifest that it belongs to, or that it is.
    pub(crate) location: ManifestLocation,
    /// Its text, without a byte order mark.
    pub(crate) text: String,
    pub(crate) byte_order_mark: &'static str,
}

impl ManifestFile {
    pub(crate) fn find(given: &Path) -> anyhow::Result<ManifestFile> {
        let location = ManifestLocation::resolve(given)?;
        let path = match given.is_dir() {
            true => MANIFEST_NAMES.iter().map(|name| given.join(name)).find(|path| path.is_file()),
            false => Some(given.to_owned()),
        };
        let path = path.with_context(|| format!("cannot read the manifest in `{}`", given.display()))?;
        let read = || format!("cannot read `{}`", path.display());
        let bytes = fs::read(&path).with_context(read)?;
        let text = String::from_utf8(bytes).map_err(|_| anyhow!("it is not UTF-8")).with_context(read)?;
        let (byte_order_mark, text) = match text.strip_prefix(BYTE_ORDER_MARK) {
            Some(bare) => (BYTE_ORDER_MARK, bare.to_owned()),
            None => ("", text),
        };
        // A manifest says its version; what a manifest includes does not.
        let is_manifest = text.lines().any(|line| line.starts_with("folio:"));
        let location = if given.is_dir() || is_manifest { location } else { ManifestLocation::from_file(given)? };
        Ok(ManifestFile { path, location, text, byte_order_mark })
    }

    pub(crate) fn display_path(&self) -> String {
        let path = self.path.display().to_string();
        one_line(path.strip_prefix("./").unwrap_or(&path)).into_owned()
    }

    /// A text instead of the file.
    ///
    /// # Errors
    /// The file is gone.
    pub(crate) fn buffers(&self, text: &str) -> anyhow::Result<FileBuffers> {
        let mut buffers = FileBuffers::default();
        buffers.insert(fs::canonicalize(&self.path)?, format!("{}{text}", self.byte_order_mark).into_bytes());
        Ok(buffers)
    }

    /// Builds the manifest with a text instead of the file.
    pub(crate) fn build(&self, text: &str) -> BuildOutcome {
        let buffers = self.buffers(text).unwrap_or_default();
        build(load_buffers(&self.location, &EnvSource::Process, &buffers))
    }

    /// Writes the file, unless it has changed since it was read.
    ///
    /// # Errors
    /// It has, or cannot be written.
    pub(crate) fn write(&self, text: &str) -> anyhow::Result<()> {
        replace_text(&self.path, &self.text, text).with_context(|| self.unwritten())
    }

    /// Whether it could be written.
    ///
    /// # Errors
    /// It could not.
    pub(crate) fn check_writable(&self) -> anyhow::Result<()> {
        check_replaceable(&self.path).with_context(|| self.unwritten())
    }

    fn unwritten(&self) -> String {
        format!("cannot write `{}`", self.path.display())
    }
}
