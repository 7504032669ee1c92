//! Renders with Handlebars, within limits.

use std::borrow::Cow;
use std::cell::RefCell;

use handlebars::{Context, Handlebars, JsonTruthy, Output, RenderContext, RenderErrorReason, Renderable};
use jiff::Timestamp;
use serde_json::Value;

use super::limit::{MAX_ITERATIONS, MAX_OUTPUT_BYTES};
use super::missing_output::MissingValue;
use crate::budget::{self, Budget, BudgetExceeded};

/// Why rendering failed. No message contains a value, so that clients may see it, but the beginning of an output, which is
/// redacted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// The output, or a part of it, is too large.
    #[error("text exceeds {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// All loops together have too many iterations.
    #[error("too many loop iterations: limit {limit}")]
    TooManyIterations { limit: u64 },
    /// The slot rejects a value.
    #[error("`{variable}` {reason}")]
    Refused {
        /// The variable, or the whole expression.
        variable: String,
        /// The reason: "contains a line break".
        reason: &'static str,
    },
    /// A helper rejects its arguments.
    #[error("`{helper}`: {reason}")]
    Helper { helper: &'static str, reason: &'static str },
    /// The output of an action is read as JSON or as text, and is not.
    #[error("`{path}` is {found}; use `{other}` for {other_form}")]
    OutputMismatch {
        /// The path that is read.
        path: String,
        /// What the output is instead.
        found: String,
        /// The path of the output in the form that it has.
        other: String,
        /// This form, in words.
        other_form: &'static str,
    },
    /// The text of an output has a note at its end, which is not part of the output.
    #[error("`{path}` ends with the note `{note}` and cannot be used as a value: {fix}")]
    OutputNote {
        /// The path of the text.
        path: String,
        note: String,
        /// What to do instead.
        fix: String,
    },
    /// The budget of the call is exhausted.
    #[error(transparent)]
    BudgetExceeded(#[from] BudgetExceeded),
    /// The values do not have the shapes of the check.
    #[error("values do not match their declared shapes")]
    ShapeMismatch,
}

/// A value as text: empty for null, JSON for lists and objects.
pub fn value_to_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => Cow::Borrowed(""),
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

/// Whether a value is true to Handlebars: not `""`, `0`, `false`, `null`, `[]`, `{}`. The string "false" is true.
pub fn is_truthy(value: &Value) -> bool {
    value.is_truthy(false)
}

/// How interpolations print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrintMode {
    /// Unchanged.
    Plain,
    /// Between marks with the label of the value.
    Marked,
    /// Percent-encoded, between marks.
    Encoded,
    /// Captured as a value, not written.
    Captured,
}

/// The byte around labels and values. Texts and values that are rendered with marks must not contain it.
pub(super) const MARK: char = '\0';

/// The state of a rendering, for helpers.
struct RenderState {
    mode: PrintMode,
    iterations: u64,
    now: Option<Timestamp>,
    captured: Option<Value>,
    /// The paths that have no value because of an output.
    missing_values: Vec<(String, MissingValue)>,
}

thread_local! {
    /// Set during one synchronous rendering: Handlebars cannot pass state to helpers.
    static STATE: RefCell<Option<RenderState>> = const { RefCell::new(None) };
}

/// Clears the state when a rendering ends.
struct StateGuard;

impl Drop for StateGuard {
    fn drop(&mut self) {
        STATE.with_borrow_mut(|state| *state = None);
    }
}

pub(super) fn mode() -> PrintMode {
    STATE.with_borrow(|state| state.as_ref().map_or(PrintMode::Plain, |state| state.mode))
}

pub(super) fn now() -> Timestamp {
    STATE.with_borrow(|state| state.as_ref().and_then(|state| state.now)).unwrap_or_else(Timestamp::now)
}

pub(super) fn capture(value: &Value) {
    STATE.with_borrow_mut(|state| {
        if let Some(state) = state {
            state.captured = Some(value.clone());
        }
    });
}

