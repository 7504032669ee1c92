//! `--log FILE`: what is written on stderr, in a file too.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;

use crate::files::expand_home;

/// Read and written by its owner alone.
const PRIVATE: u32 = 0o600;

/// A file to which lines are added.
#[derive(Debug, Clone)]
pub struct LogFile(Arc<File>);

impl LogFile {
    /// Opens it, or creates it; either way its owner alone reads it, for it has the arguments of calls.
    ///
    /// # Errors
    /// It cannot be written, or others keep their access to it.
    pub fn open(path: &str) -> Result<LogFile, String> {
        let opened = OpenOptions::new().append(true).create(true).mode(PRIVATE).open(expand_home(Path::new(path)));
        let file = opened.map_err(|error| error.to_string())?;
        make_private(&file).map_err(|error| format!("it holds arguments, and others can read it: {error}"))?;
        Ok(LogFile(Arc::new(file)))
    }

    /// Adds what is written on stderr, without colours.
    pub(super) fn append(&self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let _ = (&*self.0).write_all(crate::world::strip_escapes(&text).as_bytes());
    }
}

/// Takes a file from all but its owner. Devices and pipes keep nothing that could be read later.
fn make_private(file: &File) -> io::Result<()> {
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.permissions().mode() & 0o077 == 0 {
        return Ok(());
    }
    file.set_permissions(Permissions::from_mode(PRIVATE))
}

/// Stderr, and the file beside it.
pub(super) struct StderrAndFile(pub(super) Option<LogFile>);

impl Write for StderrAndFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(file) = &self.0 {
            file.append(bytes);
        }
        // A host that has closed stderr does not end the log.
        let _ = io::stderr().write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
