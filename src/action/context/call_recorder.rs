//! Records what a call does, for an author who follows it: its steps, and the programs and requests of each.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Value, json};

use super::call::CallContext;
use super::outcome::{ActionError, ActionOutcome, OutcomeBody};
use crate::redact::Redactor;
use crate::world::{ActionReport, RecordedAction, RecordingWorld, ReportedAction, ReportingWorld, World};

/// How many rows are kept of a call.
const MAX_ROWS: usize = 500;

/// The largest outcome of a step that is kept, in bytes of JSON.
const MAX_VALUE_BYTES: usize = 64 << 10;

/// How many bytes of outcomes and words are kept of a call.
const MAX_CALL_BYTES: usize = 1 << 20;

/// What a call does, in the order in which it begins. One is made where an observer wants it.
pub struct CallRecorder {
    started: Instant,
    redactor: Arc<Redactor>,
    rows: Mutex<RecordedRows>,
    /// The world of the call, once that has begun.
    world: Mutex<Option<Arc<RecordingWorld>>>,
}

#[derive(Default)]
struct RecordedRows {
    rows: Vec<RecordedRow>,
    bytes: usize,
}

/// A step, or a program or request of one.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedRow {
    pub kind: RowKind,
    /// How many rows are around it.
    pub depth: usize,
    /// The id of a step of several, or its number from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// In one line.
    pub label: String,
    /// The rest, in whole lines.
    pub details: String,
    /// When it began, in milliseconds from the beginning of the call.
    pub start_ms: f64,
    pub elapsed_ms: f64,
    pub outcome: RowOutcome,
    /// What came of it, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// The outcome of a step, as later steps read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    #[serde(skip)]
    is_open: bool,
}

/// What a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RowKind {
    Step,
    Program,
    Request,
    File,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RowOutcome {
    Ok,
    Failed,
    /// For the client.
    Waiting,
    /// Its condition does not hold.
    Skipped,
}

/// A step that is under way.
pub(in crate::action) struct RecordedStep {
    recorder: Arc<CallRecorder>,
    /// The number of its row; `None` if there are too many.
    row: Option<usize>,
    started: Instant,
}

impl std::fmt::Debug for CallRecorder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("CallRecorder").finish_non_exhaustive()
    }
}

impl CallRecorder {
    /// A call that begins now. What `redactor` finds is in no description.
    #[must_use]
    pub fn new(redactor: Arc<Redactor>) -> Arc<CallRecorder> {
        let (rows, world) = (Mutex::default(), Mutex::default());
        Arc::new(CallRecorder { started: Instant::now(), redactor, rows, world })
    }

    /// The rows so far. Outcomes may hold secrets.
    pub fn rows(&self) -> Vec<RecordedRow> {
        self.rows.lock().rows.clone()
    }

    /// The programs and requests so far, for mocks that stand in for them.
    pub fn actions(&self) -> Vec<RecordedAction> {
        self.world.lock().as_ref().map(|world| world.actions()).unwrap_or_default()
    }

    /// A call that this one records.
    #[must_use]
    pub fn record(self: &Arc<CallRecorder>, call: CallContext) -> CallContext {
        let recording =
            Arc::new(RecordingWorld::new(self.redactor.clone(), call.world.clone()).with_limit(MAX_CALL_BYTES));
        *self.world.lock() = Some(recording);
        let world = self.world_at(0).unwrap_or_else(|| call.world.clone());
        CallContext { world, recorder: Some(self.clone()), ..call }
    }

    /// The world whose actions are rows of this depth.
    fn world_at(self: &Arc<CallRecorder>, depth: usize) -> Option<Arc<dyn World>> {
        let world: Arc<dyn World> = self.world.lock().clone()?;
        let recorder = self.clone();
        Some(ReportingWorld::wrap(&self.redactor, &world, Arc::new(move |report| recorder.add_report(report, depth))))
    }

    fn since_start(&self) -> f64 {
        milliseconds(self.started.elapsed())
    }

    fn new_row(&self, kind: RowKind, depth: usize, label: &str) -> RecordedRow {
        RecordedRow {
            kind,
            depth,
            id: None,
            label: label.to_owned(),
            details: String::new(),
            start_ms: self.since_start(),
            elapsed_ms: 0.0,
            outcome: RowOutcome::Failed,
            end: Some("it did not end".to_owned()),
            value: None,
            is_open: true,
        }
    }

    /// Adds a row, if there is room for it, and returns its number.
    fn add_row(&self, row: RecordedRow) -> Option<usize> {
        let mut recorded = self.rows.lock();
        let bytes = row.label.len() + row.details.len();
        if recorded.rows.len() >= MAX_ROWS || recorded.bytes + bytes > MAX_CALL_BYTES {
            return None;
        }
        recorded.bytes += bytes;
        recorded.rows.push(row);
        Some(recorded.rows.len() - 1)
    }

