//! `folio schema`.

use crate::cli::{Exit, Output};
use crate::manifest;

/// Prints the JSON Schema of the manifest.
pub(crate) fn run(output: &Output) -> anyhow::Result<Exit> {
    output.print(manifest::SCHEMA)?;
    Ok(Exit::Success)
}
