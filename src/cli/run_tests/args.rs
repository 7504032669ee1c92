//! The arguments of `folio test`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

const TEST_HELP: &str = "\
Examples:
  folio test                              run the tests of the current folder
  folio test ~/desk triage                those whose names contain `triage`
  folio test . 'search *' --update        tests whose names begin with `search `, recording their snapshots
  folio test . issues --record            run them for real once; write their mocks
  folio test --coverage                   and print what none of them reaches
  folio test --watch                      again after each edit, until ^C
  folio test --format junit > tests.xml   for CI

Exit status: 0 when all tests pass (or the watch is ended), 1 when one fails, 2 when none can be run: a manifest with errors, \
a wrong command line, a path that cannot be read, or a filter that no test matches.";

/// `folio test`.
#[derive(Debug, Clone, Args)]
#[command(after_help = TEST_HELP)]
pub struct TestArgs {
    /// The folder of a folio.yaml, or the file itself
    #[arg(default_value = ".", value_hint = ValueHint::AnyPath)]
    pub path: PathBuf,
    /// Run only the tests whose names contain this, or match it as a glob with `*` and `?`
    pub filter: Option<String>,
    /// Also run the tests with `live: true`, which may run programs, send requests and change files
    #[arg(long)]
    pub live: bool,
    /// Also run the tests with `live: true`, and write what programs and servers answer into the manifest as their mocks
    #[arg(long, conflicts_with = "watch")]
    pub record: bool,
    /// Record the snapshots of the tests that run, and remove those that belong to no test
    #[arg(long)]
    pub update: bool,
    /// Run the tests that an edit touches, and those that failed, whenever a file changes
    #[arg(long, conflicts_with_all = ["update", "format"])]
    pub watch: bool,
    /// How to print the outcomes
    #[arg(long, value_enum, default_value_t = TestFormat::Text)]
    pub format: TestFormat,
    /// Also print which prompts, resources and tools no test reaches, which steps none runs, and which branches of
    /// templates none renders
    #[arg(long, conflicts_with = "watch")]
    pub coverage: bool,
    /// How many tests run at once [default: the number of processors]
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

/// How outcomes of tests are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TestFormat {
    /// A line for each test, and frames of what fails
    Text,
    /// A JSON object
    Json,
    /// JUnit XML, for CI
    Junit,
}
