//! `folio install` and `folio uninstall`: a server in the configuration files of clients.

mod args;
mod config_file;
mod client_file;
mod notes;
mod server_summary;
pub(super) mod uninstall;

use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use crate::cli::manifest::EnvPair;
use crate::cli::text_file::ChangedSinceRead;
use crate::cli::{Exit, Output};
use crate::client_config::{Client, ConfigScope, Launch, ServerEntry, VariableSyntax};
use crate::diagnostic::{nearest, sanitize};
use crate::load::ManifestLocation;
use args::InstallTarget;
use client_file::{ClientFile, name_for};
use notes::{backup_note, change_line, value_notes};
use server_summary::{DEFAULT_PATH, ServerSummary, launch};

pub(crate) use args::{InstallArgs, UninstallArgs};

/// For how long a file is read again that others change meanwhile.
const MAX_RETRY_TIME: Duration = Duration::from_secs(5);

/// Adds a server to each client.
pub(super) fn run(arguments: &InstallArgs, output: &Output) -> anyhow::Result<Exit> {
    let target = &arguments.target;
    let launch = launch_of(target)?;
    let is_remote = target.http.is_some() && ManifestLocation::resolve(target.file()).is_err();
    if target.http.is_some() && target.name.is_none() {
        check_has_name(target)?;
    }
    let summary = match &target.name {
        Some(name) if is_remote => ServerSummary::unknown(name),
        _ => match ServerSummary::load(target.file(), &arguments.env, output)? {
            Ok(summary) => summary,
            Err(exit) => {
                output.eprint("error: nothing is installed: the manifest has errors\n");
                return Ok(exit);
            }
        },
    };
    let installation = Installation { arguments, summary, launch };
    installation.warn_of_undeclared(output);
    installation.warn_of_path(output);
    for_each_client(target, output, |client, scope| installation.install(client, scope, output))
}

/// Checks that there is a manifest, whose name is that of the server.
fn check_has_name(target: &InstallTarget) -> anyhow::Result<()> {
    let Err(error) = ManifestLocation::resolve(target.file()) else { return Ok(()) };
    let error = error.to_string();
    let what = error.split("\nhelp:").next().unwrap_or_default();
    bail!("cannot tell the name of the server: {what}\nhelp: use `--name`, and `-f` for the folder where it was")
}

fn launch_of(target: &InstallTarget) -> anyhow::Result<Launch> {
    let Some(url) = &target.http else { return launch(target.file()) };
    ensure!(matches!(url.scheme(), "http" | "https"), "`--http` takes a URL of http or https");
    let has_credentials = !url.username().is_empty() || url.password().is_some();
    ensure!(!has_credentials, "the URL has a password\nhelp: write it into the headers of the entry yourself");
    Ok(Launch::Url(url.to_string()))
}

/// Does something for each client, and says at the end for which it failed.
fn for_each_client(
    target: &InstallTarget,
    output: &Output,
    act: impl Fn(&'static Client, ConfigScope) -> anyhow::Result<()>,
) -> anyhow::Result<Exit> {
    let (mut succeeded, mut failed) = (0, Vec::new());
    for (nth, name) in target.clients.iter().enumerate() {
        let Some(client) =
            Client::named(name).filter(|_| !target.clients.iter().take(nth).any(|earlier| earlier == name))
        else {
            continue;
        };
        match act(client, target.scope().unwrap_or(client.default_scope())) {
            Ok(()) => succeeded += 1,
            Err(error) => {
                output.eprint_error(&error.context(client.name));
                failed.push(client.name);
            }
        }
    }
    if succeeded + failed.len() > 1 && !failed.is_empty() {
        output.eprint(&format!("failed: {}\n", failed.join(", ")));
    }
    Ok(if failed.is_empty() { Exit::Success } else { Exit::Failure })
}

/// A server that is added to clients.
struct Installation<'a> {
    arguments: &'a InstallArgs,
    summary: ServerSummary,
    launch: Launch,
}

/// Runs what reads a file and writes it, until it has not changed in between.
fn retry_while_changed(run: impl Fn() -> anyhow::Result<Option<String>>) -> anyhow::Result<String> {
    let deadline = Instant::now() + MAX_RETRY_TIME;
    while Instant::now() < deadline {
        match run() {
            Ok(None) => {}
            Err(error) if error.downcast_ref::<ChangedSinceRead>().is_some() => {}
            Ok(Some(report)) => return Ok(report),
            Err(error) => return Err(error),
        }
    }
    bail!("another program keeps changing the file\nhelp: end it, and run this again")
}

