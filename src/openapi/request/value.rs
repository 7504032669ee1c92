//! What shape a value has, and the templates of values.

use serde_json::Value;

use crate::openapi::parameter::ParameterStyle;
use crate::openapi::template_text::TemplateText;

/// What shape a value has, as far as it matters to how it is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueShape {
    Scalar,
    List,
    Object,
}

pub(super) fn shape_of(schema: &Value) -> ValueShape {
    let is = |wanted: &str| match schema.get("type") {
        Some(Value::Array(types)) => types.iter().any(|kind| kind == wanted),
        Some(kind) => kind == wanted,
        None => false,
    };
    if is("array") {
        ValueShape::List
    } else if is("object") {
        ValueShape::Object
    } else {
        ValueShape::Scalar
    }
}

/// The fields that an object declares and that a template can name.
pub(super) fn field_names(schema: &Value) -> Vec<String> {
    let names = schema.get("properties").and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name);
    names.filter(|name| !name.is_empty() && !name.contains(['[', ']', '{', '}', '\\'])).cloned().collect()
}

pub(super) fn is_required(schema: &Value, name: &str) -> bool {
    schema.get("required").and_then(Value::as_array).is_some_and(|names| names.contains(&Value::from(name)))
}

/// A schema with a description, which says more of this place than its own.
pub(super) fn with_description(mut schema: Value, description: &str) -> Value {
    if let Some(map) = schema.as_object_mut().filter(|_| !description.is_empty()) {
        map.insert("description".to_owned(), description.into());
    }
    schema
}

pub(super) fn placeholder(argument: &str) -> TemplateText {
    TemplateText::placeholder(argument)
}

/// A field of an argument that is an object.
pub(super) fn field_placeholder(argument: &str, field: &str) -> TemplateText {
    match crate::value_types::is_identifier(field) {
        true => placeholder(&format!("{argument}.{field}")),
        false => placeholder(&format!("{argument}.[{field}]")),
    }
}

/// A list in one text.
pub(super) fn joined(argument: &str, style: ParameterStyle) -> TemplateText {
    TemplateText::joined(argument, separator(style))
}

pub(super) fn separator(style: ParameterStyle) -> &'static str {
    if let ParameterStyle::Joined(separator) = style { separator } else { "," }
}
