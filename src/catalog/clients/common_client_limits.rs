//! Warns of tool names, counts and sizes that exceed what clients, and the models behind them, take well.

use crate::catalog::listing::{Lists, ServerInfo, ToolListing};
use crate::compile::LoadContext;
use crate::diagnostic::Code;
use crate::yaml::Location;

/// What clients make of a tool's name: `mcp__SERVER__TOOL`, which some cut at 64 letters and others at 60.
const MAX_CLIENT_TOOL_NAME_CHARS: usize = 60;
/// From how many tools on some clients choose badly.
const MAX_CLIENT_TOOLS: usize = 40;

/// How large one tool may be in `tools/list`, in tokens.
const MAX_TOOL_TOKENS: usize = 5_000;
/// How large `tools/list` may be, in tokens.
pub const MAX_LIST_TOKENS: usize = 25_000;

/// About how many tokens JSON of a size is for a model.
pub fn token_count(bytes: usize) -> usize {
    bytes / 4
}

/// Warns of tools, and of a list of them, that take much of what a model reads.
pub(in crate::catalog) fn warn_of_large_tools(
    lists: &Lists,
    at: Location,
    location_of: impl Fn(&str) -> Location,
    load_context: &mut LoadContext,
) {
    let size = |tool: &ToolListing| serde_json::to_string(tool).map_or(0, |text| token_count(text.len()));
    let mut whole = 0;
    for tool in &lists.tools {
        let tokens = size(tool);
        whole += tokens;
        if tokens > MAX_TOOL_TOKENS {
            let message = format!(
                "`{}` is about {tokens} tokens of `tools/list`: above {MAX_TOOL_TOKENS}, models choose badly",
                tool.name
            );
            load_context
                .report
                .warning(Code::ClientCompatibility, location_of(&tool.name).span(), message)
                .help("shorten its descriptions, or leave out arguments");
        }
    }
    if whole > MAX_LIST_TOKENS {
        let message = format!(
            "`tools/list` is about {whole} tokens: above {MAX_LIST_TOKENS}, little room is left for anything else"
        );
        load_context
            .report
            .warning(Code::ClientCompatibility, at.span(), message)
            .help("split the server, or leave out tools");
    }
}

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
