//! `folio test --record`: writes what happened in live tests as their mocks, once the tests pass with them.

use std::collections::BTreeMap;

use anyhow::Context;
use indexmap::IndexMap;
use serde_json::Value;

use super::report::shorten;
use super::{TestRun, TestSelection, rerun_selected_tests};
use crate::cli::text_file::replace_text;
use crate::cli::{Exit, Output};
use crate::compile::FileBuffers;
use crate::diagnostic::{FileId, one_line};
use crate::load::ManifestLocation;
use crate::test_run::{Recording, TestStatus};
use crate::yaml::{InsertError, NewPair, add_pair, entry_with_lines, flow_entry, pointer, replace_pair};

/// A test with what was recorded of its calls.
struct RecordedTest<'a> {
    /// Its name in its file.
    name: &'a str,
    file: FileId,
    /// The names of its calls.
    calls: Vec<&'a str>,
    /// The mocks by the number of the case.
    cases: BTreeMap<Option<usize>, &'a IndexMap<String, Value>>,
    /// Why nothing is written for it.
    refusal: Option<String>,
}

/// Writes the mocks of the tests that were recorded, and says which; what is not written fails the run.
pub(super) fn write_mocks(run: &TestRun, location: &ManifestLocation, output: &Output) -> anyhow::Result<Exit> {
    let mut tests = recorded_tests(run);
    if tests.is_empty() {
        output.eprint("nothing is recorded: no test with `live: true` passed\n");
        return Ok(if run.passed() { Exit::Success } else { Exit::Failure });
    }
    let drafts = edited_files(run, &mut tests);
    check_again(run, location, output, &drafts, &mut tests)?;
    for (file, text) in edited_files(run, &mut tests) {
        let Some(source) = run.report.sources.get(file) else { continue };
        replace_text(source.path(), source.text(), &text)
            .with_context(|| format!("cannot record mocks in `{}`", shorten(source.path())))?;
    }
    for test in &tests {
        let name = one_line(test.name);
        let path = run.report.sources.get(test.file).map(|source| shorten(source.path())).unwrap_or_default();
        match &test.refusal {
            None => output.eprint(&format!("recorded the mocks of `{name}` in `{path}`\n")),
            Some(reason) => output.eprint(&format!("error: cannot record `{name}`: {reason}\n")),
        }
    }
    let is_whole = run.passed() && tests.iter().all(|test| test.refusal.is_none());
    Ok(if is_whole { Exit::Success } else { Exit::Failure })
}

/// The tests of which something was recorded, in the order written.
fn recorded_tests(run: &TestRun) -> Vec<RecordedTest<'_>> {
    let mut tests: IndexMap<(FileId, &str), RecordedTest<'_>> = IndexMap::new();
    for (planned, outcome) in run.results() {
        let Some(recording) = &outcome.recording else { continue };
        let (name, file) = (planned.declared.test.as_str(), planned.declared.at.span().file);
        let test = tests.entry((file, name)).or_insert_with(|| RecordedTest {
            name,
            file,
            calls: Vec::new(),
            cases: BTreeMap::new(),
            refusal: None,
        });
        test.calls.push(&planned.name);
        match recording {
            // Of several versions the first is written.
            Recording::Mocks(mocks) => _ = test.cases.entry(planned.declared.case).or_insert(mocks),
            Recording::Refused(reason) => test.refusal = Some(reason.clone()),
        }
    }
    let mut tests: Vec<RecordedTest<'_>> = tests.into_values().collect();
    for test in tests.iter_mut().filter(|test| test.refusal.is_none()) {
        if test.cases.values().all(|mocks| mocks.is_empty()) {
            test.refusal = Some("it has no side effects, and needs no `live: true`".to_owned());
        }
    }
    tests
}

