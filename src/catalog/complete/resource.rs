//! Completion and resources: which resource and variable is meant, whether that can be, and whether files that are
//! offered can be read.

use std::sync::Arc;

use crate::catalog::entry::Home;
use crate::catalog::resource::Resource;
use crate::catalog::routes::{Route, Routes};
use crate::compile::Findings;
use crate::diagnostic::Code;

use super::{MOST, Owner, ResourceValues, Source};

/// The resource of the same pack that is named.
pub(in crate::catalog) fn resource_of<'a>(
    resources: &'a [Resource],
    of: &ResourceValues,
    home: &Home,
) -> Option<&'a Resource> {
    let whole = home.whole_name(&of.name);
    resources.iter().find(|resource| resource.name == whole && std::ptr::eq(Arc::as_ptr(&resource.home), home))
}

/// The variable of the resource that is meant: the one named, else the one with the argument's name, else the only
/// one that something completes.
pub(in crate::catalog) fn variable_of<'a>(
    resource: &'a Resource,
    of: &ResourceValues,
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
pub(in crate::catalog) fn check(owner: Owner<'_>, resources: &[Resource], findings: &mut Findings) {
    for (argument, source) in owner.sources {
        let Source::Resource(of) = source else { continue };
        let Some(resource) = resource_of(resources, of, owner.home) else { continue };
        match variable_of(resource, of, argument) {
            Some(variable) => check_uri((of, variable), resource, findings),
            None => no_variable(of, resource, findings),
        }
        if is_circular(resource, (of, argument), resources) {
            let words = format!("`{}` is completed by itself in the end", *of.name);
            findings.report.error(Code::Cycle, of.name.at.span(), words).help("its values have to come from elsewhere");
        }
    }
}

fn no_variable(of: &ResourceValues, resource: &Resource, findings: &mut Findings) {
    let completed: Vec<&str> = resource.completed_variables().collect();
    let name = &*of.name;
    match (&of.variable, completed.as_slice()) {
        (_, []) => {
            let words = format!("nothing completes a variable of `{name}`");
            let help = "a `root`, variables in its `file`, or a `complete` of its own would";
            findings.report.error(Code::UnknownVariable, of.name.at.span(), words).help(help);
        }
        (Some(variable), _) => {
            let words = format!("`{name}` has no variable `{}` that something completes", **variable);
            let fault = findings.report.error(Code::UnknownVariable, variable.at.span(), words);
            fault.did_you_mean(variable, variable.at.span(), completed);
        }
        (None, several) => {
            let words = format!("`{name}` has several variables: say which is meant");
            let each: Vec<String> = several.iter().map(|variable| format!("`variable: {variable}`")).collect();
            findings
                .report
                .error(Code::Conflict, of.name.at.span(), words)
                .help(format!("write {}", each.join(" or ")));
        }
    }
}

/// A whole URI is told only where no other variable is needed for it.
fn check_uri((of, variable): (&ResourceValues, &str), resource: &Resource, findings: &mut Findings) {
    let mut names = resource.template.variables().iter().map(|variable| variable.name.as_str());
    let Some(other) = names.find(|name| *name != variable && resource.inputs().requires(name)) else { return };
    if of.uri {
        let words = format!("a whole URI of `{}` needs `{other}` too", *of.name);
        let fault = findings.report.error(Code::Conflict, of.name.at.span(), words);
        fault.help("leave out `uri`, and make the URI of several arguments");
    }
}

/// Whether a variable is completed by a resource that is completed by a resource, and so on in a circle.
fn is_circular(start: &Resource, (of, argument): (&ResourceValues, &str), resources: &[Resource]) -> bool {
    let mut at = (start, variable_of(start, of, argument));
    for _ in 0..=resources.len() {
        let Some(variable) = at.1 else { return false };
        let Some(Source::Resource(next)) = at.0.completions.get(variable) else { return false };
        let Some(resource) = resource_of(resources, next, &at.0.home) else { return false };
        at = (resource, variable_of(resource, next, variable));
    }
    true
}

/// What answers the URIs of a catalog.
#[derive(Clone, Copy)]
pub(in crate::catalog) struct Served<'a> {
    pub(in crate::catalog) resources: &'a [Resource],
    pub(in crate::catalog) routes: &'a Routes,
}

/// A file that is offered and cannot be read under the URI that is made of its path.
struct Unread<'a> {
    path: String,
    uri: String,
    /// What would have to have it.
    resource: &'a Resource,
}

impl<'a> Served<'a> {
    /// Warns of the first file of each glob that completes an argument and cannot be read under the URIs of its path.
    pub(in crate::catalog) fn check(
        self,
        owner: Owner<'_>,
        uris_with: &dyn Fn(&str, &str) -> Vec<String>,
        findings: &mut Findings,
    ) {
        for (argument, source) in owner.sources {
            let Source::Files(files) = source else { continue };
            let paths = files.paths().into_iter().take(MOST);
            let mut unread = paths.filter_map(|path| self.unread(path, &|path| uris_with(argument, path)));
            let Some(Unread { path, uri, resource }) = unread.next() else { continue };
            let words = format!("`{path}` is offered, and `{uri}` cannot be read");
            let fault = findings.report.warning(Code::UnknownReference, files.at.span(), words);
            fault.help(mend(resource, (owner, source), argument));
        }
    }

    fn unread(self, path: String, uris_of: &dyn Fn(&str) -> Vec<String>) -> Option<Unread<'a>> {
        uris_of(&path).into_iter().find_map(|uri| {
            let Some(Route::Resource(nth, values)) = self.routes.find(&uri) else { return None };
            let resource = self.resources.get(nth).filter(|resource| !resource.has(&values))?;
            Some(Unread { path: path.clone(), uri, resource })
        })
    }
}

/// What offers the files of a resource that can be read.
fn mend(resource: &Resource, (owner, source): (Owner<'_>, &Source), argument: &str) -> String {
    let own = resource.completions.values().any(|other| std::ptr::eq(other, source));
    if own && resource.completes_itself(argument) {
        return "leave out `complete`, and the files that can be read complete it".to_owned();
    }
    if !own && Arc::ptr_eq(&resource.home, owner.home) && resource.completed_variables().next().is_some() {
        return format!(
            "`complete: {{ resource: {} }}` offers those that can be read",
            owner.home.own_name(&resource.name).unwrap_or_default()
        );
    }
    "`base` and `stem` say how paths are told".to_owned()
}
