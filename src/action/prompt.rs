//! `prompt`: a prompt of this server.

use super::call::Named;
use super::{Act, Doing, Failure, Outcome, Visit, Written};
use crate::compile::Compiler;
use crate::notation::Reference;
use crate::template::{Shape, text_of};

pub struct Prompt(Named);

impl Act for Prompt {
    type Spec = Reference;

    fn outcome() -> Shape {
        Shape::object([("text", Shape::Text), ("messages", Shape::Any)])
    }

    fn compile(written: Written<'_, Reference>, compiler: &mut Compiler<'_>) -> Option<Prompt> {
        Named::compile(&written, compiler).map(Prompt)
    }

    async fn act(&self, doing: &Doing<'_>) -> Result<Outcome, Failure> {
        let mut arguments = self.0.arguments(doing.scope)?;
        // A prompt's values are texts.
        arguments.values_mut().for_each(|value| *value = text_of(value).into_owned().into());
        doing.entries.get(&self.0.name, arguments, Visit::of(doing)).await
    }
}
