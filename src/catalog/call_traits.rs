//! What calls of an entry do, known before one begins.

use crate::action::RunPlan;
use crate::template::{Template, UriSlot};

use super::{Catalog, inputs::Inputs, resource::CompiledResource, routes::Route};

/// What a call of an entry may do, by itself and by the resources that it embeds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallTraits {
    /// Whether it runs actions, and not only renders.
    pub runs_actions: bool,
    /// Whether it asks or tells its client anything, or depends on what that can do.
    pub uses_client: bool,
    /// Whether it begins before later requests are read: it waits for nothing, or counts towards a limit in its order.
    pub begins_at_once: bool,
}

impl CallTraits {
    /// There is no such entry, which is said at once.
    const OF_NO_ENTRY: CallTraits = CallTraits { runs_actions: false, uses_client: false, begins_at_once: true };

    /// Those of an entry with this run and these inputs, which embeds nothing.
    pub(super) fn new(plan: Option<&RunPlan>, inputs: &Inputs) -> CallTraits {
        CallTraits {
            runs_actions: plan.is_some(),
            uses_client: plan.is_some_and(RunPlan::uses_client) || inputs.asks_for_roots(),
            begins_at_once: plan.is_none(),
        }
    }

    fn with_embedded(mut self, embedded: CallTraits) -> CallTraits {
        self.runs_actions |= embedded.runs_actions;
        self.uses_client |= embedded.uses_client;
        self.begins_at_once &= !embedded.runs_actions;
        self
    }
}

impl Catalog {
    /// What a client's call of a tool does.
    pub fn tool_traits(&self, name: &str) -> CallTraits {
        self.listed_tool(name).map_or(CallTraits::OF_NO_ENTRY, |tool| tool.traits)
    }

    /// What rendering a prompt does.
    pub fn prompt_traits(&self, name: &str) -> CallTraits {
        self.prompts.get(name).map_or(CallTraits::OF_NO_ENTRY, |prompt| prompt.traits)
    }

    /// What reading a URI does.
    pub fn resource_traits(&self, uri: &str) -> CallTraits {
        match self.routes.find(uri) {
            Some(Route::Resource(nth, _)) => {
                self.resources.get(nth).map_or(CallTraits::OF_NO_ENTRY, CompiledResource::traits_now)
            }
            Some(Route::Skill(_)) => CallTraits::default(),
            None => CallTraits::OF_NO_ENTRY,
        }
    }

    /// Sets what calls of entries do, once all of them are there.
    pub(super) fn set_call_traits(&mut self) {
        for resource in &mut self.resources {
            resource.traits = CallTraits::new(resource.plan(), &resource.inputs);
        }
        let any = self.resources.iter().fold(CallTraits::OF_NO_ENTRY, |any, one| any.with_embedded(one.traits));
        // What it embeds may embed others.
        for resource in self.resources.iter_mut().filter(|resource| resource.resource_uris().next().is_some()) {
            resource.traits = resource.traits.with_embedded(any);
        }
        let tools: Vec<CallTraits> = self
            .tools
            .values()
            .map(|tool| {
                let own = CallTraits::new(tool.plan.as_ref(), &tool.inputs);
                let mut traits = self.with_resources(own, tool.resource_uris(), any);
                traits.uses_client |= tool.has_queue() || tool.requires.is_some();
                traits.begins_at_once |= tool.limit.is_some();
                traits
            })
            .collect();
        let prompts: Vec<CallTraits> = self
            .prompts
            .values()
            .map(|prompt| {
                let own = CallTraits::new(prompt.plan.as_deref(), &prompt.inputs);
                self.with_resources(own, prompt.resource_uris(), any)
            })
            .collect();
        self.tools.values_mut().zip(tools).for_each(|(tool, traits)| tool.traits = traits);
        self.prompts.values_mut().zip(prompts).for_each(|(prompt, traits)| prompt.traits = traits);
    }

    /// Adds what these resources do: `any` where it is only known at a call which one it is.
    fn with_resources<'a>(
        &self,
        own: CallTraits,
        uris: impl Iterator<Item = &'a Template<UriSlot>>,
        any: CallTraits,
    ) -> CallTraits {
        let traits_of = |uri: &Template<UriSlot>| match self.routes.find(uri.literal()?)? {
            Route::Resource(nth, _) => self.resources.get(nth).map(|resource| resource.traits),
            Route::Skill(_) => Some(CallTraits::OF_NO_ENTRY),
        };
        uris.fold(own, |traits, uri| traits.with_embedded(traits_of(uri).unwrap_or(any)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::tests::CatalogFixture;

    #[test]
    fn calls_do_what_their_entry_and_what_it_embeds_do() {
        let fixture = CatalogFixture::new(
            r#"
tools:
  plain: { description: d, result: { text: x } }
  acts: { description: d, run: { exec: ["true"] } }
  limited: { description: d, rateLimit: { calls: 5, per: 1s }, run: { exec: ["true"] } }
  queued: { description: d, concurrency: { calls: 1, queue: 5 }, run: { exec: ["true"] } }
  asks: { description: d, run: { ask: { a: { elicit: { message: m, schema: { a: {} } } } } } }
  embeds: { description: d, result: { content: [{ resource: "t://made" }] } }
  embeds-text: { description: d, result: { content: [{ resource: "t://text" }] } }
  embeds-outer: { description: d, result: { content: [{ resource: "t://outer" }] } }
  embeds-made-up: { description: d, result: { content: [{ resource: "t://{{lower 'MADE'}}" }] } }
prompts:
  plain: { text: x }
  chooses: { arguments: { a: {} }, messages: [{ user: { resource: "t://{{a}}" } }] }
resources:
  made: { uri: "t://made", run: { ask: { a: { elicit: { message: m, schema: { a: {} } } } } } }
  outer: { uri: "t://outer", run: { exec: ["true"] }, result: { content: [{ resource: "t://made" }] } }
  text: { uri: "t://text", text: x }
"#,
        );
        let catalog = &fixture.catalog;
        let traits =
            |runs_actions, uses_client, begins_at_once| CallTraits { runs_actions, uses_client, begins_at_once };
        for (found, expected) in [
            (catalog.tool_traits("plain"), traits(false, false, true)),
            (catalog.tool_traits("acts"), traits(true, false, false)),
            (catalog.tool_traits("limited"), traits(true, false, true)),
            (catalog.tool_traits("queued"), traits(true, true, true)),
            (catalog.tool_traits("asks"), traits(true, true, false)),
            (catalog.tool_traits("embeds"), traits(true, true, false)),
            (catalog.tool_traits("embeds-text"), traits(false, false, true)),
            (catalog.tool_traits("embeds-outer"), traits(true, true, false)),
            (catalog.tool_traits("embeds-made-up"), traits(true, true, false)),
            (catalog.tool_traits("none"), traits(false, false, true)),
            (catalog.prompt_traits("plain"), traits(false, false, true)),
            (catalog.prompt_traits("chooses"), traits(true, true, false)),
            (catalog.resource_traits("t://made"), traits(true, true, false)),
            (catalog.resource_traits("t://outer"), traits(true, true, false)),
            (catalog.resource_traits("t://text"), traits(false, false, true)),
        ] {
            assert_eq!(found, expected);
        }
    }
}
