//! What `tool` and `prompt` share: an entry by its name, with its arguments.

use serde_json::{Map, Value};

use super::{ActionError, ActionNode, ArgumentTemplates};
use crate::compile::{Compiler, Exposure, JsonTemplate};
use crate::diagnostic::Code;
use crate::template::Scope;
use crate::value_types::EntryReferenceSpec;
use crate::yaml::Spanned;

/// An entry by its name, with its arguments.
pub(super) struct EntryInvocation {
    pub(super) name: String,
    arguments: Vec<(String, JsonTemplate)>,
}

impl EntryInvocation {
    /// Compiles the arguments of a reference. The catalog checks that the entry exists.
    pub(super) fn compile(
        node: &ActionNode<'_, EntryReferenceSpec>,
        compiler: &mut Compiler<'_>,
    ) -> Option<EntryInvocation> {
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

/// The name and the arguments of a reference, if it has a name.
pub(super) fn name_and_arguments(
    reference: &Spanned<EntryReferenceSpec>,
) -> Option<(Spanned<String>, ArgumentTemplates)> {
    let arguments = match &reference.value {
        EntryReferenceSpec::Name(_) => ArgumentTemplates::default(),
        EntryReferenceSpec::Keys(keys) => keys.arguments.clone(),
    };
    Some((reference.name(reference.location)?, arguments))
}
