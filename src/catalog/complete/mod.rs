//! Completion of prompt arguments and URI variables.
//!
//! Only values that the argument accepts are offered. Sources are compiled in `build`.

pub(super) mod completion_rank;
mod build;
mod files;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::action::{CallContext, OutcomeBody, RunOutcome, RunPlan, SelectExpression};
use crate::manifest::CompletionMatch;
use crate::yaml::Spanned;

use super::Catalog;
use super::entry::PackContext;
use super::inputs::Inputs;

pub(super) use build::{compile_sources, warn_of_tool_completions};
use files::GlobFiles;
pub(super) use files::MAX_COMPLETED_FILES;

/// How many values an answer holds (MCP's own limit).
pub(super) const MAX_COMPLETION_VALUES: usize = 100;

/// Where the values of an entry's arguments come from, by their names.
#[derive(Default)]
pub(super) struct CompletionSources(Vec<(String, Completion)>);

impl CompletionSources {
    pub(super) fn get(&self, argument: &str) -> Option<&Completion> {
        self.iter().find(|(name, _)| *name == argument).map(|(_, completion)| completion)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Completion)> {
        self.0.iter().map(|(name, completion)| (name.as_str(), completion))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// How an argument is completed.
pub(super) struct Completion {
    pub(super) source: CompletionSource,
    matching: CompletionMatch,
}

/// Where values come from.
pub(super) enum CompletionSource {
    /// The values that the schema of the argument spells out.
    Choices,
    /// Values from the manifest.
    Values(Vec<String>),
    /// The paths of files.
    Files(Box<GlobFiles>),
    /// The values of a variable of a resource.
    Resource(Box<ResourceCompletion>),
    /// The output of an action.
    Run { plan: Box<RunPlan>, select: Option<SelectExpression> },
}

/// A variable of a resource's URI, by whose values another argument is completed.
pub(super) struct ResourceCompletion {
    /// The name of the resource in the manifest.
    pub(super) name: Spanned<String>,
    pub(super) variable: Option<Spanned<String>>,
    /// Whether whole URIs are offered.
    pub(super) uri: bool,
}

/// What values are asked for: of which argument, beside which others, and by whom.
#[derive(Clone, Copy)]
pub(super) struct CompletionQuery<'a> {
    pub(super) argument: &'a str,
    /// What the user has typed of it.
    pub(super) typed_text: &'a str,
    /// The arguments already filled in.
    pub(super) other_arguments: &'a BTreeMap<String, String>,
    pub(super) catalog: &'a Catalog,
    pub(super) call: &'a CallContext,
}

/// Whose arguments are completed.
#[derive(Clone, Copy)]
pub(super) struct CompletionOwner<'a> {
    pub(super) sources: &'a CompletionSources,
    pub(super) inputs: &'a Inputs,
    pub(super) pack_context: &'a Arc<PackContext>,
}

impl CompletionOwner<'_> {
    /// The values from the source of an argument that the argument accepts.
    pub(super) async fn values(self, query: CompletionQuery<'_>) -> Option<Vec<String>> {
        let mut values = self.sources.get(query.argument)?.source.values(self, query).await;
        let size = work_size(&values);
        query.call.budget.run_sized(size, || values.retain(|value| self.inputs.accepts(query.argument, value))).ok()?;
        Some(values)
    }

    /// Which values match what was typed of an argument.
    pub(super) fn matching(self, argument: &str) -> CompletionMatch {
        self.sources.get(argument).map(|completion| completion.matching).unwrap_or_default()
    }
}

impl CompletionSource {
    /// Whether it may run actions; a resource may itself be completed by a run.
    pub(super) fn runs_actions(&self) -> bool {
        matches!(self, CompletionSource::Run { .. } | CompletionSource::Resource(_))
    }

    /// All values; none if the source fails.
    async fn values(&self, owner: CompletionOwner<'_>, query: CompletionQuery<'_>) -> Vec<String> {
        match self {
            CompletionSource::Choices => owner.inputs.choices(query.argument).unwrap_or_default(),
            CompletionSource::Values(values) => values.clone(),
            CompletionSource::Files(files) => query.call.budget.run_io(|| files.paths()).unwrap_or_default(),
            CompletionSource::Resource(source) => {
                Box::pin(query.catalog.resource_values(source, owner.pack_context, query)).await
            }
            CompletionSource::Run { plan, select } => {
                run_source(plan, select.as_ref(), owner, query).await.unwrap_or_default()
            }
        }
    }
}

/// The cost of a value besides its characters.
const VALUE_OVERHEAD_BYTES: usize = 256;

pub(super) fn work_size(values: &[String]) -> usize {
    values.iter().map(|value| VALUE_OVERHEAD_BYTES + value.len()).sum()
}

async fn run_source(
    plan: &RunPlan,
    select: Option<&SelectExpression>,
    owner: CompletionOwner<'_>,
    query: CompletionQuery<'_>,
) -> Option<Vec<String>> {
    let budget = &query.call.budget;
    let known = owner.inputs.bind_partial(query.other_arguments);
    let scope = owner.inputs.scope(owner.pack_context, known, query.call).with_typed_text(query.typed_text);
    let running = owner.pack_context.run_plan("completion", plan, &scope, query.catalog, query.call);
    let RunOutcome { outcome, steps, .. } = running.await.ok()?;
    if outcome.failure.is_some() {
        return None;
    }
    let body = match (steps, select) {
        (Some(steps), Some(_)) => OutcomeBody::Json(Value::Object(steps), String::new()),
        (_, Some(_)) => outcome.body.into_json(),
        (_, None) => outcome.body,
    };
    match (body, select) {
        (OutcomeBody::Json(json, _), Some(select)) => {
            let selected = budget.run(|| select.apply(&json)).ok()?.ok()?;
            if let Some(hint) = select.hint(&json, &selected) {
                let hint = format!("`select` of a completion of `{}`: {hint}", query.argument);
                query.call.world.hint_to_author(&hint);
            }
            Some(json_texts(&selected))
        }
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
