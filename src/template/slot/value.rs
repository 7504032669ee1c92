//! Slots for values: JSON leaves, query and form parameters, conditions.

use std::ops::Range;

use serde_json::{Number, Value};

use super::{ParsedTemplate, RenderedText, Slot, refused_value};
use crate::diagnostic::Code;
use crate::template::compile::Template;
use crate::template::error::TemplateError;
use crate::template::render::{PrintMode, RenderError, is_truthy, value_to_text};
use crate::template::syntax::Expression;

/// A leaf of a JSON body, or an argument of a tool.
#[derive(Debug)]
pub enum JsonSlot {}

/// A JSON leaf: for exactly one `{{…}}` the value, or `None` where it is absent; else text.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonValue(pub Option<Value>);

impl Slot for JsonSlot {
    type Output = JsonValue;
    type Analysis = ();
    const PRINT_MODE: PrintMode = PrintMode::Plain;
    const RENDERS_FROM_VALUE: bool = true;
    const KEEPS_OBJECTS: bool = true;

    fn output_from_value(value: &Value, _: &str, (): &()) -> Option<Result<JsonValue, RenderError>> {
        Some(Ok(JsonValue((!value.is_null()).then(|| value.clone()))))
    }

    fn output_from_present_null() -> Option<JsonValue> {
        Some(JsonValue(Some(Value::Null)))
    }

    fn output_from_text(rendered: RenderedText, (): &()) -> Result<JsonValue, RenderError> {
        Ok(JsonValue(Some(Value::String(rendered.text))))
    }
}

/// The value of a query or form key.
#[derive(Debug)]
pub enum QuerySlot {}

/// The values of a query or form key: for exactly one `{{…}}` each element of a list, or none where it is absent; else
/// one text. Not encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryValues(pub Vec<String>);

/// A list that is joined in one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinedList {
    /// The template of the list.
    pub list: String,
    /// What is written between its elements.
    pub delimiter: String,
    /// Whether the text of a list without elements is null.
    pub omits_empty: bool,
}

impl Template<QuerySlot> {
    /// The list, where the template is exactly `{{join LIST "DELIMITER"}}`, or `{{default (join LIST "DELIMITER") null}}`.
    pub fn joined_list(&self) -> Option<&JoinedList> {
        self.analysis().as_ref()
    }
}

fn joined_list(text: &str, expression: &Expression) -> Option<JoinedList> {
    let Expression::Call(call) = expression else { return None };
    match (call.helper.text.as_str(), call.arguments.params.as_slice()) {
        ("join", [list, Expression::Literal(Value::String(delimiter), _)]) => {
            let list = text.get(list.span())?;
            let list = list.strip_prefix('(').and_then(|list| list.strip_suffix(')')).unwrap_or(list);
            Some(JoinedList { list: format!("{{{{{list}}}}}"), delimiter: delimiter.clone(), omits_empty: false })
        }
        ("default", [joined, Expression::Literal(Value::Null, _)]) => {
            Some(JoinedList { omits_empty: true, ..joined_list(text, joined)? })
        }
        _ => None,
    }
}

impl Slot for QuerySlot {
    type Output = QueryValues;
    type Analysis = Option<JoinedList>;
    const PRINT_MODE: PrintMode = PrintMode::Plain;
    const RENDERS_FROM_VALUE: bool = true;

    fn analyze(
        template: &ParsedTemplate<'_>,
        _: &mut Vec<TemplateError>,
    ) -> (Option<JoinedList>, Option<Range<usize>>) {
        let single = template.single_interpolation();
        (single.and_then(|single| joined_list(template.text, &single.expression)), None)
    }

    fn output_from_value(value: &Value, _: &str, _: &Option<JoinedList>) -> Option<Result<QueryValues, RenderError>> {
        let texts = match value {
            Value::Null => Vec::new(),
            Value::Array(list) => {
                list.iter().filter(|value| !value.is_null()).map(|value| value_to_text(value).into()).collect()
            }
            other => vec![value_to_text(other).into_owned()],
        };
        Some(Ok(QueryValues(texts)))
    }

    fn output_from_text(rendered: RenderedText, _: &Option<JoinedList>) -> Result<QueryValues, RenderError> {
        Ok(QueryValues(vec![rendered.text]))
    }
}

