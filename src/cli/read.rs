//! `folio read`.

use base64::Engine as _;
use serde_json::{Value, json};

use super::request::{Request, ensure_newline};
use super::{Exit, Output, ReadArgs};
use crate::catalog::Catalog;

/// Reads one resource, as a client would.
pub(super) fn run(arguments: &ReadArgs, output: &Output) -> anyhow::Result<Exit> {
    let params = |_: &Catalog| json!({ "uri": arguments.uri });
    Request { method: "resources/read", name: &arguments.uri, options: &arguments.request, output }
        .run(params, print_contents)
}

/// Text is printed as text, bytes as bytes.
fn print_contents(result: &Value, output: &Output) -> anyhow::Result<Exit> {
    for contents in result.get("contents").and_then(Value::as_array).into_iter().flatten() {
        if let Some(text) = contents.get("text").and_then(Value::as_str) {
            output.print(&ensure_newline(text))?;
        } else if let Some(blob) = contents.get("blob").and_then(Value::as_str) {
            output.print_bytes(&base64::engine::general_purpose::STANDARD.decode(blob)?)?;
        }
    }
    Ok(Exit::Success)
}
