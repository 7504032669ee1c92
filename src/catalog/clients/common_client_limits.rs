//! Warns of tool names, counts and sizes that exceed what clients, and the models behind them, take well.

use crate::catalog::listing::tool_search::{MAX_LIST_TOKENS, list_tokens};
use crate::catalog::listing::{ServerInfo, ToolListing};
use crate::compile::LoadContext;
use crate::diagnostic::Code;
use crate::yaml::Location;

/// What clients make of a tool's name: `mcp__SERVER__TOOL`, which some cut at 64 letters and others at 60.
const MAX_CLIENT_TOOL_NAME_CHARS: usize = 60;
/// From how many tools on some clients choose badly.
const MAX_CLIENT_TOOLS: usize = 40;

/// How large one tool may be in `tools/list`, in tokens.
const MAX_TOOL_TOKENS: usize = 5_000;

/// Warns of tools that take much of what a model reads.
pub(in crate::catalog) fn warn_of_large_tools(
    tools: &[ToolListing],
    location_of: impl Fn(&str) -> Location,
    load_context: &mut LoadContext,
) {
    for tool in tools {
        let tokens = list_tokens(std::slice::from_ref(tool));
        if tokens > MAX_TOOL_TOKENS {
            let message = format!(
                "`{}` is about {tokens} tokens of `tools/list`: above {MAX_TOOL_TOKENS}, models choose badly",
                tool.name
            );
            load_context
                .warning(Code::ClientCompatibility, location_of(&tool.name), message)
                .help("shorten its descriptions, or leave out arguments");
        }
    }
}

/// Warns of names that some client will not take.
pub(in crate::catalog) fn warn_of_long_names(
    server: &ServerInfo,
    tools: &[ToolListing],
    location_of: impl Fn(&str) -> Location,
    load_context: &mut LoadContext,
) {
    for tool in tools {
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
pub(in crate::catalog) fn warn_of_many_tools(tools: &[ToolListing], at: Location, load_context: &mut LoadContext) {
    if tools.len() > MAX_CLIENT_TOOLS {
        let message = format!(
            "{} tools declared: above {MAX_CLIENT_TOOLS}, some clients choose poorly or ignore the rest",
            tools.len()
        );
        load_context
            .warning(Code::ClientCompatibility, at, message)
            .help("split the server, or turn tools into prompts or resources");
    }
}

/// Warns of a list that takes much of what a model reads, unless the manifest says that it is to be listed.
pub(in crate::catalog) fn warn_of_large_list(
    server: &ServerInfo,
    tools: &[ToolListing],
    at: Location,
    load_context: &mut LoadContext,
) {
    let tokens = list_tokens(tools);
    if server.tool_search.is_none() && tokens > MAX_LIST_TOKENS {
        let message = format!(
            "`tools/list` is about {tokens} tokens: above {MAX_LIST_TOKENS}, little room is left for anything else"
        );
        load_context
            .warning(Code::ClientCompatibility, at, message)
            .help("`server: { toolSearch: auto }` lists three tools that find and call the others");
    }
}
