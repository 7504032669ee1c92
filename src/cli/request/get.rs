//! `folio get`.

use serde_json::Value;

use super::args::GetArgs;
use super::entry_kind::EntryKind;
use super::result_text::{content_text, ensure_newline};
use super::{Request, get_watch};
use crate::cli::{Exit, Output};

/// Renders one prompt, as a client would get it.
pub(crate) fn run(arguments: &GetArgs, output: &Output) -> anyhow::Result<Exit> {
    match arguments.watch {
        true => get_watch::run(arguments.clone(), output.clone()),
        false => request(arguments, output).run(print_messages),
    }
}

pub(super) fn request<'a>(arguments: &'a GetArgs, output: &'a Output) -> Request<'a> {
    let GetArgs { name, arguments: words, request: options, .. } = arguments;
    Request { kind: EntryKind::Prompt, name, words, options, output }
}

/// One message of the user is printed as it is; several with their roles.
pub(super) fn print_messages(result: &Value, output: &Output) -> anyhow::Result<Exit> {
    let messages = result.get("messages").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for message in messages {
        let content =
            output.sanitize_for_stdout(ensure_newline(&content_text(message.get("content").unwrap_or(&Value::Null))));
        let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
        match messages {
            [_] if role == "user" => output.print(&content)?,
            _ => output.print(&format!("--- {role}\n{content}"))?,
        }
    }
    Ok(Exit::Success)
}
