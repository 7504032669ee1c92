//! Warns of tool names and counts that exceed the limits of some clients.

use crate::catalog::listing::{Lists, ServerInfo};
use crate::compile::LoadContext;
use crate::diagnostic::Code;
use crate::yaml::Location;

/// What clients make of a tool's name: `mcp__SERVER__TOOL`, which some cut at 64 letters and others at 60.
const MAX_CLIENT_TOOL_NAME_CHARS: usize = 60;
/// From how many tools on some clients choose badly.
const MAX_CLIENT_TOOLS: usize = 40;

/// Warns of names that some client will not take.
pub(in crate::catalog) fn warn_of_long_names(
    server: &ServerInfo,
    lists: &Lists,
    location_of: impl Fn(&str) -> Location,
    load_context: &mut LoadContext,
) {
    for tool in &lists.tools {
        let whole = "mcp__".len() + server.name.len() + "__".len() + tool.name.len();
        let place = location_of(&tool.name);
        if whole > MAX_CLIENT_TOOL_NAME_CHARS {
            let message = format!(
                "`mcp__{}__{}` is {whole} characters long, and some clients truncate names at {MAX_CLIENT_TOOL_NAME_CHARS}",
                server.name, tool.name
            );
            load_context
                .warning(Code::ClientCompatibility, place, message)
                .help("shorten the name of the server or of the tool");
        }
    }
}

/// Warns of more tools than some client will take.
pub(in crate::catalog) fn warn_of_many_tools(lists: &Lists, at: Location, load_context: &mut LoadContext) {
    if lists.tools.len() > MAX_CLIENT_TOOLS {
        let message = format!(
            "{} tools declared: above {MAX_CLIENT_TOOLS}, some clients choose poorly or ignore the rest",
            lists.tools.len()
        );
        load_context
            .warning(Code::ClientCompatibility, at, message)
            .help("split the server, or turn tools into prompts or resources");
    }
}
