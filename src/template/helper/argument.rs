//! The arguments of helpers, read leniently: they are checked at load, as far as their shapes are known.

use std::borrow::Cow;

use handlebars::{Context, Handlebars, Helper, HelperDef, PathAndJson, RenderContext, RenderErrorReason, ScopedJson};
use serde_json::Value;

use crate::budget::memory_size;
use crate::template::limit::MAX_OUTPUT_BYTES;
use crate::template::render::{RenderError, charge_memory, charge_work, value_to_text};

/// The value of a helper.
pub(in crate::template) type HelperValue = Result<Value, RenderError>;

/// A plain helper: a function of its arguments.
pub(in crate::template) type HelperFn = fn(&dyn HelperParams) -> HelperValue;

/// The arguments of a helper, from Handlebars or from a [`PlainExpression`](crate::template::plain_expression::PlainExpression).
pub(in crate::template) trait HelperParams {
    /// The value of a parameter.
    fn param(&self, index: usize) -> Option<&Value>;

    /// The value of an option.
    fn option(&self, name: &str) -> Option<&Value>;

    /// Charges for reads.
    fn charge_work(&self, units: usize) -> Result<(), RenderError>;

    /// Charges for allocations.
    fn charge_memory(&self, bytes: usize) -> Result<(), RenderError>;
}

impl HelperParams for Helper<'_> {
    fn param(&self, index: usize) -> Option<&Value> {
        self.param(index).map(PathAndJson::value)
    }

    fn option(&self, name: &str) -> Option<&Value> {
        self.hash_get(name).map(PathAndJson::value)
    }

    fn charge_work(&self, units: usize) -> Result<(), RenderError> {
        charge_work(units)
    }

    fn charge_memory(&self, bytes: usize) -> Result<(), RenderError> {
        charge_memory(bytes)
    }
}

/// The value of a parameter; null where it is absent.
pub(super) fn param_or_null(params: &dyn HelperParams, index: usize) -> &Value {
    params.param(index).unwrap_or(&Value::Null)
}

/// A parameter as text, charged as read.
pub(super) fn param_text(params: &dyn HelperParams, index: usize) -> Result<Cow<'_, str>, RenderError> {
    charged_text(params, param_or_null(params, index))
}

/// A value as text, charged as read, or as allocated where it must be serialized.
pub(super) fn charged_text<'v>(params: &dyn HelperParams, value: &'v Value) -> Result<Cow<'v, str>, RenderError> {
    match value {
        Value::String(text) => params.charge_work(text.len())?,
        other => params.charge_memory(memory_size(other))?,
    }
    Ok(value_to_text(value))
}

/// A charged copy of a value.
pub(super) fn charged_clone(params: &dyn HelperParams, value: &Value) -> HelperValue {
    params.charge_memory(memory_size(value))?;
    Ok(value.clone())
}

/// A count: of a number, or of text that is a number. `None` for anything else.
pub(super) fn as_count(value: &Value) -> Option<usize> {
    let number = match value {
        Value::Number(number) => number.as_u64().or_else(|| number.as_f64().map(|float| float.max(0.0) as u64)),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.and_then(|number| usize::try_from(number).ok())
}

pub(super) fn text_value(text: impl Into<String>) -> HelperValue {
    Ok(Value::String(text.into()))
}

/// Charges for a text before it is allocated, and rejects one over the output limit.
pub(super) fn charge_output(params: &dyn HelperParams, size: Option<usize>) -> Result<(), RenderError> {
    match size {
        Some(size) if size <= MAX_OUTPUT_BYTES => params.charge_memory(size),
        _ => Err(RenderError::TooLarge { limit: MAX_OUTPUT_BYTES }),
    }
}

/// Our error inside of one of Handlebars, from which `template::render` extracts it.
impl From<RenderError> for handlebars::RenderError {
    fn from(error: RenderError) -> handlebars::RenderError {
        RenderErrorReason::NestedError(Box::new(error)).into()
    }
}

/// A plain helper for Handlebars.
pub(super) struct FnHelper(pub(super) HelperFn);

impl HelperDef for FnHelper {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, handlebars::RenderError> {
        Ok(ScopedJson::Derived((self.0)(helper)?))
    }
}
