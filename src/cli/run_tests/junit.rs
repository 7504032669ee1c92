//! Outcomes of tests as JUnit XML.

use super::TestRun;
use super::report::file_and_line;
use crate::diagnostic::{Report, render_lines};
use crate::test_run::{PlannedTest, TestOutcome, TestStatus};

pub(super) fn to_junit(run: &TestRun) -> String {
    let failed = run.count(|status| matches!(status, TestStatus::Failed(_)));
    let skipped = run.count(|status| matches!(status, TestStatus::Skipped(_)));
    let counts = format!(
        "tests=\"{}\" failures=\"{failed}\" errors=\"0\" skipped=\"{skipped}\" time=\"{:.3}\"",
        run.tests.len(),
        run.elapsed.as_secs_f64()
    );
    let cases: String = run.results().map(|(test, outcome)| test_case(run, test, outcome)).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n  <testsuite name=\"folio\" {counts}>\n{cases}  \
         </testsuite>\n</testsuites>\n"
    )
}

/// The document of a run that could not be: one test, the manifest, with an error.
pub(super) fn failed_run_to_junit(report: &Report, message: &str) -> String {
    let counts = "tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\" time=\"0.000\"";
    let (message, text) = (escape(message), escape(&render_lines(report)));
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n  <testsuite name=\"folio\" {counts}>\n    \
         <testcase name=\"manifest\" classname=\"folio\" time=\"0.000\">\n      <error type=\"manifest\" \
         message=\"{message}\">{text}</error>\n    </testcase>\n  </testsuite>\n</testsuites>\n"
    )
}

fn test_case(run: &TestRun, test: &PlannedTest, outcome: &TestOutcome) -> String {
    let (file, line) = file_and_line(run, test.at).unwrap_or_default();
    let head = format!(
        "    <testcase name=\"{}\" classname=\"{}\" file=\"{}\" line=\"{line}\" time=\"{:.3}\"",
        escape(&test.name),
        escape(&file),
        escape(&file),
        outcome.elapsed.as_secs_f64()
    );
    match &outcome.status {
        TestStatus::Passed => format!("{head}/>\n"),
        TestStatus::Skipped(reason) => {
            format!("{head}>\n      <skipped message=\"{}\"/>\n    </testcase>\n", escape(reason))
        }
        TestStatus::Failed(failures) => {
            let messages: Vec<&str> = failures.iter().map(|failure| failure.message.as_str()).collect();
            let texts: Vec<String> = failures
                .iter()
                .map(|failure| {
                    let (file, line) = file_and_line(run, failure.at).unwrap_or_default();
                    format!("{file}:{line}: {}\n{}", failure.message, failure.details)
                })
                .collect();
            let (message, text) = (escape(&messages.join("; ")), escape(&texts.concat()));
            format!(
                "{head}>\n      <failure type=\"failed-test\" message=\"{message}\">{text}</failure>\n    </testcase>\n"
            )
        }
    }
}

/// A text within XML 1.0: what it cannot hold becomes a replacement character.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' | '\n' | '\r' => escaped.push_str(&format!("&#{};", u32::from(character))),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn xml_holds_any_text() {
        assert_eq!(escape("a<b>&\"c\""), "a&lt;b&gt;&amp;&quot;c&quot;");
        assert_eq!(escape("1\n2\t\u{1b}[0m\0"), "1&#10;2&#9;\u{fffd}[0m\u{fffd}");
    }
}
