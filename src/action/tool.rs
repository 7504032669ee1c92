//! `tool`: calls another tool of this server.

use super::entry_invocation::{EntryInvocation, name_and_arguments};
use super::{ActionContext, ActionError, ActionKind, ActionNode, ActionOutcome, ClientUse, EntryReference};
use crate::compile::Compiler;
use crate::template::Shape;
use crate::value_types::EntryReferenceSpec;
use crate::yaml::Spanned;

pub struct ToolAction(EntryInvocation);

impl ToolAction {
    /// The name of the tool in its pack.
    pub(super) fn name(&self) -> &str {
        &self.0.name
    }
}

impl ActionKind for ToolAction {
    type Spec = EntryReferenceSpec;

    fn outcome_shape() -> Shape {
        Shape::object([("text", Shape::Text), ("structured", Shape::Any), ("isError", Shape::Boolean)])
    }

    fn reference(spec: &Spanned<EntryReferenceSpec>) -> Option<EntryReference> {
        name_and_arguments(spec).map(|(name, arguments)| EntryReference::Tool(name, arguments))
    }

    fn compile(node: ActionNode<'_, EntryReferenceSpec>, compiler: &mut Compiler<'_>) -> Option<ToolAction> {
        EntryInvocation::compile(&node, compiler).map(ToolAction)
    }

    fn has_side_effects(&self) -> bool {
        true
    }

    fn client_use(&self) -> ClientUse {
        ClientUse::CallsEntry
    }

    async fn execute(&self, context: &ActionContext<'_>) -> Result<ActionOutcome, ActionError> {
        let arguments = self.0.render_arguments(context.scope)?;
        context.run.entries.call_tool(&self.0.name, arguments, *context).await
    }
}
