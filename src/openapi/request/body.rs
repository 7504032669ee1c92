//! The body of a request.

use serde_json::{Map, Value};

use super::RequestBuilder;
use super::value::{is_required, placeholder, with_description};
use crate::action::is_header_name;
use crate::diagnostic::Code;
use crate::openapi::argument::NewArgument;
use crate::openapi::body::{Body, BodyKind};
use crate::openapi::description_text;
use crate::openapi::document::object;
use crate::openapi::operation::essence;
use crate::openapi::schema::with_type;
use crate::openapi::template_text::{TemplateFields, TemplateText, fields_value, push_field};

impl<'d> RequestBuilder<'d> {
    pub(super) fn add_body(&mut self, body: &Body<'d>) {
        match body.kind {
            BodyKind::Json => self.add_json(body),
            BodyKind::Form => {
                let fields = self.form_fields(body);
                self.body = Some(("form", BodyTemplate::Fields(fields)));
            }
            BodyKind::Multipart => {
                let fields = self.form_fields(body);
                self.body = Some(("multipart", BodyTemplate::Fields(fields)));
            }
            BodyKind::Text => self.add_text(body),
        }
    }

    /// Says what a body is. What is no media type is left out: nobody could send it.
    pub(super) fn add_media_type(&mut self, body: &Body<'d>) {
        let text = is_media_type(&body.media_type).then(|| TemplateText::literal(&body.media_type)).flatten();
        match text {
            Some(text) => push_field(&mut self.headers, "Content-Type", text),
            None => self.document.warn(body.node, Code::WrongType, "invalid media type: it is left out"),
        }
    }

    fn add_json(&mut self, body: &Body<'d>) {
        if !["application/json", "*/*"].contains(&body.media_type.as_str()) {
            self.add_media_type(body);
        }
        let translated = body.schema.map_or_else(|| Value::Object(Map::new()), |schema| self.schemas.read(schema));
        let Some(properties) = flat_properties(&translated) else {
            let schema = with_description(
                with_type(translated),
                &description_text::plain(body.description, description_text::ARGUMENT_CHARS),
            );
            let (wire_name, location) = ("body", "request");
            let argument = self.arguments.add(NewArgument {
                wire_name,
                location,
                schema,
                required: body.required,
                node: body.node,
            });
            self.body = Some(("json", BodyTemplate::Whole(placeholder(&argument))));
            return;
        };
        let mut fields = TemplateFields::new();
        for (name, schema) in properties {
            let required = is_required(&translated, name);
            let new =
                NewArgument { wire_name: name, location: "body", schema: schema.clone(), required, node: body.node };
            push_field(&mut fields, name, placeholder(&self.arguments.add(new)));
        }
        self.body = Some(("json", BodyTemplate::Fields(fields)));
    }

    fn add_text(&mut self, body: &Body<'d>) {
        if body.media_type != "text/plain" {
            self.add_media_type(body);
        }
        let kind = essence(&body.media_type);
        if !kind.starts_with("text/") && !kind.ends_with("xml") {
            let words = format!("unsupported body `{kind}`: it is sent as a text");
            self.document.warn(body.node, Code::Unimplemented, words);
            self.limitations.push("The body is sent as text, not as a file.".to_owned());
        }
        let text = description_text::plain(body.description, description_text::ARGUMENT_CHARS);
        let schema = with_description(object([("type", "string".into())]), &text);
        let (wire_name, location) = ("body", "request");
        let argument =
            self.arguments.add(NewArgument { wire_name, location, schema, required: body.required, node: body.node });
        self.body = Some(("body", BodyTemplate::Whole(placeholder(&argument))));
    }
}

/// A body of a request, from its arguments.
pub(super) enum BodyTemplate {
    Whole(TemplateText),
    Fields(TemplateFields),
}

impl From<BodyTemplate> for Value {
    fn from(body: BodyTemplate) -> Value {
        match body {
            BodyTemplate::Whole(text) => text.into(),
            BodyTemplate::Fields(fields) => fields_value(fields),
        }
    }
}

/// The properties of a body whose fields can be arguments of their own: an object that takes no other fields.
fn flat_properties(schema: &Value) -> Option<&Map<String, Value>> {
    const PLAIN: &[&str] = &["type", "properties", "required", "description", "examples", "default", "deprecated"];
    let map = schema.as_object()?;
    // Which fields must come together is not said of arguments.
    let is_plain = |key: &str, value: &Value| match key {
        "anyOf" => value.as_array().is_some_and(|parts| parts.iter().all(only_requires)),
        "additionalProperties" => *value == Value::Bool(false),
        "minProperties" => true,
        key => PLAIN.contains(&key),
    };
    let is_object = map.get("type").is_some_and(|kind| kind == "object" || kind.as_array().is_some());
    if !is_object || !map.iter().all(|(key, value)| is_plain(key, value)) {
        return None;
    }
    // `{ file: … }` alone would be the contents of that file.
    let is_file = |properties: &Map<String, Value>| properties.len() == 1 && properties.contains_key("file");
    map.get("properties")?.as_object().filter(|properties| !properties.is_empty() && !is_file(properties))
}

fn only_requires(part: &Value) -> bool {
    part.as_object().is_some_and(|part| part.keys().all(|key| key == "required"))
}

/// Whether a text is `type/subtype`, in the letters of both, and parameters that a header can hold.
fn is_media_type(text: &str) -> bool {
    let is_parameter = |parameter: &str| {
        let (name, value) = parameter.split_once('=').unwrap_or_default();
        is_header_name(name.trim()) && value.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ')
    };
    let is_kind = |kind: &str| {
        kind.split_once('/').is_some_and(|(kind, subtype)| is_header_name(kind) && is_header_name(subtype))
    };
    let mut parts = text.split(';');
    parts.next().is_some_and(is_kind) && parts.all(is_parameter)
}
