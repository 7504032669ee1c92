//! Completion from the variables of a resource: lookup, and checks at load.

use std::sync::Arc;

use crate::catalog::entry::PackContext;
use crate::catalog::resource::CompiledResource;
use crate::catalog::routes::{Route, Routes};
use crate::compile::Findings;
use crate::diagnostic::Code;

use super::{CompletionOwner, CompletionSource, MAX_COMPLETION_VALUES, ResourceCompletion};

/// The resource of the same pack that is named.
pub(in crate::catalog) fn find_resource<'a>(
    resources: &'a [CompiledResource],
    of: &ResourceCompletion,
    pack_context: &PackContext,
) -> Option<&'a CompiledResource> {
    let whole = pack_context.qualified_name(&of.name);
    resources
        .iter()
        .find(|resource| resource.name == whole && std::ptr::eq(Arc::as_ptr(&resource.pack_context), pack_context))
}

/// The variable of the resource that is meant: the one named, else the one with the argument's name, else the only
/// one that something completes.
pub(in crate::catalog) fn find_variable<'a>(
    resource: &'a CompiledResource,
    of: &ResourceCompletion,
    argument: &str,
) -> Option<&'a str> {
    let completed: Vec<&str> = resource.completed_variables().collect();
    let named = |name: &str| completed.iter().copied().find(|variable| *variable == name);
    match (&of.variable, completed.as_slice()) {
        (Some(variable), _) => named(variable),
        (None, [only]) => Some(only),
        (None, _) => named(argument),
    }
}

/// Checks the arguments of an entry that are completed by resources.
pub(in crate::catalog) fn check_sources(
    owner: CompletionOwner<'_>,
    resources: &[CompiledResource],
    findings: &mut Findings,
) {
    for (argument, source) in owner.sources {
        let CompletionSource::Resource(of) = source else { continue };
        let Some(resource) = find_resource(resources, of, owner.pack_context) else { continue };
        match find_variable(resource, of, argument) {
            Some(variable) => check_uri((of, variable), resource, findings),
            None => report_no_variable(of, resource, findings),
        }
        if is_circular(resource, (of, argument), resources) {
            let words = format!("cyclic completion: `{}` completes itself", *of.name);
            findings
                .report
                .error(Code::Cycle, of.name.location.span(), words)
                .help("take its values from `glob`, `run` or a list");
        }
    }
}

fn report_no_variable(of: &ResourceCompletion, resource: &CompiledResource, findings: &mut Findings) {
    let completed: Vec<&str> = resource.completed_variables().collect();
    let name = &*of.name;
    match (&of.variable, completed.as_slice()) {
        (_, []) => {
            let words = format!("resource `{name}` has no completed variables");
            let help = "write a `root`, variables in its `file`, or a `complete`";
            findings.report.error(Code::UnknownVariable, of.name.location.span(), words).help(help);
        }
        (Some(variable), _) => {
            let words = format!("unknown completed variable `{}` of resource `{name}`", **variable);
            let fault = findings.report.error(Code::UnknownVariable, variable.location.span(), words);
            fault.did_you_mean(variable, variable.location.span(), completed);
        }
        (None, several) => {
            let words = format!("ambiguous variable of resource `{name}`");
            let each: Vec<String> = several.iter().map(|variable| format!("`variable: {variable}`")).collect();
            findings
                .report
                .error(Code::Conflict, of.name.location.span(), words)
                .help(format!("write {}", each.join(" or ")));
        }
    }
}

/// A whole URI is told only where no other variable is needed for it.
fn check_uri((of, variable): (&ResourceCompletion, &str), resource: &CompiledResource, findings: &mut Findings) {
    let mut names = resource.template.variables().iter().map(|variable| variable.name.as_str());
    let Some(other) = names.find(|name| *name != variable && resource.inputs.requires(name)) else { return };
    if of.uri {
        let words = format!("cannot complete the URI of `{}`: it also requires `{other}`", *of.name);
        let fault = findings.report.error(Code::Conflict, of.name.location.span(), words);
        fault.help("remove `uri`, and build the URI from several arguments");
    }
}

/// Whether a variable is completed by a resource that is completed by a resource, and so on in a circle.
fn is_circular(
    start: &CompiledResource,
    (of, argument): (&ResourceCompletion, &str),
    resources: &[CompiledResource],
) -> bool {
    let mut at = (start, find_variable(start, of, argument));
    for _ in 0..=resources.len() {
        let Some(variable) = at.1 else { return false };
        let Some(CompletionSource::Resource(next)) = at.0.completions.get(variable) else { return false };
        let Some(resource) = find_resource(resources, next, &at.0.pack_context) else { return false };
        at = (resource, find_variable(resource, next, variable));
    }
    true
}

/// What answers the URIs of a catalog.
#[derive(Clone, Copy)]
pub(in crate::catalog) struct ResourceLookup<'a> {
    pub(in crate::catalog) resources: &'a [CompiledResource],
    pub(in crate::catalog) routes: &'a Routes,
}

/// A file that is offered and cannot be read under the URI that is made of its path.
struct UnreadableFile<'a> {
    path: String,
    uri: String,
    /// What would have to have it.
    resource: &'a CompiledResource,
}

impl<'a> ResourceLookup<'a> {
    /// Warns of the first file of each glob that completes an argument and cannot be read under the URIs of its path.
    pub(in crate::catalog) fn check_sources(
        self,
        owner: CompletionOwner<'_>,
        uris_with: &dyn Fn(&str, &str) -> Vec<String>,
        findings: &mut Findings,
    ) {
        for (argument, source) in owner.sources {
            let CompletionSource::Files(files) = source else { continue };
            let paths = files.paths().into_iter().take(MAX_COMPLETION_VALUES);
            let mut unread = paths.filter_map(|path| self.find_unreadable(path, &|path| uris_with(argument, path)));
            let Some(UnreadableFile { path, uri, resource }) = unread.next() else { continue };
            let words = format!("completion `{path}` leads to unreadable resource `{uri}`");
            let fault = findings.report.warning(Code::UnknownReference, files.at.span(), words);
            fault.help(suggest_fix(resource, (owner, source), argument));
        }
    }

    fn find_unreadable(self, path: String, uris_of: &dyn Fn(&str) -> Vec<String>) -> Option<UnreadableFile<'a>> {
        uris_of(&path).into_iter().find_map(|uri| {
            let Some(Route::Resource(nth, values)) = self.routes.find(&uri) else { return None };
            let resource = self.resources.get(nth).filter(|resource| !resource.file_exists(&values))?;
            Some(UnreadableFile { path: path.clone(), uri, resource })
        })
    }
}

/// What offers the files of a resource that can be read.
fn suggest_fix(
    resource: &CompiledResource,
    (owner, source): (CompletionOwner<'_>, &CompletionSource),
    argument: &str,
) -> String {
    let own = resource.completions.values().any(|other| std::ptr::eq(other, source));
    if own && resource.completes_from_files(argument) {
        return "remove `complete`: the readable files complete it".to_owned();
    }
    if !own
        && Arc::ptr_eq(&resource.pack_context, owner.pack_context)
        && resource.completed_variables().next().is_some()
    {
        return format!(
            "use `complete: {{ resource: {} }}`, which offers only readable files",
            owner.pack_context.local_name(&resource.name).unwrap_or_default()
        );
    }
    "set `base` or `stem` so that the paths fit".to_owned()
}
