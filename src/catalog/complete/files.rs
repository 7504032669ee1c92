//! Completes from the files that match a glob.

use std::path::{Path, PathBuf};

use crate::files::{Folder, Globs};
use crate::yaml::Location;

/// How many files may be found.
pub(in crate::catalog) const MAX_COMPLETED_FILES: usize = 20_000;

/// Files of a pack, found anew each time.
pub(in crate::catalog) struct GlobFiles {
    pub(super) folder: Folder,
    pub(super) globs: Globs,
    /// The folder from which their paths are told.
    pub(super) base: PathBuf,
    /// Whether that is without their extension.
    pub(super) stem: bool,
    /// Where the glob stands.
    pub(super) at: Location,
}

impl GlobFiles {
    /// Their paths; of too many none.
    pub(super) fn paths(&self) -> Vec<String> {
        let entries = self.folder.walk(&self.globs, MAX_COMPLETED_FILES).unwrap_or_default();
        entries.iter().map(|entry| self.offered_path(Path::new(&entry.path))).collect()
    }

    /// Whether there is any at all.
    pub(super) fn has_any(&self) -> bool {
        self.folder.walk(&self.globs, 0).map_or(true, |entries| !entries.is_empty())
    }

    fn offered_path(&self, path: &Path) -> String {
        let path = path.strip_prefix(&self.base).unwrap_or(path);
        if self.stem {
            path.with_extension("").to_string_lossy().into_owned()
        } else {
            path.to_string_lossy().into_owned()
        }
    }
}
