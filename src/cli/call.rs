//! `folio call`.

use serde_json::{Map, Value, json};

use super::manifest::{ask_and_print, block, catalog, line};
use super::{Call, Exit, Output, Pairs};

/// Calls one tool, as a client would.
pub(super) fn run(arguments: &Call, output: &Output) -> anyhow::Result<Exit> {
    let pairs = Pairs::parse(&arguments.arguments, &mut std::io::stdin())?;
    let catalog = match catalog(&arguments.file, output)? {
        Ok(catalog) => catalog,
        Err(exit) => return Ok(exit),
    };
    let schema = catalog.input_schema(&arguments.name).cloned().unwrap_or_else(Map::new);
    let params = json!({ "name": arguments.name, "arguments": pairs.typed(&Value::Object(schema)) });
    ask_and_print(catalog, ("tools/call", params), (arguments.json, output), show)
}

fn show(result: &Value, output: &Output) -> anyhow::Result<Exit> {
    let failed = result.get("isError") == Some(&Value::Bool(true));
    for content in result.get("content").and_then(Value::as_array).into_iter().flatten() {
        let text = line(&block(content));
        if failed {
            output.say(&format!("error: {text}"));
        } else {
            output.print(&text)?;
        }
    }
    Ok(if failed { Exit::Failed } else { Exit::Success })
}
