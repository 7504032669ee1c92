//! `tool`, `read` and `prompt`: the actions that use other entries of the pack.

use serde_json::{Map, Value};

use super::{
    ActionError, ActionKind, ActionNode, ActionOutcome, ArgumentTemplates, ClientUse, EntryReference, StepContext,
};
use crate::compile::{Compiler, Exposure, JsonTemplate};
use crate::diagnostic::Code;
use crate::template::{Scope, Shape, Template, UriSlot, value_to_text};
use crate::value_types::EntryReferenceSpec;
use crate::yaml::Spanned;

/// Calls another tool of this server.
pub struct ToolAction(pub(super) EntryInvocation);

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

    async fn execute(&self, context: &StepContext<'_>) -> Result<ActionOutcome, ActionError> {
        let arguments = self.0.render_arguments(context.scope)?;
        context.entry.call_tool(&self.0.name, arguments, *context).await
    }
}

/// Renders a prompt of this server.
pub struct PromptAction(pub(super) EntryInvocation);

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

    async fn execute(&self, context: &StepContext<'_>) -> Result<ActionOutcome, ActionError> {
        let mut arguments = self.0.render_arguments(context.scope)?;
        // MCP has prompt arguments as strings.
        arguments.values_mut().for_each(|value| *value = value_to_text(value).into_owned().into());
        context.entry.get_prompt(&self.0.name, arguments, *context).await
    }
}

/// Reads a resource of this server.
pub struct ReadAction(pub(super) Template<UriSlot>);

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

    async fn execute(&self, context: &StepContext<'_>) -> Result<ActionOutcome, ActionError> {
        let uri = self.0.render(context.scope)?.0;
        context.entry.read_resource(&uri, *context).await
    }
}

/// An entry by its name, with its arguments.
pub struct EntryInvocation {
    pub(super) name: String,
    arguments: Vec<(String, JsonTemplate)>,
}

impl EntryInvocation {
    /// Compiles the arguments of a reference. The catalog checks that the entry exists.
    fn compile(node: &ActionNode<'_, EntryReferenceSpec>, compiler: &mut Compiler<'_>) -> Option<EntryInvocation> {
        let keys = match &node.spec.value {
            EntryReferenceSpec::Name(name) => {
                return Some(EntryInvocation { name: name.clone(), arguments: Vec::new() });
            }
            EntryReferenceSpec::Keys(keys) => keys,
        };
        let arguments = keys.arguments.iter().map(|(name, value)| {
            (name.value.clone(), compiler.json_template(&value.0, value.location, Exposure::Client))
        });
        let arguments = arguments.collect();
        let Some(name) = &keys.name else {
            compiler.error(Code::MissingKey, node.key, format!("missing key `name` in `{}`", node.name));
            return None;
        };
        Some(EntryInvocation { name: name.value.clone(), arguments })
    }

    /// The arguments of a call; those without a value are left out.
    fn render_arguments(&self, scope: &Scope) -> Result<Map<String, Value>, ActionError> {
        let mut arguments = Map::new();
        for (name, template) in &self.arguments {
            if let Some(value) = template.render_present(scope)? {
                arguments.insert(name.clone(), value);
            }
        }
        Ok(arguments)
    }
}

/// The name and the arguments of a reference, if it has a name.
fn name_and_arguments(reference: &Spanned<EntryReferenceSpec>) -> Option<(Spanned<String>, ArgumentTemplates)> {
    let arguments = match &reference.value {
        EntryReferenceSpec::Name(_) => ArgumentTemplates::default(),
        EntryReferenceSpec::Keys(keys) => keys.arguments.clone(),
    };
    Some((reference.name(reference.location)?, arguments))
}
