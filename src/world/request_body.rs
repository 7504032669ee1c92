//! The body of a request: bytes, or parts, whose files are read while they are sent.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::path::PathBuf;

use futures_util::stream;
use ring::rand::{SecureRandom, SystemRandom};
use tokio::task::spawn_blocking;

use super::error::WorldError;
use crate::files::{FileError, Folder};

/// How much of a file is read at once.
const CHUNK_BYTES: u64 = 64 << 10;
/// From how many bytes on a body takes time to send.
const LARGE_BYTES: usize = 1 << 20;

/// The body of a request. Its files are opened anew each time it is sent.
#[derive(Clone)]
pub enum RequestBody {
    Bytes(Vec<u8>),
    File {
        /// The folder, which the path does not escape.
        folder: Folder,
        /// The path in it.
        path: PathBuf,
    },
    /// The parts of `multipart/form-data` (RFC 7578).
    Multipart(Vec<BodyPart>),
}

/// A part of a multipart body.
#[derive(Clone)]
pub struct BodyPart {
    /// The name of its field.
    pub name: String,
    /// The name of its file, if it is one.
    pub filename: Option<String>,
    pub mime_type: Option<String>,
    pub content: PartContent,
}

/// The content of a part.
#[derive(Clone)]
pub enum PartContent {
    Bytes(Vec<u8>),
    File {
        /// The folder, which the path does not escape.
        folder: Folder,
        /// The path in it.
        path: PathBuf,
    },
}

/// A body that is ready to be sent.
pub(super) struct OpenBody {
    pub(super) body: reqwest::Body,
    /// The length of a body that is streamed.
    pub(super) length: Option<u64>,
    /// The `Content-Type` of a body in parts.
    pub(super) content_type: Option<String>,
}

impl From<PartContent> for RequestBody {
    fn from(content: PartContent) -> RequestBody {
        match content {
            PartContent::Bytes(bytes) => RequestBody::Bytes(bytes),
            PartContent::File { folder, path } => RequestBody::File { folder, path },
        }
    }
}

impl RequestBody {
    /// Whether it takes time to send it.
    pub(super) fn is_large(&self) -> bool {
        match self {
            RequestBody::Bytes(bytes) => bytes.len() > LARGE_BYTES,
            RequestBody::File { .. } | RequestBody::Multipart(_) => true,
        }
    }

    /// Opens its files.
    pub(super) async fn open(&self) -> Result<OpenBody, WorldError> {
        let boundary = random_boundary();
        let (opened, content_type) = match self.clone() {
            RequestBody::Bytes(bytes) => {
                let length = Some(bytes.len() as u64);
                return Ok(OpenBody { body: bytes.into(), length, content_type: None });
            }
            RequestBody::File { folder, path } => {
                let file = PartContent::File { folder, path };
                (spawn_blocking(move || Ok(VecDeque::from([file.open()?]))).await, None)
            }
            RequestBody::Multipart(parts) => {
                let content_type = format!("multipart/form-data; boundary={boundary}");
                (spawn_blocking(move || open_parts(&parts, &boundary)).await, Some(content_type))
            }
        };
        let segments = opened.map_err(|_| WorldError::Cancelled)?.map_err(FileReadError::from)?;
        let length = Some(segments.iter().map(Segment::len).sum());
        Ok(OpenBody { body: reqwest::Body::wrap_stream(into_stream(segments)), length, content_type })
    }
}

/// What no part contains.
fn random_boundary() -> String {
    let mut bytes = [0; 16];
    let _ = SystemRandom::new().fill(&mut bytes);
    format!("folio-{:032x}", u128::from_be_bytes(bytes))
}

/// A piece of a body.
enum Segment {
    Bytes(Vec<u8>),
    File { path: PathBuf, reader: Box<dyn Read + Send>, remaining: u64 },
}

impl Segment {
    fn len(&self) -> u64 {
        match self {
            Segment::Bytes(bytes) => bytes.len() as u64,
            Segment::File { remaining, .. } => *remaining,
        }
    }
}

