//! `read`: a resource of this server.

use super::{ActionContext, ActionError, ActionKind, ActionNode, ActionOutcome, EntryCall};
use crate::compile::{Compiler, Exposure};
use crate::template::{Shape, Template, Uri};

pub struct ReadAction(Template<Uri>);

impl ActionKind for ReadAction {
    type Spec = String;

    fn outcome_shape() -> Shape {
        Shape::object([("text", Shape::Text), ("blob", Shape::Text), ("mimeType", Shape::Text)])
    }

    fn compile(written: ActionNode<'_, String>, compiler: &mut Compiler<'_>) -> Option<ReadAction> {
        compiler.template(written.spec, Exposure::Client).map(ReadAction)
    }

    async fn execute(&self, doing: &ActionContext<'_>) -> Result<ActionOutcome, ActionError> {
        let uri = self.0.render(doing.scope)?.0;
        doing.entries.read_resource(&uri, EntryCall::from_context(doing)).await
    }
}
