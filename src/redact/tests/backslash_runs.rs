//! Runs of backslashes end where a walk ends, and each backslash is read a few times.

use proptest::prelude::*;

use crate::redact::Redactor;
use crate::redact::backslash_runs::BackslashRuns;
use crate::redact::escape::{BACKSLASHES_READ, backslash_end};

/// The end of the run at `at`, by a walk.
fn walked_end(text: &[u8], at: usize) -> usize {
    let next = |at: &usize| backslash_end(text, *at);
    std::iter::successors(Some(at), next).take(65).last().unwrap_or(at)
}

fn texts() -> impl Strategy<Value = String> {
    let piece =
        prop::sample::select(vec!["\\", "%5c", "%255C", "%2525255c", "%", "%25", "&#92;", "&amp;", "u005c", "x", "5c"]);
    let times = prop_oneof![6 => 1..4_usize, 2 => 4..12_usize, 1 => 60..70_usize, 1 => 1200..1500_usize];
    prop::collection::vec((piece, times), 1..9)
        .prop_map(|parts| parts.into_iter().map(|(piece, times)| piece.repeat(times)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn run_ends_where_a_walk_ends(text in texts(), order in any::<bool>()) {
        let (text, runs) = (text.as_bytes(), BackslashRuns::default());
        let all: Vec<usize> = if order { (0..=text.len()).collect() } else { (0..=text.len()).rev().collect() };
        for at in all {
            prop_assert_eq!(runs.end(text, at), walked_end(text, at), "at {}", at);
        }
    }
}

#[test]
fn backslashes_of_long_runs_are_read_a_few_times() {
    let redactor = Redactor::new(["Zq7Xk2Pw9LmB4vTs"]);
    for unit in ["\\", "%5c", "%255c", "\\%5C"] {
        let (text, before) = (unit.repeat(20_000), BACKSLASHES_READ.get());
        assert_eq!(redactor.redact_text(&text), text);
        let read = BACKSLASHES_READ.get() - before;
        assert!(read < 8 * 2 * 20_000, "{unit}: {read}");
    }
}
