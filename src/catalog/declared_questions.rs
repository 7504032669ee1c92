//! The questions that a call may ask its client, as the manifest declares them.

use crate::action::{DeclaredQuestion, InvokedEntry, RunPlan};

use super::Catalog;
use super::entry::PackContext;
use super::routes::Route;

/// The run of an entry, and the pack whose names its steps use.
#[derive(Clone, Copy)]
struct EntryRun<'a> {
    plan: &'a RunPlan,
    pack_context: &'a PackContext,
}

impl Catalog {
    /// The questions that a call may ask, by its method and the name or URI that is called: those of its steps, and of
    /// the entries that they use.
    pub fn declared_questions(&self, method: &str, name: &str) -> Vec<DeclaredQuestion<'_>> {
        let mut runs: Vec<EntryRun<'_>> = self.entry_run(method, name).into_iter().collect();
        let mut at = 0;
        while let Some(run) = runs.get(at).copied() {
            for invoked in run.plan.invoked_entries().flat_map(|entry| self.invoked_runs(entry, run.pack_context)) {
                if !runs.iter().any(|known| std::ptr::eq(known.plan, invoked.plan)) {
                    runs.push(invoked);
                }
            }
            at += 1;
        }
        runs.iter().flat_map(|run| run.plan.declared_questions()).collect()
    }

    fn entry_run(&self, method: &str, name: &str) -> Option<EntryRun<'_>> {
        match method {
            "tools/call" => self.listed_tool(name).and_then(|_| self.tool_run(name)),
            "prompts/get" => self.prompt_run(name),
            _ => self.find_resource(name).and_then(|(resource, _)| resource.entry_run()),
        }
    }

    fn tool_run(&self, name: &str) -> Option<EntryRun<'_>> {
        let tool = self.tools.get(name)?;
        Some(EntryRun { plan: tool.plan.as_ref()?, pack_context: &tool.pack_context })
    }

    fn prompt_run(&self, name: &str) -> Option<EntryRun<'_>> {
        let prompt = self.prompts.get(name)?;
        Some(EntryRun { plan: prompt.plan.as_ref()?, pack_context: &prompt.pack_context })
    }

    /// The runs of what a step of a pack uses: of every resource, where its URI is only known at the call.
    fn invoked_runs(&self, entry: InvokedEntry<'_>, pack_context: &PackContext) -> Vec<EntryRun<'_>> {
        match entry {
            InvokedEntry::Tool(name) => self.tool_run(&pack_context.prefix.qualify(name)).into_iter().collect(),
            InvokedEntry::Prompt(name) => self.prompt_run(&pack_context.prefix.qualify(name)).into_iter().collect(),
            InvokedEntry::Resource(uri) if uri.read_paths().is_empty() => {
                let Some(Route::Resource(nth, _)) = self.routes.find_in_pack(pack_context, uri.source()) else {
                    return Vec::new();
                };
                self.resources.get(nth).and_then(|resource| resource.entry_run()).into_iter().collect()
            }
            InvokedEntry::Resource(_) => self.resources.iter().filter_map(|resource| resource.entry_run()).collect(),
        }
    }
}

impl super::resource::CompiledResource {
    fn entry_run(&self) -> Option<EntryRun<'_>> {
        Some(EntryRun { plan: self.plan()?, pack_context: &self.pack_context })
    }
}
