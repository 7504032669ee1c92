//! Completes from the files that match a glob.

use std::path::{Path, PathBuf};

use crate::files::{Folder, Globs};
use crate::yaml::Location;

/// How many files may be found.
pub(in crate::catalog) const MAX_COMPLETED_FILES: usize = 20_000;

/// Files of a pack, looked up each time.
pub(in crate::catalog) struct GlobFiles {
    pub(super) folder: Folder,
    pub(super) globs: Globs,
    /// The folder to which offered paths are relative.
    pub(super) base: PathBuf,
    /// Whether paths are offered without their extension.
    pub(super) stem: bool,
    /// The location of the glob.
    pub(in crate::catalog) at: Location,
}

impl GlobFiles {
    /// The paths; none if there are too many.
    pub(in crate::catalog) fn paths(&self) -> Vec<String> {
        let entries = self.folder.walk(&self.globs, MAX_COMPLETED_FILES).unwrap_or_default();
        let offered = |path: &Path| {
            let path = path.strip_prefix(&self.base).unwrap_or(path);
            if self.stem {
                path.with_extension("").to_string_lossy().into_owned()
            } else {
                path.to_string_lossy().into_owned()
            }
        };
        entries.iter().map(|entry| offered(Path::new(&entry.path))).collect()
    }

    /// Whether there is any at all.
    pub(super) fn has_any(&self) -> bool {
        self.folder.walk(&self.globs, 0).map_or(true, |entries| !entries.is_empty())
    }
}
