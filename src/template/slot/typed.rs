//! Places that take values: leaves of JSON, query and form, conditions.

use std::ops::Range;

use serde_json::Value;

use super::{Filled, Slot, Written, sealed::Sealed};
use crate::diagnostic::Code;
use crate::template::fault::Fault;
use crate::template::render::{Mode, RenderError, text_of, truthy};

/// A leaf of a JSON body, or an argument of a tool.
#[derive(Debug)]
pub enum Json {}

/// A leaf of JSON: of exactly one `{{…}}` the value itself, and `None` where it is absent; else text.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonValue(pub Option<Value>);

impl Sealed for Json {}

impl Slot for Json {
    type Output = JsonValue;
    type Known = ();
    const MODE: Mode = Mode::Plain;
    const TYPED: bool = true;

    fn inspect(_: &Written<'_>, _: &mut Vec<Fault>) -> ((), Option<Range<usize>>) {
        ((), None)
    }

    fn finish_value(value: &Value, _: &str, (): &()) -> Option<Result<JsonValue, RenderError>> {
        Some(Ok(JsonValue((!value.is_null()).then(|| value.clone()))))
    }

    fn finish(filled: Filled, (): &()) -> Result<JsonValue, RenderError> {
        Ok(JsonValue(Some(Value::String(filled.text))))
    }
}

/// The value of a query or form key.
#[derive(Debug)]
pub enum Parameter {}

/// What a query or form key is given: of exactly one `{{…}}` that is a list each element, none where it is absent;
/// else one text. Not encoded: who builds the query encodes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameters(pub Vec<String>);

impl Sealed for Parameter {}

impl Slot for Parameter {
    type Output = Parameters;
    type Known = ();
    const MODE: Mode = Mode::Plain;
    const TYPED: bool = true;

    fn inspect(_: &Written<'_>, _: &mut Vec<Fault>) -> ((), Option<Range<usize>>) {
        ((), None)
    }

    fn finish_value(value: &Value, _: &str, (): &()) -> Option<Result<Parameters, RenderError>> {
        let texts = match value {
            Value::Null => Vec::new(),
            Value::Array(list) => {
                list.iter().filter(|value| !value.is_null()).map(|value| text_of(value).into()).collect()
            }
            other => vec![text_of(other).into_owned()],
        };
        Some(Ok(Parameters(texts)))
    }

    fn finish(filled: Filled, (): &()) -> Result<Parameters, RenderError> {
        Ok(Parameters(vec![filled.text]))
    }
}

/// `when`: exactly one `{{…}}`, whose value decides by [`truthy`].
#[derive(Debug)]
pub enum Condition {}

impl Sealed for Condition {}

impl Slot for Condition {
    type Output = bool;
    type Known = ();
    const MODE: Mode = Mode::Plain;
    const TYPED: bool = true;
    const KEEPS_VALUE: bool = false;

    fn inspect(written: &Written<'_>, faults: &mut Vec<Fault>) -> ((), Option<Range<usize>>) {
        if written.sole().is_none() && faults.is_empty() {
            let fault = Fault::here(0..written.text.len(), Code::BadValue, "a condition is exactly one `{{…}}`");
            faults.push(fault.help("its value decides: `{{flag}}`, `{{not flag}}`, `{{eq kind \"bug\"}}`"));
        }
        ((), None)
    }

    fn finish_value(value: &Value, _: &str, (): &()) -> Option<Result<bool, RenderError>> {
        Some(Ok(truthy(value)))
    }

    fn finish(filled: Filled, (): &()) -> Result<bool, RenderError> {
        Ok(!filled.text.is_empty())
    }
}
