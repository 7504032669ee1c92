//! `folio uninstall`.

use std::path::Path;

use anyhow::Context;

use super::config_file::{path_for_display, remove_backup};
use super::host_file::{HostFile, Undo, name_for};
use super::server_summary::ServerSummary;
use super::{check_has_name, for_each_host, launch_of, retry_while_changed};
use crate::cli::{Exit, Output, UninstallArgs};
use crate::client_config::{ConfigScope, Host, Launch};
use crate::diagnostic::{one_line, sanitize};
use crate::load::ManifestLocation;

/// Takes a server out of each client.
pub(in crate::cli) fn run(arguments: &UninstallArgs, output: &Output) -> anyhow::Result<Exit> {
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
    for_each_host(target, output, |host, scope| {
        let name = match &target.name {
            // One that folio would not write may stand in a file too, and is looked for as it is.
            Some(name) => name.clone(),
            None => name_for(host, None, &server)?,
        };
        let removal = Removal { host, scope, name: &name, launch: launch.as_ref() };
        match arguments.print {
            true => removal.print(output),
            false => output.print(&sanitize(&retry_while_changed(|| removal.run())?)),
        }
    })
}

/// A server that is taken out of a client.
struct Removal<'a> {
    host: &'static Host,
    scope: ConfigScope,
    name: &'a str,
    launch: Option<&'a Launch>,
}

impl Removal<'_> {
    /// Takes it out, and says what became of the file.
    fn run(&self) -> anyhow::Result<Option<String>> {
        let file = HostFile::open(self.host, self.scope)?;
        let undo = file.uninstall(self.name, self.launch)?;
        if matches!(undo, Undo::NotInstalled) {
            let leftovers = file.file.remove_leftovers(file.client_folder_depth)?;
            return Ok(Some(self.not_there(&file, leftovers)));
        }
        let cannot = || format!("cannot write `{}`", file.file.display_path());
        let Some(locked) = file.file.lock().with_context(cannot)? else { return Ok(None) };
        let outcome = outcome(&file, &undo);
        match &undo {
            Undo::NotInstalled => {}
            Undo::Delete => locked.delete(file.client_folder_depth).with_context(cannot)?,
            Undo::Restore(backup) => locked.restore(backup).with_context(cannot)?,
            Undo::Write(after, backup) => {
                locked.write(after, None, false).with_context(cannot)?;
                backup.as_ref().map_or(Ok(()), remove_backup)?;
            }
        }
        let (path, title, name) = (file.file.display_path(), self.host.title, self.name);
        Ok(Some(format!("{title}: removed `{name}` from {path}\n  {outcome}\n")))
    }

    fn not_there(&self, file: &HostFile, leftovers: bool) -> String {
        let same = self.launch.map(|launch| file.names_of(launch)).unwrap_or_default();
        let same: Vec<String> = same.into_iter().map(|name| format!("`{}`", one_line(name))).collect();
        let (path, title, name) = (file.file.display_path(), self.host.title, one_line(self.name));
        let mut text = format!("{title}: no `{name}` in {path}\n");
        if !same.is_empty() {
            text += &format!("  this server is there as {}: use `--name`\n", same.join(", "));
        }
        if leftovers {
            text += "  what a run that was killed had left is removed\n";
        }
        text
    }

    /// Shows what would be taken out.
    fn print(&self, output: &Output) -> anyhow::Result<()> {
        let file = HostFile::open(self.host, self.scope)?;
        let undo = file.uninstall(self.name, self.launch)?;
        if matches!(undo, Undo::NotInstalled) {
            return output.print(&sanitize(&self.not_there(&file, false)));
        }
        let shown = file.redacted_entry(self.name)?;
        let outcome = outcome(&file, &undo);
        output.print(&format!("{}:\n{shown}would be taken out; then {outcome}\n", file.file.display_path()))
    }
}

/// What becomes of a file.
fn outcome(file: &HostFile, undo: &Undo) -> String {
    match undo {
        Undo::NotInstalled => "nothing is changed".to_owned(),
        Undo::Delete => "the file is gone, as it was made for it".to_owned(),
        Undo::Restore(_) => {
            "the file is as it was before, without an entry of this name, and its backup is gone".to_owned()
        }
        Undo::Write(_, Some(_)) => "nothing else is changed, and its backup is gone".to_owned(),
        Undo::Write(..) if file.file.backups.is_empty() => "nothing else is changed".to_owned(),
        Undo::Write(..) => {
            let backups = file.file.backups.iter().map(|backup| path_for_display(&backup.path));
            format!("backups stay: {}", backups.collect::<Vec<_>>().join(", "))
        }
    }
}
