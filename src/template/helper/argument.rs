//! What a helper was given, read in a forgiving way: what was checked at load is not checked again, and what
//! could not be known then never fails without need.

use std::borrow::Cow;

use handlebars::{Helper, RenderErrorReason, ScopedJson};
use serde_json::Value;

use crate::template::limit::MAX_OUTPUT;
use crate::template::render::{RenderError, text_of};

pub(super) type Answer<'rc> = Result<ScopedJson<'rc>, handlebars::RenderError>;

/// The value at a place; null where there is none.
pub(super) fn value<'h>(helper: &'h Helper<'_>, place: usize) -> &'h Value {
    helper.param(place).map_or(&Value::Null, |param| param.value())
}

/// The value at a place as text.
pub(super) fn text<'h>(helper: &'h Helper<'_>, place: usize) -> Cow<'h, str> {
    text_of(value(helper, place))
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

pub(super) fn answer<'rc>(text: impl Into<String>) -> Answer<'rc> {
    Ok(ScopedJson::Derived(Value::String(text.into())))
}

/// Refuses what would become larger than a template may, before it is made.
pub(super) fn affordable(size: Option<usize>) -> Result<(), handlebars::RenderError> {
    match size {
        Some(size) if size <= MAX_OUTPUT => Ok(()),
        _ => Err(failure(RenderError::TooLarge { limit: MAX_OUTPUT })),
    }
}

/// Our error inside of Handlebars', from which [`render`](crate::template::render) takes it out again.
pub(in crate::template) fn failure(error: RenderError) -> handlebars::RenderError {
    RenderErrorReason::NestedError(Box::new(error)).into()
}

/// Defines a helper that gives a value and needs nothing but what it is given.
macro_rules! plain {
    ($type:ident, $function:path) => {
        struct $type;
        impl handlebars::HelperDef for $type {
            fn call_inner<'reg: 'rc, 'rc>(
                &self,
                helper: &handlebars::Helper<'rc>,
                _: &'reg handlebars::Handlebars<'reg>,
                _: &'rc handlebars::Context,
                _: &mut handlebars::RenderContext<'reg, 'rc>,
            ) -> $crate::template::helper::argument::Answer<'rc> {
                $function(helper)
            }
        }
    };
}
pub(super) use plain;
