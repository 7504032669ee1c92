//! A file whose path depends on the URI, below a folder that it cannot leave.

use std::path::{Path, PathBuf};

use crate::files::Folder;
use crate::redact::Redactor;
use crate::template::{FilePathSlot, Template};

/// A templated path of a file.
pub(super) struct FileTemplate {
    /// The folder that the path cannot leave.
    pub(super) folder: Folder,
    /// The path of the folder in the pack.
    pub(super) literal: PathBuf,
    /// The whole path.
    pub(super) path: Template<FilePathSlot>,
}

impl FileTemplate {
    /// The part of a rendered path that is below the folder.
    pub(super) fn below<'p>(&self, rendered: &'p str) -> &'p Path {
        Path::new(rendered).strip_prefix(&self.literal).unwrap_or(Path::new(rendered))
    }

    /// Whether a path below the folder may be shown.
    pub(super) fn may_be_shown(&self, below: &Path, secrets: &Redactor) -> bool {
        let text = below.to_string_lossy();
        !self.folder.links_to_hidden(&text) && !secrets.finds_secret(&text)
    }
}
