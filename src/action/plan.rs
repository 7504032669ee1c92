//! A run that is ready, and how it is taken: step by step, to its end or to a question that waits for the client.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use super::checkpoint::MOST;
use super::{Action, Asking, Body, Checkpoint, Doing, Failure, ListKind, Outcome};
use crate::budget::weight;
use crate::template::{Condition, Scope, Template};
use crate::world::{Captured, WorldError};

/// How long a run may take, and how much it may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long.
    pub timeout: Duration,
    /// How many bytes of one action's output.
    pub max_output: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { timeout: Duration::from_secs(30), max_output: 1 << 20 }
    }
}

/// A run that is ready.
pub struct Plan {
    steps: Steps,
    /// Its limits.
    pub limits: Limits,
    /// Changes when what was written changes; of a run that can wait.
    print: u64,
    /// The step behind which it may go on apart from the request.
    detach: Option<usize>,
}

enum Steps {
    One(Box<Action>),
    Several(Vec<Taken>, Reads),
}

/// One step of several.
pub(super) struct Taken {
    pub(super) id: Option<String>,
    pub(super) when: Option<Template<Condition>>,
    pub(super) action: Action,
    /// Where in the entry's reads of outcomes those of this step begin.
    pub(super) reads_from: usize,
}

/// Which outcomes are named, in the order of the text: by the name of a step, or `None` where all are.
type Reads = Vec<Option<String>>;

/// How a run ended.
pub struct Ended {
    /// The outcome of its action, or of the last step that gave something.
    pub outcome: Outcome,
    /// The outcomes of its steps; `None` where it is one action.
    pub steps: Option<Map<String, Value>>,
}

impl Ended {
    /// About how many bytes its outcomes hold.
    #[must_use]
    pub fn size(&self) -> usize {
        let steps = self.steps.iter().flatten().map(|(_, outcome)| weight(outcome)).sum::<usize>();
        self.outcome.body.size() + steps
    }

    /// The scope behind the run: with the outcomes of its steps, or with `result`.
    #[must_use]
    pub fn enter(&self, scope: Scope) -> Scope {
        match &self.steps {
            Some(steps) => scope.with_steps(steps.clone()),
            None => scope.with_result(self.outcome.value.clone()),
        }
    }
}

impl Plan {
    pub(super) fn one(action: Action, limits: Limits) -> Plan {
        Plan { steps: Steps::One(Box::new(action)), limits, print: 0, detach: None }
    }

    pub(super) fn several(steps: Vec<Taken>, limits: Limits) -> Plan {
        Plan { steps: Steps::Several(steps, Reads::new()), limits, print: 0, detach: None }
    }

    /// Whether it asks its client.
    #[must_use]
    pub fn asks(&self) -> bool {
        self.actions().any(|action| matches!(action, Action::Ask(_)))
    }

    /// Whether it may wait for its client.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.actions()
            .any(|action| matches!(action, Action::Ask(_) | Action::Tool(_) | Action::Prompt(_) | Action::Read(_)))
    }

    /// Whether it speaks with its client, or asks others that may.
    #[must_use]
    pub fn talks(&self) -> bool {
        self.waits()
            || self.actions().any(|action| matches!(action, Action::Log(_) | Action::Progress(_) | Action::Notify(_)))
    }

    /// What its steps can say has changed: kinds of lists, and `None` for resources.
    pub fn notices(&self) -> impl Iterator<Item = Option<ListKind>> + '_ {
        self.actions().filter_map(|action| match action {
            Action::Notify(notify) => Some(notify.list()),
            _ => None,
        })
    }

    /// Whether it sends log messages.
    #[must_use]
    pub fn logs(&self) -> bool {
        self.actions().any(|action| matches!(action, Action::Log(_)))
    }

    fn actions(&self) -> Box<dyn Iterator<Item = &Action> + '_> {
        match &self.steps {
            Steps::One(action) => Box::new(std::iter::once(&**action)),
            Steps::Several(steps, _) => Box::new(steps.iter().map(|step| &step.action)),
        }
    }

    /// Names the step behind which the run may go on apart from the request.
    pub fn detach_behind(&mut self, id: &str) {
        if let Steps::Several(steps, _) = &self.steps {
            self.detach = steps.iter().position(|step| step.id.as_deref() == Some(id));
        }
    }

    /// Tells which outcomes the entry names, now that all of it is checked: the others need not travel. `print` is a
    /// number for what was written.
    pub fn settle(&mut self, read: &[Option<String>], print: u64) {
        self.print = print;
        if let Steps::Several(_, reads) = &mut self.steps {
            read.clone_into(reads);
        }
    }

    /// Runs it, or what is left of it.
    ///
    /// # Errors
    /// What kept it from coming to an outcome, a question that waits for the client among it. A program that ended
    /// badly has an outcome.
    pub async fn run(&self, doing: &Doing<'_>) -> Result<Ended, Failure> {
        if doing.resume.is_some_and(|checkpoint| checkpoint.print != self.print) {
            return Err(Failure::Changed);
        }
        let ended = match &self.steps {
            Steps::One(action) => one(action, doing).await.map(|outcome| Ended { outcome, steps: None }),
            Steps::Several(steps, reads) => {
                let detach = self.detach.filter(|_| doing.detach);
                Walk { steps, reads, doing, detach }.walk().await
            }
        };
        ended.map_err(|failure| match failure {
            Failure::Asks(mut asking) => {
                asking.checkpoint.print = self.print;
                Failure::Asks(asking)
            }
            Failure::Detached(mut checkpoint) => {
                checkpoint.print = self.print;
                Failure::Detached(checkpoint)
            }
            other => other,
        })
    }
}

