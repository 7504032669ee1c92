//! Runs the tests of the manifest while the page is open: those that do not act on the world after each load, others when
//! the page asks for them. One run at a time, on a thread of its own.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::cli::run_tests::{TestRunOptions, TestSet, TestSource};
use crate::dev_page::{DevPageEvents, RunTestsRequest};
use crate::redact::Redactors;
use crate::test_run::{PlannedTest, TestOutcome, TestStatus};

/// How long all tests may take to be run all after each edit. Of those that take longer, only the ones run that the edit
/// touches, and those that failed.
const MAX_FULL_RUN: Duration = Duration::from_secs(3);

/// How often the page is told how far a run is.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);

/// The tests of the manifest, and what came of them.
pub(in crate::cli::serve) struct PageTests {
    events: DevPageEvents,
    redactors: Redactors,
    source: TestSource,
    state: Mutex<WorkerState>,
    /// Held by the thread that works.
    known: Mutex<KnownTests>,
}

#[derive(Default)]
struct WorkerState {
    wanted: Wanted,
    /// Whether a thread works on them.
    is_running: bool,
}

/// What is to be run.
#[derive(Default)]
struct Wanted {
    /// The tests that an edit may have touched.
    edited: bool,
    /// What the page asks for.
    requests: Vec<RunTestsRequest>,
}

impl Wanted {
    fn is_due(&self) -> bool {
        self.edited || !self.requests.is_empty()
    }
}

/// What is known of the tests between two runs.
#[derive(Default)]
struct KnownTests {
    outcomes: HashMap<String, KnownOutcome>,
    gaps: Value,
    /// How long the last run of all tests took.
    full_run: Duration,
}

struct KnownOutcome {
    fingerprint: u64,
    outcome: TestOutcome,
}

/// One run of some tests.
struct TestRun<'a> {
    set: &'a TestSet,
    known: &'a mut KnownTests,
    options: TestRunOptions<'a>,
    /// Whether the next edit ends it.
    yields_to_edits: bool,
}

impl PageTests {
    /// The tests there, which run once a page is open.
    pub(in crate::cli::serve) fn new(events: DevPageEvents, redactors: Redactors, source: TestSource) -> PageTests {
        let wanted = Wanted { edited: true, ..Wanted::default() };
        let state = Mutex::new(WorkerState { wanted, is_running: false });
        let known = Mutex::new(KnownTests { gaps: json!([]), ..KnownTests::default() });
        PageTests { events, redactors, source, state, known }
    }

    /// Where the tests are.
    pub(in crate::cli::serve) fn source(&self) -> &TestSource {
        &self.source
    }

    /// Runs what a load may have changed, now or once a page is open.
    pub(in crate::cli::serve) fn manifest_loaded(self: &Arc<PageTests>) {
        self.state.lock().wanted.edited = true;
        self.start();
    }

    /// Runs tests that the page asks for.
    pub(in crate::cli::serve) fn request(self: &Arc<PageTests>, request: RunTestsRequest) {
        self.state.lock().wanted.requests.push(request);
        self.start();
    }

    /// Begins to work, if there is something to do that somebody sees.
    pub(in crate::cli::serve) fn start(self: &Arc<PageTests>) {
        let mut state = self.state.lock();
        if state.is_running || !state.wanted.is_due() || !self.events.has_readers() {
            return;
        }
        let tests = self.clone();
        let thread = thread::Builder::new().name("page-tests".to_owned());
        state.is_running = thread.spawn(move || tests.work()).is_ok();
    }

    /// Runs until nothing is left to do.
    fn work(&self) {
        let mut known = self.known.lock();
        while let Some(wanted) = self.take_wanted() {
            if let Ok(set) = TestSet::load(&self.source) {
                self.run_wanted(&set, &wanted, &mut known);
                let is_due = self.state.lock().wanted.is_due();
                self.publish(&set, &known, is_due);
            }
        }
    }

    /// What is to be run; `None`, after which nothing works on it, if that is nothing, or nobody looks.
    fn take_wanted(&self) -> Option<Wanted> {
        let mut state = self.state.lock();
        state.is_running = state.wanted.is_due() && self.events.has_readers();
        state.is_running.then(|| std::mem::take(&mut state.wanted))
    }

