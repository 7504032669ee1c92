//! What a helper was given, read in a forgiving way: what was checked at load is not checked again, and what
//! could not be known then never fails without need.

use std::borrow::Cow;

use handlebars::{Context, Handlebars, Helper, HelperDef, PathAndJson, RenderContext, RenderErrorReason, ScopedJson};
use serde_json::Value;

use crate::budget::weight;
use crate::template::limit::MAX_OUTPUT;
use crate::template::render::{RenderError, charge_made, charge_read, text_of};

/// What a helper answers.
pub(in crate::template) type Answer = Result<Value, RenderError>;

/// A helper that gives a value and needs nothing but what it is given.
pub(in crate::template) type Plain = fn(&dyn Given) -> Answer;

/// What a helper was given, by Handlebars or by our own filling.
pub(in crate::template) trait Given {
    /// The value at a place, where one was given.
    fn at(&self, place: usize) -> Option<&Value>;

    /// The value of a name, where one was given.
    fn named(&self, name: &str) -> Option<&Value>;

    /// Charges what the helper reads.
    fn read(&self, units: usize) -> Result<(), RenderError>;

    /// Charges what the helper is about to make.
    fn make(&self, bytes: usize) -> Result<(), RenderError>;
}

impl Given for Helper<'_> {
    fn at(&self, place: usize) -> Option<&Value> {
        self.param(place).map(PathAndJson::value)
    }

    fn named(&self, name: &str) -> Option<&Value> {
        self.hash_get(name).map(PathAndJson::value)
    }

    fn read(&self, units: usize) -> Result<(), RenderError> {
        charge_read(units)
    }

    fn make(&self, bytes: usize) -> Result<(), RenderError> {
        charge_made(bytes)
    }
}

/// The value at a place; null where there is none.
pub(super) fn value(given: &dyn Given, place: usize) -> &Value {
    given.at(place).unwrap_or(&Value::Null)
}

/// The value at a place as text, which is charged as read.
pub(super) fn text(given: &dyn Given, place: usize) -> Result<Cow<'_, str>, RenderError> {
    text_read(given, value(given, place))
}

/// A value as text, which is charged as read; what is no text is written out for it.
pub(super) fn text_read<'v>(given: &dyn Given, value: &'v Value) -> Result<Cow<'v, str>, RenderError> {
    match value {
        Value::String(text) => given.read(text.len())?,
        other => given.make(weight(other))?,
    }
    Ok(text_of(value))
}

/// A copy of a value, which is charged.
pub(super) fn copy(given: &dyn Given, value: &Value) -> Answer {
    given.make(weight(value))?;
    Ok(value.clone())
}

/// A number of things: of a number or of text that is one. `None` for anything else.
pub(super) fn count(value: &Value) -> Option<usize> {
    let number = match value {
        Value::Number(number) => number.as_u64().or_else(|| number.as_f64().map(|float| float.max(0.0) as u64)),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.and_then(|number| usize::try_from(number).ok())
}

pub(super) fn answer(text: impl Into<String>) -> Answer {
    Ok(Value::String(text.into()))
}

/// Charges a text before it is made, and refuses one that would be larger than a template may become.
pub(super) fn affordable(given: &dyn Given, size: Option<usize>) -> Result<(), RenderError> {
    match size {
        Some(size) if size <= MAX_OUTPUT => given.make(size),
        _ => Err(RenderError::TooLarge { limit: MAX_OUTPUT }),
    }
}

/// Our error inside of Handlebars', from which [`render`](crate::template::render) takes it out again.
pub(in crate::template) fn failure(error: RenderError) -> handlebars::RenderError {
    RenderErrorReason::NestedError(Box::new(error)).into()
}

/// A plain helper as Handlebars calls it.
pub(super) struct Called(pub(super) Plain);

impl HelperDef for Called {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, handlebars::RenderError> {
        (self.0)(helper).map(ScopedJson::Derived).map_err(failure)
    }
}
