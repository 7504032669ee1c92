//! `tests/specification.md` lists the tests for each requirement of the specification.

use std::collections::BTreeSet;

use crate::doc_tables::{missing_tests, quoted, read};
use crate::harness::{SESSION_VERSIONS, SESSIONLESS_VERSION};

/// One thing that is asked.
struct SpecificationRow {
    asked: String,
    versions: String,
    tests: String,
}

impl SpecificationRow {
    /// Reads a line of a table. The line of headings and the one below it are none.
    fn read(line: &str) -> Option<SpecificationRow> {
        let cells: Vec<&str> = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect();
        let [asked, versions, tests] = cells[..] else { panic!("a row has three cells: {line}") };
        (asked != "what is asked").then(|| SpecificationRow {
            asked: asked.into(),
            versions: versions.into(),
            tests: tests.into(),
        })
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

fn rows() -> Vec<SpecificationRow> {
    let rows: Vec<SpecificationRow> =
        read("tests/specification.md").lines().filter_map(SpecificationRow::read).collect();
    assert!(rows.len() > 100, "{} rows are not all", rows.len());
    rows
}

#[test]
fn every_named_test_exists() {
    let rows = rows();
    let missing = missing_tests(rows.iter().flat_map(SpecificationRow::tests));
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
    let known = |version: &str| SESSION_VERSIONS.contains(&version) || version == SESSIONLESS_VERSION;
    match text.split(' ').collect::<Vec<_>>()[..] {
        ["all"] => true,
        [version] | ["to" | "from", version] => known(version),
        [first, "to", last] => known(first) && known(last) && first < last,
        _ => false,
    }
}

#[test]
fn every_row_names_its_versions() {
    for row in rows() {
        assert!(are_versions(&row.versions), "{}: {}", row.asked, row.versions);
    }
}

fn is_method(word: &str) -> bool {
    let parts: Vec<&str> = word.split('/').collect();
    let named = |part: &&str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphabetic() || c == '_');
    matches!(word, "ping" | "initialize") || parts.len() > 1 && parts.iter().all(named)
}

/// The methods that the server reads, as they stand in the code.
fn methods() -> BTreeSet<String> {
    let sources = ["src/transport/request_params.rs", "src/transport/message.rs"].map(read);
    let code = sources.iter().map(|text| text.split("#[cfg(test)]").next().unwrap());
    let methods: BTreeSet<String> =
        code.flat_map(|text| text.split('"')).filter(|word| is_method(word)).map(str::to_owned).collect();
    assert!(methods.len() > 20 && methods.contains("tools/call"), "these are not all: {methods:?}");
    methods
}

#[test]
fn every_method_has_a_tested_row() {
    let rows = rows();
    let held: BTreeSet<&str> =
        rows.iter().filter(|row| !row.tests().is_empty()).flat_map(|row| quoted(&row.asked)).collect();
    let missing: Vec<String> = methods().into_iter().filter(|method| !held.contains(method.as_str())).collect();
    assert!(missing.is_empty(), "no row is about {missing:?}");
}
