//! `prompt`: a prompt of this server.

use super::tool::EntryInvocation;
use super::{ActionContext, ActionError, ActionKind, ActionNode, ActionOutcome, EntryCall};
use crate::compile::Compiler;
use crate::notation::Reference;
use crate::template::{Shape, value_to_text};

pub struct PromptAction(EntryInvocation);

impl ActionKind for PromptAction {
    type Spec = Reference;

    fn outcome_shape() -> Shape {
        Shape::object([("text", Shape::Text), ("messages", Shape::Any)])
    }

    fn compile(written: ActionNode<'_, Reference>, compiler: &mut Compiler<'_>) -> Option<PromptAction> {
        EntryInvocation::compile(&written, compiler).map(PromptAction)
    }

    async fn execute(&self, doing: &ActionContext<'_>) -> Result<ActionOutcome, ActionError> {
        let mut arguments = self.0.render_arguments(doing.scope)?;
        // A prompt's values are texts.
        arguments.values_mut().for_each(|value| *value = value_to_text(value).into_owned().into());
        doing.entries.get_prompt(&self.0.name, arguments, EntryCall::from_context(doing)).await
    }
}
