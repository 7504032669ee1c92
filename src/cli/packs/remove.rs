//! `folio remove`.

use serde_json::Value;

use super::args::RemoveArgs;
use super::project::{PackProject, is_within, unknown_key_help};
use crate::cli::manifest::ManifestFile;
use crate::cli::{Exit, Output};
use crate::diagnostic::one_line;
use crate::pack_source::LOCK_NAME;
use crate::yaml::{json_of, remove_entry};

/// Takes a pack out of a manifest and its lock, and keeps every other byte.
pub(crate) fn run(arguments: &RemoveArgs, output: &Output) -> anyhow::Result<Exit> {
    let project = PackProject::open(&arguments.file, output)?;
    let target = ManifestFile::find(&arguments.file)?;
    let (key, display_path) = (arguments.key.as_str(), target.display_path());
    let text = match remove_entry(&target.text, "packs", key, false) {
        Ok(Some(text)) => text,
        Ok(None) => {
            let document = json_of(&target.text).unwrap_or_default();
            let packs = document.get("packs").and_then(Value::as_object);
            let keys: Vec<&str> = packs.into_iter().flat_map(|packs| packs.keys().map(String::as_str)).collect();
            let help = unknown_key_help(key, &keys, "it imports no packs");
            output.eprint(&format!("error: no pack `{}` in `{display_path}`\nhelp: {help}\n", one_line(key)));
            return Ok(Exit::Failure);
        }
        Err(why) => {
            let help = format!("help: remove `{}` from `packs` by hand, then run `folio lock`", one_line(key));
            output.eprint(&format!("error: cannot edit `{display_path}`: {why}\n{help}\n"));
            return Ok(Exit::Failure);
        }
    };
    let mut lock = project.lock.clone();
    lock.packs.retain(|locked, _| !is_within(locked, key));
    target.write(&text)?;
    let locked = if project.write_lock(&lock)? { format!(" and {LOCK_NAME}") } else { String::new() };
    output.print(&format!("removed pack `{key}` from {display_path}{locked}\n"))?;
    Ok(Exit::Success)
}
