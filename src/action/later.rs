//! Actions that this version checks and does not do: the plain sentence with which serving is refused.

use crate::compile::Compiler;
use crate::diagnostic::Code;
use crate::yaml::At;

/// Reports that `what` is not done yet.
pub(super) fn refuse(compiler: &mut Compiler<'_>, at: At, what: &str) {
    compiler
        .error(Code::NotYet, at, format!("{what} is not acted on by this version of folio"))
        .help("it is checked; serving without it would not do what is written");
}
