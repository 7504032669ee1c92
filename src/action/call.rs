//! `tool`: another tool of this server.

use serde_json::{Map, Value};

use super::{Act, Doing, Failure, Outcome, Visit, Written};
use crate::compile::{Compiler, Exposure, JsonTemplate};
use crate::diagnostic::Code;
use crate::notation::Reference;
use crate::template::{Scope, Shape};

pub struct Tool(Named);

impl Act for Tool {
    type Spec = Reference;

    fn outcome() -> Shape {
        Shape::object([("text", Shape::Text), ("structured", Shape::Any), ("isError", Shape::Boolean)])
    }

    fn compile(written: Written<'_, Reference>, compiler: &mut Compiler<'_>) -> Option<Tool> {
        Named::compile(&written, compiler).map(Tool)
    }

    fn changes(&self) -> bool {
        true
    }

    async fn act(&self, doing: &Doing<'_>) -> Result<Outcome, Failure> {
        let arguments = self.0.arguments(doing.scope)?;
        doing.entries.call(&self.0.name, arguments, Visit::of(doing)).await
    }
}

/// An entry by its name, with what it is given.
pub(super) struct Named {
    pub(super) name: String,
    arguments: Vec<(String, JsonTemplate)>,
}

impl Named {
    /// Checks the arguments of a reference. Whether the entry exists is the catalog's to say.
    pub(super) fn compile(written: &Written<'_, Reference>, compiler: &mut Compiler<'_>) -> Option<Named> {
        let keys = match &written.spec.value {
            Reference::Name(name) => return Some(Named { name: name.clone(), arguments: Vec::new() }),
            Reference::Keys(keys) => keys,
        };
        let arguments = keys.arguments.iter();
        let arguments = arguments
            .map(|(name, value)| (name.value.clone(), compiler.json(&value.0, value.at, Exposure::Client)))
            .collect();
        let Some(name) = &keys.name else {
            compiler.error(Code::MissingKey, written.key, "this needs a `name`");
            return None;
        };
        Some(Named { name: name.value.clone(), arguments })
    }

    /// What the entry is given. An argument whose value is absent is left out.
    pub(super) fn arguments(&self, scope: &Scope) -> Result<Map<String, Value>, Failure> {
        let mut arguments = Map::new();
        for (name, template) in &self.arguments {
            if let Some(value) = template.render_present(scope)? {
                arguments.insert(name.clone(), value);
            }
        }
        Ok(arguments)
    }
}
