//! The file of a client with the entries in it: what an installation changes, and what takes it back.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail, ensure};
use serde_json::Value;

use super::config_file::{ConfigFile, path_for_display};
use crate::cli::process::{folio_path, is_same_file};
use crate::client_config::{
    Client, ConfigError, ConfigScope, ConfigSection, EntryLayout, Launch, NamedEntry, Platform, ProjectPaths,
    ServerEntry,
};
use crate::diagnostic::one_line;

/// The file of a client.
pub(super) struct ClientFile {
    pub(super) client: &'static Client,
    pub(super) layout: &'static EntryLayout,
    pub(super) file: ConfigFile,
    scope: ConfigScope,
    /// The current folder, which is that of a project.
    project: PathBuf,
    entries: Vec<NamedEntry>,
}

/// What an installation does to a file.
#[derive(Debug)]
pub(super) struct PlannedInstall {
    /// The value of the entry then.
    pub(super) value: Value,
    /// The text then; `None` if the file has the entry already.
    pub(super) after: Option<String>,
    /// The backup that is written; `None` if there is nothing to back up, or it is there already.
    pub(super) backup: Option<BackupContent>,
    pub(super) is_update: bool,
}

/// What a file was.
#[derive(Debug)]
pub(super) struct BackupContent {
    pub(super) text: String,
    /// The names of the entries of folio, which the file has and this has not.
    pub(super) left_out: Vec<String>,
}

impl ClientFile {
    /// Reads the file of a client.
    ///
    /// # Errors
    /// The client has none in this scope, or it cannot be read or parsed.
    pub(super) fn open(client: &'static Client, scope: ConfigScope) -> anyhow::Result<ClientFile> {
        let location = client.location(scope).ok_or_else(|| unsupported_scope_error(client, scope))?;
        let project = std::env::current_dir().context("cannot tell the current folder")?;
        let path = location.path(Platform::CURRENT, &|name| std::env::var_os(name), &project);
        let path = path.context("there is no home folder\nhelp: set HOME")?;
        let cannot = || format!("cannot edit `{}`", path_for_display(&path));
        if scope == ConfigScope::Project {
            check_inside(&path, &project).with_context(cannot)?;
        }
        let file = ConfigFile::read(path.clone()).with_context(cannot)?;
        let parsed = client.format.value(file.text());
        let value = parsed.map_err(|error| config_error_at(&error, &file, "cannot read it"))?;
        let layout = client.layout_of(&value);
        let entries = ConfigSection { format: client.format, maps: layout.section }.entries(file.text());
        let entries = entries.map_err(|error| config_error_at(&error, &file, "cannot edit it"))?;
        Ok(ClientFile { client, layout, file, scope, project, entries })
    }

