//! `folio add --list`: what a repository, an archive or a folder has to be added.

use std::fmt::Write as _;

use anyhow::anyhow;

use super::add_source::{SourceFiles, list_files};
use super::args::AddArgs;
use super::project::PackProject;
use crate::cli::Exit;
use crate::diagnostic::{count_noun, one_line};
use crate::manifest::PackFormatName;
use crate::pack_format::{AssignedFiles, FormatMatcher, unserved_files};
use crate::pack_source::{Plugin, PluginSource};

/// How wide the first column is.
const KIND_WIDTH: usize = 16;

/// Prints a line for each plugin and each file of a format.
pub(super) fn list(arguments: &AddArgs, project: &PackProject<'_>) -> anyhow::Result<Exit> {
    let SourceFiles { name, paths, plugins } = list_files(arguments, project)?;
    let matcher = FormatMatcher::new(&[PackFormatName::Auto]).map_err(|error| anyhow!(error.message))?;
    let AssignedFiles { formats, left } = matcher.assign_paths(&name, paths);
    let mut text = String::new();
    let mut line = |kind: &str, what: &str| {
        let _ = writeln!(text, "{kind:KIND_WIDTH$}  {}", one_line(what));
    };
    for plugin in &plugins {
        line("plugin", &plugin_line(plugin));
    }
    for files in &formats {
        files.paths.iter().for_each(|path| line(files.name.as_str(), path));
    }
    let unserved = unserved_files(&name, left, false);
    for files in &unserved {
        files.paths.iter().for_each(|path| line(files.noun, path));
    }
    if text.is_empty() {
        project.output.eprint("nothing that folio reads\n");
        return Ok(Exit::Failure);
    }
    project.output.print(&text)?;
    for files in &unserved {
        let count = count_noun(files.paths.len(), files.noun);
        project.output.eprint(&format!("note: {count} not served: {}\n", files.help));
    }
    let add = format!("folio add {}", one_line(&arguments.source));
    let whole = if plugins.is_empty() { String::new() } else { format!(", all plugins with `{add} --all`") };
    project
        .output
        .eprint(&format!("add a plugin or a skill with `{add} NAME`, a folder with `{add} --path DIR`{whole}\n"));
    Ok(Exit::Success)
}

fn plugin_line(plugin: &Plugin) -> String {
    let Plugin { name, source } = plugin;
    match source {
        PluginSource::Folder(path) => format!("{name}  {path}"),
        PluginSource::Repository { url, .. } => format!("{name}  {url}"),
        PluginSource::Other(kind) => format!("{name}  from {kind}, which folio does not read"),
    }
}
