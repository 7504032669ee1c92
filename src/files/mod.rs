//! Everything beneath one folder: read, described and listed, and nothing outside of it.
//!
//! [`Folder`] is the only door to files: paths are relative to it and cannot leave it, whatever links say. Where others
//! open a file, [`Roots`] says whether it lies inside of given folders.
//! What is not here: what the files mean (load/), and word of their changes (reload/).

mod disk;
mod error;
mod folder;
mod glob;
mod memory;
mod mime;
mod open;
mod path;
mod walk;
mod resolve;

pub use error::FileError;
pub use folder::{FileEntry, FileStat, Folder, rfc3339};
pub use glob::{GlobError, Globs};
pub use mime::{mime_by_name, mime_of};
pub use open::OpenFile;
pub use path::normalize;
pub use resolve::{RootPathError, Roots};
pub use walk::WalkOutcome;

#[cfg(test)]
mod tests;
