//! Runs the steps of a compiled `run`, to its end or to a question that waits for the client.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use super::on_fail;
use super::repeat::StepRepetition;
use super::run_limits::RunLimits;
use crate::action::context::checkpoint::{MAX_CARRIED_OUTCOME_BYTES, StepStdouts};
use crate::action::http::request_effect;
use crate::action::program::program_effect;
use crate::action::{
    Action, ActionError, ActionOutcome, CallContext, Checkpoint, ClientUse, DeclaredQuestion, ListKind, OutcomeBody,
    OutcomeReads, PendingQuestions, StepContext,
};
use crate::budget::memory_size;
use crate::template::{ConditionSlot, CoverageMarker, Scope, Template, UriSlot};
use crate::world::WorldError;

/// A compiled run.
pub struct RunPlan {
    steps: PlanSteps,
    pub limits: RunLimits,
    /// Changes with the definition of the run.
    digest: u64,
    /// The step after which it may continue as a task.
    detach_after: Option<usize>,
    /// Whether its single action was run, where that is recorded.
    marker: Option<CoverageMarker>,
}

/// An entry that a step uses, by its name in the pack.
#[derive(Clone, Copy)]
pub enum InvokedEntry<'a> {
    Tool(&'a str),
    Prompt(&'a str),
    Resource(&'a Template<UriSlot>),
}

enum PlanSteps {
    Single(Box<Action>, OutcomeReads),
    /// With the paths by which the entry reads their outcomes, in the order of the text.
    List(Vec<PlannedStep>, Vec<Vec<String>>),
}

/// One step of several.
pub(super) struct PlannedStep {
    pub(super) id: Option<String>,
    pub(super) when: Option<Template<ConditionSlot>>,
    /// The list that it is repeated for.
    pub(super) each: Option<StepRepetition>,
    /// Whether the run goes on after a failure.
    pub(super) continues_on_failure: bool,
    pub(super) action: Action,
    /// Where the reads of this step begin in those of the entry.
    pub(super) outcome_reads_start: usize,
    /// The id of the step whose stdout it reads.
    pub(super) stdin_step: Option<String>,
    /// What is read of its outcome.
    pub(super) reads: OutcomeReads,
    /// Whether it was run, where that is recorded.
    pub(super) marker: Option<CoverageMarker>,
}

/// The outcome of a run.
pub struct RunOutcome {
    /// The outcome of its action, or of the last step with a body.
    pub outcome: ActionOutcome,
    /// The outcomes of its steps; `None` for a single action.
    pub steps: Option<Map<String, Value>>,
    /// Whether it may have changed something.
    pub had_side_effects: bool,
}

impl RunOutcome {
    /// The approximate size of its outcomes in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        let steps = self.steps.iter().flatten().map(|(_, outcome)| memory_size(outcome)).sum::<usize>();
        self.outcome.body.size() + steps
    }

    /// The scope after the run, with the outcomes of its steps or with `result`, and the body of its outcome.
    #[must_use]
    pub fn into_scope(self, scope: Scope) -> (Scope, OutcomeBody) {
        let scope = match self.steps {
            Some(steps) => scope.with_steps(steps),
            None => scope.with_result(self.outcome.value),
        };
        (scope, self.outcome.body)
    }
}

impl RunPlan {
    /// A plan of one action; `marker` records whether it is run.
    pub(super) fn from_action(action: Action, limits: RunLimits, marker: Option<CoverageMarker>) -> RunPlan {
        let steps = PlanSteps::Single(Box::new(action), OutcomeReads::ALL);
        RunPlan { steps, limits, digest: 0, detach_after: None, marker }
    }

    pub(super) fn from_steps(steps: Vec<PlannedStep>, limits: RunLimits) -> RunPlan {
        let steps = PlanSteps::List(steps, Vec::new());
        RunPlan { steps, limits, digest: 0, detach_after: None, marker: None }
    }

    /// Whether it asks its client questions.
    #[must_use]
    pub fn asks_client(&self) -> bool {
        self.client_uses().any(|client_use| client_use == ClientUse::Asks)
    }

    /// Whether it uses its client, or runs entries that may.
    #[must_use]
    pub fn uses_client(&self) -> bool {
        self.client_uses().any(|client_use| client_use != ClientUse::None)
    }

    /// The changes that its steps notify of: kinds of lists, and `None` for resources.
    pub fn change_notifications(&self) -> impl Iterator<Item = Option<ListKind>> + '_ {
        self.client_uses().filter_map(|client_use| match client_use {
            ClientUse::Notifies(kind) => Some(kind),
            _ => None,
        })
    }

    /// Whether it sends log messages.
    #[must_use]
    pub fn sends_logs(&self) -> bool {
        self.client_uses().any(|client_use| client_use == ClientUse::Logs)
    }

    fn client_uses(&self) -> impl Iterator<Item = ClientUse> + '_ {
        self.actions().map(Action::client_use)
    }

    fn actions(&self) -> impl Iterator<Item = &Action> {
        self.actions_where(|_| true)
    }

    /// Its action, or those of some of its steps.
    fn actions_where(&self, is_chosen: impl Fn(&PlannedStep) -> bool) -> impl Iterator<Item = &Action> {
        let (single, steps) = match &self.steps {
            PlanSteps::Single(action, _) => (Some(&**action), &[][..]),
            PlanSteps::List(steps, _) => (None, steps.as_slice()),
        };
        single.into_iter().chain(steps.iter().filter(move |step| is_chosen(step)).map(|step| &step.action))
    }

    /// The questions that its own steps ask.
    pub fn declared_questions(&self) -> impl Iterator<Item = DeclaredQuestion<'_>> {
        let asks = self.actions().filter_map(|action| match action {
            Action::Ask(ask) => Some(ask),
            _ => None,
        });
        asks.flat_map(|ask| ask.declared_questions())
    }

    /// The entries that its steps use.
    pub fn invoked_entries(&self) -> impl Iterator<Item = InvokedEntry<'_>> {
        self.actions().filter_map(|action| match action {
            Action::Tool(tool) => Some(InvokedEntry::Tool(&tool.0.name)),
            Action::Prompt(prompt) => Some(InvokedEntry::Prompt(&prompt.0.name)),
            Action::Read(read) => Some(InvokedEntry::Resource(&read.0)),
            _ => None,
        })
    }

    /// The URIs that it reads each time.
    pub fn read_uris(&self) -> impl Iterator<Item = &Template<UriSlot>> {
        self.actions_where(|step| step.when.is_none()).filter_map(|action| match action {
            Action::Read(read) => Some(&read.0),
            _ => None,
        })
    }

    /// How many steps it has.
    #[must_use]
    pub fn step_count(&self) -> usize {
        match &self.steps {
            PlanSteps::Single(..) => 1,
            PlanSteps::List(steps, _) => steps.len(),
        }
    }

    /// What a run has done, and what its result is, in an error about the result.
    #[must_use]
    pub fn describe_end(&self, ended: &RunOutcome) -> String {
        let action = match &self.steps {
            PlanSteps::Single(action, _) => Some(&**action),
            PlanSteps::List(..) => None,
        };
        match (action, ended.outcome.status) {
            (Some(_), Some(status)) => format!("{}; the response", request_effect(status)),
            (None, Some(status)) => format!("{}, as the last of the steps; their result", request_effect(status)),
            (Some(Action::Exec(_) | Action::Script(_)), None) => {
                let exit = ended.outcome.value.get("exit").and_then(Value::as_i64);
                format!("{}; its output", program_effect(exit.and_then(|exit| i32::try_from(exit).ok())))
            }
            (Some(_), None) => "the action was carried out; its result".to_owned(),
            (None, None) => "the steps were carried out; their result".to_owned(),
        }
    }

    /// Sets the step after which the run may continue as a task.
    pub fn set_detach_after(&mut self, id: &str) {
        if let PlanSteps::List(steps, _) = &self.steps {
            self.detach_after = steps.iter().position(|step| step.id.as_deref() == Some(id));
        }
    }

    /// Sets the paths by which the whole entry reads outcomes, as no others are made and carried by checkpoints, and the
    /// fingerprint of its definition.
    pub fn set_outcome_reads(&mut self, paths: &[Vec<String>], digest: u64) {
        self.digest = digest;
        match &mut self.steps {
            PlanSteps::Single(_, reads) => reads.set_fields(OutcomeReads::of(&["result"], paths)),
            PlanSteps::List(steps, reads) => {
                for step in steps {
                    // No path names a step without an id.
                    let fields = step
                        .id
                        .as_ref()
                        .map_or_else(|| Some(BTreeSet::new()), |id| OutcomeReads::of(&["steps", id], paths));
                    // Of a repeated step a path names an item first.
                    step.reads.set_fields(fields.filter(|fields| fields.is_empty() || step.each.is_none()));
                }
                paths.clone_into(reads);
            }
        }
    }

    /// Runs it, from its checkpoint if it has one.
    ///
    /// # Errors
    /// The run failed, waits for its client or continues as a task. A program that exits with an error has an outcome.
    pub async fn run(&self, context: &StepContext<'_>) -> Result<RunOutcome, ActionError> {
        if context.checkpoint.is_some_and(|checkpoint| checkpoint.digest != self.digest) {
            return Err(ActionError::RunChanged);
        }
        let mut ended = match &self.steps {
            PlanSteps::Single(action, reads) => {
                let had_side_effects = action.has_side_effects();
                self.marker.iter().for_each(CoverageMarker::hit);
                // One that waited for the client goes on from its beginning.
                let checkpoint = context.checkpoint.and_then(|checkpoint| checkpoint.inner.as_deref());
                let recorded = context.call.start_step(|| (None, action.label()));
                let all_reads = recorded.as_ref().map(|_| reads.with_all_fields());
                let reads = all_reads.as_ref().unwrap_or(reads);
                let call = recorded.as_ref().map_or(context.call, |(call, _)| call);
                let outcome = action.execute(&StepContext { checkpoint, reads, call, ..*context }).await;
                recorded.into_iter().for_each(|(_, step)| step.end(&outcome));
                match outcome {
                    Ok(outcome) => Ok(RunOutcome { outcome, steps: None, had_side_effects }),
                    Err(ActionError::InputRequired(pending)) => Err(nest_questions(*pending, Checkpoint::default())),
                    Err(error) => Err(error),
                }
            }
            PlanSteps::List(steps, reads) => {
                let detach_after = self.detach_after.filter(|_| context.call.may_detach);
                StepListRun { steps, reads, context, detach_after }.run().await
            }
        };
        match &mut ended {
            Err(ActionError::InputRequired(pending)) => pending.checkpoint.digest = self.digest,
            Err(ActionError::Detached(checkpoint)) => checkpoint.digest = self.digest,
            _ => {}
        }
        ended
    }
}

