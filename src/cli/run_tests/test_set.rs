//! The tests of a manifest that is being written: loaded once, and run one by one.

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::coverage_report::gap_message;
use crate::catalog::{BuildOutcome, Catalog, build};
use crate::cli::manifest::VariableCommands;
use crate::cli::process::build_runtime;
use crate::compile::FileBuffers;
use crate::dev_page::lines_around_changes;
use crate::diagnostic::{Diagnostic, Severity, SourceMap};
use crate::load::{EnvSource, LoadedPacks, ManifestLocation, TestEnvironment, load_buffers};
use crate::test_run::{
    Coverage, FailureDetails, PlannedTest, TestFailure, TestOutcome, TestRunner, TestStatus, TestWorlds, plan_tests,
    seen_variables, test_environment, test_fingerprints,
};
use crate::world::{RealWorld, ReportSink, World};
use crate::yaml::Location;

/// How many parts are listed that no test reaches.
const MAX_SHOWN_GAPS: usize = 2000;
/// How many lines of a difference are shown.
const MAX_SHOWN_LINES: usize = 1000;

/// Where tests are, and the world of live ones.
#[derive(Clone)]
pub(crate) struct TestSource {
    pub(crate) location: ManifestLocation,
    /// Texts instead of files.
    pub(crate) buffers: FileBuffers,
    /// The world of the server, as a process has one supervisor of programs.
    pub(crate) world: Arc<RealWorld>,
}

/// The tests of one load.
pub(crate) struct TestSet {
    source: TestSource,
    declared: LoadedPacks,
    tests: Vec<PlannedTest>,
    /// As many as tests: another one after an edit that touches the test.
    fingerprints: Vec<u64>,
    built: BuildOutcome,
}

/// How tests of a set are run.
#[derive(Clone, Copy, Default)]
pub(crate) struct TestRunOptions<'a> {
    /// Whether those run that act on the world.
    pub(crate) live: bool,
    /// Whether mocks are recorded of what these do.
    pub(crate) record: bool,
    /// What the tests reach, where that is recorded.
    pub(crate) coverage: Option<&'a Mutex<Coverage>>,
}

impl TestSet {
    /// Loads the tests.
    ///
    /// # Errors
    /// The first error of the manifest.
    pub(crate) fn load(source: &TestSource) -> Result<TestSet, String> {
        let declared = load_tests(source, TestEnvironment::default());
        let environment = TestEnvironment { records_coverage: true, ..test_environment(&declared) };
        let built = build(load_tests(source, environment));
        let error = |diagnostic: &&Diagnostic| diagnostic.severity == Severity::Error;
        let error = built.report.diagnostics().iter().find(error).map(|error| error.message.clone());
        let catalog = match (&built.catalog, error) {
            (Some(catalog), None) => catalog,
            (_, error) => return Err(error.unwrap_or_else(|| "it cannot be loaded".to_owned())),
        };
        let tests = plan_tests(&declared);
        let fingerprints = test_fingerprints(&tests, &declared, catalog);
        Ok(TestSet { source: source.clone(), declared, tests, fingerprints, built })
    }

    /// The tests, each with its fingerprint.
    pub(crate) fn tests(&self) -> impl Iterator<Item = (&PlannedTest, u64)> {
        self.tests.iter().zip(self.fingerprints.iter().copied())
    }

    /// The file that declares a test, as messages show it.
    pub(crate) fn path_of(&self, test: &PlannedTest) -> Option<&Path> {
        self.declared.load_context.report.sources.get(test.declared.at.file()).map(|source| source.path())
    }

    /// The variables of the process that a test of this name would see, with an environment beside that.
    pub(crate) fn seen_variables(&self, test: &PlannedTest, environment: &EnvSource) -> Map<String, Value> {
        let loaded = load_buffers(&self.source.location, environment, &self.source.buffers);
        seen_variables(&loaded, test)
    }

    /// What there is to reach, of which nothing is reached yet.
    pub(crate) fn coverage(&self) -> Coverage {
        let load = self.built.coverage.as_ref();
        load.map(|load| Coverage::from_load(load, &self.built.report.sources)).unwrap_or_default()
    }

    /// Runs one of the tests.
    pub(crate) fn run(&self, test: &PlannedTest, options: TestRunOptions<'_>) -> TestOutcome {
        let runner = TestRunner {
            worlds: &self.source,
            documents: &self.declared.load_context.documents,
            live: options.live,
            record: options.record,
            update: false,
            coverage: options.coverage,
            live_test_lock: Mutex::default(),
        };
        runner.run(test)
    }

