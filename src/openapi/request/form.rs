//! The fields of a form, and of a multipart body.

use serde_json::Value;

use super::RequestBuilder;
use super::query::add_field;
use super::value::{ValueShape, is_required, shape_of};
use crate::diagnostic::Code;
use crate::openapi::argument::NewArgument;
use crate::openapi::body::{Body, BodyKind};
use crate::openapi::description_text;
use crate::openapi::document::{ApiDocument, ApiNode};
use crate::openapi::operation::{essence, is_json};
use crate::openapi::parameter::{ParameterStyle, form_style};
use crate::openapi::template_text::{TemplateFields, TemplateText, push_field};

impl<'d> RequestBuilder<'d> {
    pub(super) fn form_fields(&mut self, body: &Body<'d>) -> TemplateFields {
        let mut fields = TemplateFields::new();
        let Some(node) = body.schema else { return fields };
        let whole = self.schemas.read(node);
        let is_multipart = body.kind == BodyKind::Multipart;
        for (name, schema) in whole.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let encoding = body.encoding.and_then(|all| all.get(name));
            let node = find_property(node, name, self.document).unwrap_or(body.node);
            let style = encoding.map_or(ParameterStyle::Repeated, |encoding| form_style(encoding, self.document));
            let is_file = is_file(node, schema) || is_multipart && self.holds_file(node, encoding);
            let shape = shape_of(schema);
            let (schema, required) = (schema.clone(), is_required(&whole, name));
            let argument =
                self.arguments.add(NewArgument { wire_name: name, location: "form", schema, required, node });
            if is_file {
                self.document.warn(node, Code::Unimplemented, "unsupported file in a form: it is sent as a text");
                self.limitations.push(format!("`{argument}` is sent as text, not as a file."));
            }
            match shape {
                ValueShape::Object | ValueShape::Mixed if is_multipart && !is_file => {
                    let helper = if shape == ValueShape::Object { Some("json") } else { None };
                    push_field(&mut fields, name, TemplateText::call(helper, &argument, ""));
                }
                // In a multipart body each element of a list is a part of its own.
                ValueShape::NestedList if style != ParameterStyle::DeepObject => {
                    push_field(&mut fields, name, TemplateText::placeholder(&argument));
                }
                shape => add_field(&mut fields, name, &argument, shape, style),
            }
        }
        fields
    }

    /// Whether the media type of a part says that it holds a file, or files. Another one is not sent, which is told.
    fn holds_file(&self, node: ApiNode<'_>, encoding: Option<ApiNode<'_>>) -> bool {
        let written = encoding.and_then(|encoding| encoding.text("contentType"));
        let is_binary = |node: ApiNode<'_>| {
            // What is encoded in letters is a text.
            node.text("contentMediaType").is_some_and(is_file_type) && node.get("contentEncoding").is_none()
        };
        let items = node.get("items").and_then(|items| self.document.resolve(items));
        let is_file = is_binary(node) || items.is_some_and(is_binary) || written.is_some_and(is_file_type);
        if let Some(written) = written.filter(|kind| !is_file && essence(kind) != "text/plain") {
            let truncated = description_text::plain_line(crate::diagnostic::truncate(written, 40).as_ref());
            let words = format!("unsupported `contentType` of a part: `{truncated}` is left out");
            self.document.warn(encoding.unwrap_or(node), Code::Unimplemented, words);
        }
        is_file
    }
}

/// Whether a media type, or the first of several, is one of files.
fn is_file_type(written: &str) -> bool {
    let first = essence(written.split(',').next().unwrap_or_default());
    let is_text = first.starts_with("text/") || first.ends_with("xml") || is_json(&first) || first.is_empty();
    !is_text && first != "application/x-www-form-urlencoded"
}

/// Where a property of a schema is described.
fn find_property<'d>(schema: ApiNode<'d>, name: &str, document: &'d ApiDocument) -> Option<ApiNode<'d>> {
    let whole = document.resolve(schema)?;
    let parts = whole.get("allOf").into_iter().flat_map(ApiNode::items).filter_map(|part| document.resolve(part));
    let mut all = std::iter::once(whole).chain(parts);
    document.resolve(all.find_map(|part| part.get("properties")?.get(name))?)
}

/// Whether a field of a form holds a file, or files.
fn is_file(node: ApiNode<'_>, schema: &Value) -> bool {
    let is_binary = |schema: &Value| schema.get("format").is_some_and(|format| format == "binary");
    node.text("format") == Some("binary") || is_binary(schema) || schema.get("items").is_some_and(is_binary)
}
