//! `FileError`.

use std::io;
use std::path::Path;

use rustix::io::Errno;

/// How many characters of a name that is too long are shown.
const MAX_SHOWN_CHARS: usize = 60;

/// Why a file could not be read or changed. The path in it is relative: no message contains an absolute path.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("no such file or folder: `{0}`")]
    NotFound(String),
    /// A name, or the path, is longer than the system allows.
    #[error("name too long: `{0}`")]
    NameTooLong(String),
    /// Links lead to each other without end.
    #[error("too many links on the way to `{0}`")]
    TooManyLinks(String),
    /// The path, or a link in it, escapes the folder.
    #[error("path `{0}` escapes its folder")]
    EscapesFolder(String),
    /// It is a pipe, a socket or a device.
    #[error("`{0}` is not a regular file")]
    NotAFile(String),
    /// It is a folder, not a file.
    #[error("`{0}` is a folder")]
    IsFolder(String),
    /// It is a file, not a folder.
    #[error("`{0}` is not a folder")]
    NotAFolder(String),
    /// The file exceeds the limit.
    #[error("file `{path}` is too large: {size} bytes, limit {limit}")]
    TooLarge {
        /// The relative path.
        path: String,
        /// The limit in bytes.
        limit: u64,
        /// The size in bytes, as far as known.
        size: u64,
    },
    /// A walk exceeds a limit.
    #[error("too many {what}: limit {limit}")]
    TooMany {
        limit: usize,
        /// What is counted, in the plural.
        what: &'static str,
    },
    /// The system denies permission.
    #[error("permission denied: `{0}`")]
    Denied(String),
    #[error("invalid path `{path}`: {why}")]
    BadName {
        /// The path; of an absolute one only the last component.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Something is there already.
    #[error("`{0}` already exists")]
    Exists(String),
    /// Others change the files of the folder.
    #[error("`{0}` is being changed")]
    Busy(String),
    /// A program has changed it between its reading and its writing.
    #[error("`{0}` was changed meanwhile: read it again")]
    Changed(String),
    /// It would have another owner after a change.
    #[error("replacing `{0}` would change its owner")]
    OtherOwner(String),
    /// A folder is moved into itself.
    #[error("cannot move `{0}` into itself")]
    IntoItself(String),
    /// A folder that is removed is nested too deeply.
    #[error("`{path}` is nested deeper than {limit} folders")]
    TooDeep {
        /// The relative path.
        path: String,
        /// How many folders in each other are removed.
        limit: usize,
    },
    /// A change fails.
    #[error("cannot change `{path}`: {}", source.kind())]
    Change {
        /// The relative path.
        path: String,
        source: io::Error,
    },
    /// Any other error of the system.
    #[error("cannot read `{path}`: {}", source.kind())]
    Other {
        /// The relative path.
        path: String,
        source: io::Error,
    },
}

impl FileError {
    /// Classifies an error of the system for `path`.
    pub(super) fn from_io(path: &str, source: io::Error) -> Self {
        let path = display_path(path);
        match source.kind() {
            // cap-std reports an escape as the same kind, without an error number.
            io::ErrorKind::PermissionDenied if source.raw_os_error().is_none() => Self::EscapesFolder(path),
            io::ErrorKind::PermissionDenied => Self::Denied(path),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::NotFound(path),
            io::ErrorKind::InvalidFilename => Self::NameTooLong(shorten(&path)),
            _ => Self::from_errno(path, source),
        }
    }

    /// Classifies an error of the system while `path` is changed.
    pub fn write_failed(path: &str, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::AlreadyExists => Self::Exists(display_path(path)),
            io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                Self::from_io(path, source)
            }
            io::ErrorKind::InvalidFilename => Self::NameTooLong(shorten(&display_path(path))),
            _ if Errno::from_io_error(&source) == Some(Errno::LOOP) => Self::TooManyLinks(display_path(path)),
            _ => Self::Change { path: display_path(path), source },
        }
    }

    fn from_errno(path: String, source: io::Error) -> Self {
        match Errno::from_io_error(&source) {
            Some(Errno::LOOP) => Self::TooManyLinks(path),
            // A socket, or a missing device.
            Some(Errno::NXIO | Errno::NODEV) => Self::NotAFile(path),
            _ => Self::Other { path, source },
        }
    }
}

/// The longest path that messages show: no system has longer ones.
const MAX_SHOWN_BYTES: usize = 4096;
/// How much of a longer one they show.
const SHOWN_CHARS: usize = 100;

/// What is said of names that no path leads to.
pub fn not_utf8_message(count: usize) -> String {
    match count {
        1 => "left out 1 name that is not UTF-8".to_owned(),
        count => format!("left out {count} names that are not UTF-8"),
    }
}

/// The beginning of a path that is too long, as it would make the message so.
fn shorten(path: &str) -> String {
    let end = path.char_indices().nth(MAX_SHOWN_CHARS).map(|(end, _)| end);
    end.and_then(|end| path.get(..end)).map_or_else(|| path.to_owned(), |start| format!("{start}…"))
}

/// The path in messages: of an absolute one, only the last component.
pub(super) fn display_path(path: &str) -> String {
    let written = Path::new(path);
    let relative = if written.has_root() || written.is_absolute() {
        written.file_name().map_or_else(|| "/".into(), |name| name.to_string_lossy())
    } else {
        path.into()
    };
    match relative.len() {
        0 => ".".to_owned(),
        1..=MAX_SHOWN_BYTES => relative.into_owned(),
        _ => relative.chars().take(SHOWN_CHARS).chain(['…']).collect(),
    }
}
