//! What to paste into the configuration of a client.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::diagnostic::sanitize;
use crate::world::{find_program, shell_quote};

/// How the common clients start the server of a folder, with absolute paths: many start it elsewhere, with another PATH.
pub(super) fn client_setup(name: &str, dir: &Path) -> String {
    let program = own_path();
    let dir = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
    let [quoted_program, quoted_dir] = [&program, &dir].map(|path| shell_quote(path.as_os_str()));
    let [json_program, json_dir] = [&program, &dir].map(|path| json_string(path));
    let command = format!("\"command\": {json_program}, \"args\": [\"serve\", {json_dir}]");
    format!(
        "Then add it to a client.\n\n\
         Claude Code:\n  claude mcp add {name} -- {quoted_program} serve {quoted_dir}\n\n\
         VS Code, in .vscode/mcp.json:\n  {{ \"servers\": {{ \"{name}\": {{ \"type\": \"stdio\", {command} }} }} }}\n\n\
         Claude Desktop, Cursor, Gemini CLI and most others, in their configuration:\n  \
         {{ \"mcpServers\": {{ \"{name}\": {{ {command} }} }} }}\n"
    )
}

/// The path of this program: that by which `PATH` finds it, as a link often stays where an update moves its file.
fn own_path() -> PathBuf {
    let Ok(own) = std::env::current_exe() else { return PathBuf::from("folio") };
    let search_path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        own.file_name().into_iter().chain([OsStr::new("folio")]).find_map(|name| find_program(name, &search_path));
    let is_own =
        |path: &PathBuf| fs::canonicalize(path).is_ok_and(|path| fs::canonicalize(&own).is_ok_and(|own| own == path));
    found.filter(is_own).unwrap_or(own)
}

/// A path as a string of JSON, with nothing in it that a terminal obeys.
fn json_string(path: &Path) -> String {
    sanitize(&Value::String(path.to_string_lossy().into_owned()).to_string()).into_owned()
}
