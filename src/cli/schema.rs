//! `folio schema`.

use super::{Exit, Output};
use crate::manifest;

/// Prints the JSON Schema of the manifest.
pub(super) fn run(output: &Output) -> anyhow::Result<Exit> {
    output.print(manifest::SCHEMA)?;
    Ok(Exit::Success)
}
