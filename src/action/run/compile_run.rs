//! Checks and compiles `run`: one action, or a list of steps.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::on_fail;
use super::repeat::StepRepetition;
use super::run_limits::RunLimits;
use super::run_plan::{PlannedStep, RunPlan};
use crate::action::condition::compile_condition;
use crate::action::program::stdin::check_questions;
use crate::action::sibling_keys::check_siblings;
use crate::action::{Action, ActionInfo, EntryReference, OutcomeReads, Step};
use crate::compile::{Compiler, Exposure, PartKind};
use crate::diagnostic::Code;
use crate::template::{CoverageMarker, ScopeShape, Shape, reserved_name_meaning};
use crate::value_types::{TextOrFile, is_identifier, yaml_kind_enum};
use crate::yaml::{Location, Spanned};

yaml_kind_enum! {
    /// One action, or a list of steps.
    pub enum Run {
        "map" => One(Box<Spanned<Step>>),
        "list" => Steps(Vec<Spanned<Step>>),
    }
}

/// A compiled run.
pub struct RunCompilation {
    /// The plan, unless the run has an error.
    pub plan: Option<RunPlan>,
    /// The shape of `result` after the run, if it is one action.
    pub result: Option<Shape>,
    /// The shapes of `steps` after the run.
    pub steps: Arc<BTreeMap<String, Shape>>,
}

impl RunCompilation {
    /// The names in scope after the run.
    #[must_use]
    pub fn names_after(&self, names: &ScopeShape) -> ScopeShape {
        let names = match self.steps.is_empty() {
            true => names.clone(),
            false => names.clone().with_name("steps", Shape::Object(self.steps.clone())),
        };
        match &self.result {
            Some(result) => names.with_name("result", result.clone()),
            None => names,
        }
    }
}

/// The meaning of a reserved name, which no step may have.
fn reserved_meaning(name: &str) -> Option<&'static str> {
    if crate::action::ACTIONS.iter().any(|row| row.key == name) {
        return Some("the name of an action");
    }
    reserved_name_meaning(name).or_else(|| (name == "now").then_some("the name of a helper"))
}

impl Run {
    /// Checks and compiles the run.
    pub fn compile(&self, wants_json: bool, limits: RunLimits, compiler: &mut Compiler<'_>) -> RunCompilation {
        compiler.outcome_reads.clear();
        match self {
            Run::One(step) => compile_single(step, wants_json, limits, compiler),
            // Which step becomes the result shows only when it has.
            Run::Steps(steps) => compile_steps(steps, limits, compiler),
        }
    }

    /// The entries of this server that the run names.
    pub fn references(&self) -> Vec<EntryReference> {
        self.steps().iter().filter_map(|step| step.reference()).collect()
    }

    /// Whether a step asks the client.
    pub fn asks(&self) -> bool {
        self.steps().iter().any(|step| step.ask.is_some())
    }

    /// The entries of this server that repeated steps name.
    pub fn repeated_references(&self) -> Vec<EntryReference> {
        self.steps().iter().filter(|step| step.each.is_some()).filter_map(|step| step.reference()).collect()
    }

    /// The actions of the run, with the places of their steps.
    pub fn actions(&self) -> impl Iterator<Item = (&'static ActionInfo, Location)> {
        let placed = |step: &Spanned<Step>| step.actions().into_iter().zip(std::iter::repeat(step.location));
        self.steps().iter().flat_map(placed)
    }

