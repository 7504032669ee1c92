//! The request of a tool: its URL, query, headers and body, as templates of its arguments.

use serde_json::{Map, Value};

use super::argument::{Arguments, NewArgument};
use super::body::{Body, BodyKind};
use super::document::{ApiDocument, Node, object};
use super::operation::{Operation, essence, is_json};
use super::parameter::{Parameter, ParameterPlace, ParameterStyle, PathStyle, form_style};
use super::prose;
use super::schema::{Direction, Translator};
use super::template_text::{EachText, TemplateFields, TemplateText, fields_value};
use crate::action::is_header_name;
use crate::diagnostic::Code;

/// A request in the making.
pub(super) struct RequestBuilder<'d> {
    document: &'d ApiDocument,
    pub(super) translator: Translator<'d>,
    pub(super) arguments: Arguments<'d>,
    url: TemplateText,
    query: TemplateFields,
    headers: TemplateFields,
    cookies: Vec<Cookie>,
    body: Option<(&'static str, BodyTemplate)>,
    /// What a caller must know of how values are sent.
    pub(super) limits: Vec<String>,
    /// The query parameter that `paginate` counts.
    paged_by: Option<String>,
}

/// A body of a request, from its arguments.
enum BodyTemplate {
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

/// A cookie, and the argument that it is made of.
struct Cookie {
    /// Its name, and `=`.
    head: TemplateText,
    argument: String,
    required: bool,
}

/// What shape a value has, as far as it matters to how it is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ValueShape {
    Scalar,
    List,
    Object,
}

