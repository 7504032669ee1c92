//! `folio read`.

use std::io::{IsTerminal, stdout};

use base64::Engine as _;
use serde_json::Value;

use super::Request;
use super::args::ReadArgs;
use super::entry_kind::EntryKind;
use super::result_text::{ensure_newline, media_line};
use crate::cli::{Exit, Output};

/// Reads one resource, as a client would.
pub(crate) fn run(arguments: &ReadArgs, output: &Output) -> anyhow::Result<Exit> {
    let ReadArgs { uri, arguments: words, request: options } = arguments;
    Request { kind: EntryKind::Resource, name: uri, words, options, output }.run(print_contents)
}

/// Text is printed as text, bytes as bytes, but on a terminal.
fn print_contents(result: &Value, output: &Output) -> anyhow::Result<Exit> {
    for contents in result.get("contents").and_then(Value::as_array).into_iter().flatten() {
        let text = |key: &str| contents.get(key).and_then(Value::as_str);
        match (text("text"), text("blob")) {
            (Some(text), _) => output.print(&output.sanitize_for_stdout(ensure_newline(text)))?,
            (None, Some(blob)) if stdout().is_terminal() => {
                output.print(&ensure_newline(&media_line(text("mimeType").unwrap_or_default(), blob)))?;
            }
            (None, Some(blob)) => output.print_bytes(&base64::engine::general_purpose::STANDARD.decode(blob)?)?,
            (None, None) => {}
        }
    }
    Ok(Exit::Success)
}
