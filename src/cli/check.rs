//! `folio check`.

use super::manifest::{built, find};
use super::{Check, Exit, Output};
use crate::diagnostic::{Severity, render};

/// Checks a manifest and says all that is wrong.
pub(super) fn run(arguments: &Check, output: &Output) -> anyhow::Result<Exit> {
    let built = built(&find(&arguments.path)?, output);
    output.print(&render(&built.report, arguments.format, output.style()))?;
    let warned = built.report.diagnostics().iter().any(|diagnostic| diagnostic.severity == Severity::Warning);
    let failed = built.report.has_errors() || arguments.strict && warned;
    Ok(if failed { Exit::Failed } else { Exit::Success })
}
