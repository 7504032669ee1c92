//! From a path to what was written: the manifest, its fragments, prompt files, partials and packs.
//!
//! Nothing here stops at a fault: all that can be read is read, and the rest is in the report. What is not here: what
//! the entries mean (catalog/), and when to load again (reload/).

mod environment;
mod include;
mod pack;
mod paths;
mod location;
mod secret_scan;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::compile::{Findings, Pack};
use crate::manifest::{Fragment, Manifest};
use crate::yaml::Location;

pub(crate) use environment::is_unexpanded;
pub use location::{LocationError, MANIFEST_NAMES, ManifestLocation};

/// Everything that one load has found.
pub struct LoadedPacks {
    /// Faults, trees, and the files that were read.
    pub findings: Findings,
    /// The packs, the served one first; empty where not even its manifest could be read.
    pub packs: Vec<LoadedPack>,
}

/// One pack as it was written.
pub struct LoadedPack {
    /// What its entries share.
    pub pack: Pack,
    /// What its names begin with.
    pub prefix: String,
    /// The root of its manifest.
    pub at: Location,
    /// Its manifest, apart from its entries.
    pub manifest: Manifest,
    /// Its entries, file by file: the manifest's own, then what it includes, in the order written.
    pub entry_files: Vec<EntryFile>,
    /// The number of the pack that takes it in, where one does.
    pub importer: Option<usize>,
    /// Required variables that are not set.
    pub unset_variables: Vec<String>,
}

/// The entries of one file.
pub struct EntryFile {
    /// The folder of the file, relative to the pack's.
    pub base: std::path::PathBuf,
    /// Its prompts, resources, tools and tests.
    pub entries: Fragment,
}

/// Where the variables that a manifest may ask for come from.
#[derive(Debug, Clone)]
pub enum EnvSource {
    /// Those of this process, as they are when they are asked for.
    Process,
    /// These and no others.
    Fixed(BTreeMap<String, String>),
}

impl EnvSource {
    /// The value of a variable; one that is no UTF-8 counts as not set.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        match self {
            EnvSource::Process => std::env::var(name).ok(),
            EnvSource::Fixed(variables) => variables.get(name).cloned(),
        }
    }
}

impl Default for EnvSource {
    fn default() -> EnvSource {
        EnvSource::Fixed(BTreeMap::new())
    }
}

impl FromIterator<(String, String)> for EnvSource {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(variables: I) -> EnvSource {
        EnvSource::Fixed(variables.into_iter().collect())
    }
}

/// Loads what stands at `place`, with the variables of `environment`.
pub fn load(place: &ManifestLocation, environment: &EnvSource) -> LoadedPacks {
    let mut findings = Findings::default();
    let packs = pack::load_packs(place, environment, &mut findings);
    secret_scan::warn_secrets_in_clear(&mut findings);
    LoadedPacks { findings, packs }
}
