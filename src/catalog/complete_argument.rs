//! Completes an argument of a prompt, or a variable of a resource template.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::action::CallContext;
use crate::diagnostic::truncate;

use super::access::{EntryAccess, ensure_visible, rules_for};
use super::complete::completion_rank::rank;
use super::complete::{CompletionOwner, CompletionQuery, MAX_COMPLETION_VALUES, ResourceCompletion, work_size};
use super::entry::PackContext;
use super::resource::CompiledResource;
use super::result::call_result::{CompletionRequest, CompletionResult, CompletionTarget};
use super::result::refusal::{Refusal, RefusalKind};
use super::{Catalog, MAX_SHOWN_NAME_CHARS, MAX_SHOWN_URI_CHARS};

/// The longest input that is completed.
const MAX_TYPED_CHARS: usize = 256;
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
        let declared = self.resources.iter().find(|resource| resource.template.as_str() == uri);
        declared.or_else(|| self.find_resource(uri).map(|(resource, _)| resource))
    }

    /// Completes an argument of a prompt or of a resource template.
    ///
    /// # Errors
    /// There is no such prompt, template or argument.
    pub async fn complete(&self, request: &CompletionRequest, call: &CallContext) -> Result<CompletionResult, Refusal> {
        let (argument, typed_text) = (request.argument.as_str(), request.value.as_str());
        let query = CompletionQuery { argument, typed_text, other_arguments: &request.context, catalog: self, call };
        let is_short = typed_text.chars().nth(MAX_TYPED_CHARS).is_none();
        let (values, matching) = match &request.target {
            CompletionTarget::Prompt(name) => {
                let owner = self.find_completed_prompt(name, request, call)?;
                (if is_short { owner.values(query).await } else { None }, owner.matching(argument))
            }
            CompletionTarget::Template(uri) => {
                let resource = self.find_completed_template(uri, request, call)?;
                let values = if is_short { resource.completion_values(query).await } else { None };
                (values, resource.completion_owner().matching(argument))
            }
        };
        let values = values.unwrap_or_default();
        let match_values = || {
            let mut values = rank(&values, typed_text, matching);
            // That it matches would confirm what was typed.
            values.retain(|value| !self.redactor.finds_secret(value));
            let total = values.len();
            values.truncate(MAX_COMPLETION_VALUES);
            CompletionResult { values, total: Some(total), has_more: total > MAX_COMPLETION_VALUES }
        };
        Ok(call.budget.run_sized(work_size(&values), match_values).unwrap_or_default())
    }

    /// Refuses a completion to a caller who may not use the entry with what is given, before anything is done.
    ///
    /// # Errors
    /// As those of [`Catalog::complete`].
    pub fn check_completion(&self, request: &CompletionRequest, call: &CallContext) -> Result<(), Refusal> {
        match &request.target {
            CompletionTarget::Prompt(name) => self.find_completed_prompt(name, request, call).map(drop),
            CompletionTarget::Template(uri) => self.find_completed_template(uri, request, call).map(drop),
        }
    }

    /// The prompt of this name, which has this argument.
    fn find_completed_prompt(
        &self,
        name: &str,
        CompletionRequest { argument, context, .. }: &CompletionRequest,
        call: &CallContext,
    ) -> Result<CompletionOwner<'_>, Refusal> {
        let unknown = |message: String| Refusal::new(RefusalKind::UnknownReference, message);
        let no_prompt = || unknown(format!("Unknown prompt: {}", truncate(name, MAX_SHOWN_NAME_CHARS)));
        let prompt = self.prompts.get(name).ok_or_else(no_prompt)?;
        ensure_visible(prompt.access.as_ref(), call, no_prompt)?;
        check_completion(prompt.access.as_ref(), &prompt.completion_owner(), context, call)?;
        if prompt.listing.arguments.iter().any(|known| known.name == *argument) {
            return Ok(prompt.completion_owner());
        }
        Err(unknown(format!("unknown argument `{}` of prompt `{name}`", truncate(argument, MAX_SHOWN_NAME_CHARS))))
    }

    /// The resource that is written so, or answers this URI, and has this variable.
    fn find_completed_template(
        &self,
        uri: &str,
        CompletionRequest { argument: variable, context, .. }: &CompletionRequest,
        call: &CallContext,
    ) -> Result<&CompiledResource, Refusal> {
        let unknown = |message: String| Refusal::new(RefusalKind::UnknownReference, message);
        let no_template = || unknown(format!("Unknown resource template: {}", truncate(uri, MAX_SHOWN_URI_CHARS)));
        let resource = self.find_template(uri).ok_or_else(no_template)?;
        ensure_visible(resource.access.as_ref(), call, no_template)?;
        if resource.template.variables().iter().any(|known| known.name == *variable) {
            check_completion(resource.access.as_ref(), &resource.completion_owner(), context, call)?;
            return Ok(resource);
        }
        Err(unknown(format!(
            "unknown variable `{}` of `{}`",
            truncate(variable, MAX_SHOWN_NAME_CHARS),
            resource.template.as_str()
        )))
    }

    /// What a resource answers to an entry of a pack whose argument is completed by it.
    pub(super) async fn resource_values(
        &self,
        source: &ResourceCompletion,
        pack_context: &PackContext,
        query: CompletionQuery<'_>,
    ) -> Vec<String> {
        let Some(resource) = CompiledResource::find(&self.resources, &source.name, pack_context) else {
            return Vec::new();
        };
        let Some(variable) = resource.completed_variable(source, query.argument) else { return Vec::new() };
        let access = resource.access.as_ref();
        // Who may not read what there is does not learn it by another way.
        let is_refused = access.is_some_and(|access| !access.is_visible(&query.call.access))
            || check_completion(access, &resource.completion_owner(), &BTreeMap::new(), query.call).is_err();
        if is_refused {
            return Vec::new();
        }
        let values =
            resource.completion_values(CompletionQuery { argument: variable, ..query }).await.unwrap_or_default();
        if !source.uri {
            return values;
        }
        let uri = |value: String| resource.template.expand(&|name| (name == variable).then(|| value.clone()));
        values.into_iter().map(uri).collect()
    }
}

/// Refuses a completion to a caller who may not use the entry with the arguments that are given by now.
fn check_completion(
    access: Option<&Arc<EntryAccess>>,
    owner: &CompletionOwner<'_>,
    given: &BTreeMap<String, String>,
    call: &CallContext,
) -> Result<(), Refusal> {
    let Some(access) = rules_for(access, call) else { return Ok(()) };
    // What its source sees of them.
    let known = owner.inputs.bind_partial(given);
    let scope = owner.inputs.scope(owner.pack_context, known.clone(), call);
    access.check_known(&scope, |name| known.contains_key(name), call)
}
