//! The cookies of a request.

use super::RequestBuilder;
use super::value::{ValueShape, shape_of};
use crate::action::is_header_name;
use crate::openapi::parameter::Parameter;
use crate::openapi::template_text::TemplateText;

impl<'d> RequestBuilder<'d> {
    pub(super) fn add_cookie(&mut self, parameter: &Parameter<'d>) {
        let schema = self.parameter_schema(parameter);
        let is_scalar = matches!(shape_of(&schema), ValueShape::Scalar | ValueShape::Mixed);
        // The names of cookies have the letters of those of headers.
        let is_name = is_header_name(parameter.name);
        let head = is_name.then(|| TemplateText::literal(&format!("{}=", parameter.name))).flatten();
        let Some(head) = head.filter(|_| is_scalar) else {
            return self.warn_unsupported_parameter(
                parameter,
                "a cookie that is no plain value, or whose name no request can hold",
            );
        };
        let argument = self.add_parameter(parameter, schema);
        self.cookies.push(Cookie { head, argument, required: parameter.required });
    }
}

/// A cookie, and the argument that it is made of.
pub(super) struct Cookie {
    /// Its name, and `=`.
    head: TemplateText,
    argument: String,
    required: bool,
}

/// The cookies of a request. A value is encoded: whatever its schema takes, a `;` in it begins no other cookie.
pub(super) fn cookie_header(cookies: &[Cookie]) -> TemplateText {
    let mut header = TemplateText::default();
    let mut optional: Vec<&str> = Vec::new();
    // The required ones come first, so that those behind them know that there is one before them.
    let (first, rest): (Vec<&Cookie>, Vec<&Cookie>) = cookies.iter().partition(|cookie| cookie.required);
    for (index, Cookie { head, argument, required }) in first.iter().chain(&rest).copied().enumerate() {
        let mut one = match (index, first.is_empty()) {
            (0, _) => TemplateText::default(),
            (_, false) => TemplateText::cookie_separator(),
            (_, true) => TemplateText::cookie_separator().when_any(&optional),
        };
        one.push(head);
        one.push(&TemplateText::call(Some("urlencode"), argument, ""));
        if *required {
            header.push(&one);
        } else {
            header.push(&one.when(argument));
            optional.push(argument);
        }
    }
    header
}
