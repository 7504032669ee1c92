//! Checks completions by resources and files.

use std::sync::Arc;

use crate::catalog::complete::{CompletionOwner, CompletionSource, MAX_COMPLETION_VALUES, ResourceCompletion};
use crate::catalog::resource::CompiledResource;
use crate::catalog::routes::{Route, Routes};
use crate::compile::LoadContext;
use crate::diagnostic::Code;

/// Checks the arguments of an entry that are completed by resources.
pub(super) fn check_sources(
    owner: CompletionOwner<'_>,
    resources: &[CompiledResource],
    load_context: &mut LoadContext,
) {
    for (argument, source) in owner.sources.iter() {
        let CompletionSource::Resource(completion) = &source.source else { continue };
        let Some(resource) = CompiledResource::find(resources, &completion.name, owner.pack_context) else { continue };
        match resource.completed_variable(completion, argument) {
            Some(variable) => check_uri(completion, variable, resource, load_context),
            None => report_no_variable(completion, resource, load_context),
        }
        if is_circular(resource, resource.completed_variable(completion, argument), resources) {
            let message = format!("cyclic completion: `{}` completes itself", *completion.name);
            load_context
                .error(Code::Cycle, completion.name.location, message)
                .help("take its values from `glob`, `run` or a list");
        }
    }
}

fn report_no_variable(completion: &ResourceCompletion, resource: &CompiledResource, load_context: &mut LoadContext) {
    let completed: Vec<&str> = resource.completed_variables().collect();
    let name = &*completion.name;
    match (&completion.variable, completed.as_slice()) {
        (_, []) => {
            let message = format!("resource `{name}` has no completed variables");
            let help = "write a `root`, variables in its `file`, or a `complete`";
            load_context.error(Code::UnknownVariable, completion.name.location, message).help(help);
        }
        (Some(variable), _) => {
            let message = format!("unknown completed variable `{}` of resource `{name}`", **variable);
            let error = load_context.error(Code::UnknownVariable, variable.location, message);
            error.did_you_mean(variable, completed);
        }
        (None, several) => {
            let message = format!("ambiguous variable of resource `{name}`");
            let each: Vec<String> = several.iter().map(|variable| format!("`variable: {variable}`")).collect();
            load_context
                .error(Code::Conflict, completion.name.location, message)
                .help(format!("write {}", each.join(" or ")));
        }
    }
}

/// A whole URI can only be completed if it needs no other variable.
fn check_uri(
    completion: &ResourceCompletion,
    variable: &str,
    resource: &CompiledResource,
    load_context: &mut LoadContext,
) {
    let mut names = resource.template.variables().iter().map(|variable| variable.name.as_str());
    let Some(other) = names.find(|name| *name != variable && resource.inputs.requires(name)) else { return };
    if completion.uri {
        let message = format!("cannot complete the URI of `{}`: it also requires `{other}`", *completion.name);
        let error = load_context.error(Code::Conflict, completion.name.location, message);
        error.help("remove `uri`, and build the URI from several arguments");
    }
}

/// Whether completion from resources forms a cycle.
fn is_circular(start: &CompiledResource, variable: Option<&str>, resources: &[CompiledResource]) -> bool {
    let mut current = (start, variable);
    for _ in 0..=resources.len() {
        let Some(variable) = current.1 else { return false };
        let Some(completion) = current.0.completions.get(variable) else { return false };
        let CompletionSource::Resource(next) = &completion.source else { return false };
        let Some(resource) = CompiledResource::find(resources, &next.name, &current.0.pack_context) else {
            return false;
        };
        current = (resource, resource.completed_variable(next, variable));
    }
    true
}

/// What answers the URIs of a catalog.
#[derive(Clone, Copy)]
pub(super) struct ResourceLookup<'a> {
    pub(super) resources: &'a [CompiledResource],
    pub(super) routes: &'a Routes,
}

impl<'a> ResourceLookup<'a> {
    /// Warns of the first offered file of each glob that cannot be read under its URIs.
    pub(super) fn check_sources(
        self,
        owner: CompletionOwner<'_>,
        uris_with: &dyn Fn(&str, &str) -> Vec<String>,
        load_context: &mut LoadContext,
    ) {
        for (argument, source) in owner.sources.iter() {
            let CompletionSource::Files(files) = &source.source else { continue };
            let paths = files.paths().into_iter().take(MAX_COMPLETION_VALUES);
            let mut unreadable = paths.flat_map(|path| {
                uris_with(argument, &path).into_iter().filter_map(move |uri| {
                    let Some(Route::Resource(nth, values)) = self.routes.find(&uri) else { return None };
                    let resource = self.resources.get(nth).filter(|resource| !resource.file_exists(&values))?;
                    Some((path.clone(), uri, resource))
                })
            });
            let Some((path, uri, resource)) = unreadable.next() else { continue };
            let message = format!("completion `{path}` leads to unreadable resource `{uri}`");
            let error = load_context.warning(Code::UnknownReference, files.at, message);
            error.help(suggest_fix(resource, owner, argument));
        }
    }
}

/// Suggests a completion that only offers readable files.
fn suggest_fix(resource: &CompiledResource, owner: CompletionOwner<'_>, argument: &str) -> String {
    let is_own = std::ptr::eq(&resource.completions, owner.sources);
    if is_own && resource.completes_from_files(argument) {
        return "remove `complete`: the readable files complete it".to_owned();
    }
    if !is_own
        && Arc::ptr_eq(&resource.pack_context, owner.pack_context)
        && resource.completed_variables().next().is_some()
    {
        return format!(
            "use `complete: {{ resource: {} }}`, which offers only readable files",
            owner.pack_context.prefix.strip(&resource.key).unwrap_or_default()
        );
    }
    "set `base` or `stem` so that the paths fit".to_owned()
}
