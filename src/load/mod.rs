//! Reads a manifest with its includes, prompt files, partials and packs.
//!
//! A load does not stop at an error: it reads all that it can, and reports the rest. Included files are read one after the
//! other, or listed for catalog/, which reads many at once. What is not here: what the entries mean (catalog/), and when to
//! load again (reload/).

mod environment;
mod imported_pack;
mod imported_grants;
mod include;
mod locked_pack;
mod pack;
mod paths;
mod location;
mod secret_scan;
mod variable_command;
mod variable_file;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::compile::{FileBuffers, LoadContext, LoadCoverage, NamePrefix, Pack};
use crate::diagnostic::FileId;
use crate::files::FileStamp;
use crate::manifest::{Fragment, Manifest};
use crate::pack_format::{ImportedPrompt, ImportedSkill};
use crate::template::FixedTime;
use crate::yaml::Location;

pub(crate) use environment::is_unexpanded;
pub use include::read_included;
pub use location::{MANIFEST_NAMES, ManifestLocation, NEW_MANIFEST_NAME, folder_argument};
pub use locked_pack::{LockablePack, PackState};
pub use pack::WORKSPACE_VARIABLE;
pub use paths::MatchedFile;
pub use secret_scan::{looks_secret, warn_of_secrets};
pub use variable_command::CommandOutputs;

/// The result of a load.
pub struct LoadedPacks {
    /// The diagnostics, the documents and the files that were read.
    pub load_context: LoadContext,
    /// The packs, the served one first; empty if its manifest cannot be read.
    pub packs: Vec<LoadedPack>,
    /// The packs that come from elsewhere, loaded or not.
    pub lockable_packs: Vec<LockablePack>,
}

impl LoadedPacks {
    /// Reads the included files, one after the other.
    pub fn read_included(&mut self) {
        let first = self.load_context.report.sources.next_id();
        for LoadedPack { pack, included, entry_files, .. } in &mut self.packs {
            entry_files.extend(pack::read_files(std::mem::take(included), pack, &mut self.load_context));
        }
        warn_of_secrets(first, &[], &mut self.load_context);
    }
}

/// One pack.
pub struct LoadedPack {
    /// The context of its entries.
    pub pack: Pack,
    /// The prefix of its names.
    pub prefix: NamePrefix,
    /// The root of its manifest.
    pub at: Location,
    /// Its manifest, apart from its entries.
    pub manifest: Manifest,
    /// Its entries by file: those of the manifest, then those of includes, in the order written.
    pub entry_files: Vec<EntryFile>,
    /// The files that it includes and that are not read yet.
    pub included: Vec<MatchedFile>,
    /// Its prompts, if they are in another format.
    pub imported_prompts: Vec<ImportedPrompt>,
    /// Its skills, if they are in another format.
    pub imported_skills: Vec<ImportedSkill>,
    /// The number of the pack that imports it, if any.
    pub importer: Option<usize>,
    /// Required variables that are not set.
    pub unset_variables: Vec<String>,
}

impl LoadedPack {
    /// Whether it is of another program, without a manifest.
    pub fn is_imported(&self) -> bool {
        self.entry_files.is_empty()
    }
}

/// The entries of one file.
pub struct EntryFile {
    /// The folder of the file, relative to the pack's.
    pub base: std::path::PathBuf,
    /// Its prompts, resources, tools and tests.
    pub entries: Arc<Fragment>,
    /// The file.
    pub file: FileId,
    /// Its stamp, where that tells every later version from this one.
    pub stamp: Option<FileStamp>,
}

/// The source of environment variables.
#[derive(Debug, Clone)]
pub enum EnvSource {
    /// The current variables of this process.
    Process,
    /// These, and beside them the current variables of this process.
    ProcessWith(BTreeMap<String, String>),
    /// These and no others.
    Fixed(BTreeMap<String, String>),
    /// Those of a test.
    Test(TestEnvironment),
}

/// The variables of a test, and its time.
#[derive(Debug, Clone, Default)]
pub struct TestEnvironment {
    /// The variables of the served manifest, in place of what files and commands would say. A pack has them where it is
    /// passed nothing else.
    pub variables: BTreeMap<String, String>,
    /// The variables that the test sets.
    pub mocked: BTreeMap<String, String>,
    /// The number of the pack that the test is of, which alone has them.
    pub pack: usize,
    /// The time of `now`, if it is fixed.
    pub fixed_time: Option<FixedTime>,
    /// Whether the other variables of the process are set too.
    pub inherits: bool,
    /// Whether it is recorded what of the manifest is reached.
    pub records_coverage: bool,
}

