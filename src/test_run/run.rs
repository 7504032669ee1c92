//! Runs one test.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::runtime::Builder;

use crate::catalog::{Catalog, ServingMode, build};
use crate::compile::LoadCoverage;
use crate::diagnostic::{Severity, SourceMap, quote_names};
use crate::load::{EnvSource, LoadedPacks, TestEnvironment};
use crate::manifest::{Expect, Mock, ProgramMock, ResponseMock};
use crate::server::{ServeOptions, SharedServer};
use crate::transport::in_process::{self, InProcessClient, ServerQuestion};
use crate::world::{
    CapturedBytes, MockFolder, MockReplies, MockReply, MockResponse, MockWorld, ProgramOutput, RecordingWorld,
    ReportSink, ReportingWorld, World,
};
use crate::yaml::{Documents, Spanned, pointer};

use super::coverage::Coverage;
use super::expectation;
use super::plan::PlannedTest;
use super::recording::{self, RecordedServer, Recording};
use super::response::Response;
use super::scripted_answers::ScriptedAnswers;
use super::sent_action_check::SentActionCheck;
use super::snapshot::{self, SnapshotOutcome};
use super::{TestFailure, TestOutcome, TestStatus};

/// What tests need of the program around them.
pub trait TestWorlds: Sync {
    /// Loads the manifest with the variables of a test; `live` is whether commands may be run for them.
    fn load(&self, environment: &EnvSource, live: bool) -> LoadedPacks;

    /// A world for a live test.
    fn real(&self) -> Arc<dyn World>;

    /// Takes what acts on the world in a test whose mocks are recorded.
    fn sink(&self, test: &PlannedTest) -> ReportSink;
}

pub struct TestRunner<'a> {
    /// What is around them.
    pub worlds: &'a dyn TestWorlds,
    /// The trees of the files that they are written in.
    pub documents: &'a Documents,
    /// Whether live tests are run.
    pub live: bool,
    /// Whether mocks are recorded of what live tests do.
    pub record: bool,
    /// Whether snapshots are recorded.
    pub update: bool,
    /// What the tests reach, where that is recorded.
    pub coverage: Option<&'a Mutex<Coverage>>,
    /// Held by the live test that runs: each has a supervisor of programs, whose end would end those of another.
    pub live_test_lock: Mutex<()>,
}

/// The manifest, loaded for a test.
struct TestLoad {
    catalog: Arc<Catalog>,
    sources: SourceMap,
    coverage: Option<LoadCoverage>,
    /// The variables of the process that it sees, where mocks are recorded.
    variables: Map<String, Value>,
}

/// How a test ended, and what was written or recorded meanwhile.
struct TestRunOutcome {
    status: TestStatus,
    recorded_snapshot: Option<PathBuf>,
    recording: Option<Recording>,
}

impl From<TestStatus> for TestRunOutcome {
    fn from(status: TestStatus) -> TestRunOutcome {
        TestRunOutcome { status, recorded_snapshot: None, recording: None }
    }
}

/// A call that was made.
struct CallRecord {
    answer: Response,
    /// The keys of the answers that the client never gave.
    unasked_keys: Vec<String>,
    world: Arc<MockWorld>,
    /// What is not mocked, where that is recorded.
    recorder: Option<Arc<RecordingWorld>>,
    catalog: Arc<Catalog>,
}