/// Why a path has no value, where that is because of an output.
pub(super) fn missing_value(path: &str) -> Option<MissingValue> {
    STATE.with_borrow(|state| {
        let known = &state.as_ref()?.missing_values;
        known.iter().find(|(known, _)| known == path).map(|(_, why)| why.clone())
    })
}

/// Counts iterations of any loop.
pub(super) fn count_iterations(count: u64) -> Result<(), RenderError> {
    budget::tick()?;
    STATE.with_borrow_mut(|state| {
        let Some(state) = state else { return Ok(()) };
        state.iterations += count;
        match state.iterations <= MAX_ITERATIONS {
            true => Ok(()),
            false => Err(RenderError::TooManyIterations { limit: MAX_ITERATIONS }),
        }
    })
}

/// One rendering of a template.
pub(super) struct RenderJob<'j> {
    pub registry: &'j Handlebars<'static>,
    pub template: &'j handlebars::Template,
    pub mode: PrintMode,
    pub now: Option<Timestamp>,
    pub budget: &'j Budget,
    pub missing_values: Vec<(String, MissingValue)>,
}

impl RenderJob<'_> {
    /// Renders to text, and to the captured value of the only expression.
    pub fn run(self, values: Value) -> Result<(String, Value), RenderError> {
        let state = RenderState {
            mode: self.mode,
            iterations: 0,
            now: self.now,
            captured: None,
            missing_values: self.missing_values,
        };
        STATE.with_borrow_mut(|slot| *slot = Some(state));
        let _guard = StateGuard;
        let context = Context::from(values);
        let (mut rendering, mut sink) =
            (RenderContext::new(None), OutputBuffer { text: String::new(), budget: self.budget });
        let rendered = self.template.render(self.registry, &context, &mut rendering, &mut sink);
        rendered.map_err(|error| extract_error(&error))?;
        let captured = STATE.with_borrow_mut(|state| state.as_mut().and_then(|state| state.captured.take()));
        Ok((sink.text, captured.unwrap_or_default()))
    }
}

/// Our error inside of one of Handlebars; any other means that values and shapes differ.
fn extract_error(error: &handlebars::RenderError) -> RenderError {
    let found = match error.reason() {
        RenderErrorReason::NestedError(error) => error.downcast_ref::<RenderError>(),
        RenderErrorReason::IOError(error) => error.get_ref().and_then(|error| error.downcast_ref::<RenderError>()),
        _ => None,
    };
    found.cloned().unwrap_or(RenderError::ShapeMismatch)
}

/// Collects the output, which the call holds.
struct OutputBuffer<'j> {
    text: String,
    budget: &'j Budget,
}

impl Output for OutputBuffer<'_> {
    fn write(&mut self, segment: &str) -> std::io::Result<()> {
        check_output_size(self.text.len(), segment)?;
        self.budget.hold(segment.len()).map_err(|why| std::io::Error::other(RenderError::from(why)))?;
        self.text.push_str(segment);
        Ok(())
    }
}

/// Limits output that Handlebars collects internally.
pub(super) struct LimitedOutput<'o> {
    out: &'o mut dyn Output,
    written: usize,
}

impl<'o> LimitedOutput<'o> {
    pub fn new(out: &'o mut dyn Output) -> LimitedOutput<'o> {
        LimitedOutput { out, written: 0 }
    }
}

impl Output for LimitedOutput<'_> {
    fn write(&mut self, segment: &str) -> std::io::Result<()> {
        check_output_size(self.written, segment)?;
        self.written += segment.len();
        self.out.write(segment)
    }
}

fn check_output_size(size: usize, segment: &str) -> std::io::Result<()> {
    if size + segment.len() > MAX_OUTPUT_BYTES {
        return Err(std::io::Error::other(RenderError::TooLarge { limit: MAX_OUTPUT_BYTES }));
    }
    Ok(())
}
