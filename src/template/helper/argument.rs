//! The arguments of helpers, read leniently: they are checked at load, as far as their shapes are known.

use std::borrow::Cow;

use handlebars::{Context, Handlebars, Helper, HelperDef, PathAndJson, RenderContext, RenderErrorReason, ScopedJson};
use serde_json::Value;

use crate::template::limit::MAX_OUTPUT_BYTES;
use crate::template::render::{RenderError, value_to_text};

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
}

impl HelperParams for Helper<'_> {
    fn param(&self, index: usize) -> Option<&Value> {
        self.param(index).map(PathAndJson::value)
    }

    fn option(&self, name: &str) -> Option<&Value> {
        self.hash_get(name).map(PathAndJson::value)
    }
}

/// The value of a parameter; null where it is absent.
pub(super) fn param_or_null(params: &dyn HelperParams, index: usize) -> &Value {
    params.param(index).unwrap_or(&Value::Null)
}

/// A parameter as text.
pub(super) fn param_text(params: &dyn HelperParams, index: usize) -> Cow<'_, str> {
    value_to_text(param_or_null(params, index))
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

/// Rejects a text over the output limit before it is allocated.
pub(super) fn check_text_size(size: Option<usize>) -> Result<(), RenderError> {
    match size {
        Some(size) if size <= MAX_OUTPUT_BYTES => Ok(()),
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
