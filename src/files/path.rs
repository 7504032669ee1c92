//! Normalizes relative paths.

use std::path::{Component, Path, PathBuf};

use super::error::{FileError, display_path};

/// Resolves `.` and `..` in a relative path, by its text alone.
///
/// # Errors
/// The path escapes its folder, is absolute or contains a NUL.
pub fn normalize(relative: &str) -> Result<PathBuf, FileError> {
    normalize_to_slashes(Path::new(relative)).map(PathBuf::from)
}

/// The normalized form of a relative path: its components with `/`, empty for the folder itself.
pub(super) fn normalize_to_slashes(relative: &Path) -> Result<String, FileError> {
    let Some(text) = relative.to_str() else {
        return Err(bad_name(&relative.to_string_lossy(), "not UTF-8"));
    };
    if text.contains('\0') {
        return Err(bad_name(&text.replace('\0', "\u{fffd}"), "contains a NUL byte"));
    }
    let mut parts: Vec<&str> = Vec::new();
    for component in relative.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(part) => parts.extend(part.to_str()),
            Component::ParentDir if parts.pop().is_some() => {}
            Component::ParentDir => return Err(FileError::EscapesFolder(text.to_owned())),
            Component::RootDir | Component::Prefix(_) => return Err(bad_name(text, "absolute path")),
        }
    }
    Ok(parts.join("/"))
}

/// Whether a path is in the form of [`normalize_to_slashes`].
pub(super) fn is_normalized(path: &str) -> bool {
    !path.contains('\0') && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// `name` in `folder`, joined with `/`.
pub(super) fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

fn bad_name(path: &str, why: &'static str) -> FileError {
    FileError::BadName { path: display_path(path), why }
}
