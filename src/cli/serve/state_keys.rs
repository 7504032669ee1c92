//! Reads the keys that encrypt pending calls, from a file or from the environment.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail, ensure};

use super::args::ServeArgs;
use crate::diagnostic::without_byte_order_mark;

/// The variable of the keys, without a file.
const STATE_KEY_VARIABLE: &str = "FOLIO_STATE_KEY";
/// How often a file is read again.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The minimum length of a key.
const MIN_KEY_CHARS: usize = 32;

/// The keys that the user gave, newest first; empty if the server generates one.
pub(super) fn read_state_keys(arguments: &ServeArgs) -> anyhow::Result<Vec<Vec<u8>>> {
    if let Some(path) = &arguments.state_key_file {
        return read_file(path);
    }
    match std::env::var(STATE_KEY_VARIABLE) {
        Ok(keys) => parse_keys(keys.split(','), STATE_KEY_VARIABLE),
        Err(std::env::VarError::NotPresent) => Ok(Vec::new()),
        // The message of the error contains the value.
        Err(std::env::VarError::NotUnicode(_)) => bail!("{STATE_KEY_VARIABLE} is not UTF-8"),
    }
}

/// Reads the file again whenever it is another one, and hands over its keys. It never ends. Keys that cannot be read change
/// nothing.
pub(super) async fn follow(path: PathBuf, mut known: Vec<Vec<u8>>, replace: impl Fn(&[Vec<u8>])) {
    let mut failure = None;
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        match read_file(&path) {
            Ok(keys) if keys != known => {
                replace(&keys);
                known = keys;
                tracing::info!(target: "folio::serve", "the state keys in `{}` are read again", path.display());
            }
            Ok(_) => failure = None,
            Err(error) => {
                let message = format!("{error:#}");
                if failure.replace(message.clone()) != Some(message.clone()) {
                    tracing::warn!(target: "folio::serve", "the state keys stay as they are: {message}");
                }
            }
        }
    }
}

fn read_file(path: &Path) -> anyhow::Result<Vec<Vec<u8>>> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read the state keys in `{}`", path.display()))?;
    parse_keys(without_byte_order_mark(&text).lines(), &path.display().to_string())
}

/// Parses keys. Errors do not show them.
fn parse_keys<'a>(words: impl Iterator<Item = &'a str>, from: &str) -> anyhow::Result<Vec<Vec<u8>>> {
    let keys: Vec<&str> = words.map(str::trim).filter(|key| !key.is_empty()).collect();
    ensure!(!keys.is_empty(), "no state key in `{from}`: write one of {MIN_KEY_CHARS} characters or more");
    for (nth, key) in keys.iter().enumerate() {
        let length = key.len();
        ensure!(
            length >= MIN_KEY_CHARS,
            "state key {} in `{from}` is too short: {length} characters, expected {MIN_KEY_CHARS} or more; make one with `openssl rand -hex 32`",
            nth + 1
        );
    }
    Ok(keys.into_iter().map(|key| key.as_bytes().to_vec()).collect())
}

#[cfg(test)]
mod tests {
    use super::parse_keys;

    #[test]
    fn short_key_is_refused_and_never_shown() {
        let long = "0123456789abcdef0123456789abcdef";
        assert_eq!(parse_keys([long, "", long].into_iter(), "f").unwrap().len(), 2);
        let error = parse_keys([long, "too weak a key!"].into_iter(), "f").unwrap_err().to_string();
        assert!(
            error.starts_with("state key 2 in `f` is too short: 15 characters") && !error.contains("too weak"),
            "{error}"
        );
        assert!(parse_keys(["", " "].into_iter(), "f").unwrap_err().to_string().contains("no state key"));
    }
}
