//! `folio check`.

use super::request::load_and_build;
use super::sandbox_listing::list_sandboxes;
use super::{CheckArgs, Exit, Output};
use crate::diagnostic::render;
use crate::load::ManifestLocation;

/// Checks a manifest and says all that is wrong.
pub(super) fn run(arguments: &CheckArgs, output: &Output) -> anyhow::Result<Exit> {
    let built = load_and_build(&ManifestLocation::resolve(&arguments.path)?, output);
    output.print(&render(&built.report, arguments.format, output.style()))?;
    if arguments.verbose {
        output.print(&list_sandboxes(&built))?;
    }
    let failed = built.report.has_errors() || arguments.strict && built.report.has_warnings();
    Ok(if failed { Exit::Failure } else { Exit::Success })
}