impl TestRunner<'_> {
    /// Runs a test to its outcome.
    pub fn run(&self, test: &PlannedTest) -> TestOutcome {
        let began = Instant::now();
        let TestRunOutcome { status, recorded_snapshot, recording } = self.run_to_end(test);
        TestOutcome { status, elapsed: began.elapsed(), recorded_snapshot, recording }
    }

    fn run_to_end(&self, test: &PlannedTest) -> TestRunOutcome {
        if let Some(reason) = self.skip_reason(test) {
            return TestStatus::Skipped(reason.to_owned()).into();
        }
        let _turn = test.is_live.then(|| self.live_test_lock.lock());
        let TestLoad { catalog, sources, coverage, variables } = match self.build_catalog(test) {
            Ok(loaded) => loaded,
            Err(failure) => return TestStatus::Failed(vec![failure]).into(),
        };
        let lists = catalog.lists();
        let is_served = |name: &String| {
            lists.tools.iter().any(|tool| tool.name == *name) || lists.prompts.iter().any(|prompt| prompt.name == *name)
        };
        if test.is_imported && !test.entry.as_ref().is_none_or(is_served) {
            return TestStatus::Skipped("its entry is not served here".to_owned()).into();
        }
        let called = match self.call(test, catalog) {
            Ok(called) => called,
            Err(error) => {
                let failure = TestFailure::new(test.at, format!("cannot start the call: {error}"));
                return TestStatus::Failed(vec![failure]).into();
            }
        };
        if let (Some(all), Some(coverage)) = (self.coverage, &coverage) {
            all.lock().add(coverage, &sources);
        }
        let (failures, recorded_snapshot) = self.check(test, &called);
        let redactor = called.catalog.redactor();
        let redact = |text: &str| redactor.redact_text(text).into_owned();
        let failures: Vec<TestFailure> = failures.into_iter().map(|failure| failure.redact(redact)).collect();
        let status = if failures.is_empty() { TestStatus::Passed } else { TestStatus::Failed(failures) };
        let recorder = called.recorder.filter(|_| status == TestStatus::Passed);
        let server = RecordedServer { redactor, sources: &sources };
        let recording = recorder.map(|recorder| recording::record(&recorder.actions(), variables, &server));
        TestRunOutcome { status, recorded_snapshot, recording }
    }

    /// Why a test is not run.
    fn skip_reason(&self, test: &PlannedTest) -> Option<&'static str> {
        match test.is_live {
            // Its variables would count for the importer, too.
            true if test.is_imported => Some("it is `live`: run it in the folder of its pack"),
            true if !self.live => {
                Some("it is `live`: run it with `--live`, or with `--record`, which writes its mocks")
            }
            _ => None,
        }
    }

    fn build_catalog(&self, test: &PlannedTest) -> Result<TestLoad, TestFailure> {
        let environment = TestEnvironment { records_coverage: self.coverage.is_some(), ..test.environment.clone() };
        let loaded = self.worlds.load(&EnvSource::Test(environment), test.is_live);
        let variables = if self.record { recording::seen_variables(&loaded, test) } else { Map::new() };
        let mut built = build(loaded);
        let serving_mode = test.caller.clone().map_or(ServingMode::Local, ServingMode::LocalCaller);
        let accepted = built.accept(&serving_mode).map_err(|_| {
            let errors = built.report.diagnostics().iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
            let lines: String = errors.map(|error| format!("+{}\n", error.message)).collect();
            let lines = built.redactor.redact_text(&lines).into_owned();
            let failure = TestFailure::new(test.at, "the manifest cannot be loaded with the variables of this test");
            failure.details(lines).help("set them under `mock`: `env: { NAME: value }`")
        });
        let (sources, coverage) = (built.report.sources, built.coverage);
        accepted.map(|catalog| TestLoad { catalog, sources, coverage, variables })
    }

    fn call(&self, test: &PlannedTest, catalog: Arc<Catalog>) -> std::io::Result<CallRecord> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let recorder = (test.is_live && self.record).then(|| {
            let real = ReportingWorld::wrap(catalog.redactor(), &self.worlds.real(), self.worlds.sink(test));
            Arc::new(RecordingWorld::new(catalog.redactor().clone(), real))
        });
        let world = MockWorld::new(catalog.redactor().clone(), replies(test)).with_folders(folders(test)?);
        let world = Arc::new(match &recorder {
            Some(recorder) => world.with_real(recorder.clone()),
            None if test.is_live => world.with_real(self.worlds.real()),
            None => world,
        });
        let answers = ScriptedAnswers::new(&test.mocks);
        let answer = |question: &ServerQuestion<'_>| answers.answer(question);
        let client = InProcessClient {
            version: test.version,
            capabilities: client_capabilities(),
            answer: &answer,
            progress: None,
        };
        let options = ServeOptions { watching: false, declare_all_capabilities: true };
        let result = runtime.block_on(async {
            let live = SharedServer::new(catalog.clone(), world.clone(), options);
            in_process::ask(&client, &live, test.method, test.params.clone()).await
        });
        runtime.shutdown_timeout(Duration::from_millis(200));
        let unasked_keys = answers.unused_keys().into_iter().map(str::to_owned).collect();
        Ok(CallRecord { answer: Response::new(result), unasked_keys, world, recorder, catalog })
    }

    fn check(&self, test: &PlannedTest, called: &CallRecord) -> (Vec<TestFailure>, Option<PathBuf>) {
        let not_mocked = called.world.not_mocked().into_iter().chain(called.answer.missing_answer().map(str::to_owned));
        let unused: Vec<&str> = called.world.unused_mocks().into_keys().collect();
        let unused = match unused.is_empty() {
            true => String::new(),
            false => format!(", and nothing uses the mock of {}", quote_names(&unused)),
        };
        let failures: Vec<TestFailure> = not_mocked
            .map(|action| {
                let message = format!("the test would act on the world: no mock for {action}{unused}");
                let failure = TestFailure::new(test.at, message);
                failure.help(
                    "write a `mock` for it, or `live: true` and have `folio test --record` write the mock of programs and requests",
                )
            })
            .collect();
        if !failures.is_empty() {
            return (failures, None);
        }
        let mut failures = expectation::check(&test.expects, &called.answer, self.documents, test.at);
        let sent = SentActionCheck {
            sent: &called.world.sent(),
            redactor: called.catalog.redactor(),
            documents: self.documents,
        };
        let expected_sent = test.expects.iter().filter_map(|expect| expect.sent.as_ref());
        failures.extend(expected_sent.flat_map(|expected| sent.failures(expected)));
        if failures.is_empty() {
            failures = self.check_unused_mocks(test, called);
        }
        let recorded_snapshot = self.check_snapshot(test, called, &mut failures);
        if let Some(first) = failures.first_mut() {
            let help: Vec<String> = first.help.take().into_iter().chain(called.world.hints()).collect();
            first.help = (!help.is_empty()).then(|| help.join("\n"));
        }
        (failures, recorded_snapshot)
    }

    /// The mocks that were not used to their end.
    fn check_unused_mocks(&self, test: &PlannedTest, called: &CallRecord) -> Vec<TestFailure> {
        let left = called.world.unused_mocks();
        let mut failures = Vec::new();
        for (name, planned) in &test.mocks {
            let count = left.get(name.as_str()).copied().unwrap_or_default();
            let (at, message) = match &planned.mock {
                Mock::Programs(_) | Mock::Responses(_) if count > 0 => {
                    let all = match &planned.mock {
                        Mock::Programs(answers) => answers.len(),
                        Mock::Responses(answers) => answers.len(),
                        _ => 1,
                    };
                    let first = self.documents.value_at(planned.at, &format!("/{}", all.saturating_sub(count)));
                    (first, format!("unused mock: {count} of {all} answers of `{name}` are left over"))
                }
                Mock::Program(_) | Mock::Response(_) | Mock::Folder(_) if count > 0 && !planned.is_shared => {
                    (planned.at, format!("unused mock `{name}`"))
                }
                Mock::Answers(answers) if !planned.is_shared => {
                    let Some(key) = called.unasked_keys.iter().find(|key| answers.contains_key(*key)) else { continue };
                    let at = self.documents.key_at(planned.at, &pointer::join("", key));
                    (at, format!("unused mock: the question `{key}` is never asked"))
                }
                _ => continue,
            };
            failures.push(TestFailure::new(at, message).help("remove it, or expect the call that should use it"));
        }
        failures
    }

    /// Compares the snapshot of a test. Those of a pack belong to the pack alone, where names have no prefix.
    fn check_snapshot(
        &self,
        test: &PlannedTest,
        called: &CallRecord,
        failures: &mut Vec<TestFailure>,
    ) -> Option<PathBuf> {
        let at = test.snapshot_key()?;
        let answer = called.catalog.redactor().redact_text(&called.answer.to_snapshot()).into_owned();
        match snapshot::compare(&test.snapshot, &answer, self.update && failures.is_empty(), at) {
            SnapshotOutcome::Same => None,
            SnapshotOutcome::Written => Some(test.snapshot.clone()),
            SnapshotOutcome::Differs(failure) => {
                failures.push(failure);
                None
            }
        }
    }
}

