//! What stands behind `run`: one action, or a list of steps. Checked whole; what comes of it is a [`Plan`].

use std::collections::BTreeMap;
use std::sync::Arc;

use super::plan::{Limits, Plan, Taken};
use super::step::check_beside;
use super::{Action, Step, StepKeys};
use crate::compile::{Compiler, Exposure};
use crate::diagnostic::Code;
use crate::notation::{Json, Named, Reference, by_kind, is_identifier};
use crate::template::{Condition, Names, Shape, Template, meaning};
use crate::yaml::{At, Spanned};

by_kind! {
    /// One action, or a list of steps.
    pub enum Run {
        "map" => One(Box<Spanned<Step>>),
        "list" => Steps(Vec<Spanned<Step>>),
    }
}

/// A run as far as it could be checked.
pub struct Planned {
    /// The run, unless something is wrong with it.
    pub plan: Option<Plan>,
    /// What `result` is behind it, where that is one action's outcome.
    pub result: Option<Shape>,
    /// What `steps` is behind it.
    pub steps: Arc<BTreeMap<String, Shape>>,
}

impl Planned {
    /// The names in scope behind the run.
    #[must_use]
    pub fn names(&self, names: &Names) -> Names {
        let names = match self.steps.is_empty() {
            true => names.clone(),
            false => names.clone().with("steps", Shape::Object(self.steps.clone())),
        };
        match &self.result {
            Some(result) => names.with("result", result.clone()),
            None => names,
        }
    }
}

/// What a name is already, so that no step may have it.
fn taken_by(name: &str) -> Option<&'static str> {
    if super::TABLE.iter().any(|row| row.key == name) {
        return Some("the name of an action");
    }
    meaning(name).or_else(|| (name == "now").then_some("the name of a helper"))
}

impl Run {
    /// Checks the run whole and makes it ready.
    pub fn compile(&self, wants_json: bool, limits: Limits, compiler: &mut Compiler<'_>) -> Planned {
        compiler.steps_read.clear();
        match self {
            Run::One(step) => one(step, wants_json, limits, compiler),
            Run::Steps(steps) => several(steps, wants_json, limits, compiler),
        }
    }

    /// What the run names of this server.
    pub fn mentions(&self) -> Vec<Mention> {
        self.steps().iter().flat_map(|step| mentioned(step)).collect()
    }

    /// The actions of the run, with the places of their steps.
    pub fn actions(&self) -> Vec<(&'static str, At)> {
        self.steps().iter().flat_map(|step| step.keys().into_iter().map(|key| (key, step.at))).collect()
    }

    /// The names of its steps.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.steps().iter().filter_map(|step| step.id.as_ref()).map(|id| id.value.as_str())
    }

    fn steps(&self) -> &[Spanned<Step>] {
        match self {
            Run::One(step) => std::slice::from_ref(step),
            Run::Steps(steps) => steps,
        }
    }

    /// The places of the rights that it needs and that its pack has not been given.
    pub fn blocked(&self, compiler: &Compiler<'_>) -> Vec<(&'static str, At)> {
        let needed = self.steps().iter().filter_map(|step| step.grant().map(|grant| (grant, step.at)));
        needed.filter(|(grant, _)| !compiler.pack.grants.allow(grant)).collect()
    }
}

/// Something of this server that a run names.
#[derive(Debug, Clone)]
pub enum Mention {
    /// A tool, by its name, with what it is given.
    Tool(Spanned<String>, Given),
    /// A prompt, by its name, with what it is given.
    Prompt(Spanned<String>, Given),
    /// A resource, by a URI without holes.
    Uri(Spanned<String>),
}

/// What an entry is given: arguments whose strings are templates.
pub type Given = Named<Spanned<Json>>;

fn mentioned(step: &Step) -> Vec<Mention> {
    let given = |reference: &Reference| match reference {
        Reference::Name(_) => Given::default(),
        Reference::Keys(keys) => keys.arguments.clone(),
    };
    let named = |reference: &Spanned<Reference>| Some((reference.name(reference.at)?, given(reference)));
    let tool = step.tool.as_ref().and_then(named).map(|(name, given)| Mention::Tool(name, given));
    let prompt = step.prompt.as_ref().and_then(named).map(|(name, given)| Mention::Prompt(name, given));
    let uri = step.read.as_ref().filter(|uri| !uri.contains("{{")).cloned().map(Mention::Uri);
    [tool, prompt, uri].into_iter().flatten().collect()
}

