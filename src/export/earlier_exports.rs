//! Finds what earlier exports have written among the files of a folder, so that none contains another.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use super::docker::{DOCKER_CONTEXT, DOCKERFILE_HEADER};
use super::mcpb::is_mcpb_bundle;
use super::server_json::SCHEMA;
use crate::files::{FileError, Folder};

/// How much of a Dockerfile is read to know one of ours.
const MAX_DOCKERFILE_BYTES: u64 = 1 << 20;

/// The folders of container images among these files.
///
/// # Errors
/// A Dockerfile cannot be read.
pub(super) fn exported_folders(folder: &Folder, paths: &BTreeSet<String>) -> Result<Vec<String>, FileError> {
    let mut folders = Vec::new();
    for dockerfile in paths.iter().filter_map(|path| path.strip_suffix("/Dockerfile")) {
        let below = format!("{dockerfile}/");
        let names = paths.range(below.clone()..).map_while(|path| path.strip_prefix(&below));
        let mut names = names.map(|path| path.split('/').next().unwrap_or_default());
        if !names.all(|name| DOCKER_CONTEXT.contains(&name)) {
            continue;
        }
        let bytes = match folder.read(Path::new(&format!("{below}Dockerfile")), MAX_DOCKERFILE_BYTES) {
            Err(FileError::TooLarge { .. }) => continue,
            read => read?,
        };
        if bytes.starts_with(DOCKERFILE_HEADER.as_bytes()) {
            folders.push(dockerfile.to_owned());
        }
    }
    Ok(folders)
}

/// Whether a file is a bundle, whatever its name is, or a description for registries.
pub(super) fn is_exported_file(path: &str, bytes: &[u8]) -> bool {
    is_mcpb_bundle(bytes) || path.ends_with(".json") && is_server_json(bytes)
}

fn is_server_json(bytes: &[u8]) -> bool {
    let parsed: Option<Value> = serde_json::from_slice(bytes).ok();
    parsed.is_some_and(|value| value.get("$schema").and_then(Value::as_str) == Some(SCHEMA))
}