    /// The ids of its steps.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.steps().iter().filter_map(|step| step.id.as_ref()).map(|id| id.value.as_str())
    }

    /// The ids of its steps, each with the key of its action.
    pub fn actions_by_id(&self) -> impl Iterator<Item = (&str, &'static str)> {
        self.steps().iter().filter_map(|step| Some((step.id.as_ref()?.value.as_str(), step.actions().first()?.key)))
    }

    /// The texts of its scripts.
    pub fn script_texts(&self) -> impl Iterator<Item = &Spanned<TextOrFile>> {
        let scripts = self.steps().iter().filter_map(|step| step.script.as_ref());
        scripts.filter_map(|script| script.text.as_ref())
    }

    fn steps(&self) -> &[Spanned<Step>] {
        match self {
            Run::One(step) => std::slice::from_ref(step),
            Run::Steps(steps) => steps,
        }
    }

    /// The grants that it needs and its pack does not have, with their places.
    pub fn missing_grants(&self, compiler: &mut Compiler<'_>) -> Vec<(&'static str, Location)> {
        let pack = compiler.pack;
        let grants = self.steps().iter().filter_map(|step| Some((step.required_grant(pack)?, step.location)));
        grants.filter(|(grant, at)| !compiler.has_grant(grant, *at)).collect()
    }
}

fn compile_single(
    step: &Spanned<Step>,
    wants_json: bool,
    limits: RunLimits,
    compiler: &mut Compiler<'_>,
) -> RunCompilation {
    for (name, at) in [
        ("id", step.id.as_ref().map(|id| id.location)),
        ("when", step.when.as_ref().map(|when| when.location)),
        ("each", step.each.as_ref().map(|each| each.location)),
        ("parallel", step.parallel.as_ref().map(|parallel| parallel.location)),
        ("onFail", step.on_fail.as_ref().map(|on_fail| on_fail.location)),
    ] {
        // A step without an action is reported as such.
        if let Some(at) = at.filter(|_| !step.actions().is_empty()) {
            compiler
                .error(Code::Conflict, at, format!("`{name}` is only allowed in a list of steps"))
                .help("remove it, or write a list of steps");
        }
    }
    let action = compile_step(step, wants_json, compiler);
    let marker = mark_step(step, compiler);
    let plan = action.map(|action| RunPlan::from_action(action, limits, marker));
    RunCompilation { plan, result: Some(step.outcome_shape()), steps: Arc::default() }
}

/// Marks a step where it is recorded which are run.
fn mark_step(step: &Spanned<Step>, compiler: &mut Compiler<'_>) -> Option<CoverageMarker> {
    let action = step.actions().first()?.key;
    let label = step.id.as_ref().map_or_else(|| format!("`{action}`"), |id| format!("step `{}`", id.value));
    compiler.mark(PartKind::Step, step.location, label)
}

/// Compiles one step: exactly one action, with the keys that belong to it.
fn compile_step(step: &Spanned<Step>, wants_json: bool, compiler: &mut Compiler<'_>) -> Option<Action> {
    match step.actions().as_slice() {
        [_] => {}
        [] => {
            let names: Vec<&str> = crate::action::ACTIONS.iter().map(|row| row.key).collect();
            compiler
                .error(Code::MissingKey, step.location, "missing action")
                .help(format!("use one of `{}`", names.join(" ")));
            return None;
        }
        [first, second, ..] => {
            let (first, second) = (first.key, second.key);
            let at = compiler.key_location(step.location, second);
            compiler
                .error(Code::Conflict, at, format!("multiple actions `{first}` and `{second}`, expected one"))
                .help("write a list of steps");
            return None;
        }
    }
    check_siblings(step, compiler);
    step.compile(step.location, wants_json, compiler)
}

