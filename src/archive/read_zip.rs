//! Reads `zip`: stored and deflated files, by the directory at the end.

use std::io::Cursor;

use zip::read::ZipFile;
use zip::{CompressionMethod, ZipArchive};

use super::read::{ArchiveEntry, ArchiveError, ArchiveFile, MAX_ENTRIES, Visitor, decode_path, visit_folder};
use super::zip_layout::check_layout;

/// The kind of a file in its mode, and those of regular files and links.
const FILE_TYPE_MASK: u32 = 0o170_000;
const REGULAR_FILE_MODE: u32 = 0o100_000;
const SYMLINK_MODE: u32 = 0o120_000;

/// Visits the files of a zip archive.
pub(super) fn visit_zip<E: From<ArchiveError>>(bytes: &[u8], visit: Visitor<'_, E>) -> Result<(), E> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(ArchiveError::malformed)?;
    if archive.len() > MAX_ENTRIES {
        return Err(ArchiveError::TooManyEntries.into());
    }
    if archive.has_duplicate_names() {
        return Err(ArchiveError::Duplicate.into());
    }
    if archive.has_overlapping_entries().map_err(ArchiveError::malformed)? {
        return Err(ArchiveError::Overlap.into());
    }
    check_layout(bytes)?;
    for nth in 0..archive.len() {
        check_readable(&mut archive, nth, bytes)?;
        let file = archive.by_index(nth).map_err(ArchiveError::malformed)?;
        visit_entry(file, visit)?;
    }
    Ok(())
}

/// Refuses what the crate has no reader for, and an entry with two names: readers do not agree on which counts.
fn check_readable(archive: &mut ZipArchive<Cursor<&[u8]>>, nth: usize, bytes: &[u8]) -> Result<(), ArchiveError> {
    let raw = archive.by_index_raw(nth).map_err(ArchiveError::malformed)?;
    let path = decode_path(raw.name_raw())?;
    if local_name(bytes, raw.header_start()) != Some(raw.name_raw()) {
        return Err(ArchiveError::malformed(format!("`{path}` has a different name in its local header")));
    }
    if raw.encrypted() {
        return Err(ArchiveError::Unsupported { path, what: "encrypted" });
    }
    match raw.compression() {
        CompressionMethod::Stored | CompressionMethod::Deflated => Ok(()),
        _ => Err(ArchiveError::Unsupported { path, what: "compressed by another method than deflate" }),
    }
}

/// The name in the header before the bytes of an entry.
fn local_name(bytes: &[u8], header_start: u64) -> Option<&[u8]> {
    let header = bytes.get(usize::try_from(header_start).ok()?..)?;
    let length = u16::from_le_bytes([*header.get(26)?, *header.get(27)?]);
    header.get(30..)?.get(..usize::from(length))
}

fn visit_entry<E: From<ArchiveError>>(mut file: ZipFile<'_, Cursor<&[u8]>>, visit: Visitor<'_, E>) -> Result<(), E> {
    let path = decode_path(file.name_raw())?;
    match file.unix_mode().map_or(0, |mode| mode & FILE_TYPE_MASK) {
        SYMLINK_MODE => visit(ArchiveEntry::Link(path)),
        _ if path.ends_with('/') && file.size() > 0 => Err(ArchiveError::SizeWithoutContent(path).into()),
        _ if path.ends_with('/') => visit_folder(&path, visit),
        0 | REGULAR_FILE_MODE => {
            let size = file.size();
            visit(ArchiveEntry::File(ArchiveFile::new(path, size, &mut file)))
        }
        _ => Err(ArchiveError::SpecialFile(path).into()),
    }
}
