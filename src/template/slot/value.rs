//! Places that take values: leaves of JSON, query and form, conditions.

use std::ops::Range;

use serde_json::Value;

use super::{ParsedTemplate, RenderedText, Slot, sealed::Sealed};
use crate::diagnostic::Code;
use crate::template::error::TemplateError;
use crate::template::render::{PrintMode, RenderError, is_truthy, value_to_text};

/// A leaf of a JSON body, or an argument of a tool.
#[derive(Debug)]
pub enum JsonLeaf {}

/// A leaf of JSON: of exactly one `{{…}}` the value itself, and `None` where it is absent; else text.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonValue(pub Option<Value>);

impl Sealed for JsonLeaf {}

impl Slot for JsonLeaf {
    type Output = JsonValue;
    type Analysis = ();
    const MODE: PrintMode = PrintMode::Plain;
    const TYPED: bool = true;

    fn analyze(_: &ParsedTemplate<'_>, _: &mut Vec<TemplateError>) -> ((), Option<Range<usize>>) {
        ((), None)
    }

    fn output_from_value(value: &Value, _: &str, (): &()) -> Option<Result<JsonValue, RenderError>> {
        Some(Ok(JsonValue((!value.is_null()).then(|| value.clone()))))
    }

    fn output_from_text(filled: RenderedText, (): &()) -> Result<JsonValue, RenderError> {
        Ok(JsonValue(Some(Value::String(filled.text))))
    }
}

/// The value of a query or form key.
#[derive(Debug)]
pub enum QueryValue {}

/// What a query or form key is given: of exactly one `{{…}}` that is a list each element, none where it is absent;
/// else one text. Not encoded: who builds the query encodes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryValues(pub Vec<String>);

impl Sealed for QueryValue {}

impl Slot for QueryValue {
    type Output = QueryValues;
    type Analysis = ();
    const MODE: PrintMode = PrintMode::Plain;
    const TYPED: bool = true;

    fn analyze(_: &ParsedTemplate<'_>, _: &mut Vec<TemplateError>) -> ((), Option<Range<usize>>) {
        ((), None)
    }

    fn output_from_value(value: &Value, _: &str, (): &()) -> Option<Result<QueryValues, RenderError>> {
        let texts = match value {
            Value::Null => Vec::new(),
            Value::Array(list) => {
                list.iter().filter(|value| !value.is_null()).map(|value| value_to_text(value).into()).collect()
            }
            other => vec![value_to_text(other).into_owned()],
        };
        Some(Ok(QueryValues(texts)))
    }

    fn output_from_text(filled: RenderedText, (): &()) -> Result<QueryValues, RenderError> {
        Ok(QueryValues(vec![filled.text]))
    }
}

/// `when`: exactly one `{{…}}`, whose value decides by [`is_truthy`].
#[derive(Debug)]
pub enum Condition {}

impl Sealed for Condition {}

impl Slot for Condition {
    type Output = bool;
    type Analysis = ();
    const MODE: PrintMode = PrintMode::Plain;
    const TYPED: bool = true;
    const KEEPS_VALUE: bool = false;

    fn analyze(written: &ParsedTemplate<'_>, errors: &mut Vec<TemplateError>) -> ((), Option<Range<usize>>) {
        if written.single_interpolation().is_none() && errors.is_empty() {
            let error = TemplateError::at_range(
                0..written.text.len(),
                Code::BadValue,
                "invalid condition: expected exactly one `{{…}}`",
            );
            errors.push(error.help("write a value such as `{{flag}}`, `{{not flag}}` or `{{eq kind \"bug\"}}`"));
        }
        ((), None)
    }

    fn output_from_value(value: &Value, _: &str, (): &()) -> Option<Result<bool, RenderError>> {
        Some(Ok(is_truthy(value)))
    }

    fn output_from_text(filled: RenderedText, (): &()) -> Result<bool, RenderError> {
        Ok(!filled.text.is_empty())
    }
}
