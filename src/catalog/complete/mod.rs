//! Completion: where the values of an argument come from, and which of them fit what was typed.
//!
//! What is offered can be used: whatever the argument would refuse is left out, and an argument that is part of a
//! resource's URI is completed by that resource itself. What is not here: how a source is checked (`build`), and how
//! values are ordered (`rank`).

mod build;
mod files;
mod resource;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::action::{Body, Ended, Plan, Selection};
use crate::budget::Budget;
use crate::yaml::Spanned;

use super::answer::Completions;
use super::entry::{Calling, Home};
use super::inputs::Inputs;
use super::rank::rank;

pub(super) use build::{completions, warn_on_tool};
use files::Files;
pub(super) use files::MOST_FILES;
pub(super) use resource::{Served, check, resource_of, variable_of};

/// How many values an answer holds (MCP's own limit).
const MOST: usize = 100;

/// Where the values of an entry's arguments come from, by their names.
pub(super) type Sources = BTreeMap<String, Source>;

/// Where values come from.
pub(super) enum Source {
    /// They stand in the manifest.
    Values(Vec<String>),
    /// The paths of files.
    Files(Files),
    /// What a resource answers.
    Resource(ResourceValues),
    /// What an action puts out.
    Run { plan: Box<Plan>, select: Option<Selection> },
}

/// A variable of a resource's URI, by whose values another argument is completed.
pub(super) struct ResourceValues {
    /// The resource's name, as it stands in the manifest.
    pub(super) name: Spanned<String>,
    pub(super) variable: Option<Spanned<String>>,
    /// Whether whole URIs are offered.
    pub(super) uri: bool,
}

/// What values are asked for: of which argument, beside which others, and by whom.
#[derive(Clone, Copy)]
pub(super) struct Asking<'a> {
    pub(super) argument: &'a str,
    /// The arguments that are filled in already.
    pub(super) given: &'a BTreeMap<String, String>,
    pub(super) calling: &'a Calling<'a>,
}

/// Whose arguments are completed.
#[derive(Clone, Copy)]
pub(super) struct Owner<'a> {
    pub(super) sources: &'a Sources,
    pub(super) inputs: &'a Inputs,
    pub(super) home: &'a Arc<Home>,
}

impl Owner<'_> {
    /// The values of an argument that has a source, as far as the argument takes them.
    pub(super) async fn values(self, asking: Asking<'_>) -> Option<Vec<String>> {
        let mut values = self.sources.get(asking.argument)?.values(self, asking).await;
        let size = size_of(&values);
        let budget = asking.calling.budget;
        budget.run_sized(size, || values.retain(|value| self.inputs.takes(asking.argument, value, budget))).ok()?;
        Some(values)
    }
}

impl Source {
    /// Whether it acts on the world, or might: a resource may itself be completed by what acts.
    pub(super) fn acts(&self) -> bool {
        matches!(self, Source::Run { .. } | Source::Resource(_))
    }

    /// All values. A source that fails gives none.
    async fn values(&self, owner: Owner<'_>, asking: Asking<'_>) -> Vec<String> {
        match self {
            Source::Values(values) => values.clone(),
            Source::Files(files) => asking.calling.budget.wait(|| files.paths()).unwrap_or_default(),
            Source::Resource(of) => Box::pin(asking.calling.catalog.values_of(of, owner.home, asking)).await,
            Source::Run { plan, select } => put_out(plan, select.as_ref(), (owner, asking)).await.unwrap_or_default(),
        }
    }
}

/// What is typed beyond so many characters begins no value.
const LONGEST: usize = 256;
/// What it costs to look at a value, beside its letters.
const LOOK: usize = 256;

/// At most a hundred values that fit what was typed: of many, while the other tasks of the thread go on elsewhere.
pub(super) fn ranked(all: &[String], typed: &str, budget: &Budget) -> Completions {
    budget.run_sized(size_of(all), || fitting(all, typed)).unwrap_or_default()
}

fn size_of(values: &[String]) -> usize {
    values.iter().map(|value| LOOK + value.len()).sum()
}

/// At most a hundred values that fit what was typed.
fn fitting(all: &[String], typed: &str) -> Completions {
    if typed.chars().nth(LONGEST).is_some() {
        return Completions { total: Some(0), ..Completions::default() };
    }
    let mut values = rank(all, typed);
    let total = values.len();
    values.truncate(MOST);
    Completions { values, total: Some(total), has_more: total > MOST }
}

async fn put_out(
    plan: &Plan,
    select: Option<&Selection>,
    (owner, asking): (Owner<'_>, Asking<'_>),
) -> Option<Vec<String>> {
    let scope = owner.home.scope(owner.inputs.bind_partly(asking.given, asking.calling.budget), asking.calling.budget);
    let Ended { outcome, steps } = owner.home.run(("completion", plan), &scope, asking.calling).await.ok()?;
    if outcome.failed.is_some() {
        return None;
    }
    let body = match (steps, select) {
        (Some(steps), Some(_)) => Body::Json(Value::Object(steps), String::new()),
        _ => outcome.body,
    };
    match (body, select) {
        (Body::Json(json, _), Some(select)) => Some(texts(&select.apply(&json, scope.budget()).ok()?)),
        (Body::Json(json, _), None) => Some(texts(&json)),
        (Body::Text(text), None) => Some(text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()),
        _ => None,
    }
}

fn texts(value: &Value) -> Vec<String> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    value.as_array().into_iter().flatten().filter_map(text).collect()
}
