//! Answers `test/save`: writes a call of the page as a test, once the test passes.

use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::draft_test::DraftTest;
use super::page_calls::{PageCall, PageCalls};
use super::page_state::{PageState, redacted};
use super::page_tests::PageTests;
use super::problem_fix::write;
use crate::cli::run_tests::{TestRunOptions, TestSet, TestSource};
use crate::compile::FileBuffers;
use crate::dev_page::{DevPageError, PageEntry, PageEntryKind, SaveTestRequest, lines_around_changes};
use crate::diagnostic::SourceFile;
use crate::load::EnvSource;
use crate::test_run::{PlannedTest, RecordedServer, Recording, TestOutcome, TestStatus, call_mocks};
use crate::world::ReportedAction;
use crate::yaml::{InsertError, Location, NewEntry, entry, entry_with_lines, flow_entry, insert_entry, json_of};

/// How much of a failure is shown.
const MAX_SHOWN_CHARS: usize = 2000;

/// What a test is made of.
pub(in crate::cli::serve) struct TestWriter<'a> {
    pub(in crate::cli::serve) state: &'a Arc<PageState>,
    pub(in crate::cli::serve) tests: &'a PageTests,
    pub(in crate::cli::serve) calls: &'a PageCalls,
    /// The variables that calls see.
    pub(in crate::cli::serve) environment: &'a EnvSource,
}

/// Where a test is written.
struct TestFile<'s> {
    state: &'s PageState,
    source: &'s SourceFile,
    /// The name of the entry in its pack.
    entry_name: String,
}

/// A file with the test, and what is wrong with that.
struct WrittenTest {
    text: String,
    refusal: Option<String>,
}

impl TestWriter<'_> {
    /// Shows the test of a call, and writes it where that is asked and it passes.
    ///
    /// # Errors
    /// There is no such entry, or the file cannot be written.
    pub(in crate::cli::serve) fn save(&self, request: &SaveTestRequest) -> Result<Value, DevPageError> {
        let entry = PageEntry { kind: request.kind, id: request.id.clone() };
        let at = self.state.served().location_of(&entry);
        let at = at.ok_or_else(|| DevPageError::UnknownEntry(entry.clone()))?;
        let mut answer =
            Map::from_iter([("name".to_owned(), request.name.as_str().into()), ("diff".to_owned(), json!([]))]);
        let refusal = match self.place(at, &entry) {
            Ok(file) => self.save_in(&file, &entry, request, &mut answer)?,
            Err(refusal) => Some(refusal),
        };
        answer.extend(refusal.map(|refusal| ("refusal".to_owned(), refusal.into())));
        redacted(&answer.into(), &self.state.redactor)
    }

    /// Adds the file and its difference to the answer, and returns why nothing is written to it.
    fn save_in(
        &self,
        file: &TestFile<'_>,
        entry: &PageEntry,
        request: &SaveTestRequest,
        answer: &mut Map<String, Value>,
    ) -> Result<Option<String>, DevPageError> {
        let path = file.state.absolute_path(file.source);
        answer.insert("file".to_owned(), file.source.path().to_string_lossy().into());
        answer.insert("path".to_owned(), path.to_string_lossy().into());
        let WrittenTest { text, refusal } = match self.written(entry, file, request) {
            Ok(written) => written,
            Err(refusal) => return Ok(Some(refusal)),
        };
        let diff = lines_around_changes(file.source.text(), &text);
        answer.insert("diff".to_owned(), json!(diff));
        if request.write && refusal.is_none() {
            write(file.source, &text)?;
        }
        Ok(refusal)
    }

    /// The file for a test of an entry: that of the entry, if it has tests, or else the manifest of its pack. An error says
    /// in words why there is none.
    fn place(&self, at: Location, entry: &PageEntry) -> Result<TestFile<'_>, String> {
        let state: &PageState = self.state.served();
        let source = state.report.sources.get(at.file()).ok_or("its file is not known")?;
        let (pack, _) = state.places.pack_of(source.path()).ok_or("its pack is not known")?;
        if pack.is_locked {
            return Err("it is of a pack from elsewhere, whose files are not edited".to_owned());
        }
        let has_tests = json_of(source.text()).is_some_and(|file| file.get("tests").is_some());
        let manifest = pack.manifest.and_then(|file| state.report.sources.get(file));
        let source = if has_tests { Some(source) } else { manifest };
        let source = source.ok_or("its pack has no manifest for a test")?;
        let is_named = matches!(entry.kind, PageEntryKind::Prompt | PageEntryKind::Tool);
        let entry_name = pack.prefix.strip(&entry.id).filter(|_| is_named).unwrap_or(&entry.id).to_owned();
        Ok(TestFile { state, source, entry_name })
    }

    /// The file with the test; an error says in words why there is none.
    fn written(
        &self,
        entry: &PageEntry,
        file: &TestFile<'_>,
        request: &SaveTestRequest,
    ) -> Result<WrittenTest, String> {
        let rounds = self.rounds(entry, request)?;
        let draft = DraftTest::new(entry, &file.entry_name, &rounds)?;
        if request.record {
            return self.recorded(file, request, &draft);
        }
        let actions = rounds.iter().flat_map(|call| call.actions.clone());
        // Changes of files have no reply: a folder of the test's own stands in for them.
        let (changes, actions): (Vec<_>, Vec<_>) =
            actions.partition(|action| action.kind == ReportedAction::FileChange);
        let own_folder = (!changes.is_empty()).then(|| ("file".to_owned(), json!({ "files": {} })));
        let server = RecordedServer { redactor: &file.state.redactor, sources: &file.state.report.sources };
        let mocks = |variables| match call_mocks(&actions, variables, &server) {
            Recording::Mocks(mut mocks) => {
                mocks.extend(own_folder.clone());
                Ok(mocks)
            }
            Recording::Refused(reason) => Err(reason),
        };
        let text = file.with_test(&request.name, &draft.to_value(&mocks(Map::new())?, false))?;
        let tried = self.run(file, &text, &request.name, TestRunOptions::default())?;
        let Some(refusal) = refusal(&tried.outcome) else { return Ok(WrittenTest { text, refusal: None }) };
        // A call may have seen variables that tests do not.
        let variables = tried.variables(self.environment);
        if !variables.is_empty() {
            let with_variables = file.with_test(&request.name, &draft.to_value(&mocks(variables)?, false))?;
            let tried = self.run(file, &with_variables, &request.name, TestRunOptions::default())?;
            if tried.outcome.status == TestStatus::Passed {
                return Ok(WrittenTest { text: with_variables, refusal: None });
            }
        }
        Ok(WrittenTest { text, refusal: Some(refusal) })
    }

    /// The same with mocks of what the call does when it is made again.
    fn recorded(
        &self,
        file: &TestFile<'_>,
        request: &SaveTestRequest,
        draft: &DraftTest,
    ) -> Result<WrittenTest, String> {
        let live = file.with_test(&request.name, &draft.to_value(&IndexMap::new(), true))?;
        let options = TestRunOptions { live: true, record: true, ..TestRunOptions::default() };
        let ran = self.run(file, &live, &request.name, options)?.outcome;
        let mocks = match (refusal(&ran), ran.recording) {
            (Some(refusal), _) => return Ok(WrittenTest { text: live, refusal: Some(refusal) }),
            (None, Some(Recording::Mocks(mocks))) => mocks,
            (None, Some(Recording::Refused(reason))) => return Err(reason),
            (None, None) => return Err("nothing was recorded".to_owned()),
        };
        let text = file.with_test(&request.name, &draft.to_value(&mocks, false))?;
        let outcome = self.run(file, &text, &request.name, TestRunOptions::default())?.outcome;
        Ok(WrittenTest { text, refusal: refusal(&outcome) })
    }

    fn rounds(&self, entry: &PageEntry, request: &SaveTestRequest) -> Result<Vec<PageCall>, String> {
        let id = request.call.as_ref().ok_or("run it first: a test is written from a call that has ended")?;
        let rounds = self.calls.find(id).ok_or("the call is not known any more: run it again")?;
        let is_of_entry = rounds.last().is_some_and(|call| call.is_of(entry));
        if is_of_entry { Ok(rounds) } else { Err("the call is of another entry".to_owned()) }
    }

    /// Runs a test of this name in a file with this text.
    fn run(
        &self,
        file: &TestFile<'_>,
        text: &str,
        name: &str,
        options: TestRunOptions<'_>,
    ) -> Result<TriedTest, String> {
        let mut buffers = FileBuffers::default();
        buffers.insert_file(file.source.path(), text.as_bytes()).map_err(|error| error.to_string())?;
        let set = TestSet::load(&TestSource { buffers, ..self.tests.source().clone() });
        let set = set.map_err(|error| format!("the manifest would have an error: {error}"))?;
        let number = set.tests().position(|(test, _)| is_test_of_file(&set, test, name, file.source));
        let number = number.ok_or("the manifest would not have the test: another file has its tests")?;
        let (test, _) = set.tests().nth(number).ok_or("there is no test")?;
        let outcome = set.run(test, options);
        Ok(TriedTest { outcome, number, set })
    }
}

