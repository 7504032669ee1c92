//! The parameters of a query.

use serde_json::Value;

use super::RequestBuilder;
use super::value::{ValueShape, field_names, field_placeholder, joined, placeholder, shape_of};
use crate::openapi::parameter::{Parameter, ParameterStyle};

impl<'d> RequestBuilder<'d> {
    pub(super) fn add_query(&mut self, parameter: &Parameter<'d>) {
        let schema = self.parameter_schema(parameter);
        match shape_of(&self.translator.resolve_definition(&schema)) {
            ValueShape::Object => self.add_query_object(parameter, schema),
            ValueShape::List => {
                let argument = self.add_parameter(parameter, schema);
                let template = match parameter.style {
                    ParameterStyle::Joined(_) => joined(&argument, parameter.style),
                    _ => placeholder(&argument),
                };
                self.query.insert(parameter.name.to_owned(), template);
            }
            ValueShape::Scalar => {
                let argument = self.add_parameter(parameter, schema);
                self.query.insert(parameter.name.to_owned(), placeholder(&argument));
            }
        }
    }

    /// An object of which each field is a parameter.
    fn add_query_object(&mut self, parameter: &Parameter<'d>, schema: Value) {
        let fields = field_names(&self.translator.resolve_definition(&schema));
        let brackets = match parameter.style {
            ParameterStyle::DeepObject => true,
            ParameterStyle::Repeated => false,
            ParameterStyle::Joined(_) => {
                return self
                    .warn_unsupported_parameter(parameter, "an object whose fields are joined in one query parameter");
            }
        };
        if fields.is_empty() {
            return self.warn_unsupported_parameter(parameter, "an object in a query without declared fields");
        }
        let argument = self.add_parameter(parameter, schema);
        for field in fields {
            let name = if brackets { format!("{}[{field}]", parameter.name) } else { field.clone() };
            self.query.insert(name, field_placeholder(&argument, &field));
        }
    }
}
