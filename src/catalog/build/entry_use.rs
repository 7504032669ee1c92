//! What entries need of their callers because of the entries that they use: by steps, and by what they embed.
//!
//! Fixed scopes add up here. Roles, conditions and scopes that depend on arguments are checked when the entry is called.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use crate::action::{InvokedEntry, RunPlan};
use crate::catalog::access::EntryAccess;
use crate::catalog::entry::PackContext;
use crate::catalog::routes::{Route, Routes};
use crate::template::{Template, UriSlot};

use super::CatalogBuilder;

/// An entry that others may use.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum UsedEntry {
    Tool(String),
    Prompt(String),
    Resource(usize),
    SkillFile(String),
    /// One whose URI is only known at a call.
    AnyResource,
}

/// What an entry needs by all that it uses.
#[derive(Debug, Default)]
struct Needs {
    scopes: BTreeSet<String>,
    /// Whether it depends on who calls.
    is_private: bool,
}

impl CatalogBuilder<'_> {
    /// Adds to each entry what those need that it uses.
    pub(super) fn add_step_needs(&mut self, routes: &Routes) {
        if !self.depends_on_callers(routes) {
            return;
        }
        let tools: Vec<Needs> =
            self.tools.keys().map(|name| self.needs(UsedEntry::Tool(name.clone()), routes)).collect();
        let prompts: Vec<Needs> =
            self.prompts.keys().map(|name| self.needs(UsedEntry::Prompt(name.clone()), routes)).collect();
        let resources: Vec<Needs> =
            (0..self.resources.len()).map(|nth| self.needs(UsedEntry::Resource(nth), routes)).collect();
        for (tool, needs) in self.tools.values_mut().zip(tools) {
            add_scopes(&mut tool.access, needs.scopes);
        }
        for (prompt, needs) in self.prompts.values_mut().zip(prompts) {
            add_scopes(&mut prompt.access, needs.scopes);
        }
        for (resource, needs) in self.resources.iter_mut().zip(resources) {
            resource.is_private = needs.is_private;
            add_scopes(&mut resource.access, needs.scopes);
        }
    }

    /// Whether any entry does.
    fn depends_on_callers(&self, routes: &Routes) -> bool {
        self.tools.values().any(|tool| tool.access.is_some() || tool.reads_caller)
            || self.prompts.values().any(|prompt| prompt.access.is_some() || prompt.reads_caller)
            || self.resources.iter().any(|resource| resource.access.is_some() || resource.reads_caller)
            || routes.skills.has_access()
    }

    /// What an entry needs, and all that it uses.
    fn needs(&self, start: UsedEntry, routes: &Routes) -> Needs {
        let mut needs = Needs::default();
        let mut seen = HashSet::from([start.clone()]);
        let mut open = vec![start];
        while let Some(entry) = open.pop() {
            let (access, reads_caller) = self.own_access(&entry, routes);
            needs.is_private |= access.is_some() || reads_caller;
            needs.scopes.extend(access.iter().flat_map(|access| access.fixed_scopes().cloned()));
            let used = self.uses(&entry, routes);
            open.extend(used.into_iter().filter(|used| seen.insert(used.clone())));
        }
        needs
    }

    /// Who may use an entry, and whether its templates read who calls.
    fn own_access<'a>(&'a self, entry: &UsedEntry, routes: &'a Routes) -> (Option<&'a EntryAccess>, bool) {
        let own = match entry {
            UsedEntry::Tool(name) => self.tools.get(name).map(|tool| (tool.access.as_ref(), tool.reads_caller)),
            UsedEntry::Prompt(name) => {
                self.prompts.get(name).map(|prompt| (prompt.access.as_ref(), prompt.reads_caller))
            }
            UsedEntry::Resource(nth) => {
                self.resources.get(*nth).map(|resource| (resource.access.as_ref(), resource.reads_caller))
            }
            UsedEntry::SkillFile(uri) => routes.skills.file(uri).map(|file| (file.access.as_ref(), false)),
            UsedEntry::AnyResource => Some((None, true)),
        };
        own.map_or((None, false), |(access, reads_caller)| (access.map(AsRef::as_ref), reads_caller))
    }

    /// What an entry uses itself.
    fn uses(&self, entry: &UsedEntry, routes: &Routes) -> Vec<UsedEntry> {
        let (pack_context, plan, uris): (_, _, Vec<&Template<UriSlot>>) = match entry {
            UsedEntry::Tool(name) => match self.tools.get(name) {
                Some(tool) => (&tool.pack_context, tool.plan.as_ref(), tool.resource_uris().collect()),
                None => return Vec::new(),
            },
            UsedEntry::Prompt(name) => match self.prompts.get(name) {
                Some(prompt) => (&prompt.pack_context, prompt.plan.as_deref(), prompt.resource_uris().collect()),
                None => return Vec::new(),
            },
            UsedEntry::Resource(nth) => match self.resources.get(*nth) {
                Some(resource) => (&resource.pack_context, resource.plan(), resource.resource_uris().collect()),
                None => return Vec::new(),
            },
            UsedEntry::SkillFile(_) | UsedEntry::AnyResource => return Vec::new(),
        };
        let invoked = plan.into_iter().flat_map(RunPlan::invoked_entries);
        let embedded = uris.into_iter().map(InvokedEntry::Resource);
        invoked.chain(embedded).filter_map(|invoked| used_entry(&invoked, pack_context, routes)).collect()
    }
}

fn used_entry(invoked: &InvokedEntry<'_>, pack_context: &PackContext, routes: &Routes) -> Option<UsedEntry> {
    match invoked {
        InvokedEntry::Tool(name) => Some(UsedEntry::Tool(pack_context.prefix.qualify(name).to_string())),
        InvokedEntry::Prompt(name) => Some(UsedEntry::Prompt(pack_context.prefix.qualify(name).to_string())),
        InvokedEntry::Resource(uri) if uri.read_paths().is_empty() => {
            match routes.find_in_pack(pack_context, uri.source())? {
                Route::Resource(nth, _) => Some(UsedEntry::Resource(nth)),
                Route::Skill(file) => Some(UsedEntry::SkillFile(file.listing.uri.clone())),
            }
        }
        InvokedEntry::Resource(_) => Some(UsedEntry::AnyResource),
    }
}

fn add_scopes(access: &mut Option<Arc<EntryAccess>>, scopes: BTreeSet<String>) {
    if !scopes.is_empty() {
        let own = access.take().map(Arc::unwrap_or_clone).unwrap_or_default();
        *access = Some(Arc::new(own.with_step_scopes(scopes)));
    }
}
