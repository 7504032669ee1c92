//! Prints the outcomes of tests, as text or JSON.

use std::path::Path;

use serde_json::{Value, json};

use super::TestRun;
use super::args::TestFormat;
use super::coverage_report::{coverage_json, coverage_text};
use super::junit::{failed_run_to_junit, to_junit};
use crate::cli::Output;
use crate::diagnostic::{Code, Report, TerminalStyle, count_noun, one_line, render_frames, render_json, sanitize};
use crate::test_run::{PlannedTest, TestFailure, TestOutcome, TestStatus};
use crate::yaml::Location;

/// Prints a run in a format.
pub(super) fn print_run(run: &TestRun, format: TestFormat, output: &Output) -> anyhow::Result<()> {
    if format != TestFormat::Text {
        warn_of_obsolete(run, output);
    }
    match format {
        TestFormat::Text => print_text(run, output),
        TestFormat::Json => output.print(&format!("{}\n", serde_json::to_string_pretty(&to_json(run))?)),
        TestFormat::Junit => output.print(&to_junit(run)),
    }
}

/// Prints that no test was run, for programs; people read it on stderr.
pub(super) fn print_failed_run(
    report: &Report,
    message: &str,
    format: TestFormat,
    output: &Output,
) -> anyhow::Result<()> {
    match format {
        TestFormat::Text => Ok(()),
        TestFormat::Json => {
            let problems: Value = serde_json::from_str(&render_json(report)).unwrap_or_default();
            let document = json!({
                "passed": 0,
                "failed": 0,
                "skipped": 0,
                "filtered": 0,
                "elapsedMs": 0,
                "obsoleteSnapshots": [],
                "tests": [],
                "error": message,
                "problems": problems,
            });
            output.print(&format!("{}\n", serde_json::to_string_pretty(&document)?))
        }
        TestFormat::Junit => output.print(&failed_run_to_junit(report, message)),
    }
}

fn print_text(run: &TestRun, output: &Output) -> anyhow::Result<()> {
    for (test, outcome) in run.results() {
        output.print(&format!("test {} ... {}\n", one_line(&test.name), status_word(outcome)))?;
    }
    let style = output.style();
    for (test, outcome) in run.results() {
        if let TestStatus::Failed(failures) = &outcome.status {
            let shown: String = failures.iter().map(|failure| failure_text(failure, &run.report, style)).collect();
            output.print(&format!("\n---- {}\n{}", one_line(&test.name), shown.trim_end_matches('\n')))?;
            output.print("\n")?;
        }
    }
    warn_of_obsolete(run, output);
    if let Some(coverage) = &run.coverage {
        output.print(&format!("\n{}", coverage_text(coverage)))?;
    }
    output.print(&format!("\n{}\n", summary(run)))
}

fn status_word(outcome: &TestOutcome) -> String {
    match (&outcome.status, &outcome.recorded_snapshot) {
        (TestStatus::Passed, None) => "ok".to_owned(),
        (TestStatus::Passed, Some(_)) => "ok (snapshot recorded)".to_owned(),
        (TestStatus::Failed(_), _) => "FAILED".to_owned(),
        (TestStatus::Skipped(reason), _) => format!("skipped ({reason})"),
    }
}

/// A failure with the frame of its expectation, and what came.
fn failure_text(failure: &TestFailure, sources: &Report, style: TerminalStyle) -> String {
    let mut report = Report::with_sources(sources.sources.clone());
    let diagnostic = report.error(Code::FailedTest, failure.at.span(), failure.message.clone());
    diagnostic.help.clone_from(&failure.help);
    let details: String = failure.details.to_string().lines().map(|line| format!("  {}\n", sanitize(line))).collect();
    format!("{}\n{details}\n", render_frames(&report, style).collect::<Vec<_>>().join("\n\n"))
}

