//! `each`: runs a step once for each item of a list.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use serde_json::Value;

use super::run_plan::PlannedStep;
use crate::action::condition::compile_list;
use crate::action::{ActionError, ActionOutcome, OutcomeBody, Step, StepContext};
use crate::compile::Compiler;
use crate::diagnostic::Code;
use crate::template::{ListItems, ListSlot, ScopeShape, Template};
use crate::world::{CapturedBytes, WorldError};

/// How many items a repeated step may have.
const MAX_ITEMS: usize = 10_000;
/// How many notes of items are shown.
const MAX_NOTES: usize = 20;
/// How many items may run at the same time.
const MAX_PARALLEL: u32 = 16;

/// The list of a repeated step.
pub(super) struct StepRepetition {
    list: Template<ListSlot>,
    parallel: usize,
}

impl StepRepetition {
    /// Compiles `each` and `parallel`, and returns them with the names in scope of the repeated step. `None` if there is
    /// an error.
    pub(super) fn compile(step: &Step, compiler: &mut Compiler<'_>) -> Option<(Option<StepRepetition>, ScopeShape)> {
        let names = compiler.scope_shape.clone();
        let parallel = compile_parallel(step, compiler);
        let Some(list) = &step.each else { return parallel.map(|_| (None, names)) };
        if step.ask.is_some() {
            compiler
                .error(Code::Conflict, list.location, "`ask` cannot be repeated by `each`")
                .help("ask for everything in one step, before the step with `each`");
        }
        let (list, item) = compile_list(list, compiler)?;
        let names = names.with_item(item, list.printed_paths());
        Some((Some(StepRepetition { list, parallel: parallel? }), names))
    }

    /// Runs a step for each item; the first failure ends it.
    pub(super) async fn run(
        &self,
        step: &PlannedStep,
        context: &StepContext<'_>,
    ) -> Result<ActionOutcome, ActionError> {
        let ListItems(items) = self.list.render(context.scope)?;
        if items.len() > MAX_ITEMS {
            return Err(ActionError::message(format!(
                "too many items in `each`: {}, and the limit is {MAX_ITEMS}",
                items.len()
            )));
        }
        let scope = context.scope.nested();
        let repetition = RepeatedStepRun {
            step,
            context: &StepContext { scope: &scope, ..*context },
            started_at: Instant::now(),
            client_wait_at_start: context.call.budget.client_wait().total(),
        };
        let runs = items.into_iter().enumerate();
        let runs = runs.map(|(index, item)| -> BoxFuture<'_, _> {
            repetition.run_item(index, item).map(move |outcome| (index, outcome)).boxed()
        });
        // One that fails ends the step, also while one before it still runs.
        let mut ended = stream::iter(runs).buffer_unordered(self.parallel);
        let mut outcomes = BTreeMap::new();
        while let Some((index, outcome)) = ended.next().await {
            let outcome = outcome?;
            if outcome.failure.is_some() {
                return Ok(outcome);
            }
            outcomes.insert(index, outcome);
        }
        let outcome = join_outcomes(outcomes.into_values());
        scope.budget().leave(context.scope.budget(), outcome.memory_size());
        Ok(outcome)
    }
}

/// A step that is being repeated.
struct RepeatedStepRun<'a> {
    step: &'a PlannedStep,
    context: &'a StepContext<'a>,
    started_at: Instant,
    /// How long the call had waited for its client before.
    client_wait_at_start: Duration,
}

impl RepeatedStepRun<'_> {
    async fn run_item(&self, index: usize, item: Value) -> Result<ActionOutcome, ActionError> {
        let call = self.context.call;
        if call.cancel().is_cancelled() {
            return Err(WorldError::Cancelled.into());
        }
        let client_wait_at_start = call.budget.client_wait().total().saturating_sub(self.client_wait_at_start);
        let timeout =
            self.context.timeout.saturating_sub(self.started_at.elapsed().saturating_sub(client_wait_at_start));
        if timeout.is_zero() {
            return Err(WorldError::timed_out(self.context.timeout).into());
        }
        let scope = self.context.scope.clone().with_item(item, index);
        if !self.step.is_enabled(&scope)? {
            return Ok(ActionOutcome::empty());
        }
        let context = StepContext { scope: &scope, timeout, checkpoint: None, ..*self.context };
        self.step.execute(&context).await.map_err(|error| match error {
            ActionError::InputRequired(_) => {
                ActionError::message("a step with `each` cannot ask the client".to_owned())
            }
            other => other,
        })
    }
}

/// The outcomes of items as one.
fn join_outcomes(outcomes: impl Iterator<Item = ActionOutcome>) -> ActionOutcome {
    let (mut values, mut bodies, mut done, mut lacking) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for outcome in outcomes {
        values.push(outcome.value);
        match outcome.body {
            OutcomeBody::None => done.extend(outcome.note),
            body => {
                bodies.push(body);
                lacking.extend(outcome.note);
            }
        }
    }
    // Where some items have a body, what the others did need not be said.
    let note = join_notes(if bodies.is_empty() { &done } else { &lacking });
    ActionOutcome { note, ..ActionOutcome::success(Value::Array(values), join_bodies(bodies)) }
}

/// The first notes, and how many there are more.
fn join_notes(notes: &[String]) -> Option<String> {
    let mut lines: Vec<&str> = notes.iter().take(MAX_NOTES).map(String::as_str).collect();
    let more = notes.len().saturating_sub(MAX_NOTES);
    let more = (more > 0).then(|| format!("and {more} more"));
    lines.extend(more.as_deref());
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The bodies as one: a list where all are JSON, else their texts, one after the other.
fn join_bodies(bodies: Vec<OutcomeBody>) -> OutcomeBody {
    if bodies.is_empty() {
        return OutcomeBody::None;
    }
    if bodies.iter().all(|body| matches!(body, OutcomeBody::Json(..))) {
        let json = |body| if let OutcomeBody::Json(value, _) = body { Some(value) } else { None };
        let value: Value = bodies.into_iter().filter_map(json).collect();
        let text = value.to_string();
        return OutcomeBody::Json(value, text);
    }
    let texts: Vec<String> = bodies.into_iter().map(text_of).collect();
    OutcomeBody::Text(texts.iter().map(|text| text.trim_end_matches('\n')).collect::<Vec<_>>().join("\n"))
}

fn text_of(body: OutcomeBody) -> String {
    match body {
        OutcomeBody::None => String::new(),
        OutcomeBody::Text(text) | OutcomeBody::Json(_, text) => text,
        OutcomeBody::Bytes(bytes, _) => CapturedBytes::new(bytes, 0).into_display_text(),
    }
}

fn compile_parallel(step: &Step, compiler: &mut Compiler<'_>) -> Option<usize> {
    let Some(parallel) = &step.parallel else { return Some(1) };
    if step.each.is_none() {
        compiler
            .error(Code::Conflict, parallel.location, "`parallel` without `each`")
            .help("remove it, or repeat the step with `each: \"{{…}}\"`");
        return None;
    }
    let count = usize::try_from(parallel.value).ok().filter(|_| (1..=MAX_PARALLEL).contains(&parallel.value));
    if count.is_none() {
        compiler
            .error(Code::BadValue, parallel.location, format!("invalid `parallel`, expected 1 to {MAX_PARALLEL}"))
            .help(format!("write a number from 1 to {MAX_PARALLEL}"));
    }
    count
}