impl PlannedTest {
    /// The place of `snapshot: true`.
    pub(super) fn snapshot_key(&self) -> Option<crate::yaml::Location> {
        let flag =
            |expect: &Spanned<Expect>| expect.snapshot.as_ref().filter(|flag| flag.value).map(|flag| flag.location);
        self.expects.iter().find_map(flag).filter(|_| !self.is_imported)
    }
}

/// A client that can do all.
fn client_capabilities() -> Value {
    json!({ "elicitation": { "form": {}, "url": {} }, "sampling": { "tools": {} }, "roots": {} })
}

/// What stands in for programs and requests.
fn replies(test: &PlannedTest) -> BTreeMap<String, MockReplies> {
    let replies = |mock: &Mock| match mock {
        Mock::Program(program) => Some(MockReplies::repeating(program_reply(program))),
        Mock::Programs(all) => Some(MockReplies::in_order(all.iter().map(program_reply).collect())),
        Mock::Response(response) => Some(MockReplies::repeating(response_reply(response))),
        Mock::Responses(all) => Some(MockReplies::in_order(all.iter().map(response_reply).collect())),
        Mock::Folder(_) | Mock::Answers(_) | Mock::Env(_) | Mock::Now(_) => None,
    };
    test.mocks.iter().filter_map(|(name, planned)| Some((name.clone(), replies(&planned.mock)?))).collect()
}

