//! `folio install` and `folio uninstall`: a server in the configuration files of clients.

mod config_file;
mod host_file;
mod server_facts;

use anyhow::{Context, bail, ensure};

use super::{Exit, InstallArgs, InstallTarget, Output, UninstallArgs};
use crate::catalog::KnownClient;
use crate::client_config::{Host, Launch, Scope, ServerEntry, VariableSyntax};
use crate::diagnostic::{nearest, one_line, sanitize};
use crate::load::ManifestLocation;
use host_file::{Change, HostFile, Undo, name_for};
use server_facts::{ServerFacts, launch};

/// Adds a server to each client.
pub(super) fn run(arguments: &InstallArgs, output: &Output) -> anyhow::Result<Exit> {
    let target = &arguments.target;
    let launch = launch_of(target)?;
    let is_remote = target.http.is_some() && ManifestLocation::resolve(&target.file).is_err();
    if target.http.is_some() && target.name.is_none() {
        check_has_name(target)?;
    }
    let facts = match &target.name {
        Some(name) if is_remote => ServerFacts::unknown(name),
        _ => match ServerFacts::load(&target.file, &arguments.env, output)? {
            Ok(facts) => facts,
            Err(exit) => {
                output.eprint("error: nothing is installed: the manifest has errors\n");
                return Ok(exit);
            }
        },
    };
    let installation = Installation { arguments, facts, launch };
    installation.warn_of_undeclared(output);
    each_host(target, output, |host, scope| installation.install(host, scope, output))
}

/// Takes a server out of each client.
pub(super) fn run_uninstall(arguments: &UninstallArgs, output: &Output) -> anyhow::Result<Exit> {
    let target = &arguments.target;
    let launch = launch_of(target)?;
    if target.name.is_none() {
        check_has_name(target)?;
    }
    let server = match &target.name {
        Some(_) => String::new(),
        None => match ServerFacts::load(&target.file, &[], output).context("cannot tell the name of the server")? {
            Ok(facts) => facts.name,
            Err(exit) => {
                output
                    .eprint("error: cannot tell the name of the server: the manifest has errors\nhelp: use `--name`\n");
                return Ok(exit);
            }
        },
    };
    each_host(target, output, |host, scope| {
        let name = name_for(host, target.name.as_deref(), &server)?;
        uninstall(&HostFile::open(host, scope)?, &name, &launch, output)
    })
}

/// Checks that there is a manifest, whose name is that of the server.
fn check_has_name(target: &InstallTarget) -> anyhow::Result<()> {
    let Err(error) = ManifestLocation::resolve(&target.file) else { return Ok(()) };
    let error = error.to_string();
    let what = error.split("\nhelp:").next().unwrap_or_default();
    bail!("cannot tell the name of the server: {what}\nhelp: use `--name`, and `-f` for the folder where it was")
}

fn launch_of(target: &InstallTarget) -> anyhow::Result<Launch> {
    let Some(url) = &target.http else { return launch(&target.file) };
    ensure!(matches!(url.scheme(), "http" | "https"), "`--http` takes a URL of http or https");
    let has_credentials = !url.username().is_empty() || url.password().is_some();
    ensure!(!has_credentials, "the URL has a password\nhelp: write it into the headers of the entry yourself");
    Ok(Launch::Url(url.to_string()))
}

