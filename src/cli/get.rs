//! `folio get`.

use serde_json::{Value, json};

use super::manifest::{ask_and_print, block, catalog, line};
use super::{Exit, Get, Output, Pairs};

/// Renders one prompt, as a client would get it.
pub(super) fn run(arguments: &Get, output: &Output) -> anyhow::Result<Exit> {
    let pairs = Pairs::parse(&arguments.arguments, &mut std::io::stdin())?;
    let catalog = match catalog(&arguments.file, output)? {
        Ok(catalog) => catalog,
        Err(exit) => return Ok(exit),
    };
    let params = json!({ "name": arguments.name, "arguments": pairs.texts() });
    ask_and_print(catalog, ("prompts/get", params), (arguments.json, output), show)
}

/// One message of the user is printed as it is; several with their roles.
fn show(result: &Value, output: &Output) -> anyhow::Result<Exit> {
    let messages = result.get("messages").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for message in messages {
        let content = line(&block(message.get("content").unwrap_or(&Value::Null)));
        let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
        match messages {
            [_] if role == "user" => output.print(&content)?,
            _ => output.print(&format!("--- {role}\n{content}"))?,
        }
    }
    Ok(Exit::Success)
}