impl<'d> RequestBuilder<'d> {
    pub(super) fn new(document: &'d ApiDocument) -> RequestBuilder<'d> {
        RequestBuilder {
            document,
            translator: Translator::new(document, Direction::Input),
            arguments: Arguments::default(),
            url: TemplateText::default(),
            query: TemplateFields::new(),
            headers: TemplateFields::new(),
            cookies: Vec::new(),
            body: None,
            limits: Vec::new(),
            paged_by: None,
        }
    }

    /// Names the query parameter that `paginate` counts, from where a call says.
    pub(super) fn page_by(&mut self, parameter: Option<String>) {
        self.paged_by = parameter;
    }

    /// Adds all that an operation takes. `None` where there is something without which it cannot be called.
    pub(super) fn add_operation(&mut self, operation: &Operation<'d>) -> Option<()> {
        let parameters = operation.parameters(self.document);
        self.write_path(operation, &parameters);
        for parameter in &parameters {
            match parameter.place {
                ParameterPlace::Path => {}
                ParameterPlace::Query => self.add_query(parameter),
                ParameterPlace::Header => self.add_header(parameter),
                ParameterPlace::Cookie => self.add_cookie(parameter),
            }
        }
        let Some(body) = operation.body(self.document) else { return Some(()) };
        if !matches!(operation.method, "GET" | "HEAD") {
            self.add_body(&body);
        } else if body.required {
            let words = format!("a {} request with a body is left out", operation.method);
            self.document.warn(operation.node, Code::Unimplemented, words);
            return None;
        }
        Some(())
    }

    /// The keys of `http`, but for the connection.
    pub(super) fn into_keys(mut self, method: &str) -> Map<String, Value> {
        let mut keys = Map::new();
        if method != "GET" {
            keys.insert("method".to_owned(), method.into());
        }
        keys.insert("url".to_owned(), self.url.into());
        if !self.cookies.is_empty() {
            self.headers.insert("Cookie".to_owned(), cookie_header(&self.cookies));
        }
        for (key, entries) in [("query", self.query), ("headers", self.headers)] {
            if !entries.is_empty() {
                keys.insert(key.to_owned(), fields_value(entries));
            }
        }
        keys.extend(self.body.map(|(key, body)| (key.to_owned(), body.into())));
        keys
    }

    /// Writes the path, and adds what stands in it.
    fn write_path(&mut self, operation: &Operation<'d>, parameters: &[Parameter<'d>]) {
        let mut rest = operation.path.split('#').next().unwrap_or_default();
        while let Some((text, name, after)) = split_placeholder(rest) {
            self.url.push(&encode_literal(text));
            let found = parameters.iter().find(|known| known.place == ParameterPlace::Path && known.name == name);
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
        let shape = shape_of(&self.translator.resolve_definition(&schema));
        let node = found.map_or(operation.node, |known| known.node);
        let argument = self.arguments.add(NewArgument { wire_name: name, place: "path", schema, required: true, node });
        match found {
            Some(known) if known.keeps_slashes => TemplateText::call(Some("path"), &argument, ""),
            Some(known) => path_template(&argument, known, shape),
            None => placeholder(&argument),
        }
    }

    /// The schema of a parameter, with its description.
    fn parameter_schema(&mut self, parameter: &Parameter<'d>) -> Value {
        let translated = match parameter.schema {
            Some(_) if parameter.is_json => object([("type", "string".into())]),
            Some(schema) => self.translator.translate(schema),
            None => object([("type", "string".into())]),
        };
        let mut description = prose::plain(parameter.description, prose::ARGUMENT_CHARS);
        if parameter.is_json {
            description = format!("{description} As a JSON text.").trim().to_owned();
        }
        described(translated, &description)
    }

    fn add_query(&mut self, parameter: &Parameter<'d>) {
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

    fn add_parameter(&mut self, parameter: &Parameter<'d>, schema: Value) -> String {
        let (wire_name, place) = (parameter.name, parameter.place.as_str());
        // Where pages are counted, the first of them has a number, too.
        let is_paged = parameter.place == ParameterPlace::Query && self.paged_by.as_deref() == Some(parameter.name);
        let required = parameter.required && !is_paged;
        self.arguments.add(NewArgument { wire_name, place, schema, required, node: parameter.node })
    }

    /// An object of which each field is a parameter.
    fn add_query_object(&mut self, parameter: &Parameter<'d>, schema: Value) {
        let fields = field_names(&self.translator.resolve_definition(&schema));
        let brackets = match parameter.style {
            ParameterStyle::DeepObject => true,
            ParameterStyle::Repeated => false,
            ParameterStyle::Joined(_) => {
                return self.leave_out(parameter, "an object whose fields are joined in one query parameter");
            }
        };
        if fields.is_empty() {
            return self.leave_out(parameter, "an object in a query without declared fields");
        }
        let argument = self.add_parameter(parameter, schema);
        for field in fields {
            let name = if brackets { format!("{}[{field}]", parameter.name) } else { field.clone() };
            self.query.insert(name, field_placeholder(&argument, &field));
        }
    }

    fn leave_out(&self, parameter: &Parameter<'_>, what: &str) {
        let words = format!("unsupported parameter: {what}; it is left out");
        self.document.warn(parameter.node, Code::Unimplemented, words);
    }

    fn add_header(&mut self, parameter: &Parameter<'d>) {
        if !is_header_name(parameter.name) {
            return self.leave_out(parameter, "a header whose name no request can hold");
        }
        let schema = self.parameter_schema(parameter);
        match shape_of(&self.translator.resolve_definition(&schema)) {
            ValueShape::Object => self.leave_out(parameter, "an object in a header"),
            shape => {
                let argument = self.add_parameter(parameter, schema);
                let template = match shape {
                    ValueShape::List => joined(&argument, parameter.style),
                    _ => placeholder(&argument),
                };
                self.headers.insert(parameter.name.to_owned(), template);
            }
        }
    }

    fn add_cookie(&mut self, parameter: &Parameter<'d>) {
        let schema = self.parameter_schema(parameter);
        let is_scalar = shape_of(&self.translator.resolve_definition(&schema)) == ValueShape::Scalar;
        // The names of cookies have the letters of those of headers.
        let is_name = is_header_name(parameter.name);
        let head = is_name.then(|| TemplateText::literal(&format!("{}=", parameter.name))).flatten();
        let Some(head) = head.filter(|_| is_scalar) else {
            return self.leave_out(parameter, "a cookie that is no plain value, or whose name no request can hold");
        };
        let argument = self.add_parameter(parameter, schema);
        self.cookies.push(Cookie { head, argument, required: parameter.required });
    }

    fn add_body(&mut self, body: &Body<'d>) {
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
    fn add_media_type(&mut self, body: &Body<'d>) {
        let text = is_media_type(&body.media_type).then(|| TemplateText::literal(&body.media_type)).flatten();
        match text {
            Some(text) => _ = self.headers.insert("Content-Type".to_owned(), text),
            None => self.document.warn(body.node, Code::WrongType, "invalid media type: it is left out"),
        }
    }

    fn add_json(&mut self, body: &Body<'d>) {
        if !["application/json", "*/*"].contains(&body.media_type.as_str()) {
            self.add_media_type(body);
        }
        let translated =
            body.schema.map_or_else(|| Value::Object(Map::new()), |schema| self.translator.translate(schema));
        let whole = self.translator.resolve_definition(&translated);
        let Some(properties) = flat_properties(&whole) else {
            let schema = described(translated, &prose::plain(body.description, prose::ARGUMENT_CHARS));
            let (wire_name, place) = ("body", "request");
            let argument =
                self.arguments.add(NewArgument { wire_name, place, schema, required: body.required, node: body.node });
            self.body = Some(("json", BodyTemplate::Whole(placeholder(&argument))));
            return;
        };
        let mut fields = TemplateFields::new();
        for (name, schema) in properties {
            let required = is_required(&whole, name);
            let new = NewArgument { wire_name: name, place: "body", schema: schema.clone(), required, node: body.node };
            fields.insert(name.clone(), placeholder(&self.arguments.add(new)));
        }
        self.body = Some(("json", BodyTemplate::Fields(fields)));
    }

    fn add_text(&mut self, body: &Body<'d>) {
        if body.media_type != "text/plain" {
            self.add_media_type(body);
        }
        if !body.media_type.starts_with("text/") && !body.media_type.ends_with("xml") {
            let words = format!("unsupported body `{}`: it is sent as a text", body.media_type);
            self.document.warn(body.node, Code::Unimplemented, words);
            self.limits.push("The body is sent as text, not as a file.".to_owned());
        }
        let text = prose::plain(body.description, prose::ARGUMENT_CHARS);
        let schema = described(object([("type", "string".into())]), &text);
        let (wire_name, place) = ("body", "request");
        let argument =
            self.arguments.add(NewArgument { wire_name, place, schema, required: body.required, node: body.node });
        self.body = Some(("body", BodyTemplate::Whole(placeholder(&argument))));
    }

    fn form_fields(&mut self, body: &Body<'d>) -> TemplateFields {
        let mut fields = TemplateFields::new();
        for field in &body.fields {
            let description = prose::plain(field.node.text("description").unwrap_or_default(), prose::ARGUMENT_CHARS);
            let schema = described(self.translator.translate(field.node), &description);
            let (required, node) = (field.required, field.node);
            let new = NewArgument { wire_name: field.name, place: "form", schema, required, node };
            let how = FieldEncoding::of(field.node, Some(field.node), body.kind, self.document);
            self.add_field(new, how, &mut fields);
        }
        let Some(node) = body.schema else { return fields };
        let translated = self.translator.translate(node);
        let whole = self.translator.resolve_definition(&translated);
        for (name, schema) in whole.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let encoding = body.encoding.and_then(|all| all.get(name));
            let node = find_property(node, name, self.document).unwrap_or(body.node);
            let how = FieldEncoding::of(node, encoding, body.kind, self.document);
            let (schema, required) = (schema.clone(), is_required(&whole, name));
            let is_deep = how.style == ParameterStyle::DeepObject;
            let deep = is_deep.then(|| field_names(&self.translator.resolve_definition(&schema)));
            let new = NewArgument { wire_name: name, place: "form", schema, required, node };
            match deep.filter(|names| !names.is_empty()) {
                Some(names) => self.add_deep_field(new, &names, &mut fields),
                None => self.add_field(new, how, &mut fields),
            }
        }
        fields
    }

    fn add_field(&mut self, new: NewArgument<'_, 'd>, how: FieldEncoding, fields: &mut TemplateFields) {
        let (name, node) = (new.wire_name.to_owned(), new.node);
        let is_file = how.is_file || is_file(&new.schema, node);
        let shape = shape_of(&self.translator.resolve_definition(&new.schema));
        let argument = self.arguments.add(new);
        if is_file {
            self.document.warn(node, Code::Unimplemented, "unsupported file in a form: it is sent as a text");
            self.limits.push(format!("`{argument}` is sent as text, not as a file."));
        }
        let template = match (shape, how.style) {
            (ValueShape::Object, _) if how.kind == BodyKind::Multipart => {
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
    fn of(node: Node<'_>, encoding: Option<Node<'_>>, kind: BodyKind, document: &ApiDocument) -> FieldEncoding {
        let style = encoding.map_or(ParameterStyle::Repeated, |encoding| form_style(encoding, document));
        let written = encoding.and_then(|encoding| encoding.text("contentType"));
        let own = |node: Node<'_>| {
            // What is encoded in letters is a text.
            node.text("contentMediaType").is_some_and(is_file_type) && node.get("contentEncoding").is_none()
        };
        let is_multipart = kind == BodyKind::Multipart;
        let is_file = own(node) || node.get("items").and_then(|items| document.resolve(items)).is_some_and(own);
        let is_file = is_multipart && (is_file || written.is_some_and(is_file_type));
        if let Some(written) = written.filter(|kind| is_multipart && !is_file && essence(kind) != "text/plain") {
            let shown = prose::plain_line(crate::diagnostic::truncate(written, 40).as_ref());
            let words = format!("unsupported `contentType` of a part: `{shown}` is left out");
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
fn find_property<'d>(schema: Node<'d>, name: &str, document: &'d ApiDocument) -> Option<Node<'d>> {
    let whole = document.resolve(schema)?;
    let parts = whole.get("allOf").into_iter().flat_map(Node::items).filter_map(|part| document.resolve(part));
    let mut all = std::iter::once(whole).chain(parts);
    document.resolve(all.find_map(|part| part.get("properties")?.get(name))?)
}

/// Whether a field of a form holds a file, or files.
fn is_file(schema: &Value, at: Node<'_>) -> bool {
    let is_binary = |schema: &Value| schema.get("format").is_some_and(|format| format == "binary");
    at.text("type") == Some("file") || is_binary(schema) || schema.get("items").is_some_and(is_binary)
}

/// A schema with a description, which says more of this place than its own.
fn described(mut schema: Value, description: &str) -> Value {
    if let Some(map) = schema.as_object_mut().filter(|_| !description.is_empty()) {
        map.insert("description".to_owned(), description.into());
    }
    schema
}

fn placeholder(argument: &str) -> TemplateText {
    TemplateText::placeholder(argument)
}

/// A field of an argument that is an object.
fn field_placeholder(argument: &str, field: &str) -> TemplateText {
    match crate::notation::is_identifier(field) {
        true => placeholder(&format!("{argument}.{field}")),
        false => placeholder(&format!("{argument}.[{field}]")),
    }
}

/// A list in one text.
fn joined(argument: &str, style: ParameterStyle) -> TemplateText {
    TemplateText::joined(argument, separator(style))
}

fn separator(style: ParameterStyle) -> &'static str {
    if let ParameterStyle::Joined(separator) = style { separator } else { "," }
}

/// A value in a path (RFC 6570, 3.2). What stands between its parts is not encoded, as it is no part of them.
fn path_template(argument: &str, parameter: &Parameter<'_>, shape: ValueShape) -> TemplateText {
    let mut name = encode_literal(&format!(";{}", parameter.name));
    name.push(&encode_literal("="));
    let explodes = parameter.explodes && shape != ValueShape::Scalar;
    let head = match parameter.path_style {
        PathStyle::Simple => TemplateText::default(),
        PathStyle::Label => encode_literal("."),
        PathStyle::Matrix if explodes && shape == ValueShape::Object => encode_literal(";"),
        PathStyle::Matrix => name,
    };
    let key_end = (shape == ValueShape::Object).then_some(if parameter.explodes { '=' } else { ',' });
    if shape != ValueShape::Scalar && explodes && parameter.path_style != PathStyle::Simple {
        return TemplateText::each(argument, &TemplateText::default(), EachText { head, key_end });
    }
    let mut whole = head;
    whole.push(&match shape {
        ValueShape::Scalar => placeholder(argument),
        _ => {
            let one = EachText { key_end, ..EachText::default() };
            TemplateText::each(argument, &encode_literal(separator(parameter.style)), one)
        }
    });
    whole
}

/// The cookies of a request. A value is encoded: whatever its schema takes, a `;` in it begins no other cookie.
fn cookie_header(cookies: &[Cookie]) -> TemplateText {
    let mut header = TemplateText::default();
    let mut optional: Vec<&str> = Vec::new();
    // The required ones come first, so that those behind them know that there is one before them.
    let (first, rest): (Vec<&Cookie>, Vec<&Cookie>) = cookies.iter().partition(|cookie| cookie.required);
    for (place, Cookie { head, argument, required }) in first.iter().chain(&rest).copied().enumerate() {
        let mut one = match (place, first.is_empty()) {
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

fn shape_of(schema: &Value) -> ValueShape {
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
fn field_names(schema: &Value) -> Vec<String> {
    let names = schema.get("properties").and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name);
    names.filter(|name| !name.is_empty() && !name.contains(['[', ']', '{', '}', '\\'])).cloned().collect()
}

fn is_required(schema: &Value, name: &str) -> bool {
    schema.get("required").and_then(Value::as_array).is_some_and(|names| names.contains(&Value::from(name)))
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
    map.get("properties")?.as_object().filter(|properties| !properties.is_empty())
}

fn only_requires(part: &Value) -> bool {
    part.as_object().is_some_and(|part| part.keys().all(|key| key == "required"))
}

/// The text before the first `{name}` of a path, the name, and what follows.
pub(super) fn split_placeholder(path: &str) -> Option<(&str, &str, &str)> {
    let (text, rest) = path.split_once('{')?;
    let (name, after) = rest.split_once('}')?;
    Some((text, name, after))
}

/// Whether a text is `type/subtype`, in the letters of both; parameters are left out before.
fn is_media_type(text: &str) -> bool {
    text.split_once('/').is_some_and(|(kind, subtype)| is_header_name(kind) && is_header_name(subtype))
}

/// A text as it may stand in a URL, and is no template.
fn encode_literal(text: &str) -> TemplateText {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => encoded.push(char::from(byte)),
            byte if b"-._~/:@!$&'()*+,;=?%".contains(&byte) => encoded.push(char::from(byte)),
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    TemplateText::literal(&encoded).unwrap_or_default()
}
