//! `read` and `stat`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::action::outcome::parse_body;
use crate::action::{ActionContext, ActionError, ActionOutcome, OutcomeBody};
use crate::files::{FileError, FileInfo, WorkFolder, mime_of, rfc3339};
use crate::world::CapturedBytes;

use super::list::insert_size;
use super::path::CallPath;

/// Which part of a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lines {
    All,
    Head(usize),
    Tail(usize),
}

/// How a file is read.
pub(super) struct Reading {
    pub(super) lines: Lines,
    pub(super) as_base64: bool,
    pub(super) wants_json: bool,
}

/// Reads a file to an outcome.
pub(super) fn read(
    folder: &WorkFolder,
    path: &CallPath,
    reading: &Reading,
    context: &ActionContext<'_>,
) -> Result<ActionOutcome, ActionError> {
    let limit = context.run.max_output;
    let file = folder.open_file(&path.relative)?;
    let expected = file.size().unwrap_or_default().min(limit);
    context.scope.budget().charge_memory(usize::try_from(expected).unwrap_or(usize::MAX))?;
    let bytes = match reading.lines {
        Lines::All => file.read(limit)?,
        Lines::Head(count) => first_lines(file.read_head(limit)?, count),
        Lines::Tail(count) => last_lines(file.read_tail(limit)?, count),
    };
    let info = folder.info(&path.relative)?;
    let mime_type = mime_of(&path.relative, &bytes).to_owned();
    let mut value = Map::new();
    value.insert("mimeType".to_owned(), mime_type.clone().into());
    insert_size(&mut value, &info);
    let is_text = !reading.as_base64 && std::str::from_utf8(&bytes).is_ok();
    let body = match String::from_utf8(bytes) {
        Ok(text) if is_text => {
            let text = context.run.world.redact(text);
            let body = text_body(&text, &mime_type, reading.wants_json, limit)?;
            value.insert("text".to_owned(), text.into());
            body
        }
        bytes => {
            let bytes = bytes.map_or_else(std::string::FromUtf8Error::into_bytes, String::into_bytes);
            context.scope.budget().charge_memory(bytes.len().saturating_mul(2))?;
            value.insert("base64".to_owned(), STANDARD.encode(&bytes).into());
            OutcomeBody::Bytes(bytes, mime_type)
        }
    };
    Ok(ActionOutcome::success(Value::Object(value), body))
}

fn text_body(text: &str, mime_type: &str, wants_json: bool, limit: u64) -> Result<OutcomeBody, ActionError> {
    if !wants_json {
        return Ok(OutcomeBody::Text(text.to_owned()));
    }
    let bytes = CapturedBytes::new(text.as_bytes().to_vec(), 0);
    Ok(parse_body(&bytes, Some(mime_type), true, limit)?.1)
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

/// What is known of a file or folder, as an outcome.
pub(super) fn stat(folder: &WorkFolder, path: &CallPath, folders: &[WorkFolder]) -> Result<ActionOutcome, FileError> {
    let info: FileInfo = folder.info(&path.relative)?;
    let mut value = Map::new();
    value.insert("path".to_owned(), path.shown(folders, "").into());
    value.insert("type".to_owned(), info.kind.as_str().into());
    insert_size(&mut value, &info);
    value.insert("created".to_owned(), json!(info.created.map(rfc3339)));
    value.insert("accessed".to_owned(), json!(info.accessed.map(rfc3339)));
    value.insert("mode".to_owned(), format!("{:03o}", info.mode).into());
    let roots: Vec<_> = folders.iter().map(|folder| folder.path().to_string_lossy()).collect();
    value.insert("folders".to_owned(), json!(roots));
    let value = Value::Object(value);
    let text = value.to_string();
    Ok(ActionOutcome::success(value.clone(), OutcomeBody::Json(value, text)))
}
