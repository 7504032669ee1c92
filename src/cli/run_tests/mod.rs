//! `folio test`.

mod args;
mod coverage_report;
mod junit;
mod record;
mod report;
mod test_set;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;
use parking_lot::Mutex;

use crate::catalog::{Catalog, ServingMode};
use crate::cli::manifest::{build_loaded, load_with_commands};
use crate::cli::process::new_world;
use crate::cli::{Exit, Output};
use crate::compile::FileBuffers;
use crate::diagnostic::{Report, one_line, sanitize};
use crate::load::{EnvSource, LoadedPacks, MANIFEST_NAMES, ManifestLocation, TestEnvironment, load, load_buffers};
use crate::test_run::{
    Coverage, PlannedTest, TestFilter, TestOutcome, TestRunner, TestStatus, TestWorlds, obsolete_snapshots, plan_tests,
    remove_snapshot, test_environment,
};
use crate::world::{ActionReport, ReportSink, World};
use report::{print_failed_run, print_run};

impl TestArgs {
    /// The arguments of `folio test FILTER` in the folder of a manifest: what is not a path there is the filter.
    pub(super) fn with_filter_of_path(mut self) -> TestArgs {
        let is_filter = self.filter.is_none() && !self.path.exists() && self.path.components().count() == 1;
        if is_filter && MANIFEST_NAMES.iter().any(|name| Path::new(name).is_file()) {
            self.filter = Some(std::mem::replace(&mut self.path, PathBuf::from(".")).display().to_string());
        }
        self
    }
}

pub(crate) use args::TestArgs;
use args::TestFormat;
pub(crate) use test_set::{TestRunOptions, TestSet, TestSource};

/// Runs the tests of a manifest. What programs read says so, too, where no test can be run.
pub(super) fn run(arguments: &TestArgs, output: &Output) -> anyhow::Result<Exit> {
    let ran = run_manifest(arguments, output);
    if let Err(error) = &ran {
        print_failed_run(&Report::default(), &error.to_string(), arguments.format, output)?;
    }
    ran
}

fn run_manifest(arguments: &TestArgs, output: &Output) -> anyhow::Result<Exit> {
    let location = ManifestLocation::resolve(&arguments.path)?;
    if arguments.watch {
        return watch::run(location, arguments, output);
    }
    let declared = load(&location, &EnvSource::Test(TestEnvironment::default()));
    if arguments.coverage && arguments.format == TestFormat::Junit {
        bail!("`--coverage` cannot be used with `--format junit`, which has no place for it");
    }
    let environment = TestEnvironment { records_coverage: arguments.coverage, ..test_environment(&declared) };
    let environment = EnvSource::Test(environment);
    let mut built = build_loaded(load(&location, &environment), output);
    if built.report.has_errors() {
        output.eprint_report(&built.report);
        print_failed_run(&built.report, "the manifest has errors", arguments.format, output)?;
        return Ok(Exit::CannotRun);
    }
    let coverage = built.coverage.as_ref().map(|all| Mutex::new(Coverage::from_load(all, &built.report.sources)));
    let selection = TestSelection { is_selected: &|_| true, output, coverage: coverage.as_ref() };
    let Some(mut run) = run_tests(declared, &location, arguments, &selection)? else {
        bail!("no test matches `{}`", arguments.filter.as_deref().unwrap_or_default());
    };
    run.coverage = coverage.map(Mutex::into_inner);
    print_run(&run, arguments.format, output)?;
    if run.tests.is_empty() {
        output.eprint(&no_tests(built.accept(&ServingMode::Local).ok().as_deref()));
    }
    if arguments.record {
        // The outcomes are printed already: an error is not a second document.
        return Ok(record::write_mocks(&run, &location, output).unwrap_or_else(|error| {
            output.eprint_error(&error);
            Exit::Failure
        }));
    }
    Ok(if run.passed() { Exit::Success } else { Exit::Failure })
}

/// How to write the first test.
fn no_tests(catalog: Option<&Catalog>) -> String {
    let lists = catalog.map(Catalog::lists);
    let prompt = lists.and_then(|lists| lists.prompts.first()).map(|prompt| ("prompt", prompt.name.as_str()));
    let tool = lists.and_then(|lists| lists.tools.first()).map(|tool| ("tool", tool.name.as_str()));
    let resource = lists.and_then(|lists| lists.resources.first()).map(|resource| ("uri", resource.uri.as_str()));
    let (kind, name) = prompt.or(tool).or(resource).unwrap_or(("prompt", "greet"));
    let name = sanitize(name);
    format!(
        "no tests\nhelp: write one, such as `tests: {{ first: {{ {kind}: \"{name}\", expect: {{ contains: hello }} }} }}`\n"
    )
}

/// The tests that were run, and what came of them.
struct TestRun {
    /// The sources of the tests.
    report: Report,
    tests: Vec<PlannedTest>,
    /// As many as tests.
    outcomes: Vec<TestOutcome>,
    /// How many tests the filter left out.
    filtered: usize,
    obsolete: ObsoleteSnapshots,
    elapsed: Duration,
    /// What they reach, where that is recorded.
    coverage: Option<Coverage>,
}

/// Which of the chosen tests are run, and what is recorded of them.
struct TestSelection<'a> {
    is_selected: &'a (dyn Fn(&PlannedTest) -> bool + 'a),
    output: &'a Output,
    coverage: Option<&'a Mutex<Coverage>>,
}

