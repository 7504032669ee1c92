use std::io;
use std::path::Path;

/// Why a file could not be had. Its words never hold an absolute path.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Nothing of that name exists.
    #[error("there is no `{path}`")]
    NotFound {
        /// The relative path.
        path: String,
    },
    /// The path, or a link on its way, leaves the folder.
    #[error("`{path}` leaves its folder")]
    EscapesFolder {
        /// The relative path.
        path: String,
    },
    /// It is a pipe, a socket or a device.
    #[error("`{path}` is not a regular file")]
    NotAFile {
        /// The relative path.
        path: String,
    },
    /// It is a folder, where a file is wanted.
    #[error("`{path}` is a folder")]
    IsFolder {
        /// The relative path.
        path: String,
    },
    /// It is a file, where a folder is wanted.
    #[error("`{path}` is not a folder")]
    NotAFolder {
        /// The relative path.
        path: String,
    },
    /// The file holds more than was asked for.
    #[error("`{path}` holds {size} bytes, and at most {limit} are read")]
    TooLarge {
        /// The relative path.
        path: String,
        /// How much would have been read.
        limit: u64,
        /// How much there is, as far as is known.
        size: u64,
    },
    /// A walk met more than it may.
    #[error("there are more than {limit} {what}")]
    TooMany {
        /// How many were allowed.
        limit: usize,
        /// What was counted, in the plural.
        what: &'static str,
    },
    /// The system does not let us.
    #[error("`{path}` may not be read: permission denied")]
    Denied {
        /// The relative path.
        path: String,
    },
    /// The name is none that a folder could hold.
    #[error("`{path}` is no path of a folder: {why}")]
    BadName {
        /// The path; of an absolute one only the last part.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Anything else that the system says.
    #[error("`{path}` cannot be read: {}", source.kind())]
    Other {
        /// The relative path.
        path: String,
        /// What the system said.
        source: io::Error,
    },
}

impl FileError {
    /// Says whether the path names nothing that could be read, now or as written: the fault of whoever asked.
    pub fn is_missing(&self) -> bool {
        !matches!(self, Self::TooLarge { .. } | Self::TooMany { .. } | Self::Denied { .. } | Self::Other { .. })
    }

    /// Sorts what the system said about `path`.
    pub(super) fn from_io(path: &str, source: io::Error) -> Self {
        let path = display_path(path);
        match source.kind() {
            // cap-std refuses an escape in the same kind, without a number of the system.
            io::ErrorKind::PermissionDenied if source.raw_os_error().is_none() => Self::EscapesFolder { path },
            io::ErrorKind::PermissionDenied => Self::Denied { path },
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename => {
                Self::NotFound { path }
            }
            _ => Self::from_errno(path, source),
        }
    }

    fn from_errno(path: String, source: io::Error) -> Self {
        use rustix::io::Errno;
        match Errno::from_io_error(&source) {
            Some(Errno::LOOP) => Self::NotFound { path },
            // A socket, or a device that is not there.
            Some(Errno::NXIO | Errno::NODEV) => Self::NotAFile { path },
            _ => Self::Other { path, source },
        }
    }
}

/// The path as it may be shown: of an absolute one, only its last part.
pub(super) fn display_path(path: &str) -> String {
    let written = Path::new(path);
    let relative = if written.has_root() || written.is_absolute() {
        written.file_name().map_or_else(|| "/".into(), |name| name.to_string_lossy())
    } else {
        path.into()
    };
    if relative.is_empty() { ".".to_owned() } else { relative.into_owned() }
}
