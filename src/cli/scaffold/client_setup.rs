//! What to paste into the configuration of a client.

use std::fs;
use std::path::Path;

use crate::cli::process::folio_path;
use crate::client_config::{Client, Launch, ServerEntry};
use crate::diagnostic::sanitize;
use crate::load::folder_argument;
use crate::world::shell_quote;

/// How the common clients start the server of a folder, with absolute paths: many start it elsewhere, with another PATH.
pub(super) fn client_setup(name: &str, dir: &Path) -> String {
    let program = folio_path();
    let folder = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
    let [quoted_program, quoted_dir] = [&program, &folder].map(|path| shell_quote(path.as_os_str()));
    let launch = Launch::Program {
        program: program.to_string_lossy().into_owned(),
        manifest: folder.to_string_lossy().into_owned(),
    };
    let argument = folder_argument(dir);
    let file = if argument.is_empty() { argument } else { format!(" -f{argument}") };
    // Its command line must not read the name as an option.
    let fit = Client::named("claude-code").map(|client| client.sanitize_name(name));
    let name = fit.as_deref().unwrap_or(name);
    let entry = ServerEntry::new(name, launch);
    // On one line, with nothing in it that a terminal obeys.
    let [vscode, others] = ["vscode", "claude-desktop"].map(|client| {
        let line = Client::named(client).and_then(|client| entry.to_inline_config(client)).unwrap_or_default();
        sanitize(&line).into_owned()
    });
    format!(
        "Then add it to a client:\n  folio install claude-code{file}\n\n\
         or cursor, vscode and others (`folio install --help`), or by hand:\n\n\
         Claude Code:\n  claude mcp add {name} -- {quoted_program} serve {quoted_dir}\n\n\
         VS Code, in .vscode/mcp.json:\n  {vscode}\n\n\
         Claude Desktop, Cursor, Gemini CLI and most others, in their configuration:\n  {others}\n"
    )
}
