//! The fields of a form, and of a multipart body.

use serde_json::Value;

use super::RequestBuilder;
use super::value::{
    ValueShape, field_names, field_placeholder, is_required, joined, placeholder, shape_of, with_description,
};
use crate::diagnostic::Code;
use crate::openapi::argument::NewArgument;
use crate::openapi::body::{Body, BodyKind};
use crate::openapi::description_text;
use crate::openapi::document::{ApiDocument, ApiNode};
use crate::openapi::operation::{essence, is_json};
use crate::openapi::parameter::{ParameterStyle, form_style};
use crate::openapi::template_text::{TemplateFields, TemplateText};

impl<'d> RequestBuilder<'d> {
    pub(super) fn form_fields(&mut self, body: &Body<'d>) -> TemplateFields {
        let mut fields = TemplateFields::new();
        for field in &body.fields {
            let description = description_text::plain(
                field.node.text("description").unwrap_or_default(),
                description_text::ARGUMENT_CHARS,
            );
            let schema = with_description(self.translator.translate(field.node), &description);
            let (required, node) = (field.required, field.node);
            let new = NewArgument { wire_name: field.name, location: "form", schema, required, node };
            let field_encoding = FieldEncoding::read(field.node, Some(field.node), body.kind, self.document);
            self.add_field(new, field_encoding, &mut fields);
        }
        let Some(node) = body.schema else { return fields };
        let translated = self.translator.translate(node);
        let whole = self.translator.resolve_definition(&translated);
        for (name, schema) in whole.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let encoding = body.encoding.and_then(|all| all.get(name));
            let node = find_property(node, name, self.document).unwrap_or(body.node);
            let field_encoding = FieldEncoding::read(node, encoding, body.kind, self.document);
            let (schema, required) = (schema.clone(), is_required(&whole, name));
            let is_deep = field_encoding.style == ParameterStyle::DeepObject;
            let deep = is_deep.then(|| field_names(&self.translator.resolve_definition(&schema)));
            let new = NewArgument { wire_name: name, location: "form", schema, required, node };
            match deep.filter(|names| !names.is_empty()) {
                Some(names) => self.add_deep_field(new, &names, &mut fields),
                None => self.add_field(new, field_encoding, &mut fields),
            }
        }
        fields
    }

    fn add_field(&mut self, new: NewArgument<'_, 'd>, field_encoding: FieldEncoding, fields: &mut TemplateFields) {
        let (name, node) = (new.wire_name.to_owned(), new.node);
        let is_file = field_encoding.is_file || is_file(&new.schema, node);
        let shape = shape_of(&self.translator.resolve_definition(&new.schema));
        let argument = self.arguments.add(new);
        if is_file {
            self.document.warn(node, Code::Unimplemented, "unsupported file in a form: it is sent as a text");
            self.limitations.push(format!("`{argument}` is sent as text, not as a file."));
        }
        let template = match (shape, field_encoding.style) {
            (ValueShape::Object, _) if field_encoding.kind == BodyKind::Multipart => {
                TemplateText::call(Some("json"), &argument, "")
            }
            (ValueShape::List, style @ ParameterStyle::Joined(_)) => joined(&argument, style),
            _ => placeholder(&argument),
        };
        fields.insert(name, template);
    }

    /// An object of which each field is a field of the form.
    fn add_deep_field(&mut self, new: NewArgument<'_, 'd>, names: &[String], fields: &mut TemplateFields) {
        let name = new.wire_name.to_owned();
        let argument = self.arguments.add(new);
        for field in names {
            fields.insert(format!("{name}[{field}]"), field_placeholder(&argument, field));
        }
    }
}

/// How a field of a form is written.
#[derive(Clone, Copy)]
struct FieldEncoding {
    kind: BodyKind,
    style: ParameterStyle,
    /// Whether its media type says that it holds a file, or files.
    is_file: bool,
}

impl FieldEncoding {
    fn read(node: ApiNode<'_>, encoding: Option<ApiNode<'_>>, kind: BodyKind, document: &ApiDocument) -> FieldEncoding {
        let style = encoding.map_or(ParameterStyle::Repeated, |encoding| form_style(encoding, document));
        let written = encoding.and_then(|encoding| encoding.text("contentType"));
        let is_binary = |node: ApiNode<'_>| {
            // What is encoded in letters is a text.
            node.text("contentMediaType").is_some_and(is_file_type) && node.get("contentEncoding").is_none()
        };
        let is_multipart = kind == BodyKind::Multipart;
        let is_file =
            is_binary(node) || node.get("items").and_then(|items| document.resolve(items)).is_some_and(is_binary);
        let is_file = is_multipart && (is_file || written.is_some_and(is_file_type));
        if let Some(written) = written.filter(|kind| is_multipart && !is_file && essence(kind) != "text/plain") {
            let truncated = description_text::plain_line(crate::diagnostic::truncate(written, 40).as_ref());
            let words = format!("unsupported `contentType` of a part: `{truncated}` is left out");
            document.warn(encoding.unwrap_or(node), Code::Unimplemented, words);
        }
        FieldEncoding { kind, style, is_file }
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
fn is_file(schema: &Value, at: ApiNode<'_>) -> bool {
    let is_binary = |schema: &Value| schema.get("format").is_some_and(|format| format == "binary");
    at.text("type") == Some("file") || is_binary(schema) || schema.get("items").is_some_and(is_binary)
}