/// The files with the mocks of those tests that have a place for them; the others are refused.
fn edited_files(run: &TestRun, tests: &mut [RecordedTest<'_>]) -> BTreeMap<FileId, String> {
    let mut texts: BTreeMap<FileId, String> = BTreeMap::new();
    for test in tests.iter_mut().filter(|test| test.refusal.is_none()) {
        let Some(source) = run.report.sources.get(test.file) else { continue };
        let text = texts.get(&test.file).map_or(&**source.text(), String::as_str);
        match test.edit(text) {
            Ok(edited) => _ = texts.insert(test.file, edited),
            Err(reason) => test.refusal = Some(reason),
        }
    }
    texts
}

impl RecordedTest<'_> {
    /// A file with the mocks of the test, which is not live any more.
    fn edit(&self, text: &str) -> Result<String, String> {
        let at = pointer::join("/tests", self.name);
        let document: Value = crate::yaml::json_of(text).unwrap_or_default();
        let declared = document.pointer(&at).ok_or("its file has other tests by now")?;
        let cases = declared.get("cases").and_then(Value::as_array).map_or(1, Vec::len);
        if self.cases.len() != cases {
            return Err("not all of its cases ran and passed".to_owned());
        }
        let edited = match self.cases.get(&None) {
            Some(mocks) if declared.get("mock").is_none() => {
                with_pair("mock", &to_value(mocks), |pair| replace_pair(text, &at, "live", Some(pair)))
            }
            _ => self.add_to_cases(text, &at, &document),
        };
        edited.map_err(|why| format!("{why}: write this yourself, without `live`:\n{}", self.text_to_paste()))
    }

    fn add_to_cases(&self, text: &str, at: &str, document: &Value) -> Result<String, InsertError> {
        let mut text = text.to_owned();
        for (case, mocks) in self.cases.iter().filter(|(_, mocks)| !mocks.is_empty()) {
            let at = case.map_or(at.to_owned(), |number| format!("{at}/cases/{number}"));
            let mocks_at = document.pointer(&at).and_then(|declared| declared.get("mock"));
            text = match mocks_at {
                Some(mocks_at) => add_mocks(text, &format!("{at}/mock"), mocks_at, mocks)?,
                None => with_pair("mock", &to_value(mocks), |pair| add_pair(&text, &at, pair))?,
            };
        }
        replace_pair(&text, at, "live", None)
    }

    fn text_to_paste(&self) -> String {
        let mocks = self.cases.values().map(|mocks| entry_with_lines("mock", &to_value(mocks), 0));
        let indented = mocks.flat_map(|text| text.lines().map(|line| format!("  {line}\n")).collect::<Vec<_>>());
        indented.collect::<String>().trim_end().to_owned()
    }
}

/// Adds mocks to those that are written, and variables to the variables.
fn add_mocks(
    mut text: String,
    at: &str,
    mocks_at: &Value,
    mocks: &IndexMap<String, Value>,
) -> Result<String, InsertError> {
    for (name, value) in mocks {
        let own = format!("{at}/env");
        text = match (mocks_at.get(name), value) {
            (Some(Value::Object(_)), Value::Object(variables)) if name == "env" => {
                let mut text = text;
                for (name, value) in variables {
                    text = with_pair(name, value, |pair| add_pair(&text, &own, pair))?;
                }
                text
            }
            _ => with_pair(name, value, |pair| add_pair(&text, at, pair))?,
        };
    }
    Ok(text)
}

fn with_pair<T>(key: &str, value: &Value, edit: impl FnOnce(&NewPair<'_>) -> T) -> T {
    let (block, flow) = (entry_with_lines(key, value, 0), flow_entry(key, value));
    edit(&NewPair { key, value, block: &block, flow: &flow })
}

fn to_value(mocks: &IndexMap<String, Value>) -> Value {
    Value::Object(mocks.iter().map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// Runs the tests with the mocks in place of the world; those that fail are refused.
fn check_again(
    run: &TestRun,
    location: &ManifestLocation,
    output: &Output,
    texts: &BTreeMap<FileId, String>,
    tests: &mut [RecordedTest<'_>],
) -> anyhow::Result<()> {
    let mut buffers = FileBuffers::default();
    for (file, text) in texts {
        let source = run.report.sources.get(*file).context("a file of the manifest is gone")?;
        buffers.insert_file(source.path(), text.as_bytes())?;
    }
    let is_open = |name: &str| tests.iter().any(|test| test.refusal.is_none() && test.calls.contains(&name));
    let wanted = TestSelection { is_selected: &|test| is_open(&test.name), output, coverage: None };
    let again = rerun_selected_tests(location, buffers, &wanted);
    for (planned, outcome) in again.results() {
        let failure = match &outcome.status {
            TestStatus::Passed => continue,
            TestStatus::Failed(failures) => failures.first().map(|failure| failure.message.clone()),
            TestStatus::Skipped(reason) => Some(reason.clone()),
        };
        for test in tests.iter_mut().filter(|test| test.calls.contains(&planned.name.as_str())) {
            test.refusal = Some(format!("it fails with its mocks: {}", failure.clone().unwrap_or_default()));
        }
    }
    Ok(())
}
