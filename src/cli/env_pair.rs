//! `--env` and `--workspace`: variables beside those of the process.

use std::path::Path;
use std::str::FromStr;

use crate::load::{EnvSource, WORKSPACE_VARIABLE};
use crate::value_types::is_identifier;

/// A variable of `--env`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvPair {
    name: String,
    value: String,
}

/// Why a variable is invalid.
#[derive(Debug, thiserror::Error)]
#[error("expected NAME=VALUE, with letters, digits and `_` in the name")]
pub struct EnvPairError;

impl EnvPair {
    /// Its name and its value.
    pub(super) fn parts(&self) -> (&str, &str) {
        (&self.name, &self.value)
    }
}

impl FromStr for EnvPair {
    type Err = EnvPairError;

    fn from_str(text: &str) -> Result<EnvPair, EnvPairError> {
        let (name, value) = text.split_once('=').filter(|(name, _)| is_identifier(name)).ok_or(EnvPairError)?;
        Ok(EnvPair { name: name.to_owned(), value: value.to_owned() })
    }
}

/// The variables of the process, with those of the command line in their place.
pub(super) fn environment(pairs: &[EnvPair], workspace: Option<&Path>) -> EnvSource {
    if pairs.is_empty() && workspace.is_none() {
        return EnvSource::Process;
    }
    let workspace = workspace.map(|path| (WORKSPACE_VARIABLE.to_owned(), path.to_string_lossy().into_owned()));
    let pairs = pairs.iter().map(|pair| (pair.name.clone(), pair.value.clone()));
    EnvSource::ProcessWith(pairs.chain(workspace).collect())
}
