//! The parameters of a query.

use super::RequestBuilder;
use super::value::{ValueShape, joined, joined_fields, placeholder, shape_of};
use crate::openapi::parameter::{Parameter, ParameterStyle};
use crate::openapi::template_text::{TemplateFields, TemplateText, push_field};

impl<'d> RequestBuilder<'d> {
    pub(super) fn add_query(&mut self, parameter: &Parameter<'d>) {
        let schema = self.parameter_schema(parameter);
        let shape = shape_of(&schema);
        let argument = self.add_parameter(parameter, schema);
        match (shape, parameter.style) {
            (ValueShape::Object, ParameterStyle::Repeated) => {
                push_field(&mut self.query, "[*]", placeholder(&argument));
            }
            (ValueShape::Object, ParameterStyle::Joined(_)) => {
                let text = joined_fields(&argument, parameter.style, false);
                push_field(&mut self.query, parameter.name, text);
            }
            (shape, style) => add_field(&mut self.query, parameter.name, &argument, shape, style),
        }
    }
}

/// A parameter of a query, or a field of a form, that has its own name whatever its value is.
pub(super) fn add_field(
    fields: &mut TemplateFields,
    name: &str,
    argument: &str,
    shape: ValueShape,
    style: ParameterStyle,
) {
    let in_brackets: &dyn Fn() -> (String, TemplateText) = &|| (format!("{name}[*]"), placeholder(argument));
    let (name, template) = match (shape, style) {
        (ValueShape::Scalar, _) => (name.to_owned(), placeholder(argument)),
        (_, ParameterStyle::DeepObject) => in_brackets(),
        // What is no list stays as it is.
        (ValueShape::List | ValueShape::Mixed, ParameterStyle::Joined(_)) => (name.to_owned(), joined(argument, style)),
        (ValueShape::NestedList, _) => in_brackets(),
        _ => (name.to_owned(), placeholder(argument)),
    };
    push_field(fields, &name, template);
}
