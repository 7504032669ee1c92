//! `folio explain`.

use super::args::ExplainArgs;
use crate::cli::{Exit, Output};
use crate::diagnostic::Code;

/// Prints the page about a code, or the list of all codes.
pub(crate) fn run(arguments: &ExplainArgs, output: &Output) -> anyhow::Result<Exit> {
    let code = arguments.code.as_deref().and_then(|name| Code::ALL.iter().find(|code| code.as_str() == name));
    match code {
        Some(code) => output.print(code.page())?,
        None => {
            let width = Code::ALL.iter().map(|code| code.as_str().len()).max().unwrap_or_default();
            let line = |code: &Code| format!("{:width$}  {}\n", code.as_str(), code.explanation().trim());
            output.print(&Code::ALL.iter().map(line).collect::<String>())?;
        }
    }
    Ok(Exit::Success)
}
