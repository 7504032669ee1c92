//! `sleep`: waits. Checked whole; not yet done.

use super::{Act, Written};
use crate::compile::{Compiler, Exposure};
use crate::diagnostic::Code;
use crate::notation::Scalar;
use crate::template::{Shape, Template, Text};
use crate::yaml::Spanned;

pub struct Sleep;

impl Act for Sleep {
    type Spec = Scalar;
    const NOT_YET: bool = true;

    fn shape() -> Shape {
        Shape::Any
    }

    fn compile(written: Written<'_, Scalar>, compiler: &mut Compiler<'_>) -> Option<Sleep> {
        let text = Spanned::new(written.spec.value.0.clone(), written.spec.at);
        let _: Template<Text> = compiler.template(&text, Exposure::Private)?;
        let literal = !text.contains("{{");
        if literal && crate::yaml::milliseconds(&text).is_none() {
            compiler.error(Code::WrongType, text.at, "expected a duration such as `250ms`, `10s`, `5m` or `1h`");
        }
        Some(Sleep)
    }
}
