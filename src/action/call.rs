//! `tool`: another tool of this server. Checked whole; not yet called.

use super::{Act, Written};
use crate::compile::{Compiler, Exposure};
use crate::diagnostic::Code;
use crate::notation::Reference;
use crate::template::Shape;

pub struct Tool;

impl Act for Tool {
    type Spec = Reference;
    const NOT_YET: bool = true;

    fn shape() -> Shape {
        Shape::object([("text", Shape::Text), ("structured", Shape::Any), ("isError", Shape::Boolean)])
    }

    fn compile(written: Written<'_, Reference>, compiler: &mut Compiler<'_>) -> Option<Tool> {
        check(&written, compiler);
        Some(Tool)
    }
}

/// Checks the arguments of a reference. Whether the entry exists is the catalog's to say.
pub(super) fn check(written: &Written<'_, Reference>, compiler: &mut Compiler<'_>) {
    let Reference::Keys(keys) = &written.spec.value else { return };
    if keys.name.is_none() {
        compiler.error(Code::MissingKey, written.key, "this needs a `name`");
    }
    for value in keys.arguments.values() {
        compiler.json(&value.0, value.at, Exposure::Client);
    }
}
