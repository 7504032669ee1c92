//! `read` and `stat`.

use serde_json::{Map, json};

use crate::action::{ActionError, StepContext};
use crate::files::{FileError, FileInfo, OpenFile, WritableFolder, mime_of, rfc3339};
use crate::redact::{InputEnd, Redactor};

use super::list::insert_size;
use super::operation_result::{OperationResult, ResultBody};
use super::path::ResolvedPath;

/// Which part of a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lines {
    All,
    Head(usize),
    Tail(usize),
}

impl Lines {
    /// These lines of what was read.
    pub(super) fn apply(self, bytes: Vec<u8>) -> Vec<u8> {
        match self {
            Lines::All => bytes,
            Lines::Head(count) => first_lines(bytes, count),
            Lines::Tail(count) => last_lines(bytes, count),
        }
    }
}

/// How a file is read.
pub(super) struct ReadOptions {
    pub(super) lines: Lines,
    pub(super) as_base64: bool,
}

impl ReadOptions {
    /// Hides secrets, and drops what was only read to know one at the limit.
    pub(super) fn redact(&self, redactor: &Redactor, bytes: &mut Vec<u8>, limit: usize) {
        match self.lines {
            Lines::Tail(_) => redactor.redact_and_keep_end(bytes, limit, InputEnd::Complete),
            Lines::All | Lines::Head(_) => _ = redactor.redact_and_truncate(bytes, limit, InputEnd::Complete),
        }
    }
}

/// A file that is open to be read.
pub(super) struct ReadableFile<'a> {
    file: OpenFile,
    path: &'a ResolvedPath,
    options: ReadOptions,
}

impl ReadableFile<'_> {
    pub(super) fn open<'a>(
        folder: &WritableFolder,
        path: &'a ResolvedPath,
        options: ReadOptions,
    ) -> Result<ReadableFile<'a>, FileError> {
        Ok(ReadableFile { file: folder.open_file(&path.relative)?, path, options })
    }

    /// How many bytes it has; as many as possible if that is not known before it is read.
    pub(super) fn size(&self) -> usize {
        self.file.size().map_or(usize::MAX, |size| usize::try_from(size).unwrap_or(usize::MAX))
    }

    pub(super) fn read(
        self,
        folders: &[WritableFolder],
        context: &StepContext<'_>,
    ) -> Result<OperationResult, ActionError> {
        let ReadableFile { file, path, options } = self;
        let limit = context.max_output;
        let lookahead = context.call.world.redactor().map_or(0, Redactor::lookahead) as u64;
        let expected = file.size().unwrap_or_default().min(limit);
        context.scope.budget().hold(usize::try_from(expected).unwrap_or(usize::MAX))?;
        let info = file.info();
        let bytes = match options.lines {
            Lines::All => file.read(limit)?,
            Lines::Head(_) => file.read_head(limit.saturating_add(lookahead))?,
            Lines::Tail(_) => file.read_tail(limit.saturating_add(lookahead))?,
        };
        let mime_type = mime_of(&path.relative, &bytes).to_owned();
        let mut fields = Map::new();
        fields.insert("path".to_owned(), path.display_path(folders, "").into());
        fields.insert("mimeType".to_owned(), mime_type.clone().into());
        info.iter().for_each(|info| insert_size(&mut fields, info));
        Ok(OperationResult { fields, body: ResultBody::Contents { bytes, mime_type, options }, note: None })
    }
}

/// The first lines of what was read, whole.
fn first_lines(mut bytes: Vec<u8>, count: usize) -> Vec<u8> {
    let mut ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    let end = if count == 0 { Some(0) } else { ends.nth(count - 1) };
    bytes.truncate(end.unwrap_or(bytes.len()));
    bytes
}

/// The last lines of what was read, whole.
fn last_lines(bytes: Vec<u8>, count: usize) -> Vec<u8> {
    let body = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    let mut ends = body.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    let start = if count == 0 { Some(bytes.len()) } else { ends.nth(count - 1) };
    bytes.get(start.unwrap_or(0)..).unwrap_or_default().to_vec()
}

/// What is known of a file or folder.
pub(super) fn stat(
    folder: &WritableFolder,
    path: &ResolvedPath,
    folders: &[WritableFolder],
) -> Result<OperationResult, FileError> {
    let info: FileInfo = folder.info(&path.relative)?;
    let mut fields = Map::new();
    fields.insert("path".to_owned(), path.display_path(folders, "").into());
    fields.insert("type".to_owned(), info.kind.as_str().into());
    insert_size(&mut fields, &info);
    fields.insert("created".to_owned(), json!(info.created.map(rfc3339)));
    fields.insert("accessed".to_owned(), json!(info.accessed.map(rfc3339)));
    fields.insert("mode".to_owned(), format!("{:03o}", info.mode).into());
    let roots: Vec<_> = folders.iter().map(|folder| folder.path().to_string_lossy()).collect();
    fields.insert("folders".to_owned(), json!(roots));
    Ok(OperationResult { fields, body: ResultBody::Fields, note: None })
}
