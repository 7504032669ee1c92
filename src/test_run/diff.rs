//! Differences between what was expected and what came.

use std::time::Duration;

use similar::TextDiff;

/// How long the search for the shortest diff may take.
const DIFF_TIMEOUT: Duration = Duration::from_millis(500);
/// How many lines a diff shows around a change.
const CONTEXT_LINES: usize = 3;
/// How much of a text is shown.
const MAX_SHOWN_CHARS: usize = 4000;

/// The lines that were expected with `-`, and those that came with `+`.
pub(super) fn line_diff(expected: &str, received: &str) -> String {
    let lines = |text: &str| format!("{}\n", text.trim_end_matches('\n'));
    let diff = TextDiff::configure().timeout(DIFF_TIMEOUT).diff_lines(lines(expected), lines(received));
    let shown = diff.unified_diff().context_radius(CONTEXT_LINES).header("expected", "received").to_string();
    crate::diagnostic::truncate(&shown, MAX_SHOWN_CHARS).into_owned()
}

/// A text that came, each line marked.
pub(super) fn mark_received(text: &str) -> String {
    let shown = crate::diagnostic::truncate(text, MAX_SHOWN_CHARS);
    if shown.is_empty() {
        return "received no text\n".to_owned();
    }
    let lines: Vec<String> = shown.lines().map(|line| format!("+{line}\n")).collect();
    format!("+++ received\n{}", lines.concat())
}
