//! A run that is ready, and how it is taken: step by step, to its end or to a question that waits for the client.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use super::checkpoint::MAX_CARRIED_OUTCOME_BYTES;
use super::{Action, ActionContext, ActionError, ActionOutcome, Checkpoint, ListKind, OutcomeBody, PendingQuestions};
use crate::budget::memory_size;
use crate::template::{Condition, Scope, Template};
use crate::world::{CapturedBytes, WorldError};

/// How long a run may take, and how much it may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// How long.
    pub timeout: Duration,
    /// How many bytes of one action's output.
    pub max_output: u64,
}

impl Default for RunLimits {
    fn default() -> RunLimits {
        RunLimits { timeout: Duration::from_secs(30), max_output: 1 << 20 }
    }
}

/// A run that is ready.
pub struct RunPlan {
    steps: PlanSteps,
    /// Its limits.
    pub limits: RunLimits,
    /// Changes when what was written changes; of a run that can wait.
    print: u64,
    /// The step behind which it may go on apart from the request.
    detach_after: Option<usize>,
}

enum PlanSteps {
    Single(Box<Action>),
    List(Vec<PlannedStep>, OutcomeReads),
}

/// One step of several.
pub(super) struct PlannedStep {
    pub(super) id: Option<String>,
    pub(super) when: Option<Template<Condition>>,
    pub(super) action: Action,
    /// Where in the entry's reads of outcomes those of this step begin.
    pub(super) reads_from: usize,
}

/// Which outcomes are named, in the order of the text: by the name of a step, or `None` where all are.
type OutcomeReads = Vec<Option<String>>;

/// How a run ended.
pub struct RunOutcome {
    /// The outcome of its action, or of the last step that gave something.
    pub outcome: ActionOutcome,
    /// The outcomes of its steps; `None` where it is one action.
    pub steps: Option<Map<String, Value>>,
}

impl RunOutcome {
    /// About how many bytes its outcomes hold.
    #[must_use]
    pub fn size(&self) -> usize {
        let steps = self.steps.iter().flatten().map(|(_, outcome)| memory_size(outcome)).sum::<usize>();
        self.outcome.body.size() + steps
    }

    /// The scope behind the run: with the outcomes of its steps, or with `result`.
    #[must_use]
    pub fn extend_scope(&self, scope: Scope) -> Scope {
        match &self.steps {
            Some(steps) => scope.with_steps(steps.clone()),
            None => scope.with_result(self.outcome.value.clone()),
        }
    }
}

impl RunPlan {
    pub(super) fn from_action(action: Action, limits: RunLimits) -> RunPlan {
        RunPlan { steps: PlanSteps::Single(Box::new(action)), limits, print: 0, detach_after: None }
    }

    pub(super) fn from_steps(steps: Vec<PlannedStep>, limits: RunLimits) -> RunPlan {
        RunPlan { steps: PlanSteps::List(steps, OutcomeReads::new()), limits, print: 0, detach_after: None }
    }

    /// Whether it asks its client.
    #[must_use]
    pub fn asks_client(&self) -> bool {
        self.actions().any(|action| matches!(action, Action::Ask(_)))
    }

    /// Whether it may wait for its client.
    #[must_use]
    pub fn may_wait_for_client(&self) -> bool {
        self.actions()
            .any(|action| matches!(action, Action::Ask(_) | Action::Tool(_) | Action::Prompt(_) | Action::Read(_)))
    }

    /// Whether it speaks with its client, or asks others that may.
    #[must_use]
    pub fn uses_client(&self) -> bool {
        self.may_wait_for_client()
            || self.actions().any(|action| matches!(action, Action::Log(_) | Action::Progress(_) | Action::Notify(_)))
    }

