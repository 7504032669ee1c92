//! Checks that all readers of a `zip` archive find the same in it: those that begin at its end, and those that begin at its
//! first byte.

use super::read::ArchiveError;

/// How the records of an archive begin.
const LOCAL_FILE_HEADER: &[u8] = b"PK\x03\x04";
const CENTRAL_FILE_HEADER: &[u8] = b"PK\x01\x02";
const END_OF_CENTRAL_DIRECTORY: &[u8] = b"PK\x05\x06";
const ZIP64_END: &[u8] = b"PK\x06\x07";

/// The sizes of records without what has no fixed size.
const LOCAL_FILE_HEADER_BYTES: usize = 30;
const CENTRAL_FILE_HEADER_BYTES: usize = 46;
const END_BYTES: usize = 22;
const ZIP64_END_BYTES: usize = 20;
const MAX_COMMENT_BYTES: usize = 0xffff;

/// The sizes of what may follow the bytes of an entry: its checksum and sizes, with or without a signature.
const DESCRIPTOR_BYTES: [usize; 4] = [12, 16, 20, 24];
/// The flag of an entry with such a descriptor.
const HAS_DESCRIPTOR: u16 = 1 << 3;
/// The flags that say how the bytes of an entry are read: with that descriptor, or encrypted in one of three ways.
const READING_FLAGS: usize = 1 | HAS_DESCRIPTOR as usize | 1 << 6 | 1 << 13;

/// Refuses an archive that has more than its entries, its directory and its end, one behind the other.
pub(super) fn check_layout(bytes: &[u8]) -> Result<(), ArchiveError> {
    let end = EndOfCentralDirectory::find(bytes)?;
    let mut entries = directory_entries(bytes, &end)?;
    entries.sort_by_key(|entry| entry.start);
    let mut at = 0;
    for (nth, entry) in entries.iter().enumerate() {
        if entry.start != at {
            return Err(ambiguous("it has bytes that belong to no entry"));
        }
        let next = entries.get(nth + 1).map_or(end.directory, |next| next.start);
        at = entry.end(bytes, next)?;
    }
    if at == end.directory { Ok(()) } else { Err(ambiguous("it has bytes that belong to no entry")) }
}

fn ambiguous(why: &'static str) -> ArchiveError {
    ArchiveError::Ambiguous(why)
}

/// The last record of an archive.
struct EndOfCentralDirectory {
    at: usize,
    count: usize,
    /// Where the directory begins.
    directory: usize,
}

impl EndOfCentralDirectory {
    fn find(bytes: &[u8]) -> Result<EndOfCentralDirectory, ArchiveError> {
        let tail_start = bytes.len().saturating_sub(END_BYTES + MAX_COMMENT_BYTES);
        let tail = bytes.get(tail_start..).unwrap_or_default();
        let ends: Vec<usize> = tail
            .windows(END_OF_CENTRAL_DIRECTORY.len())
            .enumerate()
            .filter(|(_, signature)| *signature == END_OF_CENTRAL_DIRECTORY)
            .map(|(at, _)| tail_start + at)
            .collect();
        let reaches_the_end =
            |at: &&usize| number(bytes, **at + 20, 2).is_some_and(|length| **at + END_BYTES + length == bytes.len());
        let at = *ends.last().ok_or_else(|| ArchiveError::malformed("it has no end"))?;
        if !reaches_the_end(&&at) {
            return Err(ambiguous("it has bytes behind its end"));
        }
        if ends.iter().filter(reaches_the_end).count() > 1 {
            return Err(ambiguous("it has two ends"));
        }
        let field = |offset, size| number(bytes, at + offset, size).unwrap_or_default();
        let (disks, counts) = ([field(4, 2), field(6, 2)], [field(8, 2), field(10, 2)]);
        let (size, directory) = (field(12, 4), field(16, 4));
        let is_zip64 = at.checked_sub(ZIP64_END_BYTES).is_some_and(|before| starts_with(bytes, before, ZIP64_END));
        if is_zip64 {
            return Err(ambiguous("it has a second directory for large archives (zip64)"));
        }
        if disks != [0, 0] || counts[0] != counts[1] {
            return Err(ambiguous("it is a part of several files"));
        }
        if directory.checked_add(size) != Some(at) {
            return Err(ambiguous("its directory is not where it says"));
        }
        Ok(EndOfCentralDirectory { at, count: counts[0], directory })
    }
}

/// An entry, as the directory has it.
struct CentralFileHeader {
    start: usize,
    size: usize,
    flags: usize,
    /// The method, the checksum and both sizes.
    description: [usize; 4],
}

fn directory_entries(bytes: &[u8], end: &EndOfCentralDirectory) -> Result<Vec<CentralFileHeader>, ArchiveError> {
    let mut at = end.directory;
    let mut entries = Vec::new();
    while at < end.at {
        if !starts_with(bytes, at, CENTRAL_FILE_HEADER) {
            return Err(ambiguous("its directory has more than entries"));
        }
        let field = |offset, size| number(bytes, at + offset, size).unwrap_or_default();
        let description = [field(10, 2), field(16, 4), field(20, 4), field(24, 4)];
        entries.push(CentralFileHeader { start: field(42, 4), size: field(20, 4), flags: field(8, 2), description });
        at += CENTRAL_FILE_HEADER_BYTES + field(28, 2) + field(30, 2) + field(32, 2);
    }
    let is_whole = at == end.at && entries.len() == end.count;
    if is_whole { Ok(entries) } else { Err(ambiguous("its directory has another number of entries than it says")) }
}

impl CentralFileHeader {
    /// Where it ends, if what precedes its bytes is what the directory says.
    fn end(&self, bytes: &[u8], next: usize) -> Result<usize, ArchiveError> {
        let start = self.start;
        if !starts_with(bytes, start, LOCAL_FILE_HEADER) {
            return Err(ambiguous("an entry is not where its directory says"));
        }
        let field = |offset, size| number(bytes, start + offset, size).unwrap_or_default();
        let own = [field(8, 2), field(14, 4), field(18, 4), field(22, 4)];
        if (field(6, 2) ^ self.flags) & READING_FLAGS != 0 {
            return Err(ambiguous("an entry has other flags than in its directory"));
        }
        let has_descriptor = field(6, 2) & usize::from(HAS_DESCRIPTOR) != 0;
        let is_same = own
            .iter()
            .zip(&self.description)
            .enumerate()
            .all(|(nth, (own, listed))| own == listed || (nth > 0 && has_descriptor && *own == 0));
        if !is_same {
            return Err(ambiguous("an entry has another size or checksum than in its directory"));
        }
        let end = start + LOCAL_FILE_HEADER_BYTES + field(26, 2) + field(28, 2) + self.size;
        let gap = next.checked_sub(end).filter(|_| has_descriptor);
        Ok(gap.filter(|gap| DESCRIPTOR_BYTES.contains(gap)).map_or(end, |gap| end + gap))
    }
}

fn starts_with(bytes: &[u8], at: usize, signature: &[u8]) -> bool {
    bytes.get(at..).is_some_and(|rest| rest.starts_with(signature))
}

/// A number of two or four bytes, the lowest first.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<usize> {
    let digits = bytes.get(at..)?.get(..size)?;
    Some(digits.iter().rev().fold(0, |number, digit| number << 8 | usize::from(*digit)))
}
