//! The path of a call: below one of the folders.

use std::path::{Component, Path, PathBuf};

use crate::action::ActionError;
use crate::files::{ResolvedRoots, WritableFolder, expand_home, is_temporary};
use crate::template::FolderPathText;
use crate::uri::file_uri_to_path;

use super::folder::CompiledFolder;

/// How many characters of a path outside are shown.
const MAX_SHOWN_CHARS: usize = 200;

/// A path below one of the folders of a call.
#[derive(Debug, Clone)]
pub(super) struct ResolvedPath {
    /// The number of the folder.
    pub(super) folder: usize,
    /// The path in it, normalized; empty for the folder itself.
    pub(super) relative: String,
    /// Whether an absolute path was given.
    pub(super) is_absolute: bool,
}

impl ResolvedPath {
    /// Finds the folder of a path.
    ///
    /// # Errors
    /// It is outside of the folders, or names what values may not name.
    pub(super) fn resolve(
        path_text: &FolderPathText,
        folders: &[WritableFolder],
        named: &CompiledFolder,
    ) -> Result<ResolvedPath, ActionError> {
        let hidden = named.hidden;
        let is_uri =
            path_text.is_value && path_text.text.get(..5).is_some_and(|head| head.eq_ignore_ascii_case("file:"));
        let path = match is_uri {
            true => {
                file_uri_to_path(&path_text.text).ok_or_else(|| invalid_path_error("is not a `file:` URI of a path"))?
            }
            false if path_text.is_value => expand_home(Path::new(&path_text.text)),
            false => PathBuf::from(&path_text.text),
        };
        if path.as_os_str().as_encoded_bytes().contains(&0) {
            return Err(invalid_path_error("contains a NUL character"));
        }
        if path.components().any(|part| part == Component::ParentDir) {
            return Err(invalid_path_error("must not contain `..`"));
        }
        let (folder, inside) = match path.is_absolute() {
            true => locate(&path, folders).ok_or_else(|| outside_error(&path_text.text, folders, named))?,
            false => (0, path.clone()),
        };
        let relative = join_names(&inside).ok_or_else(|| invalid_path_error("is not UTF-8"))?;
        if relative.split('/').any(is_temporary) {
            return Err(invalid_path_error("is that of a temporary file"));
        }
        let is_hidden = path_text.is_value && !hidden && relative.split('/').any(|name| name.starts_with('.'));
        if is_hidden || path_text.is_value && !hidden && leads_to_hidden(folders, folder, &relative) {
            return Err(invalid_path_error("names a hidden file (leading `.`)"));
        }
        Ok(ResolvedPath { folder, relative, is_absolute: path.is_absolute() })
    }

    /// The path of an entry below it, in the form in which the path was given.
    pub(super) fn display_path(&self, folders: &[WritableFolder], below: &str) -> String {
        let relative = match (self.relative.as_str(), below) {
            (path, "") => path.to_owned(),
            ("", below) => below.to_owned(),
            (path, below) => format!("{path}/{below}"),
        };
        match folders.get(self.folder).filter(|_| self.is_absolute) {
            Some(folder) => folder.path().join(relative).to_string_lossy().trim_end_matches('/').to_owned(),
            None => relative,
        }
    }
}

/// A path outside of the folders, which are named where the client has named them.
fn outside_error(path: &str, folders: &[WritableFolder], compiled_folder: &CompiledFolder) -> ActionError {
    let path: String = path.chars().take(MAX_SHOWN_CHARS).collect();
    let folders: Vec<String> = folders.iter().map(|folder| format!("`{}`", folder.path().display())).collect();
    ActionError::message(match compiled_folder.client_roots {
        true => format!("the path `{path}` is outside of the folders {}", folders.join(", ")),
        false => format!("the path `{path}` is outside of the folder `{}`", compiled_folder.name),
    })
}

fn invalid_path_error(why: &str) -> ActionError {
    ActionError::message(format!("the path {why}"))
}

/// Only links can lead a path without hidden names to one.
fn leads_to_hidden(folders: &[WritableFolder], folder: usize, relative: &str) -> bool {
    folders.get(folder).is_some_and(|folder| folder.leads_to_hidden(relative))
}

/// The names of a relative path, joined with `/`.
fn join_names(path: &Path) -> Option<String> {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_str()),
        _ => None,
    });
    Some(names.collect::<Option<Vec<_>>>()?.join("/"))
}

/// The folder that an absolute path is in, and the path there.
fn locate(path: &Path, folders: &[WritableFolder]) -> Option<(usize, PathBuf)> {
    let below = |path: &Path| {
        let inside = |(number, folder): (usize, &WritableFolder)| {
            path.strip_prefix(folder.path()).ok().map(|inside| (number, inside.to_owned()))
        };
        folders.iter().enumerate().find_map(inside)
    };
    below(path).or_else(|| below(&resolve_parent_links(path, folders)?)).or_else(|| {
        let real = ResolvedRoots::follow(folders.iter().map(WritableFolder::path)).resolve(path).ok()?;
        below(Path::new(&real)).filter(|(_, inside)| inside.as_os_str().is_empty())
    })
}

/// The path with the links around its last name followed: that may be a link that is removed or moved.
fn resolve_parent_links(path: &Path, folders: &[WritableFolder]) -> Option<PathBuf> {
    let resolved_parent =
        ResolvedRoots::follow(folders.iter().map(WritableFolder::path)).resolve(path.parent()?).ok()?;
    Some(Path::new(&resolved_parent).join(path.file_name()?))
}
