//! `folio call`.

use serde_json::{Value, json};

use super::request::{Request, ensure_newline, format_content_block};
use super::{ArgumentPairs, CallArgs, Exit, Output};
use crate::catalog::Catalog;
use crate::diagnostic::sanitize;

/// Calls one tool, as a client would.
pub(super) fn run(arguments: &CallArgs, output: &Output) -> anyhow::Result<Exit> {
    let pairs = ArgumentPairs::parse(&arguments.arguments, &mut std::io::stdin())?;
    let params = |catalog: &Catalog| {
        let schema = catalog.input_schema(&arguments.name).cloned().unwrap_or_default();
        json!({ "name": arguments.name, "arguments": pairs.into_typed(&Value::Object(schema)) })
    };
    Request { method: "tools/call", name: &arguments.name, options: &arguments.request, output }
        .run(params, print_result)
}

pub(super) fn print_result(result: &Value, output: &Output) -> anyhow::Result<Exit> {
    let failed = result.get("isError") == Some(&Value::Bool(true));
    for content in result.get("content").and_then(Value::as_array).into_iter().flatten() {
        let text = ensure_newline(&format_content_block(content));
        if failed {
            output.eprint(&format!("error: {}", sanitize(&text)));
        } else {
            output.print(&text)?;
        }
    }
    Ok(if failed { Exit::Failure } else { Exit::Success })
}
