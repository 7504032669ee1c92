//! The manifest that a command works on: its file, its variables, and how it is loaded and built.

mod env_pair;
mod manifest_file;
mod variable_commands;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::catalog::{BuildOutcome, Catalog, ReadPacks, build};
use crate::cli::Output;
use crate::cli::process::{build_runtime, new_world};
use crate::compile::FileBuffers;
use crate::diagnostic::Report;
use crate::load::{CommandOutputs, EnvSource, LoadedPacks, ManifestLocation, load_manifests};
use crate::redact::SECRET_PLACEHOLDER;

pub(crate) use env_pair::{EnvPair, environment};
pub(crate) use manifest_file::ManifestFile;
pub(crate) use variable_commands::VariableCommands;

/// Loads and builds a manifest, and lets `output` remove its secrets.
pub(crate) fn load_and_build(location: &ManifestLocation, output: &Output) -> BuildOutcome {
    let loaded = load_manifests(location, &EnvSource::Process, &CommandOutputs::default(), &FileBuffers::default());
    build_loaded(loaded, output)
}

/// Builds what was loaded, and lets `output` remove its secrets.
pub(crate) fn build_loaded(packs: impl Into<ReadPacks>, output: &Output) -> BuildOutcome {
    let built = build(packs);
    output.set_redactor(built.redactor.clone());
    built
}

/// Loads a manifest whose variables may come from commands, which are run.
pub(crate) fn load_with_commands(location: &ManifestLocation, environment: &EnvSource) -> anyhow::Result<LoadedPacks> {
    let (runtime, world) = (build_runtime()?, Arc::new(new_world()));
    let mut commands = VariableCommands::new(world.clone(), CancellationToken::new());
    let mut loaded = runtime.block_on(commands.load(location, environment, false));
    loaded.read_included();
    world.shut_down();
    Ok(loaded)
}

/// Loads a manifest whose commands are not run: what each would print is a placeholder.
pub(crate) fn load_without_commands(location: &ManifestLocation) -> LoadedPacks {
    let load = |outputs: &_| load_manifests(location, &EnvSource::Process, outputs, &FileBuffers::default());
    let loaded = load(&CommandOutputs::default());
    let mut outputs = CommandOutputs::default();
    for command in &loaded.load_context.commands {
        outputs.insert(command.clone(), Ok(SECRET_PLACEHOLDER.to_owned()));
    }
    load(&outputs)
}

/// A fingerprint of everything that was read, listed and reported, and of secrets; files of a root count by size and time.
pub(crate) fn load_fingerprint(report: &Report, catalog: Option<&Catalog>) -> u64 {
    let mut hasher = DefaultHasher::new();
    report.sources.iter().for_each(|source| source.digest().hash(&mut hasher));
    report.diagnostics().hash(&mut hasher);
    catalog.map(|catalog| catalog.redactor().as_ref()).hash(&mut hasher);
    for resource in catalog.iter().flat_map(|catalog| &catalog.lists().resources) {
        let modified = resource.info.annotations.as_ref().and_then(|annotations| annotations.last_modified.as_ref());
        (&resource.uri, resource.size, modified).hash(&mut hasher);
    }
    for file in catalog.iter().flat_map(|catalog| &catalog.lists().skills).flat_map(|skill| &skill.resources) {
        (&file.uri, &file.digest).hash(&mut hasher);
    }
    hasher.finish()
}