    fn section(&self) -> ConfigSection<'static> {
        ConfigSection { format: self.client.format, maps: self.layout.section }
    }

    pub(super) fn entry(&self, name: &str) -> Option<&NamedEntry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// The names of the entries that reach a server so.
    pub(super) fn names_of(&self, launch: &Launch) -> Vec<&str> {
        let is_same = |entry: &&NamedEntry| {
            self.layout.launch_of(&entry.value).is_some_and(|started| self.is_same_launch(&started, launch))
        };
        self.entries.iter().filter(is_same).map(|entry| entry.name.as_str()).collect()
    }

    /// What an installation changes.
    ///
    /// # Errors
    /// The name is that of another server, or the file has no place for an entry.
    pub(super) fn install(&self, server: &ServerEntry) -> anyhow::Result<PlannedInstall> {
        let (client, section) = (self.client, self.section());
        let new = server.render(client, self.layout).ok_or_else(|| {
            anyhow!("the file of {} takes no URL\nhelp: add the URL in its settings, under Connectors", client.title)
        })?;
        let fail = |error: ConfigError| config_error_at(&error, &self.file, "cannot edit it");
        let Some(old) = self.entry(&server.name) else {
            let after = section.insert(self.file.text(), &server.name, &new).map_err(fail)?;
            return Ok(PlannedInstall { value: new, after: Some(after), backup: self.new_backup(), is_update: false });
        };
        let started = self.layout.launch_of(&old.value);
        if !started.is_some_and(|started| self.is_same_launch(&started, &server.launch)) {
            return Err(self.foreign_entry_error(
                old,
                "is another server",
                "choose another name with `--name`, or remove that one",
            ));
        }
        let value = self.layout.update(&old.value, server, &new);
        if value == old.value {
            return Ok(PlannedInstall { value, after: None, backup: None, is_update: true });
        }
        if !self.layout.has_keys_of(&old.value, &new) {
            let help = "leave it as it is, remove it, or choose another name with `--name`";
            return Err(self.foreign_entry_error(old, "is this server, but folio did not write it", help));
        }
        let after = section.replace(self.file.text(), &server.name, &value).map_err(fail)?;
        Ok(PlannedInstall { value, after: Some(after), backup: self.new_backup(), is_update: true })
    }

    /// The text without an entry; `None` if there is no such entry. Without `launch` it may be that of any server of folio.
    ///
    /// # Errors
    /// The entry is that of another server, or it cannot be told from what is around it.
    pub(super) fn uninstall(&self, name: &str, launch: Option<&Launch>) -> anyhow::Result<Option<String>> {
        let Some(entry) = self.entry(name) else { return Ok(None) };
        let started = self.layout.launch_of(&entry.value);
        let is_ours = match (&started, launch) {
            (Some(started), Some(launch)) => self.is_same_launch(started, launch),
            (Some(Launch::Program { program, .. }), None) => is_program(program, &folio_path()),
            // A URL does not tell whose it is.
            _ => false,
        };
        if !is_ours {
            let help = match &started {
                Some(Launch::Url(_)) => "if it is yours, name its URL with `--http`",
                _ => "remove it yourself, or choose another with `--name` or `-f`",
            };
            return Err(self.foreign_entry_error(entry, "is another server", help));
        }
        let (section, text) = (self.section(), self.file.text());
        // Bytes do not tell an empty map that was there before from one that was added.
        let backup = self.file.backup.as_deref();
        let leads_here = |backup: &&str| section.insert(backup, name, &entry.value).is_ok_and(|after| after == text);
        if let Some(backup) = backup.filter(leads_here) {
            return Ok(Some(backup.to_owned()));
        }
        let had_maps = backup.is_some_and(|backup| section.is_in(backup));
        let after = section.remove(text, name, had_maps);
        after.map(Some).map_err(|error| config_error_at(&error, &self.file, "cannot edit it"))
    }

    /// What the file is without the entries of folio, whose values no other file gets; `None` if it has any and there is a
    /// backup of what it was before them.
    fn new_backup(&self) -> Option<BackupContent> {
        let program = folio_path();
        let is_own = |entry: &&NamedEntry| {
            let launch = self.layout.launch_of(&entry.value);
            matches!(launch, Some(Launch::Program { program: started, .. }) if is_program(&started, &program))
        };
        let own: Vec<&NamedEntry> = self.entries.iter().filter(is_own).collect();
        let text = self.file.text.as_deref().filter(|_| own.is_empty() || self.file.backup.is_none())?;
        let mut removed = own.iter();
        let text =
            removed.try_fold(text.to_owned(), |text, entry| self.section().remove(&text, &entry.name, false).ok())?;
        Some(BackupContent { text, left_out: own.iter().map(|entry| entry.name.clone()).collect() })
    }

    /// Whether an entry has the value of a variable.
    pub(super) fn has_value(&self, entry: &Value, name: &str) -> bool {
        let value = self.layout.variables_key().and_then(|key| entry.get(key)?.get(name)).and_then(Value::as_str);
        value.is_some_and(|value| Some(value) != self.client.variables.reference(name).as_deref())
    }

    fn foreign_entry_error(&self, entry: &NamedEntry, what: &str, help: &str) -> anyhow::Error {
        let at = self.section().offset(self.file.text(), &entry.name);
        let error = ConfigError { message: String::new(), at };
        let (line, column) = error.line_and_column(self.file.text()).unwrap_or((1, 1));
        let (name, path) = (one_line(&entry.name), self.file.display_path());
        anyhow!("`{name}` {what}, at {path}:{line}:{column}\nhelp: {help}")
    }

    /// How a server is started by an entry of this file: in that of a project, on every machine alike, where that is
    /// possible.
    pub(super) fn launch_here(&self, launch: &Launch) -> Launch {
        let shared = self.paths().shared_launch(launch, &self.project);
        shared.unwrap_or_else(|| launch.clone())
    }

    /// Whether it is in the folder of a project.
    pub(super) fn is_of_project(&self) -> bool {
        self.scope == ConfigScope::Project
    }

    fn paths(&self) -> ProjectPaths {
        if self.is_of_project() { self.client.project_paths } else { ProjectPaths::Absolute }
    }

    /// Whether two entries reach one server.
    fn is_same_launch(&self, left: &Launch, right: &Launch) -> bool {
        let (paths, project) = (self.paths(), &self.project);
        match (left, right) {
            (Launch::Url(left), Launch::Url(right)) => left == right,
            (Launch::Program { program, manifest }, Launch::Program { manifest: served, .. }) => {
                let [left, right] = [manifest, served].map(|path| paths.resolve(path, project));
                is_program(program, &folio_path()) && is_same_file(&left, &right)
            }
            _ => false,
        }
    }

    /// The entry as a file of its own, with the values of variables hidden.
    pub(super) fn entry_text(&self, name: &str, value: &Value) -> anyhow::Result<String> {
        let mut shown = value.clone();
        let key = self.layout.variables_key();
        let variables = key.and_then(|key| shown.get_mut(key)).and_then(Value::as_object_mut);
        for (name, value) in variables.into_iter().flatten() {
            if value.as_str() != self.client.variables.reference(name).as_deref() {
                *value = Value::from(format!("<value of {name}>"));
            }
        }
        Ok(self.section().insert("", name, &shown)?)
    }
}