fn one(step: &Spanned<Step>, wants_json: bool, limits: Limits, compiler: &mut Compiler<'_>) -> Planned {
    for (name, at) in [("id", step.id.as_ref().map(|id| id.at)), ("when", step.when.as_ref().map(|when| when.at))] {
        if let Some(at) = at {
            compiler
                .error(Code::Conflict, at, format!("`{name}` is for steps, and this is one action"))
                .help("leave it out, or write a list of steps");
        }
    }
    let action = compile_step(step, wants_json, compiler);
    let plan = action.map(|action| Plan::one(action, limits));
    Planned { plan, result: Some(step.shape()), steps: Arc::default() }
}

/// Checks one step: exactly one action, with what belongs beside it.
fn compile_step(step: &Spanned<Step>, wants_json: bool, compiler: &mut Compiler<'_>) -> Option<Action> {
    let keys = StepKeys::of(step.at, wants_json, compiler);
    match step.keys().as_slice() {
        [_] => {}
        [] => {
            let names: Vec<&str> = super::TABLE.iter().map(|row| row.key).collect();
            compiler
                .error(Code::MissingKey, step.at, "there is no action here")
                .help(format!("an action is one of `{}`", names.join(" ")));
            return None;
        }
        [first, second, ..] => {
            let at = keys.place(second, step.at);
            compiler
                .error(Code::Conflict, at, format!("`{second}` stands beside `{first}`: one action at a time"))
                .help("write a list of steps for several");
            return None;
        }
    }
    check_beside(step, &keys, compiler);
    step.compile(&keys, compiler)
}

fn several(steps: &[Spanned<Step>], wants_json: bool, limits: Limits, compiler: &mut Compiler<'_>) -> Planned {
    let outer = compiler.names.clone();
    let mut shapes = Arc::new(BTreeMap::new());
    let mut seen: BTreeMap<&str, At> = BTreeMap::new();
    let mut taken = Some(Vec::with_capacity(steps.len()));
    let mut over: Option<At> = None;
    for step in steps {
        check_reach(step, over, compiler);
        let names = outer.clone().with("steps", Shape::Object(Arc::clone(&shapes)));
        let ready = compiler.with_names(names, |compiler| compile_taken(step, wants_json, compiler));
        taken = taken.zip(ready).map(|(mut all, one)| {
            all.push(one);
            all
        });
        if step.fail.is_some() && step.when.is_none() {
            over = over.or(Some(step.at));
        }
        let Some(id) = &step.id else { continue };
        check_id(id, seen.insert(id, id.at), compiler);
        Arc::make_mut(&mut shapes).insert(id.value.clone(), step.shape());
    }
    let plan = taken.filter(|taken| !taken.is_empty()).map(|taken| Plan::several(taken, limits));
    Planned { plan, result: None, steps: shapes }
}

/// One step of several, with its condition.
fn compile_taken(step: &Spanned<Step>, wants_json: bool, compiler: &mut Compiler<'_>) -> Option<Taken> {
    let reads_from = compiler.steps_read.len();
    let when: Option<Template<Condition>> = compiler.optional(step.when.as_ref(), Exposure::Private);
    let action = compile_step(step, wants_json, compiler);
    let sound = step.when.is_none() || when.is_some();
    let id = step.id.as_ref().map(|id| id.value.clone());
    action.filter(|_| sound).map(|action| Taken { id, when, action, reads_from })
}

/// Reports a step that can never be taken: one behind a `fail` without a condition.
fn check_reach(step: &Spanned<Step>, over: Option<At>, compiler: &mut Compiler<'_>) {
    if let Some(end) = over {
        compiler
            .error(Code::Unused, step.at, "this step can never be taken: the run has ended before it")
            .note(end.span(), "here, always")
            .help("give that step a `when`, or leave this one out");
    }
}

fn check_id(id: &Spanned<String>, earlier: Option<At>, compiler: &mut Compiler<'_>) {
    if !is_identifier(id) {
        compiler
            .error(Code::BadName, id.at, format!("`{}` is no name of a step", id.value))
            .help("use letters, digits and `_`");
    } else if let Some(meaning) = taken_by(id) {
        compiler
            .error(Code::BadName, id.at, format!("`{}` is taken: it is {meaning}", id.value))
            .help(format!("choose another name for the step, such as `{}_step`", id.value));
    } else if let Some(earlier) = earlier {
        compiler
            .error(Code::Duplicate, id.at, format!("a second step is named `{}`", id.value))
            .note(earlier.span(), "the first");
    }
}