    /// What its steps can say has changed: kinds of lists, and `None` for resources.
    pub fn change_notifications(&self) -> impl Iterator<Item = Option<ListKind>> + '_ {
        self.actions().filter_map(|action| match action {
            Action::Notify(notify) => Some(notify.list_kind()),
            _ => None,
        })
    }

    /// Whether it sends log messages.
    #[must_use]
    pub fn sends_logs(&self) -> bool {
        self.actions().any(|action| matches!(action, Action::Log(_)))
    }

    fn actions(&self) -> Box<dyn Iterator<Item = &Action> + '_> {
        match &self.steps {
            PlanSteps::Single(action) => Box::new(std::iter::once(&**action)),
            PlanSteps::List(steps, _) => Box::new(steps.iter().map(|step| &step.action)),
        }
    }

    /// Names the step behind which the run may go on apart from the request.
    pub fn set_detach_after(&mut self, id: &str) {
        if let PlanSteps::List(steps, _) = &self.steps {
            self.detach_after = steps.iter().position(|step| step.id.as_deref() == Some(id));
        }
    }

    /// Tells which outcomes the entry names, now that all of it is checked: the others need not travel. `print` is a
    /// number for what was written.
    pub fn set_outcome_reads(&mut self, read: &[Option<String>], print: u64) {
        self.print = print;
        if let PlanSteps::List(_, reads) = &mut self.steps {
            read.clone_into(reads);
        }
    }

    /// Runs it, or what is left of it.
    ///
    /// # Errors
    /// What kept it from coming to an outcome, a question that waits for the client among it. A program that ended
    /// badly has an outcome.
    pub async fn run(&self, doing: &ActionContext<'_>) -> Result<RunOutcome, ActionError> {
        if doing.resume.is_some_and(|checkpoint| checkpoint.fingerprint != self.print) {
            return Err(ActionError::RunChanged);
        }
        let ended = match &self.steps {
            PlanSteps::Single(action) => {
                run_single(action, doing).await.map(|outcome| RunOutcome { outcome, steps: None })
            }
            PlanSteps::List(steps, reads) => {
                let detach = self.detach_after.filter(|_| doing.may_detach);
                StepRun { steps, reads, doing, detach }.run().await
            }
        };
        ended.map_err(|failure| match failure {
            ActionError::Asks(mut asking) => {
                asking.checkpoint.fingerprint = self.print;
                ActionError::Asks(asking)
            }
            ActionError::Detached(mut checkpoint) => {
                checkpoint.fingerprint = self.print;
                ActionError::Detached(checkpoint)
            }
            other => other,
        })
    }
}

/// One action on its own. What it waits for is asked for again from its beginning.
async fn run_single(action: &Action, doing: &ActionContext<'_>) -> Result<ActionOutcome, ActionError> {
    let outcome = match doing.resume {
        None => action.execute(doing).await,
        Some(checkpoint) => {
            let inner = checkpoint.inner.as_deref();
            action.execute(&ActionContext { resume: inner, cancel: doing.cancel.clone(), ..*doing }).await
        }
    };
    outcome.map_err(|failure| match failure {
        ActionError::Asks(asking) => ActionError::Asks(Box::new(nest_questions(*asking, Checkpoint::default()))),
        other => other,
    })
}

/// What a step waits for, as what the run around it waits for.
fn nest_questions(asking: PendingQuestions, outer: Checkpoint) -> PendingQuestions {
    let checkpoint = Checkpoint { inner: Some(Box::new(asking.checkpoint)), ..outer };
    PendingQuestions { questions: asking.questions, checkpoint }
}

/// A run under way.
struct StepRun<'a> {
    steps: &'a [PlannedStep],
    reads: &'a OutcomeReads,
    doing: &'a ActionContext<'a>,
    detach: Option<usize>,
}

