//! What `folio install` says of an entry: what is written where, what it lacks, and what the client does not show.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::Installation;
use super::client_file::{BackupContent, ClientFile, PlannedInstall};
use crate::catalog::{BridgedLists, KnownClient};
use crate::client_config::{Client, Launch, ProjectPaths, ServerEntry, UnsupportedFeatures, VariableSyntax};
use crate::diagnostic::one_line;
use crate::world::find_program;

/// What is written.
pub(super) fn change_line(file: &ClientFile, server: &ServerEntry, change: &PlannedInstall) -> String {
    let verb = if change.is_update { "updated" } else { "added" };
    format!("{}: {verb} `{}` in {}", file.client.title, server.name, file.file.display_path())
}

/// Where the backup is, and what it lacks.
pub(super) fn backup_note(file: &ClientFile, backup: &BackupContent) -> String {
    let mut text = format!("backup: {}", file.file.display_backup_path());
    if !backup.left_out.is_empty() {
        let names: Vec<String> = backup.left_out.iter().map(|name| format!("`{}`", one_line(name))).collect();
        text += &format!(", without {}: no entry of folio is in it", names.join(", "));
    }
    if file.is_of_project() {
        text += "; it is not for your repository";
    }
    text
}

/// Who can read the values of variables.
pub(super) fn value_notes(file: &ClientFile, server: &ServerEntry) -> Vec<String> {
    if server.values.is_empty() {
        return Vec::new();
    }
    let path = file.file.display_path();
    let is_readable_by_others = |metadata: fs::Metadata| metadata.permissions().mode() & 0o077 != 0;
    let is_open = file.file.text.is_some() && fs::metadata(&file.file.path).is_ok_and(is_readable_by_others);
    let open = is_open.then(|| format!("other users can read the values in it: `chmod 600 {path}`"));
    let shared = file.is_of_project().then(|| "the values in it are not for your repository".to_owned());
    open.into_iter().chain(shared).collect()
}

impl Installation<'_> {
    /// What is to be known of an entry.
    pub(super) fn notes(&self, file: &ClientFile, server: &ServerEntry, change: &PlannedInstall) -> Vec<String> {
        let mut notes = self.variable_notes(file, change);
        notes.extend(project_note(file, server));
        notes.extend(expansion_notes(file.client, server));
        notes.extend(self.visibility_notes(file.client));
        notes
    }

    /// The declared variables that have no value, and how to give them one.
    fn variable_notes(&self, file: &ClientFile, change: &PlannedInstall) -> Vec<String> {
        if matches!(self.launch, Launch::Url(_)) {
            return Vec::new();
        }
        let title = file.client.title;
        let required = match file.client.variables {
            VariableSyntax::None => {
                format!("not set, and {title} does not pass its environment on: set the value with")
            }
            // A value is nothing for a file that others get.
            _ if file.is_of_project() => format!("taken from the environment of {title}"),
            _ => format!("taken from the environment of {title}; or give its value with"),
        };
        let required = self.missing(true).map(|name| (name, required.as_str()));
        let optional = self.missing(false).map(|name| (name, "not set, and not required; set it with"));
        let unset = required.chain(optional).filter(|(name, _)| !file.has_value(&change.value, name));
        let how = |name: &str, what: &str| {
            if what.ends_with("with") { format!(" `--env {name}=VALUE`") } else { String::new() }
        };
        unset.map(|(name, what)| format!("{name}: {what}{}", how(name, what))).collect()
    }

    /// What the client does not show, and what the server offers it as tools for that.
    fn visibility_notes(&self, client: &Client) -> Vec<String> {
        let Some(lists) = self.summary.lists() else { return Vec::new() };
        let has_prompts = !lists.prompts.is_empty();
        let has_resources = !lists.resources.is_empty() || !lists.resource_templates.is_empty();
        let has = BridgedLists { prompts: has_prompts, resources: has_resources };
        let not_shown = client.profile.map(|client| client.not_shown(lists)).unwrap_or_default();
        let bridged = self.summary.bridged_for(client.profile.map_or(client.title, KnownClient::info_name));
        let offered = [
            (bridged.prompts && has_prompts, "its model gets prompts by `list-prompts` and `get-prompt`"),
            (bridged.resources && has_resources, "its model gets resources by `list-resources` and `read-resource`"),
        ];
        let offered = offered.into_iter().filter(|(is_offered, _)| *is_offered).map(|(_, what)| what.to_owned());
        let not_shown = not_shown.into_iter().map(str::to_owned).chain(other_not_shown(client, has, bridged));
        not_shown.chain(offered).map(|what| format!("note: {what}")).collect()
    }
}

/// The same for a client that has no row in the table of clients.
fn other_not_shown(client: &Client, has: BridgedLists, bridged: BridgedLists) -> Option<String> {
    match client.not_shown {
        UnsupportedFeatures::Nothing => None,
        UnsupportedFeatures::Prompts => has.prompts.then(|| "prompts are not shown".to_owned()),
        UnsupportedFeatures::Resources => has.resources.then(|| "resources are not shown".to_owned()),
        UnsupportedFeatures::AllButTools => {
            let lists = [(has.prompts, bridged.prompts, "prompts"), (has.resources, bridged.resources, "resources")];
            let names: Vec<&str> = lists.iter().filter(|(has, ..)| *has).map(|(.., name)| *name).collect();
            let help = match lists.iter().any(|(has, bridged, _)| *has && !bridged) {
                true => format!("; `bridge: [{}]` under `server` offers them as tools", names.join(", ")),
                false => String::new(),
            };
            let text =
                || format!("its documentation mentions only tools: {} may not be shown{help}", names.join(" and "));
            (!names.is_empty()).then(text)
        }
    }
}

/// What others need who have the file of a project too.
fn project_note(file: &ClientFile, server: &ServerEntry) -> Option<String> {
    let Launch::Program { program, manifest } = &server.launch else { return None };
    if !file.is_of_project() || file.client.project_paths == ProjectPaths::Absolute {
        return None;
    }
    if program.contains('/') {
        return Some(format!("its paths are those of this machine: {} is not in this folder", one_line(manifest)));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let missing = if find_program(program.as_ref(), &path).is_some() { "" } else { ", and is not on yours" };
    Some(format!("the file can be shared: `{program}` has to be on the PATH of everyone{missing}"))
}

/// Text that the client would read as a reference, although it is not one.
fn expansion_notes(client: &Client, server: &ServerEntry) -> Vec<String> {
    let in_values = server.values.iter().filter(|(_, value)| client.variables.would_expand(value));
    let in_values = in_values.map(|(name, _)| format!("the value of {name}"));
    let paths = match &server.launch {
        Launch::Program { program, manifest } => {
            let own = if let ProjectPaths::Below(variable) = client.project_paths { variable } else { "" };
            let manifest = manifest.strip_prefix(own).unwrap_or(manifest);
            vec![("the path of folio", program.as_str()), ("the path of the manifest", manifest)]
        }
        Launch::Url(url) => vec![("the URL", url.as_str())],
    };
    let in_paths = paths.into_iter().filter(|(_, path)| client.variables.would_expand(path));
    let what = in_values.chain(in_paths.map(|(what, _)| what.to_owned()));
    what.map(|what| format!("warning: {} may take a part of {what} for a variable", client.title)).collect()
}
