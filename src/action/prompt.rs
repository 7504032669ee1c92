//! `prompt`: renders a prompt of this server.

use super::entry_invocation::{EntryInvocation, name_and_arguments};
use super::{ActionContext, ActionError, ActionKind, ActionNode, ActionOutcome, ClientUse, EntryReference};
use crate::compile::Compiler;
use crate::template::{Shape, value_to_text};
use crate::value_types::EntryReferenceSpec;
use crate::yaml::Spanned;

pub struct PromptAction(EntryInvocation);

impl PromptAction {
    /// The name of the prompt in its pack.
    pub(super) fn name(&self) -> &str {
        &self.0.name
    }
}

impl ActionKind for PromptAction {
    type Spec = EntryReferenceSpec;

    fn outcome_shape() -> Shape {
        Shape::object([("text", Shape::Text), ("messages", Shape::Any)])
    }

    fn reference(spec: &Spanned<EntryReferenceSpec>) -> Option<EntryReference> {
        name_and_arguments(spec).map(|(name, arguments)| EntryReference::Prompt(name, arguments))
    }

    fn compile(node: ActionNode<'_, EntryReferenceSpec>, compiler: &mut Compiler<'_>) -> Option<PromptAction> {
        EntryInvocation::compile(&node, compiler).map(PromptAction)
    }

    fn client_use(&self) -> ClientUse {
        ClientUse::CallsEntry
    }

    async fn execute(&self, context: &ActionContext<'_>) -> Result<ActionOutcome, ActionError> {
        let mut arguments = self.0.render_arguments(context.scope)?;
        // MCP has prompt arguments as strings.
        arguments.values_mut().for_each(|value| *value = value_to_text(value).into_owned().into());
        context.run.entries.get_prompt(&self.0.name, arguments, *context).await
    }
}
