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

use crate::action::{OutcomeBody, RunOutcome, RunPlan, Selection};
use crate::budget::Budget;
use crate::yaml::Spanned;

use super::answer::CompletionResult;
use super::entry::{EntryContext, PackContext};
use super::inputs::Inputs;
use super::rank::rank;

pub(super) use build::{compile_sources, warn_of_tool_completions};
use files::GlobFiles;
pub(super) use files::MAX_COMPLETED_FILES;
pub(super) use resource::{ResourceLookup, check_sources, find_resource, find_variable};

/// How many values an answer holds (MCP's own limit).
const MAX_COMPLETION_VALUES: usize = 100;

/// Where the values of an entry's arguments come from, by their names.
pub(super) type CompletionSources = BTreeMap<String, CompletionSource>;

/// Where values come from.
pub(super) enum CompletionSource {
    /// They stand in the manifest.
    Values(Vec<String>),
    /// The paths of files.
    Files(GlobFiles),
    /// What a resource answers.
    Resource(ResourceCompletion),
    /// What an action puts out.
    Run { plan: Box<RunPlan>, select: Option<Selection> },
}

/// A variable of a resource's URI, by whose values another argument is completed.
pub(super) struct ResourceCompletion {
    /// The resource's name, as it stands in the manifest.
    pub(super) name: Spanned<String>,
    pub(super) variable: Option<Spanned<String>>,
    /// Whether whole URIs are offered.
    pub(super) uri: bool,
}

/// What values are asked for: of which argument, beside which others, and by whom.
#[derive(Clone, Copy)]
pub(super) struct CompletionQuery<'a> {
    pub(super) argument: &'a str,
    /// The arguments that are filled in already.
    pub(super) given: &'a BTreeMap<String, String>,
    pub(super) entry_context: &'a EntryContext<'a>,
}

/// Whose arguments are completed.
#[derive(Clone, Copy)]
pub(super) struct CompletionOwner<'a> {
    pub(super) sources: &'a CompletionSources,
    pub(super) inputs: &'a Inputs,
    pub(super) pack_context: &'a Arc<PackContext>,
}

impl CompletionOwner<'_> {
    /// The values of an argument that has a source, as far as the argument takes them.
    pub(super) async fn values(self, query: CompletionQuery<'_>) -> Option<Vec<String>> {
        let mut values = self.sources.get(query.argument)?.values(self, query).await;
        let size = work_size(&values);
        let budget = query.entry_context.budget;
        budget.run_sized(size, || values.retain(|value| self.inputs.accepts(query.argument, value, budget))).ok()?;
        Some(values)
    }
}

impl CompletionSource {
    /// Whether it acts on the world, or might: a resource may itself be completed by what acts.
    pub(super) fn runs_actions(&self) -> bool {
        matches!(self, CompletionSource::Run { .. } | CompletionSource::Resource(_))
    }

    /// All values. A source that fails gives none.
    async fn values(&self, owner: CompletionOwner<'_>, query: CompletionQuery<'_>) -> Vec<String> {
        match self {
            CompletionSource::Values(values) => values.clone(),
            CompletionSource::Files(files) => query.entry_context.budget.run_io(|| files.paths()).unwrap_or_default(),
            CompletionSource::Resource(of) => {
                Box::pin(query.entry_context.catalog.resource_values(of, owner.pack_context, query)).await
            }
            CompletionSource::Run { plan, select } => {
                run_source(plan, select.as_ref(), (owner, query)).await.unwrap_or_default()
            }
        }
    }
}

/// What is typed beyond so many characters begins no value.
const MAX_TYPED_CHARS: usize = 256;
/// What it costs to look at a value, beside its letters.
const VALUE_OVERHEAD_BYTES: usize = 256;

/// At most a hundred values that fit what was typed: of many, while the other tasks of the thread go on elsewhere.
pub(super) fn rank_values(all: &[String], typed: &str, budget: &Budget) -> CompletionResult {
    budget.run_sized(work_size(all), || match_values(all, typed)).unwrap_or_default()
}

fn work_size(values: &[String]) -> usize {
    values.iter().map(|value| VALUE_OVERHEAD_BYTES + value.len()).sum()
}

/// At most a hundred values that fit what was typed.
fn match_values(all: &[String], typed: &str) -> CompletionResult {
    if typed.chars().nth(MAX_TYPED_CHARS).is_some() {
        return CompletionResult { total: Some(0), ..CompletionResult::default() };
    }
    let mut values = rank(all, typed);
    let total = values.len();
    values.truncate(MAX_COMPLETION_VALUES);
    CompletionResult { values, total: Some(total), has_more: total > MAX_COMPLETION_VALUES }
}

async fn run_source(
    plan: &RunPlan,
    select: Option<&Selection>,
    (owner, query): (CompletionOwner<'_>, CompletionQuery<'_>),
) -> Option<Vec<String>> {
    let scope = owner
        .pack_context
        .scope(owner.inputs.bind_partial(query.given, query.entry_context.budget), query.entry_context.budget);
    let RunOutcome { outcome, steps } =
        owner.pack_context.run(("completion", plan), &scope, query.entry_context).await.ok()?;
    if outcome.failure.is_some() {
        return None;
    }
    let body = match (steps, select) {
        (Some(steps), Some(_)) => OutcomeBody::Json(Value::Object(steps), String::new()),
        _ => outcome.body,
    };
    match (body, select) {
        (OutcomeBody::Json(json, _), Some(select)) => Some(json_texts(&select.apply(&json, scope.budget()).ok()?)),
        (OutcomeBody::Json(json, _), None) => Some(json_texts(&json)),
        (OutcomeBody::Text(text), None) => {
            Some(text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect())
        }
        _ => None,
    }
}

fn json_texts(value: &Value) -> Vec<String> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    value.as_array().into_iter().flatten().filter_map(text).collect()
}
