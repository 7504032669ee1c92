//! Actions that this version checks and does not do: the plain sentence with which serving is refused.

use crate::compile::Compiler;
use crate::diagnostic::Code;
use crate::yaml::Location;

/// Reports that `what` is not done yet.
pub(super) fn report_unsupported(compiler: &mut Compiler<'_>, at: Location, what: &str) {
    compiler
        .error(Code::Unimplemented, at, format!("{what} is not acted on by this version of folio"))
        .help("it is checked; serving without it would not do what is written");
}
