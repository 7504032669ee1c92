//! The tests of a manifest and its packs, as calls to make.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;
use regex::Regex;
use serde_json::{Map, Value, json};

use crate::digest::Digest;
use crate::identity::LocalCaller;
use crate::load::{EntryFile, LoadedPack, LoadedPacks, TestEnvironment};
use crate::manifest::{EnvEntry, Expect, Manifest, Mock, Test, TestCase};
use crate::spec_version::SpecVersion;
use crate::uri::UriTemplate;
use crate::yaml::{Location, Spanned};

use super::snapshot::snapshot_path;

/// One call, and what is expected of it.
pub struct PlannedTest {
    /// The name of the test, with its pack, case and version.
    pub name: String,
    /// The place of its name.
    pub at: Location,
    /// Where the manifest declares it.
    pub declared: DeclaredCase,
    pub(super) method: &'static str,
    pub(super) params: Value,
    /// The entry that must be served, by its name for clients; `None` for a URI.
    pub(super) entry: Option<String>,
    /// Whether it is of a pack that the served manifest imports.
    pub(super) is_imported: bool,
    pub(super) version: SpecVersion,
    pub(super) mocks: IndexMap<String, PlannedMock>,
    pub(super) environment: TestEnvironment,
    pub(super) is_live: bool,
    /// Who calls, where that decides.
    pub(super) caller: Option<Arc<LocalCaller>>,
    pub(super) expects: Vec<Spanned<Expect>>,
    /// The digest of the test as it is written.
    pub(super) digest: u64,
    pub(super) snapshot: PathBuf,
}

/// A test in its file, and which of its cases one call is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredCase {
    /// The name of the test in its file.
    pub test: String,
    /// The place of that name.
    pub at: Location,
    /// The number of the case, if it has cases.
    pub case: Option<usize>,
}

/// A mock of a test, or of its case.
pub(super) struct PlannedMock {
    pub(super) mock: Mock,
    /// The place of its value.
    pub(super) at: Location,
    /// Whether other cases have it too, which may use more of it.
    pub(super) is_shared: bool,
}

impl PlannedTest {
    /// The method of its call.
    pub fn method(&self) -> &'static str {
        self.method
    }

    /// What it calls: the name of a prompt or tool, as clients see it, or a URI.
    pub fn called(&self) -> &str {
        let uri = || self.params.get("uri").and_then(Value::as_str);
        self.entry.as_deref().or_else(uri).unwrap_or_default()
    }

    /// Whether it may act on the world.
    pub fn is_live(&self) -> bool {
        self.is_live
    }
}

/// Chooses tests by name.
pub struct TestFilter(Regex);

impl TestFilter {
    /// A part of a name, or a glob with `*` and `?` for all of it.
    pub fn new(text: &str) -> Option<TestFilter> {
        let escaped = regex::escape(text);
        let pattern = match text.contains(['*', '?']) {
            true => format!("^{}$", escaped.replace("\\*", ".*").replace("\\?", ".")),
            false => escaped,
        };
        Regex::new(&pattern).ok().map(TestFilter)
    }

    /// Whether a test is chosen.
    pub fn matches(&self, test: &PlannedTest) -> bool {
        self.0.is_match(&test.name)
    }
}

/// The variables of every test: made-up values of secrets.
pub fn test_environment(loaded: &LoadedPacks) -> TestEnvironment {
    let manifest = loaded.packs.first().map(|pack| &pack.manifest);
    let variables = manifest.into_iter().flat_map(secret_names).map(|name| {
        let value = format!("test-value-of-{name}");
        (name, value)
    });
    TestEnvironment { variables: variables.collect(), ..TestEnvironment::default() }
}

/// The variables whose values a test must not know.
fn secret_names(manifest: &Manifest) -> impl Iterator<Item = String> {
    let is_secret = |entry: &EnvEntry| match entry {
        EnvEntry::Keys(variable) => {
            let is_external = variable.file.is_some() || variable.command.is_some();
            is_external || (variable.secret == Some(true) && variable.default.is_none())
        }
        _ => false,
    };
    manifest.env.iter().filter(move |(_, entry)| is_secret(entry)).map(|(name, _)| name.value.clone())
}

/// All tests, in the order written; those of packs last.
pub fn plan_tests(loaded: &LoadedPacks) -> Vec<PlannedTest> {
    let base = test_environment(loaded);
    let mut planned = Vec::new();
    for (number, pack) in loaded.packs.iter().enumerate() {
        for file in &pack.entry_files {
            for (name, test) in &file.entries.tests {
                let mut digest = Digest::new("test");
                loaded.load_context.documents.digest(test.location, &mut digest);
                let digest = digest.finish_u64();
                let planner = TestPlanner { pack, number, file, name, test, digest, base: &base };
                planner.add_to(&mut planned);
            }
        }
    }
    planned
}

/// Plans the calls of one test.
struct TestPlanner<'a> {
    pack: &'a LoadedPack,
    number: usize,
    file: &'a EntryFile,
    name: &'a Spanned<String>,
    test: &'a Test,
    digest: u64,
    base: &'a TestEnvironment,
}

/// What a test calls.
struct TestTarget {
    method: &'static str,
    params: Value,
    entry: Option<String>,
}

