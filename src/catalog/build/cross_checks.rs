//! Checks that need all entries: references, calls and completions between them.

use std::collections::HashSet;

use crate::catalog::build::call_check;
use crate::catalog::entry::entry_references::{EntryId, KnownEntries};
use crate::catalog::inputs::Inputs;
use crate::catalog::listing::Lists;
use crate::catalog::routes::{Route, Routes};
use crate::compile::LoadContext;
use crate::diagnostic::Code;
use crate::uri::{Router, UriTemplate};

use super::completion_checks::{ResourceLookup, check_sources};

use super::{CatalogBuilder, EntryNames, PackNode};

impl CatalogBuilder<'_> {
    /// Checks completions from resources.
    pub(super) fn check_completions(&self, routes: &Routes, load_context: &mut LoadContext) {
        let served = ResourceLookup { resources: &self.resources, routes };
        for prompt in self.prompts.values() {
            check_sources(prompt.completion_owner(), &self.resources, load_context);
            served.check_sources(
                prompt.completion_owner(),
                &|argument, value| prompt.embedded_uris_with(argument, value),
                load_context,
            );
        }
        for resource in &self.resources {
            check_sources(resource.completion_owner(), &self.resources, load_context);
            let uri_with = |variable: &str, value: &str| resource.uri_with(variable, value).into_iter().collect();
            served.check_sources(resource.completion_owner(), &uri_with, load_context);
        }
    }

    /// Checks references between entries, within a pack and to the packs that it imports.
    pub(super) fn check_references(&self, lists: &Lists, routes: &Routes, load_context: &mut LoadContext) {
        let has = |uri: &str| match routes.find(uri)? {
            Route::Resource(nth, values) => self.resources.get(nth).map(|resource| resource.file_exists(&values)),
            Route::Skill(_) => None,
        };
        let uris: Vec<String> = lists.resources.iter().map(|resource| resource.uri.clone()).collect();
        let naming = self.references.iter().enumerate().filter(|(_, references)| !references.names_nothing());
        for (number, references) in naming {
            let in_reach = |pack: usize| number == 0 || pack == number;
            let declared = self.declared_uris.iter().filter(|declared| in_reach(declared.pack));
            let templates: Vec<&UriTemplate> = declared.map(|declared| &declared.template).collect();
            let router = Router::new(templates.iter().map(|template| ((*template).clone(), ())));
            let has_route = |uri: &str| match uri.split_once("{{") {
                None => router.find(uri).is_some(),
                Some((beginning, _)) => templates.iter().any(|template| template.may_match_beginning(beginning)),
            };
            let with_variables = templates.iter().filter(|template| !template.is_literal());
            let uri_beginnings: Vec<&str> = with_variables.map(|template| template.literal_prefix()).collect();
            let EntryNames { tools, prompts, resources } = &self.reachable_names(number);
            let known = KnownEntries {
                has_route: &has_route,
                resource_exists: &has,
                uris: &uris,
                uri_beginnings: &uri_beginnings,
                names: [("tool", tools), ("prompt", prompts), ("resource", resources)],
            };
            references.check(&known, load_context);
        }
    }

    /// The names that entries of a pack can call: its own, and those of imported packs.
    fn reachable_names(&self, number: usize) -> EntryNames<String> {
        let mut reach = EntryNames::default();
        let importer = |pack: &usize| self.pack_nodes.get(*pack).and_then(|pack| pack.importer);
        let is_imported = |inner: usize| std::iter::successors(Some(inner), importer).any(|pack| pack == number);
        for (other, own) in self.names_by_pack.iter().enumerate().filter(|(other, _)| is_imported(*other)) {
            let (Some(PackNode { pack_context, .. }), Some(inner)) =
                (self.pack_nodes.get(number), self.pack_nodes.get(other))
            else {
                continue;
            };
            let name = |name: &&str| {
                let qualified = inner.pack_context.prefix.qualify(name);
                pack_context.prefix.strip(&qualified).map(str::to_owned)
            };
            reach.tools.extend(own.tools.iter().filter_map(name));
            reach.prompts.extend(own.prompts.iter().filter_map(name));
            reach.resources.extend(own.resources.iter().filter_map(name));
        }
        reach
    }

    /// Checks the arguments that steps and tests pass to entries.
    pub(super) fn check_calls(&self, load_context: &mut LoadContext) {
        // An entry that is missing without an error lacks a grant.
        let all_sound = !load_context.report.has_errors();
        for (number, (references, PackNode { pack_context, .. })) in
            self.references.iter().zip(&self.pack_nodes).enumerate()
        {
            for call in &references.calls {
                match self.find_inputs(&call.entry_id, &pack_context.prefix.qualify(call.entry_id.name())) {
                    Some(inputs) => call_check::check(call, inputs, load_context),
                    None if all_sound && number == 0 => call_check::report_not_granted(call, load_context),
                    None => {}
                }
            }
        }
    }

    /// Warns of hidden tools of the served manifest that no step calls.
    pub(super) fn warn_of_unused_tools(&self, load_context: &mut LoadContext) {
        let hidden = || self.tools.values().filter(|tool| tool.is_hidden && tool.pack_context.is_root_pack());
        if hidden().next().is_none() {
            return;
        }
        let calls = self.references.first().into_iter().flat_map(|references| &references.calls);
        let calls = calls.filter(|call| call.has_templates && call.entry_id.is_tool());
        let called: HashSet<&str> = calls.map(|call| call.entry_id.name()).collect();
        for name in hidden().map(|tool| &tool.listing.name).filter(|name| !called.contains(name.as_str())) {
            let Some(at) = self.tool_locations.get(name) else { continue };
            load_context
                .warning(Code::Unused, *at, format!("unused hidden tool `{name}`: no step calls it"))
                .help(format!("call it in a step, as `tool: {name}`, or remove `hidden`"));
        }
    }

    fn find_inputs(&self, entry_id: &EntryId, name: &str) -> Option<&Inputs> {
        if entry_id.is_resource() {
            return self.resources.iter().find(|resource| resource.key == name).map(|resource| &resource.inputs);
        }
        match entry_id.is_tool() {
            true => self.tools.get(name).map(|tool| &tool.inputs),
            false => self.prompts.get(name).map(|prompt| &prompt.inputs),
        }
    }
}
