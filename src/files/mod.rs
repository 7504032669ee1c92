//! Files and folders below one folder, which no path escapes.
//!
//! [`Folder`] is the only way to files; [`ResolvedRoots`] checks paths that other programs open. What is not here: the meaning of
//! the files (load/), and notifications of changes (reload/).

mod attributes;
mod disk;
mod error;
mod folder;
mod glob;
mod home;
mod memory;
mod mime;
mod open;
mod parallel;
mod path;
mod real_folder;
mod remove;
mod atomic_write;
mod stamp;
mod walk;
mod resolve;
mod writable_folder;

pub use atomic_write::is_temporary;
pub use error::{FileError, not_utf8_message};
pub use folder::{FileEntry, FileStat, Folder, rfc3339};
pub use glob::{GlobError, Globs};
pub use home::{expand_home, path_value_help};
pub use mime::{
    MediaForm, is_mime_type, is_model_image, known_media_type, media_form, mime_by_name, mime_of, type_of_bytes,
};
pub use open::OpenFile;
pub use parallel::map_on_all_cores;
pub use path::normalize;
pub use real_folder::open_real_folder;
pub use remove::RemovalStep;
pub use resolve::{ResolvedRoots, RootPathError};
pub use stamp::{FileStamp, change_time, clock_granularity};
pub use walk::WalkOutcome;
pub use writable_folder::{FileInfo, FileKind, FolderEntries, FolderEntry, OverwritePolicy, WritableFolder};

#[cfg(test)]
mod tests;