fn compile_steps(steps: &[Spanned<Step>], limits: RunLimits, compiler: &mut Compiler<'_>) -> RunCompilation {
    let outer = compiler.scope_shape.clone();
    let mut shapes = Arc::new(BTreeMap::new());
    let mut seen: BTreeMap<&str, Location> = BTreeMap::new();
    let mut planned: Vec<Option<PlannedStep>> = Vec::with_capacity(steps.len());
    let mut ended_at: Option<Location> = None;
    let numbers = Arc::new(step_numbers(steps));
    for (number, step) in steps.iter().enumerate() {
        if let Some(end) = ended_at {
            compiler
                .error(Code::Unused, step.location, "unreachable step: the run always ends before it")
                .note(end.span(), "the run ends here")
                .help("add a `when` to that step, or remove this one");
        }
        let names = outer.clone().with_name("steps", Shape::Object(Arc::clone(&shapes)));
        let names = names.with_step_number(number, &numbers);
        planned.push(compiler.with_scope_shape(names, |compiler| compile_planned_step(step, compiler)));
        if step.when.is_none() && step.each.is_none() && step.actions().iter().any(|action| action.ends_run) {
            ended_at = ended_at.or(Some(step.location));
        }
        let Some(id) = &step.id else { continue };
        check_id(id, seen.insert(id, id.location), compiler);
        Arc::make_mut(&mut shapes).insert(id.value.clone(), step.outcome_shape());
    }
    check_questions(steps, compiler);
    let mut planned: Option<Vec<PlannedStep>> = planned.into_iter().collect();
    for planned in planned.iter_mut() {
        let read: BTreeSet<String> = planned.iter().filter_map(|step| step.stdin_step.clone()).collect();
        for step in planned {
            step.reads.stdout = step.id.as_ref().is_some_and(|id| read.contains(id));
        }
    }
    let plan = planned.filter(|planned| !planned.is_empty()).map(|planned| RunPlan::from_steps(planned, limits));
    RunCompilation { plan, result: None, steps: shapes }
}

/// The ids of steps, with their numbers.
fn step_numbers(steps: &[Spanned<Step>]) -> BTreeMap<String, usize> {
    let numbered = steps.iter().enumerate();
    numbered.filter_map(|(number, step)| Some((step.id.as_ref()?.value.clone(), number))).collect()
}

/// Compiles a step of a list, with its condition.
fn compile_planned_step(step: &Spanned<Step>, compiler: &mut Compiler<'_>) -> Option<PlannedStep> {
    let outcome_reads_start = compiler.outcome_reads.len();
    on_fail::check(step, compiler);
    let repetition = StepRepetition::compile(step, compiler);
    let names = repetition.as_ref().map_or_else(
        // After an error in `each`, its names are still known.
        || compiler.scope_shape.clone().with_item(Shape::Any, &[]),
        |(_, names)| names.clone(),
    );
    compiler.with_scope_shape(names, |compiler| {
        let when = step.when.as_ref().map(|when| compile_condition(when, Exposure::Private, compiler));
        let action = compile_step(step, false, compiler)?;
        let when = match when {
            Some(when) => Some(when?),
            None => None,
        };
        let (each, _) = repetition?;
        let id = step.id.as_ref().map(|id| id.value.clone());
        let continues_on_failure = on_fail::continues_on_failure(step.on_fail.as_ref());
        let stdin_step = step.stdin.as_ref().and_then(|stdin| stdin.step()).map(|id| id.value.clone());
        let marker = mark_step(step, compiler);
        Some(PlannedStep {
            id,
            when,
            each,
            continues_on_failure,
            action,
            outcome_reads_start,
            stdin_step,
            reads: OutcomeReads::ALL,
            marker,
        })
    })
}

fn check_id(id: &Spanned<String>, earlier: Option<Location>, compiler: &mut Compiler<'_>) {
    if !is_identifier(id) {
        compiler
            .error(Code::BadName, id.location, format!("invalid step id `{}`", id.value))
            .help("use letters, digits and `_`");
    } else if let Some(meaning) = reserved_meaning(id) {
        compiler
            .error(Code::BadName, id.location, format!("reserved step id `{}`: it is {meaning}", id.value))
            .help(format!("use another id, such as `{}_step`", id.value));
    } else if let Some(earlier) = earlier {
        compiler
            .error(Code::Duplicate, id.location, format!("duplicate step id `{}`", id.value))
            .note(earlier.span(), "first used here");
    }
}
