//! One rendering by Handlebars: its limits, its errors, and how a value becomes text.

use std::borrow::Cow;
use std::cell::RefCell;

use handlebars::{Context, Handlebars, JsonTruthy, Output, RenderContext, RenderErrorReason, Renderable};
use jiff::Timestamp;
use serde_json::Value;

use super::limit::{MAX_ITERATIONS, MAX_OUTPUT};
use crate::budget::{Budget, Exhausted, memory_size};

/// Why a template could not be filled. No message holds a value, so that each may be shown to a client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// The outcome, or a step on the way to it, is too large.
    #[error("text exceeds {limit} bytes")]
    TooLarge {
        /// The most bytes.
        limit: usize,
    },
    /// All loops together go round too often.
    #[error("too many loop iterations: limit {limit}")]
    TooManyIterations {
        /// The most rounds.
        limit: u64,
    },
    /// A value may not stand where the template puts it.
    #[error("`{variable}` {reason}")]
    Refused {
        /// The variable, or the whole expression where it is more than a variable.
        variable: String,
        /// What is wrong with it: "holds a line break".
        reason: &'static str,
    },
    /// A helper cannot do what it was asked with the value that it was given.
    #[error("`{helper}`: {reason}")]
    Helper {
        /// The helper.
        helper: &'static str,
        /// What is wrong.
        reason: &'static str,
    },
    /// The call may do no more.
    #[error(transparent)]
    Exhausted(#[from] Exhausted),
    /// Values are not of the shapes that the template was checked against.
    #[error("values do not match their declared shapes")]
    ShapeMismatch,
}

/// A value as text: nothing for null, JSON for lists and objects.
pub fn value_to_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => Cow::Borrowed(""),
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

/// Whether Handlebars takes a value for true: not `""`, `0`, `false`, `null`, `[]`, `{}`. The text "false" is true.
pub fn is_truthy(value: &Value) -> bool {
    value.is_truthy(false)
}

/// What happens to what is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrintMode {
    /// It is written as it is.
    Plain,
    /// It is written between marks that say where it came from.
    Marked,
    /// It is percent-encoded, between marks.
    Encoded,
    /// It is kept as a value and not written.
    Captured,
}

/// The byte around labels and values. No text or value that is rendered with marks holds it.
pub(super) const MARK: char = '\0';

/// What helpers need to know of the rendering that they are part of.
struct RenderState {
    mode: PrintMode,
    iterations: u64,
    now: Option<Timestamp>,
    captured: Option<Value>,
    budget: Budget,
}

thread_local! {
    /// Set for the length of one synchronous rendering: Handlebars hands helpers nothing of ours.
    static STATE: RefCell<Option<RenderState>> = const { RefCell::new(None) };
}

/// Takes the state away when a rendering ends, however it ends.
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

/// What a step of Handlebars costs beside what it reads and writes: a tag, a block, a round of a loop.
pub(super) const STEP_COST: usize = 64;

/// Counts one round of any loop.
pub(super) fn count_iteration() -> Result<(), RenderError> {
    STATE.with_borrow_mut(|state| {
        let Some(state) = state else { return Ok(()) };
        state.iterations += 1;
        state.budget.charge_work(STEP_COST)?;
        match state.iterations <= MAX_ITERATIONS {
            true => Ok(()),
            false => Err(RenderError::TooManyIterations { limit: MAX_ITERATIONS }),
        }
    })
}

/// Charges the rendering under way with what is read.
pub(super) fn charge_work(units: usize) -> Result<(), RenderError> {
    STATE.with_borrow(|state| state.as_ref().map_or(Ok(()), |state| Ok(state.budget.charge_work(units)?)))
}

/// Charges the rendering under way with what is about to be made.
pub(super) fn charge_memory(bytes: usize) -> Result<(), RenderError> {
    STATE.with_borrow(|state| state.as_ref().map_or(Ok(()), |state| Ok(state.budget.charge_memory(bytes)?)))
}

/// Charges the rendering under way with a copy of a value.
pub(super) fn charge_copy(value: &Value) -> Result<(), RenderError> {
    charge_memory(memory_size(value))
}

/// One template with everything that its rendering needs.
pub(super) struct RenderJob<'j> {
    pub registry: &'j Handlebars<'static>,
    pub template: &'j handlebars::Template,
    pub mode: PrintMode,
    pub now: Option<Timestamp>,
    pub budget: &'j Budget,
}

impl RenderJob<'_> {
    /// Renders to text.
    pub fn text(&self, values: Value) -> Result<String, RenderError> {
        let mut sink = OutputBuffer { text: String::new() };
        self.run(values, &mut sink)?;
        Ok(sink.text)
    }

    /// Renders to the value of the only expression.
    pub fn value(&self, values: Value) -> Result<Value, RenderError> {
        let mut sink = OutputBuffer { text: String::new() };
        self.run(values, &mut sink).map(Option::unwrap_or_default)
    }

    fn run(&self, values: Value, sink: &mut OutputBuffer) -> Result<Option<Value>, RenderError> {
        let state =
            RenderState { mode: self.mode, iterations: 0, now: self.now, captured: None, budget: self.budget.clone() };
        STATE.with_borrow_mut(|slot| *slot = Some(state));
        let _tenure = StateGuard;
        let context = Context::from(values);
        let mut rendering = RenderContext::new(None);
        self.template.render(self.registry, &context, &mut rendering, sink).map_err(|error| extract_error(&error))?;
        Ok(STATE.with_borrow_mut(|state| state.as_mut().and_then(|state| state.captured.take())))
    }
}

/// Takes our error out of Handlebars'; anything else means that values and shapes differ.
fn extract_error(error: &handlebars::RenderError) -> RenderError {
    let found = match error.reason() {
        RenderErrorReason::NestedError(error) => error.downcast_ref::<RenderError>(),
        RenderErrorReason::IOError(error) => error.get_ref().and_then(|error| error.downcast_ref::<RenderError>()),
        _ => None,
    };
    found.cloned().unwrap_or(RenderError::ShapeMismatch)
}

/// Where the outcome is collected.
struct OutputBuffer {
    text: String,
}

impl Output for OutputBuffer {
    fn write(&mut self, segment: &str) -> std::io::Result<()> {
        check_output_size(self.text.len(), segment)?;
        charge_memory(segment.len()).map_err(std::io::Error::other)?;
        self.text.push_str(segment);
        Ok(())
    }
}

/// Counts what goes through it, as Handlebars collects some of it where nothing else counts.
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
        charge_work(segment.len()).map_err(std::io::Error::other)?;
        self.written += segment.len();
        self.out.write(segment)
    }
}

fn check_output_size(written: usize, segment: &str) -> std::io::Result<()> {
    if written + segment.len() > MAX_OUTPUT {
        return Err(std::io::Error::other(RenderError::TooLarge { limit: MAX_OUTPUT }));
    }
    Ok(())
}