    /// A test as programs read it, with its outcome where it has run.
    pub(crate) fn to_json(&self, test: &PlannedTest, outcome: Option<&TestOutcome>) -> Value {
        let catalog = self.built.catalog.as_deref();
        let mut shown = json!({
            "name": test.name,
            "entry": entry_key(test, catalog),
            "live": test.is_live(),
            "elapsedMs": outcome.map(|outcome| outcome.elapsed.as_secs_f64() * 1e3),
            "failures": [],
        });
        self.add_place(&mut shown, test.at);
        let (status, detail) = match outcome.map(|outcome| &outcome.status) {
            None => ("waiting", None),
            Some(TestStatus::Passed) => ("passed", None),
            Some(TestStatus::Skipped(reason)) => ("skipped", Some(("reason", Value::from(reason.as_str())))),
            Some(TestStatus::Failed(failures)) => {
                let failures: Value = failures.iter().map(|failure| self.failure_json(failure)).collect();
                ("failed", Some(("failures", failures)))
            }
        };
        if let Value::Object(shown) = &mut shown {
            shown.insert("status".to_owned(), status.into());
            shown.extend(detail.map(|(key, value)| (key.to_owned(), value)));
        }
        shown
    }

    fn failure_json(&self, failure: &TestFailure) -> Value {
        let diff = match &failure.details {
            FailureDetails::Text(_) => None,
            FailureDetails::Difference { expected, received } => Some(lines_around_changes(expected, received)),
        };
        let diff = diff.as_ref().map(|lines| lines.get(..MAX_SHOWN_LINES).unwrap_or(lines));
        let details = failure.details.to_string();
        let mut shown = json!({ "message": failure.message, "help": failure.help, "details": details, "diff": diff });
        self.add_place(&mut shown, failure.at);
        shown
    }

    /// The parts that are not reached.
    pub(crate) fn gaps_json(coverage: &Coverage) -> Value {
        let gap = |gap: &crate::test_run::ManifestPart| {
            let path = std::path::absolute(&gap.file).unwrap_or_else(|_| gap.file.clone());
            json!({ "file": gap.file, "path": path, "line": gap.line, "label": gap_message(gap) })
        };
        coverage.gaps().take(MAX_SHOWN_GAPS).map(gap).collect()
    }

    fn add_place(&self, shown: &mut Value, at: Location) {
        let place = file_and_line(&self.declared.load_context.report.sources, at);
        if let (Value::Object(shown), Some((file, line))) = (shown, place) {
            let path = std::path::absolute(&file).unwrap_or_default();
            shown.insert("file".to_owned(), file.into());
            shown.insert("path".to_owned(), path.to_string_lossy().into());
            shown.insert("line".to_owned(), line.into());
        }
    }
}

fn load_tests(source: &TestSource, environment: TestEnvironment) -> LoadedPacks {
    load_buffers(&source.location, &EnvSource::Test(environment), &source.buffers)
}

fn file_and_line(sources: &SourceMap, at: Location) -> Option<(String, u32)> {
    let source = sources.get(at.file())?;
    Some((source.path().display().to_string(), source.position(at.span().start).line))
}

/// The kind and the id of the entry that a test is about.
fn entry_key(test: &PlannedTest, catalog: Option<&Catalog>) -> String {
    let called = test.called();
    let is_listed = || catalog.is_some_and(|catalog| catalog.lists().resources.iter().any(|known| known.uri == called));
    match test.method() {
        "tools/call" => format!("tool {called}"),
        "prompts/get" => format!("prompt {called}"),
        _ if is_listed() => format!("resource {called}"),
        _ => match catalog.and_then(|catalog| catalog.answering_template(called)) {
            Some(template) => format!("template {template}"),
            None => format!("resource {called}"),
        },
    }
}

impl TestWorlds for TestSource {
    fn load(&self, environment: &EnvSource, live: bool) -> LoadedPacks {
        // Commands of variables are run for live tests alone, as `folio test --live` does.
        let runtime = live.then(build_runtime).and_then(Result::ok);
        let loaded = runtime.map(|runtime| {
            let mut commands = VariableCommands::new(self.world.clone(), CancellationToken::new());
            let mut loaded = runtime.block_on(commands.load(&self.location, environment, false));
            loaded.read_included();
            loaded
        });
        loaded.unwrap_or_else(|| load_buffers(&self.location, environment, &self.buffers))
    }

    fn real(&self) -> Arc<dyn World> {
        self.world.clone()
    }

    fn sink(&self, _: &PlannedTest) -> ReportSink {
        Arc::new(|_| {})
    }
}
