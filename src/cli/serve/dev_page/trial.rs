//! Answers `try`.

use std::ops::Range;

use serde_json::{Value, json};

use super::page_state::{PageState, redacted};
use crate::catalog::{ResultTrial, TrialError};
use crate::dev_page::{DevPageError, TryRequest};
use crate::diagnostic::SourceMap;

/// What a `select` or a template makes of the outcomes that are given.
///
/// # Errors
/// There is no such tool, or nothing comes of it.
pub(in crate::cli::serve) fn try_result(state: &PageState, request: &TryRequest) -> Result<Value, DevPageError> {
    let catalog = state.catalog.as_ref().ok_or_else(|| DevPageError::Failed("the manifest has errors".to_owned()))?;
    let trial = ResultTrial {
        tool: &request.tool,
        arguments: request.arguments.clone(),
        steps: request.steps.clone(),
        result: request.result.clone(),
        select: request.select.as_deref(),
        template: request.template.as_deref(),
    };
    let tried = catalog.try_result(trial).map_err(|error| match error {
        TrialError::InSelect { message, range } => in_text(request.select.as_deref(), message, &range),
        TrialError::InTemplate { message, range } => in_text(request.template.as_deref(), message, &range),
        TrialError::UnknownTool => DevPageError::Failed(format!("no tool `{}`", request.tool)),
        TrialError::Failed(message) => DevPageError::Failed(message),
    })?;
    let mut answer = json!({});
    if let Value::Object(fields) = &mut answer {
        fields.extend(tried.value.map(|value| ("value".to_owned(), value)));
        fields.extend(tried.text.map(|text| ("text".to_owned(), text.into())));
    }
    redacted(&answer, &state.redactor)
}

/// A mistake in a text that was sent.
fn in_text(text: Option<&str>, message: String, range: &Range<usize>) -> DevPageError {
    let mut sources = SourceMap::default();
    let file = sources.add("", text.unwrap_or_default());
    let offset = u32::try_from(range.start).unwrap_or(u32::MAX);
    let (line, column) = sources.get(file).map_or((1, 1), |source| {
        let position = source.position(offset);
        (position.line, position.column)
    });
    DevPageError::InText { message, line, column }
}
