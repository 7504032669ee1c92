//! Visits the files of an archive, whose kind is told by its first bytes.

use std::io::{self, Read};

use flate2::bufread::MultiGzDecoder;

use super::read_tar::visit_tar;
use super::read_zip::visit_zip;
use crate::diagnostic::one_line;

/// How many bytes an archive may unpack to, with what is not read of it.
const MAX_UNPACKED_BYTES: u64 = 256 << 20;
/// How many entries it may have, of any kind.
pub(super) const MAX_ENTRIES: usize = 100_000;

/// Why an archive cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// Its first bytes are those of something else.
    #[error("it is no archive: expected `.tar.gz`, `.tar` or `.zip`")]
    UnknownFormat,
    /// It is cut off, or not as its format has it.
    #[error("the archive is damaged: {0}")]
    Malformed(String),
    /// A bomb.
    #[error("the archive unpacks to more than 256 MiB")]
    TooLarge,
    /// Too many files, folders and links.
    #[error("the archive has more than {MAX_ENTRIES} entries")]
    TooManyEntries,
    /// A path that is not text.
    #[error("a path in the archive is not UTF-8: `{}`", one_line(.0))]
    PathEncoding(String),
    /// A device, a pipe or another thing that is not a file.
    #[error("`{}` in the archive is a device or a pipe", one_line(.0))]
    SpecialFile(String),
    /// Something that a format may have, and prompts have not.
    #[error("`{}` in the archive is {what}, which is not supported", one_line(path))]
    Unsupported { path: String, what: &'static str },
    /// A link or a folder with bytes, which one reader skips and another takes for entries.
    #[error("`{}` in the archive is a link or a folder, and has a size", one_line(.0))]
    SizeWithoutContent(String),
    /// Entries of a zip archive with bytes in common.
    #[error("entries of the archive overlap")]
    Overlap,
    /// An archive in which another reader finds other files.
    #[error("the archive can be read in two ways: {0}\nhelp: pack the files again")]
    Ambiguous(&'static str),
    /// Entries of a zip archive with one name.
    #[error("names of the archive are there twice")]
    Duplicate,
}

impl ArchiveError {
    pub(super) fn malformed(error: impl std::fmt::Display) -> ArchiveError {
        ArchiveError::Malformed(error.to_string())
    }
}

impl From<io::Error> for ArchiveError {
    fn from(error: io::Error) -> ArchiveError {
        // What was wrapped for the readers in between.
        match error.downcast::<ArchiveError>() {
            Ok(own) => own,
            Err(other) => ArchiveError::malformed(other),
        }
    }
}

/// A regular file in an archive.
pub struct ArchiveFile<'a> {
    /// Its path as written, without `./` before it. It may be unsafe.
    pub path: String,
    /// Its size, as the archive says.
    pub size: u64,
    content: &'a mut dyn Read,
}

impl<'a> ArchiveFile<'a> {
    pub(super) fn new(path: String, size: u64, content: &'a mut dyn Read) -> ArchiveFile<'a> {
        ArchiveFile { path, size, content }
    }

    /// Its bytes, of which the caller has checked the number.
    ///
    /// # Errors
    /// They are more or less than the archive says, or damaged.
    pub fn read(self) -> Result<Vec<u8>, ArchiveError> {
        let mut bytes = Vec::new();
        // One more than there should be; the check of a zip archive needs the end.
        self.content.take(self.size.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 == self.size {
            return Ok(bytes);
        }
        Err(ArchiveError::Malformed(format!("the size of `{}` does not match its header", self.path)))
    }
}

/// What an archive has one of under a path.
pub enum ArchiveEntry<'a> {
    /// A regular file.
    File(ArchiveFile<'a>),
    /// A folder, by its path without `/` at its end. The root does not count.
    Folder(String),
    /// A symbolic or hard link, by its path.
    Link(String),
}

/// What is called for each entry.
pub(super) type Visitor<'v, E> = &'v mut dyn FnMut(ArchiveEntry<'_>) -> Result<(), E>;

/// Visits the files, folders and links of an archive in their order.
///
/// # Errors
/// It is not an archive, or it is damaged or hostile; and those of `visit`.
pub fn visit_entries<E: From<ArchiveError>>(archive: &[u8], visit: Visitor<'_, E>) -> Result<(), E> {
    match archive {
        [0x1f, 0x8b, ..] => {
            let limited = LimitedReader { inner: MultiGzDecoder::new(archive), left: MAX_UNPACKED_BYTES };
            visit_tar(limited, visit)
        }
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => visit_zip(archive, visit),
        _ => visit_tar(archive, visit),
    }
}

/// Visits a folder by its path as name; the root of the archive is left out.
pub(super) fn visit_folder<E>(name: &str, visit: Visitor<'_, E>) -> Result<(), E> {
    let path = name.strip_suffix('/').unwrap_or(name);
    if matches!(path, "" | ".") { Ok(()) } else { visit(ArchiveEntry::Folder(path.to_owned())) }
}

/// The text of a path, without `./` before it.
///
/// # Errors
/// It is not UTF-8.
pub(super) fn decode_path(path: &[u8]) -> Result<String, ArchiveError> {
    let text = std::str::from_utf8(path);
    let text = text.map_err(|_| ArchiveError::PathEncoding(String::from_utf8_lossy(path).into_owned()))?;
    Ok(text.strip_prefix("./").unwrap_or(text).to_owned())
}

/// Ends with an error where a bomb would go on.
struct LimitedReader<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for LimitedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| io::Error::other(ArchiveError::TooLarge))?;
        Ok(count)
    }
}
