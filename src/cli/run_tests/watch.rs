//! `folio test --watch`.

use std::collections::{HashMap, HashSet};
use std::time::SystemTime;

use anyhow::Context;
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

use super::args::TestArgs;
use super::report::print_run;
use super::{TestSelection, run_tests};
use crate::catalog::BuildOutcome;
use crate::cli::manifest::{build_loaded, load_fingerprint};
use crate::cli::process::stop_on_signals;
use crate::cli::{Exit, Output};
use crate::compile::{LoadDependencies, OutdatedCheck};
use crate::load::{EnvSource, LoadedPacks, ManifestLocation, TestEnvironment, load};
use crate::reload::{self, InitialLoad, LoadOutput, ReloadInfo, ReloadSource, WatchOptions};
use crate::test_run::{TestStatus, plan_tests, test_environment, test_fingerprints};

/// Runs all tests, and after each change those that it touches, until a signal ends the watch.
pub(crate) fn run(location: ManifestLocation, arguments: &TestArgs, output: &Output) -> anyhow::Result<Exit> {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.context("could not start the runtime")?;
    let stop = CancellationToken::new();
    let mut watch = TestReload {
        location,
        arguments: arguments.clone(),
        output: output.clone(),
        last_dependencies: LoadDependencies::default(),
        fingerprints: HashMap::new(),
        failed_tests: HashSet::new(),
        last_fingerprint: None,
        had_errors: false,
    };
    runtime.block_on(async {
        stop_on_signals(stop.clone(), stop.clone())?;
        let started_at = SystemTime::now();
        let first = tokio::task::spawn_blocking(move || {
            let LoadOutput { outcome, watch: dependencies } = watch.load(false, &OutdatedCheck::default());
            watch.run(outcome);
            (watch, dependencies)
        });
        let (watch, dependencies) = tokio::select! {
            first = first => first.context("the tests could not be run")?,
            () = stop.cancelled() => return Ok(()),
        };
        let first = InitialLoad { started_at, watch: dependencies };
        let options = WatchOptions { reload_on_sighup: false, ..WatchOptions::default() };
        reload::watch(move || watch, first, options, stop).join().await;
        anyhow::Ok(())
    })?;
    // A test that still runs is not waited for.
    runtime.shutdown_background();
    Ok(Exit::Success)
}

struct TestReload {
    location: ManifestLocation,
    arguments: TestArgs,
    output: Output,
    last_dependencies: LoadDependencies,
    /// What each test was when it was last run, by name.
    fingerprints: HashMap<String, u64>,
    /// The tests that failed when they were last run.
    failed_tests: HashSet<String>,
    /// The fingerprint of the last load: one that finds the same is not an edit.
    last_fingerprint: Option<u64>,
    /// Whether the last load had errors.
    had_errors: bool,
}

/// A manifest with its tests.
struct LoadedTests {
    declared: LoadedPacks,
    built: BuildOutcome,
}

impl TestReload {
    /// Runs the tests that are another than they were, and those that failed.
    fn run(&mut self, loaded: LoadedTests) {
        if let Err(error) = self.try_run(loaded) {
            self.output.eprint_error(&error);
        }
    }

    fn try_run(&mut self, LoadedTests { declared, built }: LoadedTests) -> anyhow::Result<()> {
        let loaded = load_fingerprint(&built.report, None);
        if self.last_fingerprint.replace(loaded) == Some(loaded) {
            return Ok(());
        }
        let Some(catalog) = built.catalog.as_ref().filter(|_| !built.report.has_errors()) else {
            self.output.eprint_report(&built.report);
            self.had_errors = true;
            return Ok(());
        };
        let is_fixed = std::mem::take(&mut self.had_errors);
        let tests = plan_tests(&declared);
        let names = tests.iter().map(|test| test.name.clone());
        let now: HashMap<String, u64> = names.zip(test_fingerprints(&tests, &declared, catalog)).collect();
        let is_touched =
            |name: &String| now.get(name) != self.fingerprints.get(name) || self.failed_tests.contains(name);
        let touched: HashSet<String> = now.keys().filter(|name| is_touched(name)).cloned().collect();
        self.fingerprints = now;
        self.failed_tests.retain(|name| self.fingerprints.contains_key(name));
        if touched.is_empty() {
            if is_fixed {
                self.output.eprint("no errors; all tests are as they were\n");
            }
            return Ok(());
        }
        let wanted =
            TestSelection { is_selected: &|test| touched.contains(&test.name), output: &self.output, coverage: None };
        let run = run_tests(declared, &self.location, &self.arguments, &wanted)?;
        let Some(run) = run.filter(|run| !run.tests.is_empty()) else { return Ok(()) };
        for (test, outcome) in run.results() {
            match outcome.status {
                TestStatus::Failed(_) => _ = self.failed_tests.insert(test.name.clone()),
                _ => _ = self.failed_tests.remove(&test.name),
            }
        }
        print_run(&run, self.arguments.format, &self.output)
    }
}

impl ReloadSource for TestReload {
    type Outcome = LoadedTests;

    fn load(&mut self, _: bool, _: &OutdatedCheck) -> LoadOutput<LoadedTests> {
        let declared = load(&self.location, &EnvSource::Test(TestEnvironment::default()));
        let environment = EnvSource::Test(test_environment(&declared));
        let built = build_loaded(load(&self.location, &environment), &self.output);
        let watch = built.dependencies.to_watch(&mut self.last_dependencies, built.report.has_errors());
        LoadOutput { outcome: LoadedTests { declared, built }, watch }
    }

    fn publish(&mut self, loaded: LoadedTests, _: ReloadInfo) {
        self.run(loaded);
    }
}
