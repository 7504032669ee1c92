//! What shape a value has, and the templates of values.

use serde_json::Value;

use crate::openapi::parameter::ParameterStyle;
use crate::openapi::template_text::{EachText, TemplateText};

/// What shape a value has, as far as it matters to how it is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueShape {
    Scalar,
    List,
    /// A list whose elements are objects or lists.
    NestedList,
    Object,
    /// An object or a list, or something else.
    Mixed,
}

pub(super) fn shape_of(schema: &Value) -> ValueShape {
    if let Some(alternatives) = schema.get("anyOf").and_then(Value::as_array) {
        let is_null = |schema: &&Value| schema.get("type").is_some_and(|kind| kind == "null");
        let mut shapes = alternatives.iter().filter(|schema| !is_null(schema)).map(shape_of);
        let first = shapes.next().unwrap_or(ValueShape::Scalar);
        return if shapes.all(|shape| shape == first) { first } else { ValueShape::Mixed };
    }
    let types: Vec<&str> = match schema.get("type") {
        Some(Value::Array(types)) => types.iter().filter_map(Value::as_str).filter(|kind| *kind != "null").collect(),
        kind => kind.and_then(Value::as_str).into_iter().collect(),
    };
    match types.as_slice() {
        ["array"] => match schema.get("items").map(shape_of) {
            None | Some(ValueShape::Scalar) => ValueShape::List,
            Some(_) => ValueShape::NestedList,
        },
        ["object"] => ValueShape::Object,
        types if types.contains(&"array") || types.contains(&"object") => ValueShape::Mixed,
        _ => ValueShape::Scalar,
    }
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

/// A list in one text.
pub(super) fn joined(argument: &str, style: ParameterStyle) -> TemplateText {
    TemplateText::joined(argument, separator(style))
}

/// The fields of an object in one text.
pub(super) fn joined_fields(argument: &str, style: ParameterStyle, explodes: bool) -> TemplateText {
    let separator = separator(style);
    let key_end = if explodes { Some('=') } else { separator.chars().next() };
    let between = TemplateText::literal(separator).unwrap_or_default();
    TemplateText::each(argument, &between, EachText { key_end, ..EachText::default() })
}

pub(super) fn separator(style: ParameterStyle) -> &'static str {
    if let ParameterStyle::Joined(separator) = style { separator } else { "," }
}
