//! The files that were read, and spans in them with their lines and columns.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Some editors write it at the start of a file; none counts it as a column.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Text without a byte order mark, which PowerShell and .NET write before it.
pub fn without_byte_order_mark(text: &str) -> &str {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// The same for the bytes of a text.
pub fn bytes_without_byte_order_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes)
}

/// One of the files of a [`SourceMap`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// A range of bytes in one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    pub file: FileId,
    /// The first byte.
    pub start: u32,
    /// The byte after the last; equal to `start` for a point.
    pub end: u32,
}

impl Span {
    /// A range of bytes in `file`. Offsets past 4 GiB are clamped; no file that large is ever read.
    pub fn new(file: FileId, start: usize, end: usize) -> Span {
        let clamp = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        Span { file, start: clamp(start), end: clamp(end.max(start)) }
    }

    /// The start of `file`, for diagnostics of the whole file.
    pub fn start_of(file: FileId) -> Span {
        Span { file, start: 0, end: 0 }
    }
}

/// A line and a column, both counted from 1; the column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

/// One file that was read.
pub struct SourceFile {
    path: PathBuf,
    /// Reads the file again, if its text is not kept.
    read_again: Option<ReadAgain>,
    content: OnceLock<Content>,
    digest: OnceLock<u64>,
}

type ReadAgain = Box<dyn Fn() -> Option<Vec<u8>> + Send + Sync>;

impl fmt::Debug for SourceFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SourceFile").field("path", &self.path).finish_non_exhaustive()
    }
}

/// The text of a file, and where its lines are.
#[derive(Debug)]
struct Content {
    text: Arc<str>,
    lines: Vec<u32>,
    /// How many characters begin before each block of the text.
    chars_before_blocks: Vec<usize>,
}

/// The size of a block in bytes: no column is counted from further away, however long its line is.
const BLOCK_BYTES: usize = 4 << 10;

impl SourceFile {
    fn new(path: PathBuf, text: Arc<str>) -> SourceFile {
        SourceFile { path, read_again: None, content: OnceLock::from(Content::new(text)), digest: OnceLock::new() }
    }

    /// The same file without its text: if anybody asks for it, `read_again` returns the bytes of the file. `None` if it
    /// has no text now.
    pub fn without_text(&self, read_again: impl Fn() -> Option<Vec<u8>> + Send + Sync + 'static) -> Option<SourceFile> {
        self.content.get()?;
        let read_again: Option<ReadAgain> = Some(Box::new(read_again));
        let (path, digest) = (self.path.clone(), OnceLock::from(self.digest()));
        Some(SourceFile { path, read_again, content: OnceLock::new(), digest })
    }

    /// The path, as it is shown to people.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The text. A file that does not keep it has none if it has changed since, as the next load reads it.
    pub fn text(&self) -> &Arc<str> {
        &self.content().text
    }

    fn content(&self) -> &Content {
        self.content.get_or_init(|| Content::new(self.same_text().unwrap_or_default().into()))
    }

    /// The text, if it is still the same.
    fn same_text(&self) -> Option<String> {
        let bytes = self.read_again.as_ref()?()?;
        let text = std::str::from_utf8(bytes_without_byte_order_mark(&bytes)).ok()?;
        (self.digest.get() == Some(&self.digest_of(text))).then(|| text.to_owned())
    }

    /// A digest of its path and its text, of this process: later loads that share the file need not make it again.
    pub fn digest(&self) -> u64 {
        *self.digest.get_or_init(|| self.digest_of(self.text()))
    }