impl StepRun<'_> {
    async fn run(&self) -> Result<RunOutcome, ActionError> {
        let resume = self.doing.resume;
        let mut scope = self.doing.scope.clone();
        let known = resume.map(|checkpoint| checkpoint.outcomes.clone()).unwrap_or_default();
        scope = scope.with_steps(known);
        let first = resume.map_or(0, |checkpoint| checkpoint.step);
        let mut acted = resume.is_some_and(|checkpoint| checkpoint.had_side_effects);
        let mut left = self.doing.timeout;
        let mut last =
            resume.and_then(|checkpoint| checkpoint.last_outcome.clone()).unwrap_or_else(ActionOutcome::empty);
        for (at, step) in self.steps.iter().enumerate().skip(first) {
            let again = resume.filter(|checkpoint| at == first && !checkpoint.is_step_start);
            // A step that waited was to be taken when it was come to.
            if again.is_none() && !step.is_enabled(&scope)? {
                step.record_outcome(Value::Null, &mut scope);
                continue;
            }
            let outcome = match self.run_step(step, &scope, (again, &mut left)).await {
                Ok(outcome) => outcome,
                Err(ActionError::Asks(asking)) => return Err(self.suspend(*asking, at, (&scope, acted))),
                Err(failure) => return Err(failure),
            };
            acted |= step.action.has_side_effects();
            step.record_outcome(outcome.value.clone(), &mut scope);
            if outcome.failure.is_some() {
                return Ok(RunOutcome { outcome, steps: scope.steps().cloned() });
            }
            if outcome.body != OutcomeBody::None {
                last = outcome;
            }
            if self.detach == Some(at) {
                let outcomes = scope.steps().cloned().unwrap_or_default();
                let last = Some(last);
                let checkpoint = Checkpoint {
                    step: at + 1,
                    is_step_start: true,
                    outcomes,
                    had_side_effects: acted,
                    last_outcome: last,
                    ..Checkpoint::default()
                };
                return Err(ActionError::Detached(Box::new(checkpoint)));
            }
        }
        let steps = Some(scope.steps().cloned().unwrap_or_default());
        Ok(RunOutcome { outcome: last, steps })
    }

    /// Takes one step, in what is left of the time; waiting for the client does not count.
    async fn run_step(
        &self,
        step: &PlannedStep,
        scope: &Scope,
        (again, left): (Option<&Checkpoint>, &mut Duration),
    ) -> Result<ActionOutcome, ActionError> {
        if self.doing.cancel.is_cancelled() {
            return Err(WorldError::Cancelled.into());
        }
        if left.is_zero() {
            return Err(WorldError::TimedOut { after: self.doing.timeout, stderr: CapturedBytes::default() }.into());
        }
        let (began, waited) = (Instant::now(), self.doing.waited.total());
        let inner = again.and_then(|checkpoint| checkpoint.inner.as_deref());
        let doing =
            ActionContext { scope, timeout: *left, resume: inner, cancel: self.doing.cancel.clone(), ..*self.doing };
        let level = scope.budget().memory_mark();
        let outcome = step.action.execute(&doing).await;
        // What its templates made has served its purpose.
        scope.budget().release_to(level, 0);
        let waited = self.doing.waited.total().saturating_sub(waited);
        *left = left.saturating_sub(began.elapsed().saturating_sub(waited));
        outcome
    }

    /// Stops before step `at`, which waits for the client.
    fn suspend(&self, asking: PendingQuestions, at: usize, (scope, acted): (&Scope, bool)) -> ActionError {
        let outcomes = self.carried_outcomes(at, scope);
        let size = serde_json::to_string(&outcomes).map_or(0, |text| text.len());
        if size > MAX_CARRIED_OUTCOME_BYTES {
            let words = format!(
                "the outcomes that later steps use are too large: {size} bytes, and the limit while the client is asked is \
                 {MAX_CARRIED_OUTCOME_BYTES}"
            );
            return ActionError::message(words);
        }
        ActionError::Asks(Box::new(nest_questions(
            asking,
            Checkpoint { step: at, outcomes, had_side_effects: acted, ..Checkpoint::default() },
        )))
    }

    /// The outcomes that this step, later ones, or what comes behind the run, name.
    fn carried_outcomes(&self, at: usize, scope: &Scope) -> Map<String, Value> {
        let from = self.steps.get(at).map_or(0, |step| step.reads_from);
        let named: BTreeSet<Option<&str>> = self.reads.iter().skip(from).map(Option::as_deref).collect();
        let all = named.contains(&None);
        let outcomes = scope.steps().into_iter().flatten();
        let travelling = outcomes.filter(|(id, _)| all || named.contains(&Some(id.as_str())));
        travelling.map(|(id, outcome)| (id.clone(), outcome.clone())).collect()
    }
}

impl PlannedStep {
    fn is_enabled(&self, scope: &Scope) -> Result<bool, ActionError> {
        match &self.when {
            Some(when) => Ok(when.render(scope)?),
            None => Ok(true),
        }
    }

    fn record_outcome(&self, outcome: Value, scope: &mut Scope) {
        if let Some(id) = &self.id {
            scope.set_step(id.clone(), outcome);
        }
    }
}
