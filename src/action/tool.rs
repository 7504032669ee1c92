//! `tool`: another tool of this server.

use serde_json::{Map, Value};

use super::{ActionContext, ActionError, ActionKind, ActionNode, ActionOutcome, EntryCall};
use crate::compile::{Compiler, Exposure, JsonTemplate};
use crate::diagnostic::Code;
use crate::notation::Reference;
use crate::template::{Scope, Shape};

pub struct ToolAction(EntryInvocation);

impl ActionKind for ToolAction {
    type Spec = Reference;

    fn outcome_shape() -> Shape {
        Shape::object([("text", Shape::Text), ("structured", Shape::Any), ("isError", Shape::Boolean)])
    }

    fn compile(written: ActionNode<'_, Reference>, compiler: &mut Compiler<'_>) -> Option<ToolAction> {
        EntryInvocation::compile(&written, compiler).map(ToolAction)
    }

    fn has_side_effects(&self) -> bool {
        true
    }

    async fn execute(&self, doing: &ActionContext<'_>) -> Result<ActionOutcome, ActionError> {
        let arguments = self.0.render_arguments(doing.scope)?;
        doing.entries.call_tool(&self.0.name, arguments, EntryCall::from_context(doing)).await
    }
}

/// An entry by its name, with what it is given.
pub(super) struct EntryInvocation {
    pub(super) name: String,
    arguments: Vec<(String, JsonTemplate)>,
}

impl EntryInvocation {
    /// Checks the arguments of a reference. Whether the entry exists is the catalog's to say.
    pub(super) fn compile(written: &ActionNode<'_, Reference>, compiler: &mut Compiler<'_>) -> Option<EntryInvocation> {
        let keys = match &written.spec.value {
            Reference::Name(name) => return Some(EntryInvocation { name: name.clone(), arguments: Vec::new() }),
            Reference::Keys(keys) => keys,
        };
        let arguments = keys.arguments.iter();
        let arguments = arguments
            .map(|(name, value)| {
                (name.value.clone(), compiler.json_template(&value.0, value.location, Exposure::Client))
            })
            .collect();
        let Some(name) = &keys.name else {
            compiler.error(Code::MissingKey, written.key, format!("missing key `name` in `{}`", written.name));
            return None;
        };
        Some(EntryInvocation { name: name.value.clone(), arguments })
    }

    /// What the entry is given. An argument whose value is absent is left out.
    pub(super) fn render_arguments(&self, scope: &Scope) -> Result<Map<String, Value>, ActionError> {
        let mut arguments = Map::new();
        for (name, template) in &self.arguments {
            if let Some(value) = template.render_present(scope)? {
                arguments.insert(name.clone(), value);
            }
        }
        Ok(arguments)
    }
}
