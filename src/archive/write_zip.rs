//! Writes `zip` archives, of which the same files give the same bytes.

use std::io::{Cursor, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::read::ArchiveError;

/// A file of a zip archive.
pub struct ZipEntry {
    pub path: String,
    pub bytes: Vec<u8>,
    /// Whether it can be started.
    pub is_program: bool,
}

/// A zip archive of files, in the order of their paths.
///
/// # Errors
/// Two have one path, or they are too large for the format.
pub fn write_zip(mut entries: Vec<ZipEntry>) -> Result<Vec<u8>, ArchiveError> {
    entries.sort_by(|left, right| left.path.cmp(&right.path));
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for entry in &entries {
        let mode = if entry.is_program { 0o755 } else { 0o644 };
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(DateTime::default())
            .unix_permissions(mode);
        writer.start_file(entry.path.as_str(), options).map_err(ArchiveError::malformed)?;
        writer.write_all(&entry.bytes)?;
    }
    Ok(writer.finish().map_err(ArchiveError::malformed)?.into_inner())
}