fn summary(run: &TestRun) -> String {
    let passed = run.count(|status| *status == TestStatus::Passed);
    let failed = run.count(|status| matches!(status, TestStatus::Failed(_)));
    let skipped = run.count(|status| matches!(status, TestStatus::Skipped(_)));
    let word = if failed == 0 { "ok" } else { "FAILED" };
    let filtered = if run.filtered == 0 { String::new() } else { format!("{} filtered out; ", run.filtered) };
    let seconds = run.elapsed.as_secs_f64();
    format!(
        "test result: {word}. {passed} passed; {failed} failed; {skipped} skipped; {filtered}finished in {seconds:.2}s"
    )
}

fn warn_of_obsolete(run: &TestRun, output: &Output) {
    let obsolete = &run.obsolete;
    for file in &obsolete.files {
        let shown = shorten(file);
        match obsolete.removed {
            true => output.eprint(&format!("removed the obsolete snapshot `{shown}`\n")),
            false => output.eprint(&format!("warning: obsolete snapshot `{shown}`: no test has it\n")),
        }
    }
    if !obsolete.files.is_empty() && !obsolete.removed {
        let count = count_noun(obsolete.files.len(), "snapshot");
        output.eprint(&format!("help: remove {count} with `folio test --update`\n"));
    }
}

/// A path from the current folder, where it is inside.
pub(super) fn shorten(path: &Path) -> String {
    let current = std::env::current_dir().unwrap_or_default();
    sanitize(&path.strip_prefix(current).unwrap_or(path).display().to_string()).into_owned()
}

/// The file and the line of a place.
pub(super) fn file_and_line(run: &TestRun, at: Location) -> Option<(String, u32)> {
    let span = at.span();
    let source = run.report.sources.get(span.file)?;
    Some((source.path().display().to_string(), source.position(span.start).line))
}

fn to_json(run: &TestRun) -> Value {
    let tests: Vec<Value> = run.results().map(|(test, outcome)| test_json(run, test, outcome)).collect();
    let mut document = json!({
        "passed": run.count(|status| *status == TestStatus::Passed),
        "failed": run.count(|status| matches!(status, TestStatus::Failed(_))),
        "skipped": run.count(|status| matches!(status, TestStatus::Skipped(_))),
        "filtered": run.filtered,
        "elapsedMs": run.elapsed.as_millis() as u64,
        "obsoleteSnapshots": run.obsolete.files.iter().map(|file| shorten(file)).collect::<Vec<_>>(),
        "tests": tests,
    });
    if let (Some(coverage), Some(document)) = (&run.coverage, document.as_object_mut()) {
        document.insert("coverage".to_owned(), coverage_json(coverage));
    }
    document
}

fn test_json(run: &TestRun, test: &PlannedTest, outcome: &TestOutcome) -> Value {
    let place = file_and_line(run, test.at);
    let mut shown = json!({
        "name": test.name,
        "file": place.as_ref().map(|(file, _)| file),
        "line": place.as_ref().map(|(_, line)| line),
        "elapsedMs": outcome.elapsed.as_millis() as u64,
    });
    let more = match &outcome.status {
        TestStatus::Passed => json!({ "status": "passed" }),
        TestStatus::Skipped(reason) => json!({ "status": "skipped", "reason": reason }),
        TestStatus::Failed(failures) => {
            let failures: Vec<Value> = failures.iter().map(|failure| failure_json(run, failure)).collect();
            json!({ "status": "failed", "failures": failures })
        }
    };
    if let (Value::Object(shown), Value::Object(more)) = (&mut shown, more) {
        shown.extend(more);
    }
    shown
}

fn failure_json(run: &TestRun, failure: &TestFailure) -> Value {
    let place = file_and_line(run, failure.at);
    json!({
        "message": failure.message,
        "file": place.as_ref().map(|(file, _)| file),
        "line": place.as_ref().map(|(_, line)| line),
        "help": failure.help,
        "details": failure.details.to_string(),
    })
}
