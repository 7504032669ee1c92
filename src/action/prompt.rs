//! `prompt`: a prompt of this server. Checked whole; not yet rendered.

use super::{Act, Written, call};
use crate::compile::Compiler;
use crate::notation::Reference;
use crate::template::Shape;

pub struct Prompt;

impl Act for Prompt {
    type Spec = Reference;
    const NOT_YET: bool = true;

    fn shape() -> Shape {
        Shape::object([("text", Shape::Text), ("messages", Shape::Any)])
    }

    fn compile(written: Written<'_, Reference>, compiler: &mut Compiler<'_>) -> Option<Prompt> {
        call::check(&written, compiler);
        Some(Prompt)
    }
}
