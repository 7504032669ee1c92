//! Adds to the errors of clap what is to be written instead.

use std::ffi::{OsStr, OsString};

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, Error};

use super::Cli;

/// Adds a tip to an error of this command line, where folio knows a better one than clap.
pub(super) fn add_tip(mut error: Error, words: &[OsString]) -> Error {
    if let Some(tip) = find_tip(&error, words) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    }
    error
}

fn find_tip(error: &Error, words: &[OsString]) -> Option<String> {
    let ContextValue::String(wrong) = error.get(match error.kind() {
        ErrorKind::UnknownArgument => ContextKind::InvalidArg,
        ErrorKind::InvalidValue => ContextKind::InvalidValue,
        _ => return None,
    })?
    else {
        return None;
    };
    let (path, command) = subcommand(words)?;
    let takes = |long: &str| command.get_arguments().any(|argument| argument.get_long() == Some(long));
    match error.kind() {
        // `folio install hello`, where the folder of the server is `hello`.
        ErrorKind::InvalidValue if takes("file") && error.get(ContextKind::SuggestedValue).is_none() => {
            let name = error.get(ContextKind::InvalidArg);
            let is_positional = matches!(name, Some(ContextValue::String(name)) if !name.starts_with('-'));
            is_positional.then(|| format!("the folder of the server follows '-f': '-f {wrong}'"))
        }
        ErrorKind::UnknownArgument if matches!(wrong.as_str(), "-f" | "--file") && !takes("file") => {
            let is_path = |argument: &&clap::Arg| argument.get_id() == "path" || argument.get_id() == "paths";
            command.get_positionals().find(is_path)?;
            let is_flag = |word: &&OsString| *word == OsStr::new("-f") || *word == OsStr::new("--file");
            let value = words.iter().skip_while(|word| !is_flag(word)).nth(1);
            let value = value.map_or_else(|| "PATH".into(), |value| value.to_string_lossy());
            Some(format!("the path stands by itself: 'folio {path} {value}'"))
        }
        ErrorKind::UnknownArgument if !wrong.starts_with('-') && takes("file") => {
            Some(format!("the folder of the server follows '-f': '-f {wrong}'"))
        }
        _ => None,
    }
}

/// The subcommand of a command line, and its name: `export mcpb`.
fn subcommand(words: &[OsString]) -> Option<(String, Command)> {
    let (mut path, mut command) = (Vec::new(), Cli::command());
    for word in words.iter().skip(1) {
        let Some(inner) = command.find_subcommand(word).cloned() else { continue };
        path.push(inner.get_name().to_owned());
        command = inner;
        if !command.has_subcommands() {
            break;
        }
    }
    (!path.is_empty()).then(|| (path.join(" "), command))
}