/// Reports a template that is not exactly one `{{…}}`.
fn check_single(
    template: &ParsedTemplate<'_>,
    errors: &mut Vec<TemplateError>,
    noun: &str,
    help: &str,
) -> ((), Option<Range<usize>>) {
    if template.single_interpolation().is_none() && errors.is_empty() {
        let message = format!("invalid {noun}, expected exactly one `{{{{…}}}}`");
        errors.push(TemplateError::at_range(0..template.text.len(), Code::BadValue, message).help(help));
    }
    ((), None)
}

/// The list of a loop around templates: exactly one `{{…}}`.
#[derive(Debug)]
pub enum ListSlot {}

/// The items of a list; none where it is absent.
#[derive(Debug, Clone, PartialEq)]
pub struct ListItems(pub Vec<Value>);

impl Slot for ListSlot {
    type Output = ListItems;
    type Analysis = ();
    const PRINT_MODE: PrintMode = PrintMode::Plain;
    const RENDERS_FROM_VALUE: bool = true;
    const OUTPUT_INCLUDES_TEXT: bool = false;

    fn analyze(template: &ParsedTemplate<'_>, errors: &mut Vec<TemplateError>) -> ((), Option<Range<usize>>) {
        check_single(template, errors, "list", "write the value of a list, such as `{{steps.ID.json}}`")
    }

    fn output_from_value(value: &Value, label: &str, (): &()) -> Option<Result<ListItems, RenderError>> {
        Some(match value {
            Value::Null => Ok(ListItems(Vec::new())),
            Value::Array(items) => Ok(ListItems(items.clone())),
            _ => Err(refused_value(label, "is not a list")),
        })
    }

    fn output_from_text(_: RenderedText, (): &()) -> Result<ListItems, RenderError> {
        Err(refused_value("the text", "is not a list"))
    }
}

/// A number: exactly one `{{…}}`, whose value is a number or the text of one.
#[derive(Debug)]
pub enum NumberSlot {}

impl Slot for NumberSlot {
    type Output = Option<Number>;
    type Analysis = ();
    const PRINT_MODE: PrintMode = PrintMode::Plain;
    const RENDERS_FROM_VALUE: bool = true;
    const OUTPUT_INCLUDES_TEXT: bool = false;
    const OUTPUT_COPIES_VALUE: bool = false;

    fn analyze(template: &ParsedTemplate<'_>, errors: &mut Vec<TemplateError>) -> ((), Option<Range<usize>>) {
        if template.single_interpolation().is_none() && errors.is_empty() {
            let error = TemplateError::at_range(
                0..template.text.len(),
                Code::BadValue,
                "invalid number, expected exactly one `{{…}}`",
            );
            errors.push(error.help("write the value of a number, such as `{{limit}}` or `{{mul limit 2}}`"));
        }
        ((), None)
    }

    fn output_from_value(value: &Value, label: &str, (): &()) -> Option<Result<Option<Number>, RenderError>> {
        let number = match value {
            Value::Null => return Some(Ok(None)),
            Value::Number(number) => Some(number.clone()),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        Some(number.map(Some).ok_or_else(|| refused_value(label, "is not a number")))
    }

    fn output_from_text(_: RenderedText, (): &()) -> Result<Option<Number>, RenderError> {
        Err(refused_value("the text", "is not a number"))
    }
}

/// `when`: exactly one `{{…}}`, whose value decides by [`is_truthy`].
#[derive(Debug)]
pub enum ConditionSlot {}

impl Slot for ConditionSlot {
    type Output = bool;
    type Analysis = ();
    const PRINT_MODE: PrintMode = PrintMode::Plain;
    const RENDERS_FROM_VALUE: bool = true;
    const OUTPUT_INCLUDES_TEXT: bool = false;
    const OUTPUT_COPIES_VALUE: bool = false;
    const IS_CONDITION: bool = true;

    fn analyze(template: &ParsedTemplate<'_>, errors: &mut Vec<TemplateError>) -> ((), Option<Range<usize>>) {
        let help = "write a value such as `{{flag}}`, `{{not flag}}` or `{{eq kind \"bug\"}}`";
        check_single(template, errors, "condition", help)
    }

    fn output_from_value(value: &Value, _: &str, (): &()) -> Option<Result<bool, RenderError>> {
        Some(Ok(is_truthy(value)))
    }

    fn output_from_text(rendered: RenderedText, (): &()) -> Result<bool, RenderError> {
        Ok(!rendered.text.is_empty())
    }
}
