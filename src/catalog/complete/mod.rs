//! Completion of prompt arguments and URI variables.
//!
//! Only values that the argument accepts are offered. Sources are compiled in `build`; `rank` orders values.

mod build;
mod files;
mod resource;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::action::{OutcomeBody, RunOutcome, RunPlan, SelectExpression};
use crate::diagnostic::truncate;
use crate::manifest::CompletionMatch;
use crate::redact::Redactor;
use crate::yaml::Spanned;

use super::call_result::{CallContext, CompletionRequest, CompletionResult, CompletionTarget};
use super::completion_rank::rank;
use super::entry::{EntryContext, PackContext};
use super::inputs::Inputs;
use super::refusal::{Refusal, RefusalKind};
use super::resource::CompiledResource;
use super::{Catalog, MAX_SHOWN_NAME_CHARS, MAX_SHOWN_URI_CHARS};

pub(super) use build::{compile_sources, warn_of_tool_completions};
use files::GlobFiles;
pub(super) use files::MAX_COMPLETED_FILES;
pub(super) use resource::{ResourceLookup, check_sources};
use resource::{find_resource, find_variable};

/// How many values an answer holds (MCP's own limit).
const MAX_COMPLETION_VALUES: usize = 100;

/// Where the values of an entry's arguments come from, by their names.
pub(super) type CompletionSources = BTreeMap<String, Completion>;

/// How an argument is completed.
pub(super) struct Completion {
    source: CompletionSource,
    matching: CompletionMatch,
}

/// Where values come from.
pub(super) enum CompletionSource {
    /// Values from the manifest.
    Values(Vec<String>),
    /// The paths of files.
    Files(GlobFiles),
    /// The values of a variable of a resource.
    Resource(ResourceCompletion),
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
    /// The values from the source of an argument that the argument accepts.
    pub(super) async fn values(self, query: CompletionQuery<'_>) -> Option<Vec<String>> {
        let mut values = self.sources.get(query.argument)?.source.values(self, query).await;
        let size = work_size(&values);
        let budget = query.entry_context.budget;
        budget.run_sized(size, || values.retain(|value| self.inputs.accepts(query.argument, value, budget))).ok()?;
        Some(values)
    }

    /// Which values match what was typed of an argument.
    fn matching(self, argument: &str) -> CompletionMatch {
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
            CompletionSource::Values(values) => values.clone(),
            CompletionSource::Files(files) => query.entry_context.budget.run_io(|| files.paths()).unwrap_or_default(),
            CompletionSource::Resource(source) => {
                Box::pin(query.entry_context.catalog.resource_values(source, owner.pack_context, query)).await
            }
            CompletionSource::Run { plan, select } => {
                run_source(plan, select.as_ref(), owner, query).await.unwrap_or_default()
            }
        }
    }
}

impl Catalog {
    /// Whether anything can be completed.
    pub fn has_completions(&self) -> bool {
        self.prompts.values().any(|prompt| !prompt.completions.is_empty())
            || self.resources.iter().any(|resource| resource.completed_variables().next().is_some())
    }

    /// Whether completing an argument runs actions.
    pub fn completion_runs_actions(&self, request: &CompletionRequest) -> bool {
        let sources = match &request.target {
            CompletionTarget::Prompt(name) => {
                let prompt = self.prompts.get(name);
                prompt.map(|prompt| &prompt.completions)
            }
            CompletionTarget::Template(uri) => self.find_template(uri).map(|resource| &resource.completions),
        };
        sources
            .and_then(|sources| sources.get(&request.argument))
            .is_some_and(|completion| completion.source.runs_actions())
    }

    /// The resource with this template, or the one that serves this URI.
    fn find_template(&self, uri: &str) -> Option<&CompiledResource> {
        let written = self.resources.iter().find(|resource| resource.template.as_str() == uri);
        written.or_else(|| self.find_resource(uri).map(|(resource, _)| resource))
    }

    /// Completes an argument of a prompt or of a resource template.
    ///
    /// # Errors
    /// There is no such prompt, template or argument.
    pub async fn complete(&self, request: &CompletionRequest, call: &CallContext) -> Result<CompletionResult, Refusal> {
        let budget = call.budget();
        let entry_context = &EntryContext::new(call, self, &budget);
        let (argument, typed_text) = (request.argument.as_str(), request.value.as_str());
        let query = CompletionQuery { argument, typed_text, other_arguments: &request.context, entry_context };
        let is_short = typed_text.chars().nth(MAX_TYPED_CHARS).is_none();
        let (values, matching) = match &request.target {
            CompletionTarget::Prompt(name) => {
                let owner = self.find_completed_prompt(name, argument)?;
                (if is_short { owner.values(query).await } else { None }, owner.matching(argument))
            }
            CompletionTarget::Template(uri) => {
                let resource = self.find_completed_template(uri, argument)?;
                let values = if is_short { resource.completion_values(query).await } else { None };
                (values, resource.completion_owner().matching(argument))
            }
        };
        let values = values.unwrap_or_default();
        Ok(budget
            .run_sized(work_size(&values), || match_values(&values, typed_text, matching, &self.redactor))
            .unwrap_or_default())
    }

