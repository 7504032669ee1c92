//! `folio explain`.

use super::{Exit, ExplainArgs, Output};
use crate::diagnostic::Code;

/// Prints the page about a code, or the list of all codes.
pub(super) fn run(arguments: &ExplainArgs, output: &Output) -> anyhow::Result<Exit> {
    let code = arguments.code.as_deref().and_then(|name| Code::ALL.iter().find(|code| code.as_str() == name));
    match code {
        Some(code) => output.print(code.page())?,
        None => output.print(&list())?,
    }
    Ok(Exit::Success)
}

fn list() -> String {
    let width = Code::ALL.iter().map(|code| code.as_str().len()).max().unwrap_or_default();
    Code::ALL.iter().map(|code| format!("{:width$}  {}\n", code.as_str(), code.explanation().trim())).collect()
}
