//! `tests/specification.md` says what the specification asks, and which tests hold it: it is held to what there is.

use std::collections::BTreeSet;

use crate::harness::{MODERN, SESSIONS};
use crate::pages::{missing_tests, quoted, read};

/// One thing that is asked.
struct Row {
    asked: String,
    versions: String,
    tests: String,
}

impl Row {
    /// Reads a line of a table. The line of headings and the one below it are none.
    fn read(line: &str) -> Option<Row> {
        let cells: Vec<&str> = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect();
        let [asked, versions, tests] = cells[..] else { panic!("a row has three cells: {line}") };
        (asked != "what is asked").then(|| Row { asked: asked.into(), versions: versions.into(), tests: tests.into() })
    }

    /// The tests that it names.
    fn tests(&self) -> Vec<&str> {
        quoted(&self.tests).filter(|name| name.contains("::")).collect()
    }

    /// Why it is not held, where it says so.
    fn reason(&self) -> Option<&str> {
        ["not kept: ", "does not apply: "].iter().find_map(|word| self.tests.strip_prefix(word))
    }
}

fn rows() -> Vec<Row> {
    let rows: Vec<Row> = read("tests/specification.md").lines().filter_map(Row::read).collect();
    assert!(rows.len() > 100, "{} rows are not all", rows.len());
    rows
}

#[test]
fn every_test_that_is_named_exists() {
    let rows = rows();
    let missing = missing_tests(rows.iter().flat_map(Row::tests));
    assert!(missing.is_empty(), "there are no such tests: {missing:#?}");
}

#[test]
fn every_row_has_a_test_or_a_reason() {
    for row in rows() {
        let reasoned = row.reason().is_some_and(|reason| reason.split_whitespace().count() >= 5);
        assert!(reasoned || row.reason().is_none() && !row.tests().is_empty(), "{}: {}", row.asked, row.tests);
    }
}

/// Whether it is one version, all of them, or those to, from or between versions, the older one first.
fn are_versions(text: &str) -> bool {
    let known = |version: &str| SESSIONS.contains(&version) || version == MODERN;
    match text.split(' ').collect::<Vec<_>>()[..] {
        ["all"] => true,
        [version] | ["to" | "from", version] => known(version),
        [first, "to", last] => known(first) && known(last) && first < last,
        _ => false,
    }
}

#[test]
fn every_row_says_in_which_versions_it_is_asked() {
    for row in rows() {
        assert!(are_versions(&row.versions), "{}: {}", row.asked, row.versions);
    }
}

fn is_method(word: &str) -> bool {
    let parts: Vec<&str> = word.split('/').collect();
    let named = |part: &&str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphabetic() || c == '_');
    matches!(word, "ping" | "initialize") || parts.len() > 1 && parts.iter().all(named)
}

/// The methods that the server reads and explains, as they stand in the code.
fn methods() -> BTreeSet<String> {
    let sources = ["src/server/unknown.rs", "src/transport/message.rs"].map(read);
    let code = sources.iter().map(|text| text.split("#[cfg(test)]").next().unwrap());
    let methods: BTreeSet<String> =
        code.flat_map(|text| text.split('"')).filter(|word| is_method(word)).map(str::to_owned).collect();
    assert!(methods.len() > 20 && methods.contains("tools/call"), "these are not all: {methods:?}");
    methods
}

#[test]
fn every_method_that_is_answered_has_a_row_with_tests() {
    let rows = rows();
    let held: BTreeSet<&str> =
        rows.iter().filter(|row| !row.tests().is_empty()).flat_map(|row| quoted(&row.asked)).collect();
    let missing: Vec<String> = methods().into_iter().filter(|method| !held.contains(method.as_str())).collect();
    assert!(missing.is_empty(), "no row is about {missing:?}");
}
