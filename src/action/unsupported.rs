//! Reports features that are parsed but not supported yet.

use crate::compile::Compiler;
use crate::diagnostic::Code;
use crate::yaml::Location;

/// Reports that `what` is not supported yet.
pub(super) fn report_unsupported(compiler: &mut Compiler<'_>, at: Location, what: &str) {
    compiler
        .error(Code::Unimplemented, at, format!("{what} is not supported yet"))
        .help("remove it: this version checks it and does not run it");
}
