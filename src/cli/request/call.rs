//! `folio call`.

use serde_json::Value;

use super::Request;
use super::args::CallArgs;
use super::entry_kind::EntryKind;
use super::result_text::{content_text, ensure_newline};
use crate::cli::{Exit, Output};
use crate::diagnostic::sanitize;

/// Calls one tool, as a client would.
pub(crate) fn run(arguments: &CallArgs, output: &Output) -> anyhow::Result<Exit> {
    let CallArgs { name, arguments: words, request: options } = arguments;
    Request { kind: EntryKind::Tool, name, words, options, output }.run(print_result)
}

pub(super) fn print_result(result: &Value, output: &Output) -> anyhow::Result<Exit> {
    let failed = result.get("isError") == Some(&Value::Bool(true));
    for content in result.get("content").and_then(Value::as_array).into_iter().flatten() {
        let text = ensure_newline(&content_text(content));
        if failed {
            output.eprint(&format!("error: {}", sanitize(&text)));
        } else {
            output.print(&output.sanitize_for_stdout(text))?;
        }
    }
    Ok(if failed { Exit::Failure } else { Exit::Success })
}