impl EnvSource {
    /// The value of a variable; one that is not UTF-8 counts as not set.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        match self {
            EnvSource::Process => std::env::var(name).ok(),
            EnvSource::ProcessWith(value) => value.get(name).cloned().or_else(|| std::env::var(name).ok()),
            EnvSource::Fixed(variables) => variables.get(name).cloned(),
            EnvSource::Test(test) => {
                let inherits = test.inherits || TEST_VARIABLES.contains(&name);
                let value = test.mocked.get(name).or_else(|| test.variables.get(name)).cloned();
                value.or_else(|| std::env::var(name).ok().filter(|_| inherits))
            }
        }
    }

    /// Whether a variable has its value from here, though the manifest names another source.
    fn replaces(&self, name: &str) -> bool {
        matches!(self, EnvSource::Test(test) if test.variables.contains_key(name))
    }

    /// Whether it is recorded what of the manifest is reached.
    fn records_coverage(&self) -> bool {
        matches!(self, EnvSource::Test(test) if test.records_coverage)
    }

    /// The time of `now`, if it is fixed.
    fn now(&self) -> Option<FixedTime> {
        match self {
            EnvSource::Test(test) => test.fixed_time,
            _ => None,
        }
    }

    /// The variables of the served manifest, with those of a test of it.
    fn for_served(&self) -> EnvSource {
        match self {
            EnvSource::Test(test) => {
                let variables = test.variables_of(0, test.variables.clone());
                EnvSource::Test(TestEnvironment { variables, mocked: BTreeMap::new(), ..*test })
            }
            other => other.clone(),
        }
    }

    /// The variables that a test of the pack with a number sets.
    fn mocked_variables(&self, number: usize) -> BTreeMap<String, String> {
        match self {
            EnvSource::Test(test) => test.variables_of(number, BTreeMap::new()),
            _ => BTreeMap::new(),
        }
    }

    /// The variables of the pack with a number, with those of a test of it.
    fn for_pack(&self, number: usize, passed: EnvSource) -> EnvSource {
        match (self, passed) {
            (EnvSource::Test(test), EnvSource::Fixed(passed)) => {
                let mut variables = test.variables.clone();
                variables.extend(passed);
                let variables = test.variables_of(number, variables);
                EnvSource::Test(TestEnvironment { variables, mocked: BTreeMap::new(), inherits: false, ..*test })
            }
            (_, passed) => passed,
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

impl TestEnvironment {
    /// The variables of a pack, with those that the test sets.
    fn variables_of(&self, number: usize, mut variables: BTreeMap<String, String>) -> BTreeMap<String, String> {
        if number == self.pack {
            variables.extend(self.mocked.clone());
        }
        variables
    }
}

/// Whether tests have a variable without a declaration.
pub(crate) fn is_variable_of_tests(name: &str) -> bool {
    TEST_VARIABLES.contains(&name)
}

/// The variables of the process that every test has.
const TEST_VARIABLES: [&str; 2] = ["PATH", WORKSPACE_VARIABLE];

/// What a load reads beside files.
#[derive(Clone, Copy)]
struct LoadSources<'a> {
    environment: &'a EnvSource,
    /// What the commands of the served manifest printed.
    commands: &'a CommandOutputs,
}

/// Loads the manifest at `place`, with the variables of `environment`. Those of commands are not set.
pub fn load(place: &ManifestLocation, environment: &EnvSource) -> LoadedPacks {
    load_buffers(place, environment, &FileBuffers::default())
}

/// The same with texts instead of files.
pub fn load_buffers(place: &ManifestLocation, environment: &EnvSource, buffers: &FileBuffers) -> LoadedPacks {
    let mut loaded = load_manifests(place, environment, &CommandOutputs::default(), buffers);
    loaded.read_included();
    loaded
}

/// Loads manifests with what the commands of the served one printed, and lists their included files, for
/// [`read_included`] to read. The context of the load lists the commands that are declared.
pub fn load_manifests(
    place: &ManifestLocation,
    environment: &EnvSource,
    commands: &CommandOutputs,
    buffers: &FileBuffers,
) -> LoadedPacks {
    let mut load_context = LoadContext::with_buffers(buffers.clone());
    load_context.coverage = environment.records_coverage().then(LoadCoverage::default);
    let (packs, lockable_packs) = pack::load_packs(place, LoadSources { environment, commands }, &mut load_context);
    let imported_prompts = packs.iter().flat_map(|pack| &pack.imported_prompts);
    let imported_prompts: Vec<FileId> = imported_prompts.map(|prompt| prompt.at().file()).collect();
    warn_of_secrets(FileId(0), &imported_prompts, &mut load_context);
    LoadedPacks { load_context, packs, lockable_packs }
}
