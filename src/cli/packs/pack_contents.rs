//! `folio add --list`: what a repository, an archive or a folder has to be added.

use std::fmt::Write as _;

use anyhow::anyhow;

use super::add_source::{is_folder, list_files};
use super::args::AddArgs;
use super::project::PackProject;
use crate::cli::Exit;
use crate::diagnostic::{count_noun, one_line};
use crate::load::MANIFEST_NAMES;
use crate::manifest::PackFormatName;
use crate::pack_format::{AssignedFiles, FormatFiles, FormatMatcher, UnservedFiles, unserved_files};
use crate::pack_source::{Plugin, PluginSource};

/// How wide the first column is.
const KIND_WIDTH: usize = 16;

/// What folio finds in the files of a source.
pub(super) struct PackContents {
    formats: Vec<FormatFiles>,
    unserved: Vec<UnservedFiles>,
    /// Markdown at the top of plugins that have nothing else: some marketplaces have their agents there.
    plugin_agents: Vec<String>,
    has_manifest: bool,
}

impl PackContents {
    /// Looks through the paths of a source with this name, and with these folders of plugins.
    ///
    /// # Errors
    /// A glob is invalid.
    pub(super) fn new(name: &str, paths: Vec<String>, plugin_folders: &[String]) -> anyhow::Result<PackContents> {
        let matcher = FormatMatcher::new(&[PackFormatName::Auto]).map_err(|error| anyhow!(error.message))?;
        let has_manifest = paths.iter().any(|path| MANIFEST_NAMES.contains(&path.as_str()));
        let AssignedFiles { formats, left } = matcher.assign_paths(name, paths);
        let unserved = unserved_files(name, left.clone(), false);
        let is_agent = |path: &&String| {
            let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
            let stem = file.strip_suffix(".md").filter(|stem| stem.contains(|letter: char| letter.is_lowercase()));
            stem.is_some() && plugin_folders.iter().any(|plugin| plugin == folder)
        };
        let agents: Vec<String> = left.iter().filter(is_agent).cloned().collect();
        let known = formats.iter().flat_map(|files| &files.paths).chain(unserved.iter().flat_map(|files| &files.paths));
        let known: Vec<&String> = known.collect();
        let is_alone = |agent: &String| {
            let inside = agent.rsplit_once('/').map(|(folder, _)| format!("{folder}/")).unwrap_or_default();
            !known.iter().any(|path| path.starts_with(&inside))
        };
        let plugin_agents = agents.into_iter().filter(is_alone).collect();
        Ok(PackContents { formats, unserved, plugin_agents, has_manifest })
    }

    /// Whether `format: agents` is all that serves anything of it.
    pub(super) fn has_only_agents(&self) -> bool {
        let has_agents = self.unserved.iter().any(|files| files.noun == "agent") || !self.plugin_agents.is_empty();
        has_agents && !self.has_manifest && self.formats.iter().all(|files| files.paths.is_empty())
    }
}

/// Prints a line for each plugin and each file of a format.
pub(super) fn list(arguments: &AddArgs, project: &PackProject<'_>) -> anyhow::Result<Exit> {
    let source = list_files(arguments, project)?;
    let contents = source.contents()?;
    let mut text = String::new();
    let mut line = |kind: &str, what: &str| {
        let _ = writeln!(text, "{kind:KIND_WIDTH$}  {}", one_line(what));
    };
    for plugin in &source.plugins {
        line("plugin", &plugin_line(plugin));
    }
    for files in &contents.formats {
        files.paths.iter().for_each(|path| line(files.name.as_str(), path));
    }
    for files in &contents.unserved {
        files.paths.iter().for_each(|path| line(files.noun, path));
    }
    contents.plugin_agents.iter().for_each(|path| line("agent", path));
    if text.is_empty() {
        let help = "`--format` names the format of other files: `agents` reads Markdown with a `name` and a `description`, `claude-commands` any";
        project.output.eprint(&format!("nothing that folio reads\nhelp: {help}\n"));
        return Ok(Exit::Failure);
    }
    project.output.print(&text)?;
    for files in &contents.unserved {
        let count = count_noun(files.paths.len(), files.noun);
        project.output.eprint(&format!("note: {count} not served: {}\n", files.help));
    }
    if !contents.plugin_agents.is_empty() {
        let count = count_noun(contents.plugin_agents.len(), "agent");
        project
            .output
            .eprint(&format!("note: {count} in plugins without anything else: `format: agents` serves them\n"));
    }
    project.output.eprint(&add_hint(arguments, &source.plugins));
    Ok(Exit::Success)
}

/// How to add what is listed. A folder has no names.
fn add_hint(arguments: &AddArgs, plugins: &[Plugin]) -> String {
    let add = format!("folio add {}", one_line(&arguments.source));
    let whole = if plugins.is_empty() { String::new() } else { format!(", all plugins with `{add} --all`") };
    match is_folder(&arguments.source) {
        true => format!("add one of its folders with `{add} --path DIR`{whole}\n"),
        false => format!("add a plugin or a skill with `{add} NAME`, a folder with `{add} --path DIR`{whole}\n"),
    }
}

fn plugin_line(plugin: &Plugin) -> String {
    let Plugin { name, source, .. } = plugin;
    match source {
        PluginSource::Folder(path) => format!("{name}  {path}"),
        PluginSource::Repository { url, .. } => format!("{name}  {url}"),
        PluginSource::Other(kind) => format!("{name}  from {kind}, which folio does not read"),
    }
}
