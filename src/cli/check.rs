//! `folio check`.

use super::manifest::{built, find};
use super::{Check, Exit, Output};
use crate::diagnostic::render;

/// Checks a manifest and says all that is wrong.
pub(super) fn run(arguments: &Check, output: &Output) -> anyhow::Result<Exit> {
    let built = built(&find(&arguments.path)?, output);
    output.print(&render(&built.report, arguments.format, output.style()))?;
    let failed = built.report.has_errors() || arguments.strict && built.report.has_warnings();
    Ok(if failed { Exit::Failed } else { Exit::Success })
}