/// The questions of a step, as those of the run around it.
fn nest_questions(pending: PendingQuestions, outer: Checkpoint) -> ActionError {
    let checkpoint = Checkpoint { inner: Some(Box::new(pending.checkpoint)), ..outer };
    ActionError::InputRequired(Box::new(PendingQuestions { questions: pending.questions, checkpoint }))
}

/// A run of several steps.
struct StepListRun<'a> {
    steps: &'a [PlannedStep],
    reads: &'a [Vec<String>],
    context: &'a StepContext<'a>,
    detach_after: Option<usize>,
}

/// The state of a run between two steps.
struct RunState {
    scope: Scope,
    time_left: Duration,
    had_side_effects: bool,
    last_outcome: ActionOutcome,
    /// The size of the last outcome, as it is held.
    last_size: usize,
    stdouts: StepStdouts,
}

impl RunState {
    fn new(context: &StepContext<'_>) -> RunState {
        let checkpoint = context.checkpoint.cloned().unwrap_or_default();
        RunState {
            scope: context.scope.clone().with_steps(checkpoint.outcomes),
            time_left: context.timeout,
            had_side_effects: checkpoint.had_side_effects,
            last_outcome: checkpoint.last_outcome.unwrap_or_else(ActionOutcome::empty),
            last_size: 0,
            stdouts: checkpoint.stdouts,
        }
    }

