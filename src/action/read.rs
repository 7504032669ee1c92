//! `read`: a resource of this server.

use super::{Act, Doing, Failure, Outcome, Visit, Written};
use crate::compile::{Compiler, Exposure};
use crate::template::{Shape, Template, Uri};

pub struct Read(Template<Uri>);

impl Act for Read {
    type Spec = String;

    fn outcome() -> Shape {
        Shape::object([("text", Shape::Text), ("blob", Shape::Text), ("mimeType", Shape::Text)])
    }

    fn compile(written: Written<'_, String>, compiler: &mut Compiler<'_>) -> Option<Read> {
        compiler.template(written.spec, Exposure::Client).map(Read)
    }

    async fn act(&self, doing: &Doing<'_>) -> Result<Outcome, Failure> {
        let uri = self.0.render(doing.scope)?.0;
        doing.entries.read(&uri, Visit::of(doing)).await
    }
}
