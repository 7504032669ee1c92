//! `folio get`.

use serde_json::{Value, json};

use super::request::{Request, ensure_newline, format_content_block};
use super::{ArgumentPairs, Exit, GetArgs, Output};
use crate::catalog::Catalog;

/// Renders one prompt, as a client would get it.
pub(super) fn run(arguments: &GetArgs, output: &Output) -> anyhow::Result<Exit> {
    let pairs = ArgumentPairs::parse(&arguments.arguments, &mut std::io::stdin())?;
    let params = |_: &Catalog| json!({ "name": arguments.name, "arguments": pairs.into_strings() });
    Request { method: "prompts/get", name: &arguments.name, options: &arguments.request, output }
        .run(params, print_messages)
}

/// One message of the user is printed as it is; several with their roles.
fn print_messages(result: &Value, output: &Output) -> anyhow::Result<Exit> {
    let messages = result.get("messages").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for message in messages {
        let content = ensure_newline(&format_content_block(message.get("content").unwrap_or(&Value::Null)));
        let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
        match messages {
            [_] if role == "user" => output.print(&content)?,
            _ => output.print(&format!("--- {role}\n{content}"))?,
        }
    }
    Ok(Exit::Success)
}