fn open_parts(parts: &[BodyPart], boundary: &str) -> Result<VecDeque<Segment>, FileError> {
    let mut segments = VecDeque::with_capacity(2 * parts.len() + 1);
    let mut separator = format!("--{boundary}\r\n");
    for part in parts {
        segments.push_back(Segment::Bytes(format!("{separator}{}", part.head()).into_bytes()));
        segments.push_back(part.content.open()?);
        separator = format!("\r\n--{boundary}\r\n");
    }
    let end = if parts.is_empty() { format!("--{boundary}--\r\n") } else { format!("\r\n--{boundary}--\r\n") };
    segments.push_back(Segment::Bytes(end.into_bytes()));
    Ok(segments)
}

impl BodyPart {
    /// Its headers, and the empty line after them.
    fn head(&self) -> String {
        let mut head = format!("Content-Disposition: form-data; name=\"{}\"", escape_quoted(&self.name));
        if let Some(filename) = &self.filename {
            head.push_str(&format!("; filename=\"{}\"", escape_quoted(filename)));
        }
        if let Some(mime_type) = &self.mime_type {
            let one_line: String = mime_type.chars().filter(|character| !character.is_control()).collect();
            head.push_str(&format!("\r\nContent-Type: {one_line}"));
        }
        head.push_str("\r\n\r\n");
        head
    }
}

/// Escapes a quoted name as browsers do. Control characters, which would end the header, are escaped too.
fn escape_quoted(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for character in name.chars() {
        match character {
            '"' | '\0'..='\x1f' | '\x7f' => escaped.push_str(&format!("%{:02X}", u32::from(character))),
            _ => escaped.push(character),
        }
    }
    escaped
}

impl PartContent {
    fn open(&self) -> Result<Segment, FileError> {
        match self {
            PartContent::Bytes(bytes) => Ok(Segment::Bytes(bytes.clone())),
            PartContent::File { folder, path } => {
                let file = folder.open_file(path)?;
                let remaining = file.size().unwrap_or(0);
                Ok(Segment::File { path: path.clone(), reader: file.into_reader(), remaining })
            }
        }
    }
}

/// A file of a body could not be read.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{reason}")]
pub(super) struct FileReadError {
    reason: String,
}

impl From<FileError> for FileReadError {
    fn from(error: FileError) -> FileReadError {
        FileReadError { reason: error.to_string() }
    }
}

impl From<FileReadError> for WorldError {
    fn from(error: FileReadError) -> WorldError {
        WorldError::UnreadableFile { reason: error.reason }
    }
}

fn into_stream(
    segments: VecDeque<Segment>,
) -> impl futures_util::Stream<Item = Result<Vec<u8>, FileReadError>> + Send + 'static {
    stream::try_unfold(segments, |mut segments| async move {
        loop {
            match segments.pop_front() {
                None => return Ok(None),
                Some(Segment::Bytes(bytes)) if bytes.is_empty() => {}
                Some(Segment::Bytes(bytes)) => return Ok(Some((bytes, segments))),
                Some(Segment::File { remaining: 0, .. }) => {}
                Some(file) => {
                    let read = spawn_blocking(move || read_chunk(file)).await;
                    let stopped = |_| FileReadError { reason: "the server is stopping".to_owned() };
                    let (bytes, rest) = read.map_err(stopped)??;
                    segments.push_front(rest);
                    return Ok(Some((bytes, segments)));
                }
            }
        }
    })
}

/// Reads the next bytes of a file; never more than its length when it was opened, which was announced.
fn read_chunk(segment: Segment) -> Result<(Vec<u8>, Segment), FileReadError> {
    let Segment::File { path, mut reader, remaining } = segment else { return Ok((Vec::new(), segment)) };
    let mut bytes = Vec::new();
    let read = reader.by_ref().take(remaining.min(CHUNK_BYTES)).read_to_end(&mut bytes);
    let failed = |what: io::ErrorKind| FileReadError { reason: format!("cannot read `{}`: {what}", path.display()) };
    read.map_err(|error| failed(error.kind()))?;
    if bytes.is_empty() {
        return Err(FileReadError { reason: format!("file `{}` became shorter while it was sent", path.display()) });
    }
    let remaining = remaining - bytes.len() as u64;
    Ok((bytes, Segment::File { path, reader, remaining }))
}

#[cfg(test)]
mod tests {
    use super::escape_quoted;

    #[test]
    fn quoted_names_stay_on_their_line() {
        assert_eq!(escape_quoted("a\"\r\nX-Evil: 1\u{7f}ä%"), "a%22%0D%0AX-Evil: 1%7Fä%");
    }
}
