//! `folio check`.

use super::environment::environment;
use super::request::load_with;
use super::sandbox_listing::list_sandboxes;
use super::{CheckArgs, Exit, Output};
use crate::diagnostic::{Format, render, sanitize};
use crate::load::ManifestLocation;

/// Checks a manifest and says all that is wrong.
pub(super) fn run(arguments: &CheckArgs, output: &Output) -> anyhow::Result<Exit> {
    let environment = environment(&[], arguments.workspace.as_deref());
    let built = load_with(&ManifestLocation::resolve(&arguments.path)?, &environment, output);
    output.print(&render(&built.report, arguments.format, output.style()))?;
    if arguments.verbose {
        output.print(&list_sandboxes(&built))?;
    }
    if let (Format::Text, Some(workspace)) = (arguments.format, &built.reads.workspace) {
        output.print(&format!("workspace: {}\n", sanitize(&workspace.to_string_lossy())))?;
    }
    let failed = built.report.has_errors() || arguments.strict && built.report.has_warnings();
    Ok(if failed { Exit::Failure } else { Exit::Success })
}
