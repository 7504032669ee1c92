//! Calls of the tools that find and call others (`server.toolSearch`).

use rmcp::model::{CallToolRequestParams, ErrorData, JsonObject};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::catalog::{Catalog, SearchTool, find_tools, listing::ToolListing, result::call_result::ToolResult};

use super::bridge::parse_arguments;
use crate::diagnostic::count_noun;
use crate::identity::AccessControl;

/// The arguments of `search-tools`.
#[derive(Deserialize)]
struct SearchArguments {
    query: String,
    limit: usize,
}

/// The arguments of `call-read-only-tool` and `call-tool`.
#[derive(Deserialize)]
struct CallArguments {
    name: String,
    arguments: Option<JsonObject>,
}

/// Rewrites a call of `call-tool` as one of the tool that it names. Returns the answer where there is nothing to call: what
/// a search found, or why not, for the model to read.
pub(crate) fn resolve(
    request: &mut CallToolRequestParams,
    catalog: &Catalog,
    access: &AccessControl,
) -> Option<ToolResult> {
    let resolved = match catalog.search_tool(&request.name)? {
        SearchTool::Search => search(request.arguments.take(), catalog, access).map(Some),
        through => direct_call(through, request, catalog, access).map(|()| None),
    };
    resolved.unwrap_or_else(|error| Some(ToolResult::failure(error.message)))
}

fn search(arguments: Option<JsonObject>, catalog: &Catalog, access: &AccessControl) -> Result<ToolResult, ErrorData> {
    let SearchArguments { query, limit } = parse_arguments(SearchTool::Search.input_schema(), arguments)?;
    let tools = &catalog.lists().tools;
    let sees = |tool: &ToolListing| catalog.sees_tool(&tool.name, access);
    let found = find_tools(&query, tools).into_iter().filter(|tool| sees(tool));
    let found: Vec<Value> = found.take(limit).map(found_tool).collect();
    let answer = match found.is_empty() {
        true => {
            let count = count_noun(tools.iter().filter(|tool| sees(tool)).count(), "tool");
            json!({ "tools": found, "note": format!("none of {count} matches: try other words") })
        }
        false => json!({ "tools": found }),
    };
    Ok(ToolResult::text(answer.to_string()))
}

/// A tool without what only programs read.
fn found_tool(tool: &ToolListing) -> Value {
    let mut found = json!({ "name": tool.name, "title": tool.title, "description": tool.description,
        "annotations": tool.annotations, "inputSchema": tool.input_schema });
    if let Value::Object(keys) = &mut found {
        keys.retain(|_, value| !value.is_null());
    }
    found
}

/// Rewrites it as a call of the tool that it names.
fn direct_call(
    through: SearchTool,
    request: &mut CallToolRequestParams,
    catalog: &Catalog,
    access: &AccessControl,
) -> Result<(), ErrorData> {
    let CallArguments { name, arguments } = parse_arguments(through.input_schema(), request.arguments.take())?;
    let refused = |message: String| Err(ErrorData::invalid_params(message, None));
    let mut tools = catalog.lists().tools.iter();
    let Some(tool) = tools.find(|tool| tool.name == name && catalog.sees_tool(&name, access)) else {
        return refused(catalog.unknown_tool(&name).message);
    };
    let only_reads = tool.annotations.as_ref().and_then(|annotations| annotations.read_only_hint) == Some(true);
    if through == SearchTool::CallReadOnly && !only_reads {
        return refused(format!("`{name}` may change something: call it with `{}`", SearchTool::Call.name()));
    }
    request.name = name.into();
    request.arguments = arguments;
    Ok(())
}
