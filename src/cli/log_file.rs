//! `--log FILE`: what is written on stderr, in a file too.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

/// A file to which lines are added.
#[derive(Debug, Clone)]
pub struct LogFile(Arc<File>);

impl LogFile {
    /// Opens it, or creates it for its owner alone.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn open(path: &str) -> Result<LogFile, String> {
        let opened = OpenOptions::new().append(true).create(true).mode(0o600).open(Path::new(path));
        opened.map(|file| LogFile(Arc::new(file))).map_err(|error| error.to_string())
    }

    /// Adds what is written on stderr, without colours.
    pub(super) fn append(&self, bytes: &[u8]) {
        let plain = crate::world::strip_escapes(&String::from_utf8_lossy(bytes));
        let _ = (&*self.0).write_all(plain.as_bytes());
    }
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
