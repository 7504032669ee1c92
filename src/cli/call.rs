//! `folio call`.

use serde_json::{Map, Value, json};

use super::request::{ensure_newline, format_content_block, load_catalog, request_and_print};
use super::{ArgumentPairs, CallArgs, Exit, Output};

/// Calls one tool, as a client would.
pub(super) fn run(arguments: &CallArgs, output: &Output) -> anyhow::Result<Exit> {
    let pairs = ArgumentPairs::parse(&arguments.arguments, &mut std::io::stdin())?;
    let catalog = match load_catalog(&arguments.file, output)? {
        Ok(catalog) => catalog,
        Err(exit) => return Ok(exit),
    };
    let schema = catalog.input_schema(&arguments.name).cloned().unwrap_or_else(Map::new);
    let params = json!({ "name": arguments.name, "arguments": pairs.into_typed(&Value::Object(schema)) });
    request_and_print(catalog, ("tools/call", params), (arguments.json, output), print_result)
}

fn print_result(result: &Value, output: &Output) -> anyhow::Result<Exit> {
    let failed = result.get("isError") == Some(&Value::Bool(true));
    for content in result.get("content").and_then(Value::as_array).into_iter().flatten() {
        let text = ensure_newline(&format_content_block(content));
        if failed {
            output.eprint(&format!("error: {text}"));
        } else {
            output.print(&text)?;
        }
    }
    Ok(if failed { Exit::Failure } else { Exit::Success })
}