    /// The prompt of this name, which has this argument.
    fn find_completed_prompt(&self, name: &str, argument: &str) -> Result<CompletionOwner<'_>, Refusal> {
        let unknown = |message: String| Refusal::new(RefusalKind::UnknownReference, message);
        let prompt = self.prompts.get(name);
        let prompt =
            prompt.ok_or_else(|| unknown(format!("Unknown prompt: {}", truncate(name, MAX_SHOWN_NAME_CHARS))))?;
        if prompt.listing.arguments.iter().any(|known| known.name == argument) {
            return Ok(prompt.completion_owner());
        }
        Err(unknown(format!("unknown argument `{}` of prompt `{name}`", truncate(argument, MAX_SHOWN_NAME_CHARS))))
    }

    /// The resource that is written so, or answers this URI, and has this variable.
    fn find_completed_template(&self, uri: &str, variable: &str) -> Result<&CompiledResource, Refusal> {
        let unknown = |message: String| Refusal::new(RefusalKind::UnknownReference, message);
        let resource = self
            .find_template(uri)
            .ok_or_else(|| unknown(format!("Unknown resource template: {}", truncate(uri, MAX_SHOWN_URI_CHARS))))?;
        if resource.template.variables().iter().any(|known| known.name == variable) {
            return Ok(resource);
        }
        Err(unknown(format!(
            "unknown variable `{}` of `{}`",
            truncate(variable, MAX_SHOWN_NAME_CHARS),
            resource.template.as_str()
        )))
    }

    /// What a resource answers to an entry of a pack whose argument is completed by it.
    async fn resource_values(
        &self,
        source: &ResourceCompletion,
        pack_context: &PackContext,
        query: CompletionQuery<'_>,
    ) -> Vec<String> {
        let Some(resource) = find_resource(&self.resources, source, pack_context) else { return Vec::new() };
        let Some(variable) = find_variable(resource, source, query.argument) else { return Vec::new() };
        let values =
            resource.completion_values(CompletionQuery { argument: variable, ..query }).await.unwrap_or_default();
        if !source.uri {
            return values;
        }
        let uri = |value: String| resource.template.expand(&|name| (name == variable).then(|| value.clone()));
        values.into_iter().map(uri).collect()
    }
}

/// The longest input that is completed.
const MAX_TYPED_CHARS: usize = 256;
/// The cost of a value besides its characters.
const VALUE_OVERHEAD_BYTES: usize = 256;

fn work_size(values: &[String]) -> usize {
    values.iter().map(|value| VALUE_OVERHEAD_BYTES + value.len()).sum()
}

/// At most 100 values that match the input. One with a secret is left out: that it matches would confirm what was typed.
fn match_values(all: &[String], typed_text: &str, matching: CompletionMatch, secrets: &Redactor) -> CompletionResult {
    let mut values = rank(all, typed_text, matching);
    values.retain(|value| !secrets.finds_secret(value));
    let total = values.len();
    values.truncate(MAX_COMPLETION_VALUES);
    CompletionResult { values, total: Some(total), has_more: total > MAX_COMPLETION_VALUES }
}

async fn run_source(
    plan: &RunPlan,
    select: Option<&SelectExpression>,
    owner: CompletionOwner<'_>,
    query: CompletionQuery<'_>,
) -> Option<Vec<String>> {
    let budget = query.entry_context.budget;
    let scope = owner
        .pack_context
        .scope(owner.inputs.bind_partial(query.other_arguments, budget), budget)
        .with_typed_text(query.typed_text);
    let RunOutcome { outcome, steps, .. } =
        owner.pack_context.run_plan("completion", plan, &scope, query.entry_context).await.ok()?;
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
            let found = select.apply(&json, scope.budget()).ok()?;
            if let Some(hint) = select.hint(&json, &found, scope.budget()) {
                let hint = format!("`select` of a completion of `{}`: {hint}", query.argument);
                query.entry_context.call.world.hint_to_author(&hint);
            }
            Some(json_texts(&found))
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
