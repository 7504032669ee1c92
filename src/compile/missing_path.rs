//! Reports paths of a pack that do not exist. The other errors of files are in `compile`.

use super::Compiler;
use crate::diagnostic::{Code, nearest};
use crate::files::normalize;
use crate::yaml::Location;

/// What to write instead of `~`.
pub const TILDE_HELP: &str =
    "`~` is expanded in the values of variables, and not in a manifest: write a path relative to this file";

/// Where the path of a file or a folder begins.
const FILE_HELP: &str = "make it, or correct the path, which begins in the folder of this file";

/// What to do about a template where the path of a file is fixed.
pub(super) const FIXED_PATH_HELP: &str =
    "the path is fixed here: serve the files as a resource with variables in its URI, and embed that by `resource: …`";

impl Compiler<'_> {
    /// Reports that nothing is at a path that is `written` at `at`, with what was probably meant.
    pub fn report_missing_path(&mut self, path: &str, at: Location, message: String) {
        let similar = self.similar_path(path);
        let diagnostic = self.error(Code::NotFound, at, message);
        match similar {
            Some(similar) => diagnostic.help(format!("did you mean `{similar}`?")),
            None => diagnostic.help(FILE_HELP),
        };
    }

    /// The path with its first name that does not exist replaced by a similar one that does. Names that hold a pattern or
    /// a template end the comparison.
    pub fn similar_path(&self, text: &str) -> Option<String> {
        let mut names: Vec<&str> = text.split('/').collect();
        let mut parent = normalize(&self.base.to_string_lossy()).ok()?;
        for index in 0..names.len() {
            let name = *names.get(index).filter(|name| !name.contains(['{', '*', '?', '[']))?;
            let path = normalize(&parent.join(name).to_string_lossy()).ok()?;
            if self.pack.folder.stat(&path).is_ok() {
                parent = path;
                continue;
            }
            let siblings = self.pack.folder.names(&parent)?;
            *names.get_mut(index)? = nearest(name, siblings.iter().map(String::as_str))?;
            return Some(names.join("/"));
        }
        None
    }
}
