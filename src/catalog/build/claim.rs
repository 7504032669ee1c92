//! Claims the names and URIs of entries, and reports those that others have.

use std::sync::Arc;

use indexmap::{IndexMap, map::Entry};

use crate::catalog::entry::{EntryBuildContext, PackContext};
use crate::catalog::listing::entry_name::{InvalidEntryName, check_entry_name, suggest_name};
use crate::catalog::resource::CompiledResource;
use crate::catalog::routes::DeclaredUri;
use crate::compile::{ArgumentScope, Compiler, LoadContext, NamePrefix};
use crate::diagnostic::{Code, Diagnostic};
use crate::manifest::Resource;
use crate::uri::{UriTemplate, normalize_uri};
use crate::value_types::NamedMap;
use crate::yaml::{Location, Spanned};

use super::{CatalogBuilder, PackBuild};

impl CatalogBuilder<'_> {
    /// Warns of a resource with the name of another, which a list does not tell apart.
    pub(super) fn warn_of_equal_names(
        &mut self,
        built: &CompiledResource,
        key: &Spanned<String>,
        name: Option<&Spanned<String>>,
        compiler: &mut Compiler<'_>,
    ) {
        let at = name.unwrap_or(key).location;
        if let Some(first) = self.resource_names.get(&built.info.name) {
            let message = format!("duplicate resource name `{}`", built.info.name);
            let diagnostic = compiler.warning(Code::Duplicate, at, message);
            diagnostic.help("users see two resources of one name: use another `name`, or a `title`");
            diagnostic.note(first.span(), "first used here");
            return;
        }
        self.resource_names.insert(built.info.name.clone(), at);
    }

    /// Reports URIs of skill files that others have.
    pub(super) fn claim_skill_uris(
        &mut self,
        at: Location,
        pack_context: &Arc<PackContext>,
        compiler: &mut Compiler<'_>,
    ) {
        for uri in self.skills.uris_of(pack_context) {
            let message = || format!("duplicate resource URI `{uri}` of a skill file");
            let key = normalize_uri(uri).into_owned();
            if claim(&mut self.uris, key, at, message, "first used here", compiler.load_context) {
                let pack = self.names_by_pack.len();
                let template = UriTemplate::parse(uri);
                self.declared_uris.extend(template.map(|template| DeclaredUri { pack, template, at }));
            }
        }
    }
}

/// Claims a name or a URI, or reports where another entry has it.
fn claim(
    taken: &mut IndexMap<String, Location>,
    key: String,
    at: Location,
    message: impl FnOnce() -> String,
    note: &str,
    load_context: &mut LoadContext,
) -> bool {
    match taken.entry(key) {
        Entry::Vacant(vacant) => {
            vacant.insert(at);
            true
        }
        Entry::Occupied(first) => {
            load_context.error(Code::Duplicate, at, message()).note(first.get().span(), note);
            false
        }
    }
}

/// Claims the name of an entry; returns whether it is the first with that name.
pub(super) fn start_entry<'a, 'c>(
    name: &Spanned<String>,
    pack_build: &'a mut PackBuild<'_>,
    compiler: &'a mut Compiler<'c>,
    taken: &mut IndexMap<String, Location>,
) -> (EntryBuildContext<'a, 'c>, bool) {
    let qualified = pack_build.pack_context.prefix.qualify(name);
    if let Err(rule) = check_entry_name(&qualified) {
        let prefix = &pack_build.pack_context.prefix;
        match prefix.location().filter(|_| check_entry_name(name).is_ok()) {
            Some(at) => report_prefix(prefix, at, &qualified, compiler),
            None => {
                let diagnostic = compiler.error(Code::BadName, name.location, format!("invalid name `{qualified}`"));
                let span = name.location.span();
                match suggest_name(name) {
                    // The name of a file is not written in it.
                    Some(near) if span.start == span.end => {
                        diagnostic.help(format!("rename the file to `{near}.md`: {rule}"))
                    }
                    Some(near) => diagnostic.help(format!("write `{near}`: {rule}")).suggest(span, near),
                    None => diagnostic.help(rule.to_string()),
                };
            }
        }
    }
    let is_first = claim_name(&qualified, name.location, taken, compiler.load_context);
    compiler.scope_shape = pack_build.pack_context.names.clone();
    compiler.arguments = ArgumentScope::default();
    compiler.reads_caller = false;
    let contents_before = compiler.load_context.content_digests.len();
    let PackBuild { references, pack_context, .. } = pack_build;
    (EntryBuildContext { compiler, references, pack_context, name: qualified, contents_before }, is_first)
}

/// Claims the name of an entry, or reports where another entry has it.
pub(super) fn claim_name(
    qualified: &str,
    at: Location,
    taken: &mut IndexMap<String, Location>,
    load_context: &mut LoadContext,
) -> bool {
    let message = || format!("duplicate name `{qualified}`");
    claim(taken, qualified.to_owned(), at, message, "first defined here", load_context)
}

/// Reports a prefix that makes an invalid name of a valid one, once.
fn report_prefix(prefix: &NamePrefix, at: Location, qualified: &str, compiler: &mut Compiler<'_>) {
    let is_reported = |diagnostic: &Diagnostic| diagnostic.code == Code::BadName && diagnostic.span == Some(at.span());
    if !compiler.load_context.report.diagnostics().iter().any(is_reported) {
        let message = format!("invalid prefix `{}`: it makes the name `{qualified}`", prefix.as_str());
        compiler.error(Code::BadName, at, message).help(format!("write another `prefix`: {InvalidEntryName}"));
    }
}

pub(super) fn claim_uri(
    built: &CompiledResource,
    resource: &Spanned<Resource>,
    uris: &mut IndexMap<String, Location>,
    compiler: &mut Compiler<'_>,
) -> bool {
    let at = resource.uri.as_ref().map_or(resource.location, |uri| uri.location);
    let message = || format!("duplicate resource URI `{}`", built.template.as_str());
    claim(uris, built.template.key(), at, message, "first used here", compiler.load_context)
}

/// Names of resources are for display: they only must not be empty.
pub(super) fn check_resource_names(resources: &NamedMap<Spanned<Resource>>, compiler: &mut Compiler<'_>) {
    let names = resources.values().filter_map(|resource| resource.name.as_ref());
    for name in resources.keys().chain(names).filter(|name| name.trim().is_empty()) {
        compiler.error(Code::BadName, name.location, "empty resource name");
    }
}
