//! From a path to what was written: the manifest, its fragments, prompt files, partials and packs.
//!
//! Nothing here stops at a fault: all that can be read is read, and the rest is in the report. What is not here: what
//! the entries mean (catalog/), and when to load again (reload/).

mod environment;
mod fragment;
mod pack;
mod paths;
mod place;
mod secrets;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::compile::{Findings, Pack};
use crate::manifest::{Http, Prompt, Resource, Server, Skills, Test, Tool};
use crate::notation::Named;
use crate::yaml::{At, Spanned};

pub(crate) use environment::is_unexpanded;
pub use place::{OpenError, Place};

/// Everything that one load has found.
pub struct Loaded {
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
    pub at: At,
    /// What the server is called and says of itself.
    pub server: Option<Spanned<Server>>,
    /// How it listens.
    pub http: Option<Spanned<Http>>,
    /// Its skills.
    pub skills: Option<Spanned<Skills>>,
    /// Its entries, file by file: the manifest's own, then what it includes, in the order written.
    pub files: Vec<Written>,
    /// The number of the pack that takes it in, where one does.
    pub importer: Option<usize>,
    /// Required variables that are not set.
    pub unset: Vec<String>,
}

/// The entries of one file.
#[derive(Default)]
pub struct Written {
    /// The folder of the file, relative to the pack's.
    pub base: std::path::PathBuf,
    /// Its prompts.
    pub prompts: Named<Spanned<Prompt>>,
    /// Its resources.
    pub resources: Named<Spanned<Resource>>,
    /// Its tools.
    pub tools: Named<Spanned<Tool>>,
    /// Its tests.
    pub tests: Named<Spanned<Test>>,
}

/// Where the variables that a manifest may ask for come from.
#[derive(Debug, Clone)]
pub enum Surroundings {
    /// Those of this process, as they are when they are asked for.
    Process,
    /// These and no others.
    Fixed(BTreeMap<String, String>),
}

impl Surroundings {
    /// The value of a variable; one that is no UTF-8 counts as not set.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        match self {
            Surroundings::Process => std::env::var(name).ok(),
            Surroundings::Fixed(variables) => variables.get(name).cloned(),
        }
    }
}

impl Default for Surroundings {
    fn default() -> Surroundings {
        Surroundings::Fixed(BTreeMap::new())
    }
}

impl FromIterator<(String, String)> for Surroundings {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(variables: I) -> Surroundings {
        Surroundings::Fixed(variables.into_iter().collect())
    }
}

/// Loads what stands at `place`, with the variables of `environment`.
pub fn load(place: &Place, environment: &Surroundings) -> Loaded {
    let mut findings = Findings::default();
    let packs = pack::load(place, environment, &mut findings);
    secrets::warn(&mut findings);
    Loaded { findings, packs }
}