/// A test that was run.
struct TriedTest {
    outcome: TestOutcome,
    number: usize,
    set: TestSet,
}

impl TriedTest {
    /// The variables that its call saw, and a test does not.
    fn variables(&self, environment: &EnvSource) -> Map<String, Value> {
        let test = self.set.tests().nth(self.number).map(|(test, _)| test);
        test.map(|test| self.set.seen_variables(test, environment)).unwrap_or_default()
    }
}

fn is_test_of_file(set: &TestSet, test: &PlannedTest, name: &str, source: &SourceFile) -> bool {
    test.declared.test == name && set.path_of(test).is_some_and(|path| path == source.path())
}

impl TestFile<'_> {
    /// The file with a test.
    fn with_test(&self, name: &str, test: &Value) -> Result<String, String> {
        let flow = flow_entry(name, test);
        let insert = |text: &str| {
            insert_entry(self.source.text(), &NewEntry { section: "tests", name, text, flow: Some(&flow) })
        };
        // Lines of a text may not fit the indentation of the file.
        let insertion = match insert(&entry_with_lines(name, test, 0)) {
            Err(InsertError::Layout(_)) => insert(&entry(name, test, 0)),
            insertion => insertion,
        };
        let insertion = insertion.map_err(|error| error.to_string())?;
        let mut text = self.source.text().to_string();
        text.insert_str(insertion.at, &insertion.text);
        Ok(text)
    }
}

/// Why a test is not written that ended so.
fn refusal(outcome: &TestOutcome) -> Option<String> {
    let words = match &outcome.status {
        TestStatus::Passed => return None,
        TestStatus::Skipped(reason) => format!("the test does not run: {reason}"),
        TestStatus::Failed(failures) => {
            let failure = failures.first().map(|failure| format!("{}\n{}", failure.message, failure.details));
            format!("the test fails: {}", failure.unwrap_or_default())
        }
    };
    Some(crate::diagnostic::truncate(words.trim_end(), MAX_SHOWN_CHARS).into_owned())
}