/// What stands in for folders.
fn folders(test: &PlannedTest) -> std::io::Result<BTreeMap<String, MockFolder>> {
    let text = |content: &Value| content.as_str().map_or_else(|| content.to_string(), str::to_owned);
    let mut folders = BTreeMap::new();
    for (name, planned) in &test.mocks {
        if let Mock::Folder(folder) = &planned.mock {
            let files = folder.files.iter().map(|(path, content)| (path.as_str(), text(content)));
            folders.insert(name.clone(), MockFolder::create(files)?);
        }
    }
    Ok(folders)
}

fn program_reply(program: &ProgramMock) -> MockReply {
    let bytes = |text: String| CapturedBytes::new(text.into_bytes(), 0);
    let stdout = match &program.stdout {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(json) => json.to_string(),
    };
    MockReply::Program(ProgramOutput {
        stdout: bytes(stdout),
        stderr: bytes(program.stderr.clone().unwrap_or_default()),
        exit_code: Some(program.exit),
        signal: None,
    })
}

fn response_reply(response: &ResponseMock) -> MockReply {
    let mut headers: Vec<(String, String)> =
        response.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    let has_type = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    if response.json.is_some() && !has_type {
        headers.push(("content-type".to_owned(), "application/json".to_owned()));
    }
    let body = match (&response.json, &response.body) {
        (Some(json), _) => json.to_string(),
        (None, body) => body.clone().unwrap_or_default(),
    };
    MockReply::Response(MockResponse { status: response.status.unwrap_or(200), headers, body: body.into_bytes() })
}