    /// Adds the beginning or the end of a program or a request.
    fn add_report(&self, report: ActionReport<'_>, depth: usize) {
        match report {
            ActionReport::Start { kind, action, details } => {
                let row_kind = match kind {
                    ReportedAction::Program => RowKind::Program,
                    ReportedAction::Request => RowKind::Request,
                    ReportedAction::FileChange => RowKind::File,
                };
                let row = RecordedRow { details: details.to_owned(), ..self.new_row(row_kind, depth, action) };
                self.add_row(match kind {
                    ReportedAction::FileChange => {
                        RecordedRow { outcome: RowOutcome::Ok, end: None, is_open: false, ..row }
                    }
                    ReportedAction::Program | ReportedAction::Request => row,
                });
            }
            ActionReport::End { action, end, details, elapsed, failed } => {
                let mut recorded = self.rows.lock();
                let room = MAX_CALL_BYTES.saturating_sub(recorded.bytes);
                // Of actions that are the same, whichever began first.
                let is_this = |row: &&mut RecordedRow| row.is_open && row.depth == depth && row.label == action;
                let Some(row) = recorded.rows.iter_mut().find(is_this) else { return };
                row.is_open = false;
                row.elapsed_ms = milliseconds(elapsed);
                row.outcome = if failed { RowOutcome::Failed } else { RowOutcome::Ok };
                row.end = Some(end.to_owned());
                if details.len() <= room {
                    row.details.push_str(details);
                    recorded.bytes += details.len();
                }
            }
        }
    }

    fn end_step(&self, number: usize, elapsed: Duration, ended: &Result<ActionOutcome, ActionError>) {
        let mut recorded = self.rows.lock();
        let room = MAX_CALL_BYTES.saturating_sub(recorded.bytes);
        let Some(row) = recorded.rows.get_mut(number) else { return };
        row.is_open = false;
        row.elapsed_ms = milliseconds(elapsed);
        (row.outcome, row.end) = step_end(ended);
        let Ok(outcome) = ended else { return };
        let bytes = outcome.value.to_string().len();
        let fits = bytes <= MAX_VALUE_BYTES.min(room);
        row.value = Some(if fits { outcome.value.clone() } else { json!({ "omitted": format!("{bytes} bytes") }) });
        if fits {
            recorded.bytes += bytes;
        }
    }
}

impl CallContext {
    /// The context of a step, whose programs and requests are rows below its own, where the call is recorded.
    /// `describe` returns its id and its label.
    pub(in crate::action) fn start_step(
        &self,
        describe: impl FnOnce() -> (Option<String>, String),
    ) -> Option<(CallContext, RecordedStep)> {
        let recorder = self.recorder.as_ref()?;
        let (id, label) = describe();
        let row = recorder.add_row(RecordedRow { id, ..recorder.new_row(RowKind::Step, self.depth, &label) });
        let step = RecordedStep { recorder: recorder.clone(), row, started: Instant::now() };
        let world = recorder.world_at(self.depth + 1)?;
        Some((CallContext { world, ..self.clone() }, step))
    }

    /// Records a step whose condition does not hold.
    pub(in crate::action) fn skip_step(&self, describe: impl FnOnce() -> (Option<String>, String)) {
        let Some(recorder) = &self.recorder else { return };
        let (id, label) = describe();
        let row = recorder.new_row(RowKind::Step, self.depth, &label);
        let end = Some("its `when` is false".to_owned());
        recorder.add_row(RecordedRow { id, outcome: RowOutcome::Skipped, end, is_open: false, ..row });
    }
}

impl RecordedStep {
    /// Records how the step ended.
    pub(in crate::action) fn end(self, ended: &Result<ActionOutcome, ActionError>) {
        if let Some(row) = self.row {
            self.recorder.end_step(row, self.started.elapsed(), ended);
        }
    }
}

/// How a step ended, and what came of it.
fn step_end(ended: &Result<ActionOutcome, ActionError>) -> (RowOutcome, Option<String>) {
    let first_line = |text: &str| text.lines().next().map(str::to_owned);
    match ended {
        Ok(ActionOutcome { failure: Some(failure), .. }) => (RowOutcome::Failed, first_line(failure)),
        Ok(outcome) => match outcome.value.pointer("/error/text").and_then(Value::as_str) {
            Some(error) => (RowOutcome::Failed, first_line(error)),
            None => (RowOutcome::Ok, outcome.note.as_deref().and_then(first_line).or_else(|| describe(&outcome.body))),
        },
        Err(ActionError::InputRequired(_)) => (RowOutcome::Waiting, Some("waits for the client".to_owned())),
        Err(ActionError::Detached(_)) => (RowOutcome::Waiting, Some("continues as a task".to_owned())),
        Err(error) => (RowOutcome::Failed, first_line(&error.to_string())),
    }
}

fn describe(body: &OutcomeBody) -> Option<String> {
    match body {
        OutcomeBody::None => None,
        OutcomeBody::Text(text) => Some(format!("text, {} bytes", text.len())),
        OutcomeBody::Json(_, text) => Some(format!("JSON, {} bytes", text.len())),
        OutcomeBody::Bytes(bytes, mime_type) => Some(format!("{mime_type}, {} bytes", bytes.len())),
    }
}

fn milliseconds(time: Duration) -> f64 {
    // A thousandth is enough, and short as JSON.
    (time.as_secs_f64() * 1e6).round() / 1e3
}
