//! The keys that seal what travels while a client is asked: from a file, or from the environment.

use std::fs;

use anyhow::{Context, bail, ensure};

use super::Serve;

/// Where keys come from when no file is named.
const VARIABLE: &str = "FOLIO_STATE_KEY";
/// A shorter key could be guessed.
const SHORTEST: usize = 32;

/// The keys that the person who serves has given, the newest first; none where one is made that ends with the process.
pub(super) fn keys(arguments: &Serve) -> anyhow::Result<Vec<Vec<u8>>> {
    if let Some(path) = &arguments.state_key_file {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read the keys in {}", path.display()))?;
        return checked(text.lines(), &path.display().to_string());
    }
    match std::env::var(VARIABLE) {
        Ok(keys) => checked(keys.split(','), VARIABLE),
        Err(std::env::VarError::NotPresent) => Ok(Vec::new()),
        // The error's own words hold the value.
        Err(std::env::VarError::NotUnicode(_)) => bail!("{VARIABLE} is not UTF-8"),
    }
}

/// No message holds a key.
fn checked<'a>(written: impl Iterator<Item = &'a str>, from: &str) -> anyhow::Result<Vec<Vec<u8>>> {
    let keys: Vec<&str> = written.map(str::trim).filter(|key| !key.is_empty()).collect();
    ensure!(!keys.is_empty(), "there is no key in {from}: write one of {SHORTEST} characters or more");
    for (nth, key) in keys.iter().enumerate() {
        let length = key.len();
        ensure!(
            length >= SHORTEST,
            "key {} in {from} has {length} characters, and needs {SHORTEST} or more; make one with `openssl rand -hex 32`",
            nth + 1
        );
    }
    Ok(keys.into_iter().map(|key| key.as_bytes().to_vec()).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::checked;

    #[test]
    fn a_key_has_its_length_and_is_never_told() {
        let long = "0123456789abcdef0123456789abcdef";
        assert_eq!(checked([long, "", long].into_iter(), "f").unwrap().len(), 2);
        let error = checked([long, "too short a key"].into_iter(), "f").unwrap_err().to_string();
        assert!(error.starts_with("key 2 in f has 15 characters") && !error.contains("too short"), "{error}");
        assert!(checked(["", " "].into_iter(), "f").unwrap_err().to_string().contains("no key"));
    }
}
