//! What is another in a text than in an earlier one: its lines, and the blocks of Markdown.

use std::time::{Duration, Instant};

use serde::Serialize;
use similar::{Algorithm, ChangeTag, DiffOp, TextDiff, capture_diff_slices_deadline};

/// How long the search for the shortest difference may take.
const TIMEOUT: Duration = Duration::from_millis(300);
/// How many lines are shown around a change.
const CONTEXT_LINES: usize = 3;

/// A line of a difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LineChange {
    pub change: LineChangeKind,
    /// The line without its break.
    pub text: String,
}

/// What became of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LineChangeKind {
    Same,
    Added,
    Removed,
}

/// The lines of a text, and those that it had before.
#[must_use]
pub fn line_changes(before: &str, after: &str) -> Vec<LineChange> {
    let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let diff = TextDiff::configure().timeout(TIMEOUT).diff_slices(&before, &after);
    let change = |change: similar::Change<&str>| LineChange {
        change: match change.tag() {
            ChangeTag::Equal => LineChangeKind::Same,
            ChangeTag::Insert => LineChangeKind::Added,
            ChangeTag::Delete => LineChangeKind::Removed,
        },
        text: change.value().to_owned(),
    };
    diff.iter_all_changes().map(change).collect()
}

/// The lines that are others, with a few around them.
#[must_use]
pub fn lines_around_changes(before: &str, after: &str) -> Vec<LineChange> {
    let all = line_changes(before, after);
    let changed: Vec<usize> =
        all.iter().enumerate().filter(|(_, line)| line.change != LineChangeKind::Same).map(|(at, _)| at).collect();
    let is_near = |at: usize| {
        let next = changed.partition_point(|changed| *changed < at);
        let near = |changed: Option<&usize>| changed.is_some_and(|changed| changed.abs_diff(at) <= CONTEXT_LINES);
        near(changed.get(next)) || near(next.checked_sub(1).and_then(|before| changed.get(before)))
    };
    all.into_iter().enumerate().filter(|(at, _)| is_near(*at)).map(|(_, line)| line).collect()
}

/// Which items are new since before.
pub(super) fn new_items(before: &[&str], now: &[&str]) -> Vec<bool> {
    let mut is_new = vec![false; now.len()];
    let deadline = Some(Instant::now() + TIMEOUT);
    for op in capture_diff_slices_deadline(Algorithm::Myers, before, now, deadline) {
        if let DiffOp::Insert { new_index, new_len, .. } | DiffOp::Replace { new_index, new_len, .. } = op {
            is_new.iter_mut().skip(new_index).take(new_len).for_each(|item| *item = true);
        }
    }
    is_new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_items_are_compared_in_their_order() {
        use LineChangeKind::{Added, Removed, Same};
        let found: Vec<_> =
            line_changes("a\nb\r\n", "a\r\nc").into_iter().map(|line| (line.change, line.text)).collect();
        assert_eq!(found, [(Same, "a".to_owned()), (Removed, "b".to_owned()), (Added, "c".to_owned())]);
        assert_eq!(new_items(&["a", "b", "c"], &["a", "x", "b"]), [false, true, false]);
        let (before, after) = ("1\n2\n3\n4\n5\n", "1\n2\n3\n4\n5\n6\n");
        assert_eq!(lines_around_changes(before, after).len(), 4);
    }
}
