//! Runs the tests of a manifest: each on a catalog of its own, through the path of a client's call, with mocks in place of
//! the world.
//!
//! What is not here: the keys of a test (manifest/), their check (catalog/), and how outcomes are printed (cli/).

mod response;
mod scripted_answers;
mod coverage;
mod dependencies;
mod diff;
mod expectation;
mod partial_match;
mod plan;
mod recording;
mod run;
mod sent_action_check;
mod snapshot;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

pub use coverage::{Coverage, ManifestPart};
pub use dependencies::test_fingerprints;
pub use plan::{PlannedTest, TestFilter, plan_tests, test_environment};
pub use recording::{RecordedServer, Recording, call_mocks, seen_variables};
pub use run::{TestRunner, TestWorlds};
pub use snapshot::{obsolete_snapshots, remove_snapshot};

use crate::yaml::Location;

#[derive(Debug, Clone, PartialEq)]
pub enum TestStatus {
    /// All expectations hold.
    Passed,
    /// What does not hold.
    Failed(Vec<TestFailure>),
    /// It was not run, for this reason.
    Skipped(String),
}

/// The outcome of one test.
#[derive(Debug, Clone, PartialEq)]
pub struct TestOutcome {
    pub status: TestStatus,
    pub elapsed: Duration,
    /// The snapshot that was written.
    pub recorded_snapshot: Option<PathBuf>,
    /// What a live run tells of its mocks, where they are recorded.
    pub recording: Option<Recording>,
}

/// One expectation that does not hold, without secrets.
#[derive(Debug, Clone, PartialEq)]
pub struct TestFailure {
    /// The place of the expectation.
    pub at: Location,
    pub message: String,
    pub help: Option<String>,
    /// What came instead.
    pub details: FailureDetails,
}

/// What came instead of what was expected.
#[derive(Debug, Clone, PartialEq)]
pub enum FailureDetails {
    /// In words; empty if there is nothing more to say.
    Text(String),
    Difference {
        expected: String,
        received: String,
    },
}

/// For people: a difference by its lines, not at any length.
impl fmt::Display for FailureDetails {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FailureDetails::Text(text) => f.write_str(text),
            FailureDetails::Difference { expected, received } => f.write_str(&diff::line_diff(expected, received)),
        }
    }
}

impl From<String> for FailureDetails {
    fn from(text: String) -> FailureDetails {
        FailureDetails::Text(text)
    }
}

impl TestFailure {
    fn new(at: Location, message: impl Into<String>) -> TestFailure {
        TestFailure { at, message: message.into(), help: None, details: String::new().into() }
    }

    #[must_use]
    fn help(self, help: impl Into<String>) -> TestFailure {
        TestFailure { help: Some(help.into()), ..self }
    }

    #[must_use]
    fn details(self, details: impl Into<FailureDetails>) -> TestFailure {
        TestFailure { details: details.into(), ..self }
    }

    #[must_use]
    fn difference(self, expected: &str, received: &str) -> TestFailure {
        self.details(FailureDetails::Difference { expected: expected.to_owned(), received: received.to_owned() })
    }

    /// The failure with each of its texts passed through `redact`.
    fn redact(self, redact: impl Fn(&str) -> String) -> TestFailure {
        let details = match &self.details {
            FailureDetails::Text(text) => FailureDetails::Text(redact(text)),
            FailureDetails::Difference { expected, received } => {
                FailureDetails::Difference { expected: redact(expected), received: redact(received) }
            }
        };
        TestFailure { message: redact(&self.message), details, ..self }
    }
}
