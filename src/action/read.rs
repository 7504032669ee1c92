//! `read`: reads a resource of this server.

use super::{ActionContext, ActionError, ActionKind, ActionNode, ActionOutcome, ClientUse, EntryReference};
use crate::compile::{Compiler, Exposure};
use crate::template::{Shape, Template, UriSlot};
use crate::yaml::Spanned;

pub struct ReadAction(Template<UriSlot>);

impl ReadAction {
    /// The URI that it reads.
    pub(super) fn uri(&self) -> &Template<UriSlot> {
        &self.0
    }
}

impl ActionKind for ReadAction {
    type Spec = String;

    fn outcome_shape() -> Shape {
        Shape::object([("text", Shape::Text), ("blob", Shape::Text), ("mimeType", Shape::Text)])
    }

    fn reference(uri: &Spanned<String>) -> Option<EntryReference> {
        Some(EntryReference::Resource(uri.clone()))
    }

    fn compile(node: ActionNode<'_, String>, compiler: &mut Compiler<'_>) -> Option<ReadAction> {
        compiler.template(node.spec, Exposure::Client).map(ReadAction)
    }

    fn client_use(&self) -> ClientUse {
        ClientUse::CallsEntry
    }

    async fn execute(&self, context: &ActionContext<'_>) -> Result<ActionOutcome, ActionError> {
        let uri = self.0.render(context.scope)?.0;
        context.run.entries.read_resource(&uri, *context).await
    }
}
