//! `~` in paths that do not come from a manifest.

use std::path::{Path, PathBuf};

/// A path that a person wrote, with the home folder for a leading `~` or `~/`.
pub fn expand_home(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), std::env::home_dir()) {
        (Ok(rest), Some(home)) if home.is_absolute() => home.components().chain(rest.components()).collect(),
        _ => path.to_owned(),
    }
}

/// What to do about the value of a variable that should name a folder.
pub fn path_value_help(value: &str) -> &'static str {
    match value.chars().next() {
        Some('~') if !value.starts_with("~/") => "only a leading `~/` is expanded: write the whole path",
        Some('$' | '%') => "`$NAME` is not expanded in a value: write an absolute path, or one that begins with `~/`",
        Some('"' | '\'') => "the quotes are part of the value: remove them",
        Some('/' | '~') => "make it, or correct the value",
        _ => {
            "a relative path begins in the folder of the manifest: write an absolute path, or one that begins with `~/`"
        }
    }
}