/// Does something for each client, and says at the end for which it failed.
fn each_host(
    target: &InstallTarget,
    output: &Output,
    act: impl Fn(&'static Host, Scope) -> anyhow::Result<()>,
) -> anyhow::Result<Exit> {
    let (mut succeeded, mut failed) = (0, Vec::new());
    for (nth, name) in target.hosts.iter().enumerate() {
        let Some(host) = Host::named(name).filter(|_| !target.hosts.iter().take(nth).any(|other| other == name)) else {
            continue;
        };
        match act(host, target.scope().unwrap_or(host.default_scope())) {
            Ok(()) => succeeded += 1,
            Err(error) => {
                output.eprint_error(&error.context(host.name));
                failed.push(host.name);
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
    facts: ServerFacts,
    launch: Launch,
}

impl Installation<'_> {
    fn install(&self, host: &'static Host, scope: Scope, output: &Output) -> anyhow::Result<()> {
        let server = self.entry_for(host)?;
        let file = HostFile::open(host, scope)?;
        let change = file.install(&server)?;
        if self.arguments.print {
            return output.print(&format!(
                "{}:\n{}",
                file.file.path.display(),
                file.shown(&server.name, &change.value)?
            ));
        }
        let mut report = vec![self.write(&file, &server, &change)?];
        report.extend(self.variable_notes(&file, &change));
        report.extend(self.expansion_notes(host, &server));
        report.extend(self.visibility_notes(host));
        if change.after.is_some() {
            report.push(host.reload.to_owned());
        }
        output.print(&sanitize(&report_text(&report)))
    }

    /// Says which given variables the manifest does not declare: folio reads some itself, and programs may read others.
    fn warn_of_undeclared(&self, output: &Output) {
        let Some(declared) = &self.facts.declared else { return };
        for (name, _) in self.arguments.env.iter().map(|pair| pair.parts()) {
            if name.starts_with("FOLIO_") || declared.iter().any(|known| known == name) {
                continue;
            }
            let known = nearest(name, declared.iter().map(String::as_str));
            let hint = known.map(|known| format!(": did you mean `{known}`?")).unwrap_or_default();
            output.eprint(&sanitize(&format!("warning: the manifest does not declare `{name}`{hint}\n")));
        }
    }

    /// The server as this client is told of it.
    fn entry_for(&self, host: &Host) -> anyhow::Result<ServerEntry> {
        let is_program = matches!(self.launch, Launch::Program { .. });
        ensure!(
            is_program || self.arguments.env.is_empty(),
            "`--env` is for a server that the client starts\nhelp: set the variables where the server runs"
        );
        let values = self.arguments.env.iter().map(|pair| pair.parts());
        let values: Vec<(String, String)> = values.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let passed_on = match host.variables {
            VariableSyntax::None => Vec::new(),
            _ if !is_program => Vec::new(),
            _ => self.missing(true).map(str::to_owned).collect(),
        };
        let name = name_for(host, self.arguments.target.name.as_deref(), &self.facts.name)?;
        let (description, launch) = (self.facts.description.clone(), self.launch.clone());
        Ok(ServerEntry { name, description, launch, values, passed_on })
    }

    /// The declared variables without a value: those that are required, or the others.
    fn missing(&self, required: bool) -> impl Iterator<Item = &str> {
        let is_given = |name: &str| self.arguments.env.iter().any(|pair| pair.parts().0 == name);
        let declared = self.facts.variables.iter().filter(move |variable| variable.required == required);
        declared.map(|variable| variable.name.as_str()).filter(move |name| !is_given(name))
    }

    /// Writes the file and its backup, and says so.
    fn write(&self, file: &HostFile, server: &ServerEntry, change: &Change) -> anyhow::Result<String> {
        let (path, title) = (file.file.path.display(), file.host.title);
        let name = &server.name;
        let Some(after) = &change.after else {
            return Ok(format!("{title}: `{name}` is in {path} already"));
        };
        let cannot = || format!("cannot write `{path}`");
        file.file.check_writable().with_context(cannot)?;
        let had_folder = file.file.path.parent().is_some_and(|folder| folder.exists());
        let backup = change.backup.as_ref().map(|text| file.file.back_up(text)).transpose()?;
        file.file.write(after, !server.values.is_empty()).with_context(cannot)?;
        let verb = if change.is_update { "updated" } else { "added" };
        let mut text = format!("{title}: {verb} `{name}` in {path}");
        if let Some(backup) = backup {
            text += &format!("\n  backup: {}", backup.display());
        }
        if !had_folder && file.file.text.is_none() {
            text += &format!("\n  its folder is new: is {title} installed?");
        }
        if !server.values.is_empty() && file.file.text.is_some() && file.file.is_open_to_others() {
            text += &format!("\n  other users can read the values in it: `chmod 600 {path}`");
        }
        Ok(text)
    }

    /// The declared variables that have no value, and how to give them one.
    fn variable_notes(&self, file: &HostFile, change: &Change) -> Vec<String> {
        if matches!(self.launch, Launch::Url(_)) {
            return Vec::new();
        }
        let title = file.host.title;
        let required = self.missing(true).map(|name| {
            (
                name,
                match file.host.variables {
                    VariableSyntax::None => {
                        format!("not set, and {title} takes none from its environment: give its value with")
                    }
                    _ => format!("taken from the environment of {title}; or give its value with"),
                },
            )
        });
        let optional = self.missing(false).map(|name| (name, "not set, and not required; set it with".to_owned()));
        let unset = required.chain(optional).filter(|(name, _)| !file.has_value(&change.value, name));
        unset.map(|(name, what)| format!("{name}: {what} `--env {name}=VALUE`")).collect()
    }

    /// What the host would read as a reference, and is none.
    fn expansion_notes(&self, host: &Host, server: &ServerEntry) -> Vec<String> {
        let in_values = server.values.iter().filter(|(_, value)| host.variables.would_expand(value));
        let in_values = in_values.map(|(name, _)| format!("the value of {name}"));
        let paths = match &server.launch {
            Launch::Program { program, manifest } => {
                vec![("the path of folio", program), ("the path of the manifest", manifest)]
            }
            Launch::Url(url) => vec![("the URL", url)],
        };
        let in_paths = paths.into_iter().filter(|(_, path)| host.variables.would_expand(path));
        let what = in_values.chain(in_paths.map(|(what, _)| what.to_owned()));
        what.map(|what| format!("warning: {} may take a part of {what} for a variable", host.title)).collect()
    }

    /// What the client does not show, and what the server offers it as tools for that.
    fn visibility_notes(&self, host: &Host) -> Vec<String> {
        let Some(lists) = self.facts.lists() else { return Vec::new() };
        let known = host.client.map(|client| client.not_shown(lists)).unwrap_or_default();
        let bridged = self.facts.bridged_for(host.client.map_or(host.title, KnownClient::info_name));
        let has_resources = !lists.resources.is_empty() || !lists.resource_templates.is_empty();
        let offered = [
            (bridged.prompts && !lists.prompts.is_empty(), "its model gets prompts by `list-prompts` and `get-prompt`"),
            (bridged.resources && has_resources, "its model gets resources by `list-resources` and `read-resource`"),
        ];
        let offered = offered.into_iter().filter(|(is_offered, _)| *is_offered).map(|(_, what)| what);
        known.into_iter().chain(host.not_shown).chain(offered).map(|what| format!("note: {what}")).collect()
    }
}

fn report_text(lines: &[String]) -> String {
    lines.iter().enumerate().map(|(nth, line)| format!("{}{line}\n", if nth > 0 { "  " } else { "" })).collect()
}

/// Takes a server out of a client.
fn uninstall(file: &HostFile, name: &str, launch: &Launch, output: &Output) -> anyhow::Result<()> {
    let (path, title) = (file.file.path.display().to_string(), file.host.title);
    let cannot = || format!("cannot write `{path}`");
    let undo = file.uninstall(name, launch)?;
    if !matches!(undo, Undo::NotThere) {
        file.file.check_writable().with_context(cannot)?;
    }
    let rest = match undo {
        Undo::NotThere => {
            let others: Vec<String> =
                file.names_of(launch).into_iter().map(|name| format!("`{}`", one_line(name))).collect();
            let help = if others.is_empty() {
                String::new()
            } else {
                format!("\n  this server is there as {}: use `--name`", others.join(", "))
            };
            return output.print(&format!("{title}: no `{name}` in {path}{help}\n"));
        }
        Undo::Delete => {
            file.file.delete().with_context(|| format!("cannot remove `{path}`"))?;
            "the file is gone, as it was made for it".to_owned()
        }
        Undo::Restore(backup) => {
            file.file.restore(&backup).with_context(cannot)?;
            "the file is as it was before, and its backup is gone".to_owned()
        }
        Undo::Write(after) => {
            file.file.write(&after, false).with_context(cannot)?;
            let backups: Vec<String> =
                file.file.backups.iter().map(|backup| backup.path.display().to_string()).collect();
            if backups.is_empty() {
                "nothing else is changed".to_owned()
            } else {
                format!("backups stay: {}", backups.join(", "))
            }
        }
    };
    output.print(&sanitize(&format!("{title}: removed `{name}` from {path}\n  {rest}\n")))
}
