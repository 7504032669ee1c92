//! `read`: a resource of this server. Checked whole; not yet read.

use super::{Act, Written};
use crate::compile::{Compiler, Exposure};
use crate::template::{Shape, Template, Uri};

pub struct Read;

impl Act for Read {
    type Spec = String;
    const NOT_YET: bool = true;

    fn shape() -> Shape {
        Shape::object([("text", Shape::Text), ("blob", Shape::Text), ("mimeType", Shape::Text)])
    }

    fn compile(written: Written<'_, String>, compiler: &mut Compiler<'_>) -> Option<Read> {
        let _: Template<Uri> = compiler.template(written.spec, Exposure::Client)?;
        Some(Read)
    }
}
