//! `folio list`.

use super::args::ListArgs;
use crate::catalog::Catalog;
use crate::catalog::listing::{PromptListing, ToolListing};
use crate::cli::manifest::load_and_build;
use crate::cli::{Exit, Output};
use crate::diagnostic::quote_names;
use crate::load::ManifestLocation;

/// Prints what a client would see.
pub(crate) fn run(arguments: &ListArgs, output: &Output) -> anyhow::Result<Exit> {
    let built = load_and_build(&ManifestLocation::resolve(&arguments.path)?, output);
    // Listing runs nothing, so unset variables do not matter.
    let Some(catalog) = &built.catalog else {
        output.eprint_report(&built.report);
        return Ok(Exit::Failure);
    };
    if arguments.json {
        output.print(&format!("{}\n", serde_json::to_string_pretty(catalog.lists())?))?;
    } else {
        output.print(&output.sanitize_for_stdout(render_table(catalog)))?;
    }
    Ok(Exit::Success)
}

fn render_table(catalog: &Catalog) -> String {
    let lists = catalog.lists();
    let summary = |title: &Option<String>, description: &Option<String>| {
        let text = description.as_deref().or(title.as_deref()).unwrap_or_default();
        text.lines().next().unwrap_or_default().to_owned()
    };
    let prompts =
        lists.prompts.iter().map(|prompt| (prompt_usage(prompt), summary(&prompt.title, &prompt.description)));
    let tools = lists.tools.iter().map(|tool| (tool_usage(tool), summary(&tool.title, &tool.description)));
    let resources = lists.resources.iter();
    let resources = resources.map(|listed| (listed.uri.clone(), summary(&listed.info.title, &listed.info.description)));
    let templates = lists.resource_templates.iter();
    let templates =
        templates.map(|listed| (listed.uri_template.clone(), summary(&listed.info.title, &listed.info.description)));
    let mut text = String::new();
    write_section("prompts", prompts.collect(), &mut text);
    write_section(&tools_title(catalog), tools.collect(), &mut text);
    write_section("resources", resources.collect(), &mut text);
    write_section("resource templates", templates.collect(), &mut text);
    if text.is_empty() { "no entries\n".to_owned() } else { text }
}

/// The title of the tools, which says where clients see others.
fn tools_title(catalog: &Catalog) -> String {
    let visible: Vec<&str> = catalog.visible_tools().iter().map(|tool| tool.name.as_str()).collect();
    match catalog.searches_tools() {
        true => format!("tools, which clients find and call with {}", quote_names(&visible)),
        false => "tools".to_owned(),
    }
}

fn write_section(title: &str, rows: Vec<(String, String)>, text: &mut String) {
    if rows.is_empty() {
        return;
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(&format!("{title}\n"));
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default().min(48);
    for (name, description) in rows {
        text.push_str(format!("  {name:width$}  {description}").trim_end());
        text.push('\n');
    }
}

fn prompt_usage(prompt: &PromptListing) -> String {
    let arguments = prompt.arguments.iter().map(|argument| usage(&argument.name, argument.required));
    std::iter::once(prompt.name.clone()).chain(arguments).collect::<Vec<_>>().join(" ")
}

fn tool_usage(tool: &ToolListing) -> String {
    let required = tool.input_schema.get("required").and_then(|required| required.as_array());
    let is_required = |name: &str| required.is_some_and(|required| required.iter().any(|required| required == name));
    let properties = tool.input_schema.get("properties").and_then(|properties| properties.as_object());
    let arguments = properties.into_iter().flatten().map(|(name, _)| usage(name, is_required(name)));
    std::iter::once(tool.name.clone()).chain(arguments).collect::<Vec<_>>().join(" ")
}

fn usage(name: &str, required: bool) -> String {
    if required { format!("{name}=") } else { format!("[{name}=]") }
}