    fn digest_of(&self, text: &str) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.path.as_os_str(), text).hash(&mut hasher);
        hasher.finish()
    }

    /// The line and column of a byte offset, moved back to the start of its character and to the end of the text.
    pub fn position(&self, offset: u32) -> Position {
        let offset = self.floor_char_boundary(offset as usize);
        let line = self.content().lines.partition_point(|&start| start as usize <= offset).max(1);
        let start = self.line_range(line).start;
        let column = match self.text().as_bytes().get(start..offset) {
            Some(before) if before.len() <= BLOCK_BYTES => count_characters(before),
            _ => self.chars_before(offset).saturating_sub(self.chars_before(start)),
        };
        let column = column + 1;
        let fitting = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Position { line: fitting(line), column: fitting(column) }
    }

    fn chars_before(&self, offset: usize) -> usize {
        let block = offset / BLOCK_BYTES;
        let rest = self.text().as_bytes().get(block * BLOCK_BYTES..offset).unwrap_or_default();
        self.content().chars_before_blocks.get(block).copied().unwrap_or_default() + count_characters(rest)
    }

    /// The start of the character at `offset`; the end of the text for an offset past it.
    pub(super) fn floor_char_boundary(&self, offset: usize) -> usize {
        let mut offset = offset.min(self.text().len());
        while !self.text().is_char_boundary(offset) {
            offset -= 1;
        }
        offset
    }

    /// The bytes of a line, counted from 1: without its line break, and without a byte order mark. A line that does
    /// not exist is empty, at the end.
    pub(super) fn line_range(&self, line: usize) -> Range<usize> {
        let Content { text: whole, lines, .. } = self.content();
        let start_of = |index: usize| lines.get(index).map(|&start| start as usize);
        let start = start_of(line.saturating_sub(1)).unwrap_or(whole.len());
        let end = start_of(line).unwrap_or(whole.len());
        let text = whole.get(start..end).unwrap_or_default();
        let broken = text.strip_suffix('\n').map_or(text, |text| text.strip_suffix('\r').unwrap_or(text));
        let mark = if start == 0 && broken.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 };
        start + mark..start + broken.len()
    }
}

impl Content {
    fn new(text: Arc<str>) -> Content {
        let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(breaks).filter_map(|at| u32::try_from(at).ok()).collect();
        let blocks = text.as_bytes().chunks(BLOCK_BYTES).map(count_characters);
        let ends = blocks.scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        });
        let chars_before_blocks = std::iter::once(0).chain(ends).collect();
        Content { text, lines, chars_before_blocks }
    }
}

/// How many characters begin in these bytes of a text.
fn count_characters(bytes: &[u8]) -> usize {
    let is_continuation = |byte: &&u8| **byte & 0xc0 == 0x80;
    bytes.len() - bytes.iter().filter(is_continuation).count()
}

/// Every file that one load has read, in that order.
#[derive(Debug, Default, Clone)]
pub struct SourceMap {
    /// The id of the first file: that of a file that is read apart from the others of its load.
    first: u32,
    /// A later load may share them.
    files: Vec<Arc<SourceFile>>,
}

impl SourceMap {
    /// A map whose first file gets this id.
    pub fn starting_at(first: FileId) -> SourceMap {
        SourceMap { first: first.0, files: Vec::new() }
    }

    /// Adds a text under the path that messages show.
    pub fn add(&mut self, path: impl Into<PathBuf>, text: impl Into<Arc<str>>) -> FileId {
        self.share(Arc::new(SourceFile::new(path.into(), text.into())))
    }

    /// Shows other text for a file, of the same length and with the same lines.
    pub fn replace_text(&mut self, file: FileId, text: impl Into<Arc<str>>) {
        let known = file.0.checked_sub(self.first).and_then(|at| self.files.get_mut(at as usize));
        if let Some(known) = known {
            *known = Arc::new(SourceFile::new(known.path.clone(), text.into()));
        }
    }

    /// Adds a file of another map.
    pub fn share(&mut self, file: Arc<SourceFile>) -> FileId {
        let id = self.next_id();
        self.files.push(file);
        id
    }

    /// The id that the next file gets.
    pub fn next_id(&self) -> FileId {
        FileId(self.first.saturating_add(u32::try_from(self.files.len()).unwrap_or(u32::MAX)))
    }

    /// Adds the files of a map that starts at the id that the next file gets.
    pub(super) fn extend(&mut self, next: SourceMap) {
        debug_assert_eq!(self.next_id().0, next.first, "each file keeps its id");
        self.files.extend(next.files);
    }

    /// Adds the files of another map, and returns by how much their ids grow.
    pub(super) fn append(&mut self, other: SourceMap) -> u32 {
        let offset = u32::try_from(self.files.len()).unwrap_or(u32::MAX);
        self.files.extend(other.files);
        offset
    }

    /// The file of an id. `None` only for an id of another `SourceMap`.
    pub fn get(&self, file: FileId) -> Option<&Arc<SourceFile>> {
        self.files.get(file.0.checked_sub(self.first)? as usize)
    }

    /// The files, in the order of reading.
    pub fn iter(&self) -> impl Iterator<Item = &SourceFile> {
        self.files.iter().map(AsRef::as_ref)
    }

    /// The same with their ids.
    pub fn iter_with_ids(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        (self.first..).map(FileId).zip(self.iter())
    }

    /// The text that a span covers.
    pub fn text_of(&self, span: Span) -> &str {
        self.get(span.file)
            .and_then(|source| source.text().get(span.start as usize..span.end as usize))
            .unwrap_or_default()
    }
}