/// Refuses a path that links lead out of the project: whoever wrote them could have folio change any file of its user.
fn check_inside(path: &Path, project: &Path) -> anyhow::Result<()> {
    let existing = path.ancestors().find(|path| path.symlink_metadata().is_ok()).unwrap_or(project);
    // One that leads nowhere is refused when the file is read.
    let Ok(real) = fs::canonicalize(existing) else { return Ok(()) };
    ensure!(
        real.starts_with(fs::canonicalize(project)?),
        "a link leads out of the project, to `{}`\nhelp: remove the link, or use `--user`",
        path_for_display(&real)
    );
    Ok(())
}

fn config_error_at(error: &ConfigError, file: &ConfigFile, what: &str) -> anyhow::Error {
    let path = file.display_path();
    match error.line_and_column(file.text()) {
        Some((line, column)) => anyhow!("{path}:{line}:{column}: {what}: {}", one_line(&error.message)),
        None => anyhow!("{path}: {what}: {}", one_line(&error.message)),
    }
}

fn unsupported_scope_error(client: &Client, scope: ConfigScope) -> anyhow::Error {
    let title = client.title;
    match scope {
        ConfigScope::User => {
            anyhow!("{title} has no file for a user\nhelp: use `--project`, in the folder of its file")
        }
        ConfigScope::Project => anyhow!("{title} has no file for a project\nhelp: use `--user`"),
    }
}

/// Whether a path is that of this program, or was.
fn is_program(path: &str, own: &Path) -> bool {
    if !path.contains('/') {
        return own.file_name().is_some_and(|name| name == path);
    }
    let path = Path::new(path);
    is_same_file(path, own) || path.symlink_metadata().is_err() && path.file_name() == own.file_name()
}

/// Refuses a name that a client does not take, and makes that of a server fit.
pub(super) fn name_for(client: &Client, chosen: Option<&str>, server: &str) -> anyhow::Result<String> {
    let Some(chosen) = chosen else { return Ok(client.sanitize_name(server)) };
    if !client.takes_name(chosen) {
        let more = if client.allows_underscore { ", `-` and `_`" } else { " and `-`" };
        bail!("{} takes no name `{}`\nhelp: use up to 64 letters, digits{more}", client.title, one_line(chosen));
    }
    Ok(chosen.to_owned())
}