impl TestPlanner<'_> {
    fn add_to(&self, planned: &mut Vec<PlannedTest>) {
        let newest = [SpecVersion::NEWEST];
        let versions = if self.test.versions.is_empty() { &newest[..] } else { &self.test.versions };
        let whole = [Spanned::new(TestCase::default(), self.name.location)];
        let cases = if self.test.cases.is_empty() { &whole[..] } else { &self.test.cases };
        let display_name = match self.pack.prefix.as_str() {
            "" => self.name.value.clone(),
            prefix => format!("{prefix}: {}", self.name.value),
        };
        for (number, case) in cases.iter().enumerate() {
            let name = self.test.case_name(&display_name, number);
            for version in versions {
                let suffix =
                    if self.test.versions.is_empty() { String::new() } else { format!(" [{}]", version.as_str()) };
                let number = (!self.test.cases.is_empty()).then_some(number);
                planned.extend(self.plan(format!("{name}{suffix}"), number, case, *version));
            }
        }
    }

    /// `number` is that of the case, if the test has cases.
    fn plan(
        &self,
        name: String,
        number: Option<usize>,
        case: &Spanned<TestCase>,
        version: SpecVersion,
    ) -> Option<PlannedTest> {
        let mut mocks: IndexMap<String, PlannedMock> = IndexMap::new();
        let shared = self.test.mock.iter().map(|mock| (mock, !self.test.cases.is_empty()));
        for ((key, value), is_shared) in shared.chain(case.mock.iter().map(|mock| (mock, false))) {
            let mock = Mock::parse(key, &value.0).ok()?;
            mocks.insert(key.value.clone(), PlannedMock { mock, at: value.location, is_shared });
        }
        let is_live = self.test.live == Some(true);
        let environment = self.environment(&mocks, is_live);
        let TestTarget { method, params, entry } = self.subject(case)?;
        let folder = self.pack.pack.folder.path().join(&self.file.base);
        Some(PlannedTest {
            at: case.name.as_ref().map_or(case.location, |name| name.location),
            declared: DeclaredCase { test: self.name.value.clone(), at: self.name.location, case: number },
            method,
            params,
            entry,
            is_imported: self.pack.importer.is_some(),
            version,
            mocks,
            environment,
            is_live,
            caller: case.caller.as_ref().or(self.test.caller.as_ref()).map(|caller| Arc::new(caller.value.clone())),
            digest: self.digest,
            expects: self.test.expect.iter().chain(&case.expect).cloned().collect(),
            snapshot: snapshot_path(&folder, &name),
            name,
        })
    }

    fn environment(&self, mocks: &IndexMap<String, PlannedMock>, is_live: bool) -> TestEnvironment {
        let mock_of = |name: &str| mocks.get(name).map(|planned| &planned.mock);
        let variables = if is_live { BTreeMap::new() } else { self.base.variables.clone() };
        let test_value = |(name, entry): (&Spanned<String>, &Spanned<EnvEntry>)| match &entry.value {
            EnvEntry::Keys(variable) => Some((name.value.clone(), variable.test.as_ref()?.value.0.clone())),
            _ => None,
        };
        let entries = self.pack.manifest.env.iter().filter(|_| !is_live);
        let mut mocked: BTreeMap<String, String> = entries.filter_map(test_value).collect();
        if let Some(Mock::Env(own)) = mock_of("env") {
            mocked.extend(own.clone());
        }
        let fixed_time = match mock_of("now") {
            Some(Mock::Now(time)) => time.parse().ok(),
            _ => None,
        };
        TestEnvironment { variables, mocked, pack: self.number, fixed_time, inherits: is_live, records_coverage: false }
    }

    fn subject(&self, case: &TestCase) -> Option<TestTarget> {
        let arguments = self.test.arguments.iter().chain(&case.arguments);
        let arguments: Map<String, Value> =
            arguments.map(|(name, value)| (name.value.clone(), value.0.clone())).collect();
        if let Some(tool) = &self.test.tool {
            let name = self.pack.prefix.qualify(tool);
            let params = json!({ "name": name, "arguments": arguments });
            return Some(TestTarget { method: "tools/call", params, entry: Some(name) });
        }
        if let Some(prompt) = &self.test.prompt {
            let name = self.pack.prefix.qualify(prompt);
            let texts: Map<String, Value> = arguments.into_iter().map(|(key, value)| (key, to_text(value))).collect();
            let params = json!({ "name": name, "arguments": texts });
            return Some(TestTarget { method: "prompts/get", params, entry: Some(name) });
        }
        let own = case.uri.as_ref().or(self.test.uri.as_ref()).map(|uri| uri.value.clone());
        let uri = own.or_else(|| self.expand(self.test.resource.as_ref()?, &arguments))?;
        Some(TestTarget { method: "resources/read", params: json!({ "uri": uri }), entry: None })
    }

    /// The URI of a resource with these values.
    fn expand(&self, resource: &str, arguments: &Map<String, Value>) -> Option<String> {
        let mut all = self.pack.entry_files.iter().flat_map(|file| &file.entries.resources);
        let (_, resource) = all.find(|(name, _)| name.value == resource)?;
        let template = UriTemplate::parse(resource.uri.as_ref()?).ok()?;
        let value = |name: &str| match to_text(arguments.get(name)?.clone()) {
            Value::String(text) => Some(text),
            _ => None,
        };
        Some(template.expand(&value))
    }
}

/// The arguments of prompts are texts.
fn to_text(value: Value) -> Value {
    match value {
        Value::String(_) => value,
        other => Value::String(other.to_string()),
    }
}

/// Folders that may hold snapshots of the served manifest.
pub(super) fn snapshot_folders(loaded: &LoadedPacks) -> Vec<PathBuf> {
    let served = loaded.packs.first();
    let files = served.into_iter().flat_map(|pack| pack.entry_files.iter().map(move |file| (pack, file)));
    let mut folders: Vec<PathBuf> =
        files.map(|(pack, file)| pack.pack.folder.path().join(Path::new(&file.base))).collect();
    folders.sort();
    folders.dedup();
    folders
}
