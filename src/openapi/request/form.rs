//! The fields of a form, and of a multipart body.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::RequestBuilder;
use super::query::add_field;
use super::value::{ValueShape, is_required, shape_of, with_description};
use crate::diagnostic::Code;
use crate::openapi::argument::NewArgument;
use crate::openapi::body::{Body, BodyKind};
use crate::openapi::description_text;
use crate::openapi::document::{ApiDocument, ApiNode, object};
use crate::openapi::operation::{essence, is_json};
use crate::openapi::parameter::{ParameterStyle, form_style};
use crate::openapi::template_text::{TemplateFields, TemplateText, push_field};

impl<'d> RequestBuilder<'d> {
    pub(super) fn form_fields(&mut self, body: &Body<'d>) -> TemplateFields {
        let mut fields = TemplateFields::new();
        let node = body.schema.unwrap_or(body.node);
        let whole = body.schema.map_or_else(|| Value::Object(Map::new()), |schema| self.schemas.read(schema));
        let is_multipart = body.kind == BodyKind::Multipart;
        let known = FormFields::read(&whole);
        let mut alternatives = whole.get("anyOf").and_then(Value::as_array).into_iter().flatten();
        let is_lost = |schema: &Value| !is_object(schema) && schema.get("type").is_some_and(|kind| kind != "null");
        if !known.fields.is_empty() && alternatives.any(is_lost) {
            let words = "an alternative of a form is no object: it is left out";
            self.document.warn(body.node, Code::Unimplemented, words);
        }
        for (name, (schema, required)) in &known.fields {
            let encoding = body.encoding.and_then(|all| all.get(name));
            let node = find_property(node, name, self.document).unwrap_or(body.node);
            let style = encoding.map_or(ParameterStyle::Repeated, |encoding| form_style(encoding, self.document));
            let is_file = is_file(node, schema) || is_multipart && self.holds_file(node, encoding);
            let shape = shape_of(schema);
            let (schema, required) = (schema.clone(), *required);
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
        self.add_free_fields(&whole, &known, body, &mut fields);
        fields
    }

    /// Adds an object whose fields are those that a form takes beside the ones that it names.
    fn add_free_fields(&mut self, whole: &Value, known: &FormFields, body: &Body<'d>, fields: &mut TemplateFields) {
        let schema = body.schema.and_then(|schema| self.document.resolve(schema));
        // Fields of answers alone are named, too.
        let names_fields = schema.is_some_and(|schema| schema.get("properties").is_some());
        let says = whole.get("additionalProperties");
        if known.fields.is_empty() && names_fields && says.is_none() {
            return;
        }
        let others = match &known.others {
            Some(others) => others.clone(),
            None if known.fields.is_empty() && says.is_none() => true.into(),
            None => return,
        };
        if body.kind == BodyKind::Multipart {
            let words = "unsupported fields of any name in a multipart body: they are left out";
            return self.document.warn(body.node, Code::Unimplemented, words);
        }
        if known.others.is_none() {
            let words = "the schema of a form is no object: it takes fields of any name";
            self.document.warn(body.node, Code::WrongType, words);
        }
        let text = description_text::plain(body.description, description_text::ARGUMENT_CHARS);
        let schema = object([("type", "object".into()), ("additionalProperties", others)]);
        let schema = with_description(schema, &text);
        let required = body.required && known.fields.is_empty();
        let (wire_name, location, node) = ("body", "request", body.node);
        let argument = self.arguments.add(NewArgument { wire_name, location, schema, required, node });
        push_field(fields, "[*]", TemplateText::placeholder(&argument));
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

/// The fields that a form names, each with its schema, and whether it is required; and what others it takes.
#[derive(Default)]
struct FormFields {
    fields: IndexMap<String, (Value, bool)>,
    /// What fields of any other name hold. `None` where there are none.
    others: Option<Value>,
}

impl FormFields {
    /// The fields of a schema, of all of its parts, and of any of its alternatives.
    fn read(schema: &Value) -> FormFields {
        let mut whole = FormFields::default();
        let parts = |key: &str| schema.get(key).and_then(Value::as_array).into_iter().flatten().map(FormFields::read);
        for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            whole.fields.insert(name.clone(), (property.clone(), is_required(schema, name)));
        }
        parts("allOf").for_each(|part| whole.add_all(part));
        if let Some(any) = parts("anyOf").reduce(FormFields::or) {
            whole.add_all(any);
        }
        let names = ["properties", "allOf", "anyOf"].iter().any(|key| schema.get(key).is_some());
        match schema.get("additionalProperties") {
            Some(Value::Bool(false)) => whole.others = None,
            Some(others) => whole.others = Some(others.clone()),
            // It takes any field where it says nothing, and means them where it names none.
            None if !names && is_object(schema) => whole.others = Some(true.into()),
            None => {}
        }
        whole
    }

    /// Adds fields that are there besides. Of a field that both name, the own schema stays.
    fn add_all(&mut self, more: FormFields) {
        for (name, (schema, required)) in more.fields {
            let (_, is_required) = self.fields.entry(name).or_insert((schema, required));
            *is_required |= required;
        }
        self.others = self.others.take().or(more.others);
    }

    /// The fields of either: required are those that both require.
    fn or(mut self, other: FormFields) -> FormFields {
        self.others = match (self.others, other.others) {
            (Some(one), Some(other)) if one != other => Some(true.into()),
            (one, other) => one.or(other),
        };
        for (name, (_, required)) in &mut self.fields {
            *required &= other.fields.get(name).is_some_and(|(_, required)| *required);
        }
        for (name, (schema, _)) in other.fields {
            match self.fields.get_mut(&name) {
                Some((known, _)) => *known = either(known.take(), schema),
                None => _ = self.fields.insert(name, (schema, false)),
            }
        }
        self
    }
}

/// Whether a schema is one of objects, as far as it says.
fn is_object(schema: &Value) -> bool {
    schema
        .get("type")
        .is_none_or(|kind| kind == "object" || kind.as_array().is_some_and(|all| all.contains(&"object".into())))
}

/// What fits one of two schemas.
fn either(one: Value, other: Value) -> Value {
    if one == other {
        return one;
    }
    let alternatives = |schema: Value| match schema {
        Value::Object(mut map) if map.len() == 1 && map.contains_key("anyOf") => match map.remove("anyOf") {
            Some(Value::Array(all)) => all,
            _ => Vec::new(),
        },
        schema => vec![schema],
    };
    let mut all = alternatives(one);
    for schema in alternatives(other) {
        if !all.contains(&schema) {
            all.push(schema);
        }
    }
    object([("anyOf", all.into())])
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
    let lists = ["allOf", "oneOf", "anyOf"].into_iter().filter_map(|key| whole.get(key));
    let parts = lists.flat_map(ApiNode::items).filter_map(|part| document.resolve(part));
    let mut all = std::iter::once(whole).chain(parts);
    document.resolve(all.find_map(|part| part.get("properties")?.get(name))?)
}

/// Whether a field of a form holds a file, or files.
fn is_file(node: ApiNode<'_>, schema: &Value) -> bool {
    let is_binary = |schema: &Value| schema.get("format").is_some_and(|format| format == "binary");
    node.text("format") == Some("binary") || is_binary(schema) || schema.get("items").is_some_and(is_binary)
}
