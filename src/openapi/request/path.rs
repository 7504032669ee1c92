//! The path of a URL, and the parameters in it, each in its style.

use super::RequestBuilder;
use super::value::{ValueShape, placeholder, separator, shape_of};
use crate::diagnostic::Code;
use crate::openapi::argument::NewArgument;
use crate::openapi::document::object;
use crate::openapi::operation::Operation;
use crate::openapi::parameter::{Parameter, ParameterLocation, PathStyle};
use crate::openapi::template_text::{EachText, TemplateText};
use crate::uri::percent_encode_except;

impl<'d> RequestBuilder<'d> {
    /// Writes the path, and adds what stands in it.
    pub(super) fn write_path(&mut self, operation: &Operation<'d>, parameters: &[Parameter<'d>]) {
        if !operation.path.starts_with('/') {
            self.url.push(&encode_literal("/"));
        }
        let mut rest = operation.path.split('#').next().unwrap_or_default();
        while let Some((text, name, after)) = split_placeholder(rest) {
            self.url.push(&encode_literal(text));
            let found = parameters.iter().find(|known| known.location == ParameterLocation::Path && known.name == name);
            let template = self.add_path_parameter(name, found, operation);
            self.url.push(&template);
            rest = after;
        }
        self.url.push(&encode_literal(rest));
        self.url = std::mem::take(&mut self.url).with_one_slash();
    }

    fn add_path_parameter(
        &mut self,
        name: &str,
        found: Option<&Parameter<'d>>,
        operation: &Operation<'d>,
    ) -> TemplateText {
        let schema = found.map_or_else(|| object([("type", "string".into())]), |known| self.parameter_schema(known));
        let shape = shape_of(&schema);
        let node = found.map_or(operation.node, |known| known.node);
        if matches!(shape, ValueShape::Mixed | ValueShape::NestedList) {
            let words =
                "unsupported list in a path that may be something else, or holds lists: it is sent as a JSON text";
            self.document.warn(node, Code::Unimplemented, words);
        }
        let argument =
            self.arguments.add(NewArgument { wire_name: name, location: "path", schema, required: true, node });
        match found {
            Some(known) if known.keeps_slashes => TemplateText::call(Some("path"), &argument, ""),
            Some(known) => path_template(&argument, known, shape),
            None => placeholder(&argument),
        }
    }
}

/// A value in a path (RFC 6570, 3.2). What stands between its parts is not encoded, as it is no part of them.
fn path_template(argument: &str, parameter: &Parameter<'_>, shape: ValueShape) -> TemplateText {
    let mut name = encode_literal(&format!(";{}", parameter.name));
    name.push(&encode_literal("="));
    let is_single = matches!(shape, ValueShape::Scalar | ValueShape::Mixed);
    let explodes = parameter.explodes && !is_single;
    let head = match parameter.path_style {
        PathStyle::Simple => TemplateText::default(),
        PathStyle::Label => encode_literal("."),
        PathStyle::Matrix if explodes && shape == ValueShape::Object => encode_literal(";"),
        PathStyle::Matrix => name,
    };
    let key_end = (shape == ValueShape::Object).then_some(if parameter.explodes { '=' } else { ',' });
    if explodes && parameter.path_style != PathStyle::Simple {
        return TemplateText::each(argument, &TemplateText::default(), EachText { head, key_end });
    }
    let mut whole = head;
    whole.push(&match shape {
        _ if is_single => placeholder(argument),
        _ => {
            let one = EachText { key_end, ..EachText::default() };
            TemplateText::each(argument, &encode_literal(separator(parameter.style)), one)
        }
    });
    whole
}

/// The text before the first `{name}` of a path, the name, and what follows.
pub(in crate::openapi) fn split_placeholder(path: &str) -> Option<(&str, &str, &str)> {
    let (text, rest) = path.split_once('{')?;
    let (name, after) = rest.split_once('}')?;
    Some((text, name, after))
}

/// A text as it may stand in a URL, and is no template.
pub(in crate::openapi) fn encode_literal(text: &str) -> TemplateText {
    let encoded = percent_encode_except(text, "-._~/:@!$&'()*+,;=?%");
    TemplateText::literal(&encoded).unwrap_or_default()
}
