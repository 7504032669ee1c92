//! Reads `tar`: its old form, ustar, that of GNU and pax.
//!
//! Headers that say something of the next entry are read here and not by the crate, which takes any size for a name.

use std::io::{self, Read};

use tar::{Archive, Entry, EntryType, PaxExtensions};

use super::read::{ArchiveEntry, ArchiveError, ArchiveFile, MAX_ENTRIES, Visitor, decode_path, visit_folder};

/// How large the header of one entry may be.
const MAX_EXTENSION_BYTES: u64 = 64 << 10;
/// Where the folders of a path are in a header of ustar.
const PREFIX_OFFSET: usize = 345;

/// What headers before an entry say of it.
#[derive(Default)]
struct Extension {
    path: Option<Vec<u8>>,
    size: Option<u64>,
    is_sparse: bool,
}

/// Visits the files of a tar archive.
pub(super) fn visit_tar<E: From<ArchiveError>>(reader: impl Read, visit: Visitor<'_, E>) -> Result<(), E> {
    let mut archive = Archive::new(TarReader { inner: reader, has_bytes: false, is_at_end: false });
    visit_entries(&mut archive, visit)?;
    Ok(check_end(archive.into_inner())?)
}

/// Knows whether the end of the bytes was seen, which for the crate is as good as the block of zeros at the end.
struct TarReader<R> {
    inner: R,
    has_bytes: bool,
    is_at_end: bool,
}

impl<R: Read> Read for TarReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.has_bytes |= count > 0;
        self.is_at_end |= count == 0 && !buffer.is_empty();
        Ok(count)
    }
}

/// Reads what is behind the end, where tar has zeros alone: to the end, as the checks of gzip are there.
fn check_end(mut rest: TarReader<impl Read>) -> Result<(), ArchiveError> {
    if rest.has_bytes && rest.is_at_end {
        return Err(ArchiveError::malformed("it is cut off: the block of zeros at its end is missing"));
    }
    let mut buffer = [0; 8192];
    loop {
        match rest.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) if buffer.iter().take(count).all(|byte| *byte == 0) => {}
            Ok(_) => return Err(ArchiveError::malformed("something is behind its end")),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn visit_entries<E: From<ArchiveError>>(archive: &mut Archive<impl Read>, visit: Visitor<'_, E>) -> Result<(), E> {
    let entries = archive.entries().map_err(ArchiveError::from)?.raw(true);
    let mut extension = Extension::default();
    for (nth, entry) in entries.enumerate() {
        let mut entry = entry.map_err(|error| read_error(error, nth))?;
        if nth >= MAX_ENTRIES {
            return Err(ArchiveError::TooManyEntries.into());
        }
        if !extension.extend(&mut entry)? {
            let described = std::mem::take(&mut extension);
            visit_entry(&mut entry, described, visit)?;
        }
    }
    Ok(())
}

/// What is wrong with an archive: a file that does not begin with an entry is not an archive.
fn read_error(error: io::Error, nth: usize) -> ArchiveError {
    // Those of gzip have other kinds.
    let is_of_tar = error.kind() == io::ErrorKind::Other;
    match ArchiveError::from(error) {
        ArchiveError::Malformed(_) if nth == 0 && is_of_tar => ArchiveError::UnknownFormat,
        error => error,
    }
}

impl Extension {
    /// Takes the header of the next entry; `false` where this is an entry itself.
    fn extend(&mut self, entry: &mut Entry<'_, impl Read>) -> Result<bool, ArchiveError> {
        match entry.header().entry_type() {
            EntryType::GNULongName => {
                let mut name = read_extension(entry)?;
                let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
                name.truncate(end);
                set_once(&mut self.path, name, "an entry has two long names")?;
            }
            // The target of a link, which is left out.
            EntryType::GNULongLink => {}
            EntryType::XHeader => {
                let bytes = read_extension(entry)?;
                self.read_pax(&bytes)?;
            }
            EntryType::XGlobalHeader => {
                let bytes = read_extension(entry)?;
                let mut global = Extension::default();
                global.read_pax(&bytes)?;
                if global.path.is_some() || global.size.is_some() || global.is_sparse {
                    return Err(ArchiveError::malformed("one path or size for all entries"));
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn read_pax(&mut self, bytes: &[u8]) -> Result<(), ArchiveError> {
        for pair in PaxExtensions::new(bytes) {
            let pair = pair?;
            match pair.key_bytes() {
                b"path" => {
                    let path = pair.value_bytes().to_vec();
                    set_once(&mut self.path, path, "an entry has two long names")?;
                }
                b"size" => {
                    let size = pair.value().ok().and_then(|size| size.parse().ok());
                    let size = size.ok_or_else(|| ArchiveError::malformed("a size that is no number"))?;
                    set_once(&mut self.size, size, "an entry has two sizes")?;
                }
                key => self.is_sparse |= key.starts_with(b"GNU.sparse."),
            }
        }
        Ok(())
    }
}

/// Sets what one header may say: readers do not agree on which of two counts.
fn set_once<T>(slot: &mut Option<T>, value: T, twice: &'static str) -> Result<(), ArchiveError> {
    if slot.replace(value).is_some() { Err(ArchiveError::Ambiguous(twice)) } else { Ok(()) }
}

fn read_extension(entry: &mut Entry<'_, impl Read>) -> Result<Vec<u8>, ArchiveError> {
    let mut bytes = Vec::new();
    entry.take(MAX_EXTENSION_BYTES + 1).read_to_end(&mut bytes)?;
    let is_whole = bytes.len() as u64 <= MAX_EXTENSION_BYTES;
    if is_whole { Ok(bytes) } else { Err(ArchiveError::malformed("a header of more than 64 KiB")) }
}

fn visit_entry<E: From<ArchiveError>>(
    entry: &mut Entry<'_, impl Read>,
    Extension { path, size, is_sparse }: Extension,
    visit: Visitor<'_, E>,
) -> Result<(), E> {
    let header = entry.header();
    // Some readers take these bytes for folders of a path in other forms than ustar too.
    let has_prefix = header.as_bytes().get(PREFIX_OFFSET).is_some_and(|first| *first != 0);
    if has_prefix && header.as_ustar().is_none() {
        return Err(ArchiveError::Ambiguous("an entry may have two paths").into());
    }
    let path = decode_path(&path.unwrap_or_else(|| header.path_bytes().into_owned()))?;
    let kind = header.entry_type();
    let own_size = header.entry_size().map_err(ArchiveError::from)?;
    // Readers do not agree on which of two sizes counts.
    if size.is_some_and(|size| size != own_size) {
        return Err(ArchiveError::malformed(format!("two sizes of `{path}`")).into());
    }
    if is_sparse || kind.is_gnu_sparse() {
        return Err(ArchiveError::Unsupported { path, what: "a sparse file" }.into());
    }
    match kind {
        // Some readers skip as many bytes, and others take them for the next entry.
        EntryType::Symlink | EntryType::Link | EntryType::Directory if own_size > 0 => {
            Err(ArchiveError::SizeWithoutContent(path).into())
        }
        EntryType::Symlink | EntryType::Link => visit(ArchiveEntry::Link(path)),
        EntryType::Directory => visit_folder(&path, visit),
        // Folders of the oldest archives.
        EntryType::Regular if path.ends_with('/') && own_size == 0 => visit_folder(&path, visit),
        EntryType::Regular | EntryType::Continuous => {
            visit(ArchiveEntry::File(ArchiveFile::new(path, own_size, entry)))
        }
        _ => Err(ArchiveError::SpecialFile(path).into()),
    }
}