    fn run_wanted(&self, set: &TestSet, wanted: &Wanted, known: &mut KnownTests) {
        let names: BTreeSet<&str> = set.tests().map(|(test, _)| test.name.as_str()).collect();
        known.outcomes.retain(|name, _| names.contains(name.as_str()));
        if wanted.edited {
            self.run_edited(set, known);
        }
        for request in &wanted.requests {
            let is_wanted = |test: &PlannedTest| request.names.as_ref().is_none_or(|names| names.contains(&test.name));
            let options = TestRunOptions { live: request.live, ..TestRunOptions::default() };
            self.run_tests(TestRun { set, known, options, yields_to_edits: false }, |test, _, _| is_wanted(test));
        }
    }

    /// Runs all tests where that is quick, and else those that are others than before, or failed.
    fn run_edited(&self, set: &TestSet, known: &mut KnownTests) {
        // What a test did in the world stays shown until an edit touches it: now it would only be skipped.
        let stays = |test: &PlannedTest, fingerprint: u64, before: Option<&KnownOutcome>| {
            test.is_live() && before.is_some_and(|before| before.fingerprint == fingerprint)
        };
        let is_touched = |test: &PlannedTest, fingerprint: u64, before: Option<&KnownOutcome>| {
            !stays(test, fingerprint, before)
                && before.is_none_or(|before| {
                    before.fingerprint != fingerprint || matches!(before.outcome.status, TestStatus::Failed(_))
                })
        };
        if known.full_run > MAX_FULL_RUN {
            let options = TestRunOptions::default();
            self.run_tests(TestRun { set, known, options, yields_to_edits: true }, is_touched);
            return;
        }
        let (coverage, began) = (Mutex::new(set.coverage()), Instant::now());
        let options = TestRunOptions { coverage: Some(&coverage), ..TestRunOptions::default() };
        if self.run_tests(TestRun { set, known, options, yields_to_edits: true }, |test, fingerprint, before| {
            !stays(test, fingerprint, before)
        }) {
            known.full_run = began.elapsed();
            // Where nothing is tested, that nothing is reached says nothing.
            let has_tests = set.tests().next().is_some();
            known.gaps = if has_tests { TestSet::gaps_json(&coverage.into_inner()) } else { json!([]) };
        }
    }

    /// Runs some tests, and returns whether all: a run that takes long ends with the next edit, after which it begins again.
    fn run_tests(
        &self,
        run: TestRun<'_>,
        is_wanted: impl Fn(&PlannedTest, u64, Option<&KnownOutcome>) -> bool,
    ) -> bool {
        let TestRun { set, known, options, yields_to_edits } = run;
        let began = Instant::now();
        let mut last_told = began;
        self.publish(set, known, true);
        for (test, fingerprint) in set.tests() {
            if yields_to_edits && began.elapsed() > MAX_FULL_RUN && self.is_outdated() {
                return false;
            }
            if !is_wanted(test, fingerprint, known.outcomes.get(&test.name)) {
                continue;
            }
            let outcome = set.run(test, options);
            known.outcomes.insert(test.name.clone(), KnownOutcome { fingerprint, outcome });
            if last_told.elapsed() > PROGRESS_INTERVAL {
                last_told = Instant::now();
                self.publish(set, known, true);
            }
        }
        true
    }

    /// Whether what is run is to be run again, as the files are others, or nobody looks.
    fn is_outdated(&self) -> bool {
        let mut state = self.state.lock();
        state.wanted.edited |= !self.events.has_readers();
        state.wanted.edited
    }

    fn publish(&self, set: &TestSet, known: &KnownTests, running: bool) {
        let outcome = |test: &PlannedTest| known.outcomes.get(&test.name).map(|known| &known.outcome);
        let tests: Value = set.tests().map(|(test, _)| set.to_json(test, outcome(test))).collect();
        let event = json!({ "type": "tests", "running": running, "tests": tests, "gaps": known.gaps });
        let message = self.redactors.redact_message(event.to_string().into_bytes());
        self.events.publish_tests(&String::from_utf8_lossy(&message));
    }
}