    /// Keeps the outcome of a step: its fields under its id, and its body as the last one.
    fn store_outcome(&mut self, step: &PlannedStep, mut outcome: ActionOutcome) {
        if let Some(id) = &step.id {
            self.scope.set_step(id.clone(), std::mem::take(&mut outcome.value));
        }
        let size = outcome.memory_size();
        let says_more = outcome.note.is_some() && self.last_outcome.body == OutcomeBody::None;
        let is_last = outcome.body != OutcomeBody::None || outcome.failure.is_some() || says_more;
        self.scope.budget().release(if is_last { self.last_size } else { size });
        if is_last {
            (self.last_outcome, self.last_size) = (outcome, size);
        }
    }

    /// The checkpoint from which a task continues with step `next`.
    fn detach(self, next: usize) -> ActionError {
        ActionError::Detached(Box::new(Checkpoint {
            step: next,
            is_step_start: true,
            outcomes: self.scope.into_steps().unwrap_or_default(),
            had_side_effects: self.had_side_effects,
            last_outcome: Some(self.last_outcome),
            stdouts: self.stdouts,
            ..Checkpoint::default()
        }))
    }
}

impl StepListRun<'_> {
    async fn run(&self) -> Result<RunOutcome, ActionError> {
        let checkpoint = self.context.checkpoint;
        let first = checkpoint.map_or(0, |checkpoint| checkpoint.step);
        let mut state = RunState::new(self.context);
        for (at, step) in self.steps.iter().enumerate().skip(first) {
            let resumed = checkpoint.filter(|checkpoint| at == first && !checkpoint.is_step_start);
            // The condition of a step that waited was true when the step began.
            if resumed.is_none() && step.each.is_none() && !step.is_enabled(&state.scope)? {
                step.id.iter().for_each(|id| state.scope.set_step(id.clone(), Value::Null));
                self.context.call.skip_step(|| (Some(step.name(at)), step.action.label()));
                continue;
            }
            let outcome = match self.run_step((at, step), resumed, &mut state).await {
                Err(ActionError::InputRequired(pending)) => return Err(self.suspend(*pending, at, &state)),
                outcome => outcome?,
            };
            state.had_side_effects |= step.action.has_side_effects();
            state.store_outcome(step, outcome);
            if state.last_outcome.failure.is_some() {
                break;
            }
            if self.detach_after == Some(at) {
                return Err(state.detach(at + 1));
            }
        }
        Ok(RunOutcome {
            had_side_effects: state.had_side_effects,
            steps: Some(state.scope.into_steps().unwrap_or_default()),
            outcome: state.last_outcome,
        })
    }

    /// Runs one step in the time that is left; waiting for the client does not count.
    async fn run_step(
        &self,
        (at, step): (usize, &PlannedStep),
        resumed: Option<&Checkpoint>,
        state: &mut RunState,
    ) -> Result<ActionOutcome, ActionError> {
        let RunState { scope, time_left, stdouts, .. } = state;
        let mut span = self.context.call.trace.start_step(|| step.name(at));
        let recorded = self.context.call.start_step(|| (Some(step.name(at)), step.action.label()));
        let (recorded_call, recorded_step) = recorded.unzip();
        let call = recorded_call.as_ref().unwrap_or(self.context.call);
        let traced = span.is_recorded().then(|| CallContext { trace: span.trace().clone(), ..call.clone() });
        let call = traced.as_ref().unwrap_or(call);
        if call.cancel().is_cancelled() {
            return Err(WorldError::Cancelled.into());
        }
        if time_left.is_zero() {
            return Err(WorldError::timed_out(self.context.timeout).into());
        }
        scope.set_refuses_notes(!step.action.is_for_display());
        let (began, waited) = (Instant::now(), call.budget.client_wait().total());
        let checkpoint = resumed.and_then(|checkpoint| checkpoint.inner.as_deref());
        let id = step.id.as_deref();
        let (timeout, stdouts_so_far) = (*time_left, Some(&*stdouts));
        let all_reads = recorded_step.as_ref().map(|_| step.reads.with_all_fields());
        let reads = all_reads.as_ref().unwrap_or(&step.reads);
        let context =
            StepContext { scope, timeout, checkpoint, stdouts: stdouts_so_far, id, reads, call, ..*self.context };
        let mut outcome = match &step.each {
            Some(each) => each.run(step, &context).await,
            None => step.execute(&context).await,
        };
        recorded_step.into_iter().for_each(|recorded| recorded.end(&outcome));
        span.end(outcome.as_ref().map_or_else(ActionError::span_type, ActionOutcome::span_type).map(Into::into));
        let stdout = outcome.as_mut().ok().and_then(|outcome| outcome.stdout.take());
        if let (Some(stdout), Some(id)) = (stdout, &step.id) {
            stdouts.insert(id, stdout, scope)?;
        }
        let waited = call.budget.client_wait().total().saturating_sub(waited);
        *time_left = time_left.saturating_sub(began.elapsed().saturating_sub(waited));
        outcome
    }

    /// Stops before step `at`, which waits for the client.
    fn suspend(&self, pending: PendingQuestions, at: usize, state: &RunState) -> ActionError {
        if let Some(id) = self.stdout_read_across(at) {
            return ActionError::message(format!("the stdout of step `{id}` is not kept while the client is asked"));
        }
        let outcomes = self.needed_outcomes(at, &state.scope);
        let size = serde_json::to_string(&outcomes).map_or(0, |text| text.len());
        if size > MAX_CARRIED_OUTCOME_BYTES {
            return ActionError::message(format!(
                "the outcomes that later steps use are too large: {size} bytes, and the limit while the client is asked is \
                 {MAX_CARRIED_OUTCOME_BYTES}"
            ));
        }
        let had_side_effects = state.had_side_effects;
        let outer = Checkpoint { step: at, outcomes, had_side_effects, ..Checkpoint::default() };
        nest_questions(pending, outer)
    }

    /// The id of a step before `at` whose stdout this step or a later one reads: a checkpoint does not carry it.
    fn stdout_read_across(&self, at: usize) -> Option<&str> {
        let (before, after) = self.steps.split_at_checked(at)?;
        let mut read = after.iter().filter_map(|step| step.stdin_step.as_deref());
        read.find(|id| before.iter().any(|step| step.id.as_deref() == Some(*id)))
    }

    /// The outcomes that this step, later steps, or the result, use.
    fn needed_outcomes(&self, at: usize, scope: &Scope) -> Map<String, Value> {
        let from = self.steps.get(at).map_or(0, |step| step.outcome_reads_start);
        let named: BTreeSet<Option<&str>> =
            self.reads.iter().skip(from).map(|path| path.get(1).map(String::as_str)).collect();
        let all = named.contains(&None);
        let outcomes = scope.steps().into_iter().flatten();
        let carried = outcomes.filter(|(id, _)| all || named.contains(&Some(id.as_str())));
        carried.map(|(id, outcome)| (id.clone(), outcome.clone())).collect()
    }
}

impl PlannedStep {
    /// Its id, or else its number from 1.
    fn name(&self, at: usize) -> String {
        self.id.clone().unwrap_or_else(|| (at + 1).to_string())
    }

    pub(super) fn is_enabled(&self, scope: &Scope) -> Result<bool, ActionError> {
        self.when.as_ref().map_or(Ok(true), |when| Ok(when.render(scope)?))
    }

    /// Runs its action once.
    pub(super) async fn execute(&self, context: &StepContext<'_>) -> Result<ActionOutcome, ActionError> {
        self.marker.iter().for_each(CoverageMarker::hit);
        let ended = self.action.execute(context).await;
        if self.continues_on_failure { on_fail::into_tolerated_outcome(ended) } else { ended }
    }
}
