//! `folio uninstall`.

use std::path::Path;

use anyhow::Context;

use super::args::UninstallArgs;
use super::client_file::{ClientFile, name_for};
use super::server_summary::ServerSummary;
use super::{check_has_name, for_each_client, launch_of, retry_while_changed};
use crate::cli::{Exit, Output};
use crate::client_config::{Client, ConfigScope, Launch};
use crate::diagnostic::{one_line, sanitize};
use crate::load::ManifestLocation;

/// Takes a server out of each client.
pub(crate) fn run(arguments: &UninstallArgs, output: &Output) -> anyhow::Result<Exit> {
    let target = &arguments.target;
    // A name alone, where no manifest is: the server may have been that of any folder.
    let is_anywhere = target.name.is_some() && target.file.is_none() && target.http.is_none();
    let launch = match is_anywhere && ManifestLocation::resolve(Path::new(".")).is_err() {
        true => None,
        false => Some(launch_of(target)?),
    };
    if target.name.is_none() {
        check_has_name(target)?;
    }
    let server = match &target.name {
        Some(_) => String::new(),
        None => match ServerSummary::load(target.file(), &[], output).context("cannot tell the name of the server")? {
            Ok(summary) => summary.name,
            Err(exit) => {
                output
                    .eprint("error: cannot tell the name of the server: the manifest has errors\nhelp: use `--name`\n");
                return Ok(exit);
            }
        },
    };
    for_each_client(target, output, |client, scope| {
        let name = match &target.name {
            // A file may have one that folio would not write, which is looked for as it is.
            Some(name) => name.clone(),
            None => name_for(client, None, &server)?,
        };
        let removal = Removal { client, scope, name: &name, launch: launch.as_ref() };
        match arguments.print {
            true => removal.print(output),
            false => output.print(&sanitize(&retry_while_changed(|| removal.run())?)),
        }
    })
}

/// A server that is taken out of a client.
struct Removal<'a> {
    client: &'static Client,
    scope: ConfigScope,
    name: &'a str,
    launch: Option<&'a Launch>,
}

impl Removal<'_> {
    /// Takes it out, and says what became of the file; `None` if it has changed meanwhile.
    fn run(&self) -> anyhow::Result<Option<String>> {
        let file = ClientFile::open(self.client, self.scope)?;
        let Some(after) = file.uninstall(self.name, self.launch)? else { return Ok(Some(self.not_there(&file))) };
        let cannot = || format!("cannot write `{}`", file.file.display_path());
        let Some(locked) = file.file.lock().with_context(cannot)? else { return Ok(None) };
        locked.write(&after, None, false).with_context(cannot)?;
        if file.file.backup.as_ref() == Some(&after) {
            locked.remove_backup()?;
        }
        let (path, title, name, outcome) =
            (file.file.display_path(), self.client.title, self.name, outcome(&file, &after));
        Ok(Some(format!("{title}: removed `{name}` from {path}\n  {outcome}\n")))
    }

    fn not_there(&self, file: &ClientFile) -> String {
        let same = self.launch.map(|launch| file.names_of(launch)).unwrap_or_default();
        let same: Vec<String> = same.into_iter().map(|name| format!("`{}`", one_line(name))).collect();
        let (path, title, name) = (file.file.display_path(), self.client.title, one_line(self.name));
        let hint = match same.is_empty() {
            true => String::new(),
            false => format!("  this server is there as {}: use `--name`\n", same.join(", ")),
        };
        format!("{title}: no `{name}` in {path}\n{hint}")
    }

    /// Shows what would be taken out.
    fn print(&self, output: &Output) -> anyhow::Result<()> {
        let file = ClientFile::open(self.client, self.scope)?;
        let Some(after) = file.uninstall(self.name, self.launch)? else {
            return output.print(&sanitize(&self.not_there(&file)));
        };
        let entry = file.entry(self.name).with_context(|| format!("no `{}`", one_line(self.name)))?;
        let (shown, outcome) = (file.entry_text(self.name, &entry.value)?, outcome(&file, &after));
        output.print(&format!("{}:\n{shown}would be taken out; then {outcome}\n", file.file.display_path()))
    }
}

/// What becomes of a file.
fn outcome(file: &ClientFile, after: &str) -> String {
    match &file.file.backup {
        None => "nothing else is changed".to_owned(),
        Some(backup) if backup == after => "the file is as it was before, and its backup is gone".to_owned(),
        Some(_) => format!("nothing else is changed; its backup stays: {}", file.file.display_backup_path()),
    }
}
