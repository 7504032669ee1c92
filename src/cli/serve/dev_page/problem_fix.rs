//! Answers `fix`: applies the certain fix of one problem.

use std::sync::Arc;

use serde_json::{Value, json};

use super::page_state::{PageState, is_fixable, redacted};
use crate::catalog::build;
use crate::cli::check::is_better;
use crate::cli::text_file::replace_text;
use crate::compile::FileBuffers;
use crate::dev_page::{DevPageError, FixRequest, lines_around_changes};
use crate::diagnostic::SourceFile;
use crate::load::{EnvSource, ManifestLocation, load_buffers};

/// Shows what the fix of a problem changes, and writes it where that is asked.
///
/// # Errors
/// The page shows another state, the problem has no certain fix, more would be wrong after it, or the file cannot be
/// written.
pub(in crate::cli::serve) fn fix_problem(
    state: &Arc<PageState>,
    location: &ManifestLocation,
    request: &FixRequest,
) -> Result<Value, DevPageError> {
    let failed = |message: &str| DevPageError::Failed(message.to_owned());
    if request.digest.as_ref().is_some_and(|digest| *digest != state.digest()) {
        return Err(failed("the files have changed since: look at the problem again"));
    }
    let problem = state.report.diagnostics().get(request.problem).ok_or_else(|| failed("no such problem"))?;
    let fix = problem.fix.as_ref().filter(|fix| is_fixable(&state.report, fix));
    let fix = fix.ok_or_else(|| failed("the problem has no certain fix"))?;
    let source = state.report.sources.get(fix.span.file).ok_or_else(|| failed("no such file"))?;
    let mut text = source.text().to_string();
    let range = fix.span.start as usize..fix.span.end as usize;
    if text.get(range.clone()).is_none() {
        return Err(failed("the fix is for another text"));
    }
    text.replace_range(range, &fix.text);
    check_fixed(state, location, source, &text)?;
    if request.write {
        write(source, &text)?;
    }
    let diff = lines_around_changes(source.text(), &text);
    let answer = json!({ "file": source.path(), "path": state.absolute_path(source), "diff": diff });
    redacted(&answer, &state.redactor)
}

/// Refuses a fix after which more is wrong than before.
fn check_fixed(
    state: &PageState,
    location: &ManifestLocation,
    source: &SourceFile,
    text: &str,
) -> Result<(), DevPageError> {
    let mut buffers = FileBuffers::default();
    let inserted = buffers.insert_file(source.path(), text.as_bytes());
    inserted.map_err(|error| DevPageError::Failed(error.to_string()))?;
    let fixed = build(load_buffers(location, &EnvSource::Process, &buffers)).report;
    let unfixed = build(load_buffers(location, &EnvSource::Process, &FileBuffers::default())).report;
    // What only a served manifest is refused for counts the same in both.
    let is_worse = !is_better(&fixed, &unfixed) && !is_better(&fixed, &state.report);
    if is_worse { Err(DevPageError::Failed("more would be wrong after it".to_owned())) } else { Ok(()) }
}

/// Writes a file of the manifest, unless it has changed since it was loaded.
pub(super) fn write(source: &SourceFile, text: &str) -> Result<(), DevPageError> {
    replace_text(source.path(), source.text(), text)
        .map_err(|error| DevPageError::Failed(format!("cannot write `{}`: {error:#}", source.path().display())))
}
