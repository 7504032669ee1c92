//! `--env` and `--workspace`: variables beside those of the process.

use std::path::Path;
use std::str::FromStr;

use crate::load::{EnvSource, WORKSPACE_VARIABLE};
use crate::value_types::is_identifier;

/// A variable of `--env`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvPair {
    pub(crate) name: String,
    pub(crate) value: String,
}

impl FromStr for EnvPair {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<EnvPair, &'static str> {
        let (name, value) = text
            .split_once('=')
            .filter(|(name, _)| is_identifier(name))
            .ok_or("expected NAME=VALUE, with letters, digits and `_` in the name")?;
        Ok(EnvPair { name: name.to_owned(), value: value.to_owned() })
    }
}

/// The variables of the process, with those of the command line instead of theirs.
pub(crate) fn environment(pairs: &[EnvPair], workspace: Option<&Path>) -> EnvSource {
    if pairs.is_empty() && workspace.is_none() {
        return EnvSource::Process;
    }
    let workspace = workspace.map(|path| (WORKSPACE_VARIABLE.to_owned(), path.to_string_lossy().into_owned()));
    let pairs = pairs.iter().map(|pair| (pair.name.clone(), pair.value.clone()));
    EnvSource::ProcessWith(pairs.chain(workspace).collect())
}