impl Installation<'_> {
    fn install(&self, client: &'static Client, scope: ConfigScope, output: &Output) -> anyhow::Result<()> {
        if self.arguments.print {
            let file = ClientFile::open(client, scope)?;
            let server = self.entry_for(&file)?;
            let change = file.install(&server)?;
            let (path, shown) = (file.file.display_path(), file.entry_text(&server.name, &change.value)?);
            return output.print(&format!("{path}:\n{shown}"));
        }
        output.print(&sanitize(&retry_while_changed(|| self.write(&ClientFile::open(client, scope)?))?))
    }

    /// Writes the file and its backup; `None` if it has changed meanwhile.
    fn write(&self, file: &ClientFile) -> anyhow::Result<Option<String>> {
        let server = self.entry_for(file)?;
        let change = file.install(&server)?;
        let Some(after) = &change.after else {
            let (path, title, name) = (file.file.display_path(), file.client.title, &server.name);
            let mut report = vec![format!("{title}: `{name}` is in {path} already")];
            report.extend(self.notes(file, &server, &change));
            return Ok(Some(report_text(&report)));
        };
        let cannot = || format!("cannot write `{}`", file.file.display_path());
        let had_folder = file.file.path.parent().is_some_and(|folder| folder.exists());
        let Some(locked) = file.file.lock().with_context(cannot)? else { return Ok(None) };
        let backup = change.backup.as_ref().map(|backup| backup.text.as_str());
        locked.write(after, backup, !server.values.is_empty()).with_context(cannot)?;
        let mut report = vec![change_line(file, &server, &change)];
        report.extend(change.backup.as_ref().map(|backup| backup_note(file, backup)));
        if !had_folder && file.file.text.is_none() && !file.is_of_project() {
            report.push(format!("its folder is new: is {} installed?", file.client.title));
        }
        report.extend(value_notes(file, &server));
        report.extend(self.notes(file, &server, &change));
        report.push(file.client.reload.to_owned());
        Ok(Some(report_text(&report)))
    }

    /// Says which given variables the manifest does not declare: folio reads some itself, and programs may read others.
    fn warn_of_undeclared(&self, output: &Output) {
        let Some(declared) = &self.summary.declared else { return };
        for EnvPair { name, .. } in &self.arguments.env {
            if name.starts_with("FOLIO_") || declared.contains(name) {
                continue;
            }
            let near = nearest(name, declared.iter().map(String::as_str));
            let hint = near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default();
            output.eprint(&sanitize(&format!("warning: the manifest does not declare `{name}`{hint}\n")));
        }
    }

    /// Says where folio serves, if a URL is another one.
    fn warn_of_path(&self, output: &Output) {
        let Some(url) = &self.arguments.target.http else { return };
        let served = self.summary.http_path();
        if url.path().ends_with(served) {
            return;
        }
        let mut right = url.clone();
        let before = url.path().trim_end_matches('/');
        right.set_path(&format!(
            "{}{served}",
            before.strip_suffix(served).or(before.strip_suffix(DEFAULT_PATH)).unwrap_or(before)
        ));
        output.eprint(&sanitize(&format!("warning: folio serves at `{served}`: did you mean `{right}`?\n")));
    }

    /// The server as this client is told of it.
    fn entry_for(&self, file: &ClientFile) -> anyhow::Result<ServerEntry> {
        let client = file.client;
        let is_program = matches!(self.launch, Launch::Program { .. });
        ensure!(
            is_program || self.arguments.env.is_empty(),
            "`--env` is for a server that the client starts\nhelp: set the variables where the server runs"
        );
        let values = self.arguments.env.iter().map(|pair| (pair.name.clone(), pair.value.clone())).collect();
        let forwarded_variables = match client.variables {
            VariableSyntax::None => Vec::new(),
            _ if !is_program => Vec::new(),
            _ => self.missing(true).map(str::to_owned).collect(),
        };
        let name = name_for(client, self.arguments.target.name.as_deref(), &self.summary.name)?;
        let (description, launch) = (self.summary.description.clone(), file.launch_here(&self.launch));
        Ok(ServerEntry { name, description, launch, values, forwarded_variables })
    }

    /// The declared variables without a value: those that are required, or the others.
    fn missing(&self, required: bool) -> impl Iterator<Item = &str> {
        let is_given = |name: &str| self.arguments.env.iter().any(|pair| pair.name == name);
        let declared = self.summary.variables.iter().filter(move |variable| variable.required == required);
        declared.map(|variable| variable.name.as_str()).filter(move |name| !is_given(name))
    }
}

fn report_text(lines: &[String]) -> String {
    lines.iter().enumerate().map(|(nth, line)| format!("{}{line}\n", if nth > 0 { "  " } else { "" })).collect()
}