/// Snapshots that belong to no test.
#[derive(Default)]
struct ObsoleteSnapshots {
    files: Vec<PathBuf>,
    removed: bool,
}

impl TestRun {
    fn passed(&self) -> bool {
        !self.outcomes.iter().any(|outcome| matches!(outcome.status, TestStatus::Failed(_)))
    }

    /// How many outcomes are so.
    fn count(&self, predicate: impl Fn(&TestStatus) -> bool) -> usize {
        self.outcomes.iter().filter(|outcome| predicate(&outcome.status)).count()
    }

    fn results(&self) -> impl Iterator<Item = (&PlannedTest, &TestOutcome)> {
        self.tests.iter().zip(&self.outcomes)
    }
}

/// Runs the tests that are chosen, and wanted; `None` if none are chosen.
fn run_tests(
    loaded: LoadedPacks,
    location: &ManifestLocation,
    arguments: &TestArgs,
    selection: &TestSelection<'_>,
) -> anyhow::Result<Option<TestRun>> {
    let mut tests = plan_tests(&loaded);
    let obsolete = match arguments.filter {
        None => remove_obsolete(obsolete_snapshots(&loaded, &tests), arguments.update)?,
        Some(_) => ObsoleteSnapshots::default(),
    };
    let all = tests.len();
    if let Some(filter) = arguments.filter.as_deref().and_then(TestFilter::new) {
        tests.retain(|test| filter.matches(test));
        if tests.is_empty() {
            return Ok(None);
        }
    }
    tests.retain(selection.is_selected);
    let worlds = CliTestWorlds { location, buffers: FileBuffers::default(), output: selection.output.clone() };
    let runner = TestRunner {
        worlds: &worlds,
        documents: &loaded.load_context.documents,
        live: arguments.live || arguments.record,
        record: arguments.record,
        update: arguments.update,
        coverage: selection.coverage,
        live_test_lock: Mutex::default(),
    };
    let began = Instant::now();
    let processors = || thread::available_parallelism().map_or(1, |count| count.get());
    let jobs = arguments.jobs.map_or_else(processors, |jobs| jobs.get()).min(tests.len().max(1));
    let outcomes = run_all(&tests, &runner, jobs);
    let report = Report::with_sources(loaded.load_context.report.sources);
    let (elapsed, filtered) = (began.elapsed(), all - tests.len());
    Ok(Some(TestRun { report, tests, outcomes, filtered, obsolete, elapsed, coverage: None }))
}

/// Runs tests with texts instead of files, and nothing live.
fn rerun_selected_tests(location: &ManifestLocation, buffers: FileBuffers, selection: &TestSelection<'_>) -> TestRun {
    let mut loaded = load_buffers(location, &EnvSource::Test(TestEnvironment::default()), &buffers);
    let mut tests = plan_tests(&loaded);
    tests.retain(selection.is_selected);
    let worlds = CliTestWorlds { location, buffers, output: selection.output.clone() };
    let runner = TestRunner {
        worlds: &worlds,
        documents: &loaded.load_context.documents,
        live: false,
        record: false,
        update: false,
        coverage: None,
        live_test_lock: Mutex::default(),
    };
    let outcomes = run_all(&tests, &runner, 1);
    let (report, elapsed) = (std::mem::take(&mut loaded.load_context.report), Duration::ZERO);
    TestRun { report, tests, outcomes, filtered: 0, obsolete: ObsoleteSnapshots::default(), elapsed, coverage: None }
}

fn remove_obsolete(files: Vec<PathBuf>, update: bool) -> anyhow::Result<ObsoleteSnapshots> {
    for file in files.iter().filter(|_| update) {
        remove_snapshot(file)?;
    }
    Ok(ObsoleteSnapshots { files, removed: update })
}

/// Runs tests, so many at once.
fn run_all(tests: &[PlannedTest], runner: &TestRunner<'_>, jobs: usize) -> Vec<TestOutcome> {
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(Vec::with_capacity(tests.len()));
    let work = || {
        while let Some((number, test)) = next_test(&next, tests) {
            let outcome = runner.run(test);
            outcomes.lock().push((number, outcome));
        }
    };
    thread::scope(|scope| {
        (0..jobs).for_each(|_| drop(scope.spawn(work)));
    });
    let mut outcomes = outcomes.into_inner();
    outcomes.sort_by_key(|(number, _)| *number);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

fn next_test<'t>(next: &AtomicUsize, tests: &'t [PlannedTest]) -> Option<(usize, &'t PlannedTest)> {
    let number = next.fetch_add(1, Ordering::AcqRel);
    Some((number, tests.get(number)?))
}

/// The folder of the tests, and the world of live ones.
struct CliTestWorlds<'a> {
    location: &'a ManifestLocation,
    /// Texts instead of files, for tests that are not live.
    buffers: FileBuffers,
    output: Output,
}

impl TestWorlds for CliTestWorlds<'_> {
    fn load(&self, environment: &EnvSource, live: bool) -> LoadedPacks {
        let loaded = live.then(|| load_with_commands(self.location, environment).ok()).flatten();
        loaded.unwrap_or_else(|| load_buffers(self.location, environment, &self.buffers))
    }

    fn real(&self) -> Arc<dyn World> {
        Arc::new(new_world())
    }

    fn sink(&self, test: &PlannedTest) -> ReportSink {
        let (output, name) = (self.output.clone(), one_line(&test.name).into_owned());
        Arc::new(move |report| {
            if let ActionReport::Start { action, .. } = report {
                output.eprint(&format!("{name}: {action}\n"));
            }
        })
    }
}