/// One action on its own. What it waits for is asked for again from its beginning.
async fn one(action: &Action, doing: &Doing<'_>) -> Result<Outcome, Failure> {
    let outcome = match doing.resume {
        None => action.act(doing).await,
        Some(checkpoint) => {
            let inner = checkpoint.inner.as_deref();
            action.act(&Doing { resume: inner, cancel: doing.cancel.clone(), ..*doing }).await
        }
    };
    outcome.map_err(|failure| match failure {
        Failure::Asks(asking) => Failure::Asks(Box::new(within(*asking, Checkpoint::default()))),
        other => other,
    })
}

/// What a step waits for, as what the run around it waits for.
fn within(asking: Asking, outer: Checkpoint) -> Asking {
    let checkpoint = Checkpoint { inner: Some(Box::new(asking.checkpoint)), ..outer };
    Asking { questions: asking.questions, checkpoint }
}

/// A run under way.
struct Walk<'a> {
    steps: &'a [Taken],
    reads: &'a Reads,
    doing: &'a Doing<'a>,
    detach: Option<usize>,
}

impl Walk<'_> {
    async fn walk(&self) -> Result<Ended, Failure> {
        let resume = self.doing.resume;
        let mut scope = self.doing.scope.clone();
        let known = resume.map(|checkpoint| checkpoint.outcomes.clone()).unwrap_or_default();
        scope = scope.with_steps(known);
        let first = resume.map_or(0, |checkpoint| checkpoint.at);
        let mut acted = resume.is_some_and(|checkpoint| checkpoint.acted);
        let mut left = self.doing.timeout;
        let mut last = resume.and_then(|checkpoint| checkpoint.last.clone()).unwrap_or_else(Outcome::nothing);
        for (at, step) in self.steps.iter().enumerate().skip(first) {
            let again = resume.filter(|checkpoint| at == first && !checkpoint.fresh);
            // A step that waited was to be taken when it was come to.
            if again.is_none() && !step.is_due(&scope)? {
                step.keep(Value::Null, &mut scope);
                continue;
            }
            let outcome = match self.take(step, &scope, (again, &mut left)).await {
                Ok(outcome) => outcome,
                Err(Failure::Asks(asking)) => return Err(self.halt(*asking, at, (&scope, acted))),
                Err(failure) => return Err(failure),
            };
            acted |= step.action.changes();
            step.keep(outcome.value.clone(), &mut scope);
            if outcome.failed.is_some() {
                return Ok(Ended { outcome, steps: scope.steps().cloned() });
            }
            if outcome.body != Body::None {
                last = outcome;
            }
            if self.detach == Some(at) {
                let outcomes = scope.steps().cloned().unwrap_or_default();
                let last = Some(last);
                let checkpoint = Checkpoint { at: at + 1, fresh: true, outcomes, acted, last, ..Checkpoint::default() };
                return Err(Failure::Detached(Box::new(checkpoint)));
            }
        }
        let steps = Some(scope.steps().cloned().unwrap_or_default());
        Ok(Ended { outcome: last, steps })
    }

    /// Takes one step, in what is left of the time; waiting for the client does not count.
    async fn take(
        &self,
        step: &Taken,
        scope: &Scope,
        (again, left): (Option<&Checkpoint>, &mut Duration),
    ) -> Result<Outcome, Failure> {
        if self.doing.cancel.is_cancelled() {
            return Err(WorldError::Cancelled.into());
        }
        if left.is_zero() {
            return Err(WorldError::TimedOut { after: self.doing.timeout, said: Captured::default() }.into());
        }
        let (began, waited) = (Instant::now(), self.doing.waited.so_far());
        let inner = again.and_then(|checkpoint| checkpoint.inner.as_deref());
        let doing = Doing { scope, timeout: *left, resume: inner, cancel: self.doing.cancel.clone(), ..*self.doing };
        let level = scope.budget().level();
        let outcome = step.action.act(&doing).await;
        // What its templates made has served its purpose.
        scope.budget().release(level, 0);
        let waited = self.doing.waited.so_far().saturating_sub(waited);
        *left = left.saturating_sub(began.elapsed().saturating_sub(waited));
        outcome
    }

    /// Stops before step `at`, which waits for the client.
    fn halt(&self, asking: Asking, at: usize, (scope, acted): (&Scope, bool)) -> Failure {
        let outcomes = self.travelling(at, scope);
        let size = serde_json::to_string(&outcomes).map_or(0, |text| text.len());
        if size > MOST {
            let words = format!(
                "the outcomes that later steps name are {size} bytes, and at most {MOST} may travel while the client \
                 is asked"
            );
            return Failure::words(words);
        }
        Failure::Asks(Box::new(within(asking, Checkpoint { at, outcomes, acted, ..Checkpoint::default() })))
    }

    /// The outcomes that this step, later ones, or what comes behind the run, name.
    fn travelling(&self, at: usize, scope: &Scope) -> Map<String, Value> {
        let from = self.steps.get(at).map_or(0, |step| step.reads_from);
        let named: BTreeSet<Option<&str>> = self.reads.iter().skip(from).map(Option::as_deref).collect();
        let all = named.contains(&None);
        let outcomes = scope.steps().into_iter().flatten();
        let travelling = outcomes.filter(|(id, _)| all || named.contains(&Some(id.as_str())));
        travelling.map(|(id, outcome)| (id.clone(), outcome.clone())).collect()
    }
}

impl Taken {
    fn is_due(&self, scope: &Scope) -> Result<bool, Failure> {
        match &self.when {
            Some(when) => Ok(when.render(scope)?),
            None => Ok(true),
        }
    }

    fn keep(&self, outcome: Value, scope: &mut Scope) {
        if let Some(id) = &self.id {
            scope.set_step(id.clone(), outcome);
        }
    }
}
