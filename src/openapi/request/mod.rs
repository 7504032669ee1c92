//! The request of a tool: its URL, query, headers and body, as templates of its arguments.

mod body;
mod cookie;
mod form;
mod path;
mod query;
mod value;

use serde_json::{Map, Value};

use super::argument::{NewArgument, ToolArguments};
use super::authentication::RequestCredentials;
use super::base_url::{BaseUrl, server_node};
use super::description_text;
use super::document::{ApiDocument, object};
use super::operation::Operation;
use super::parameter::{Parameter, ParameterLocation};
use super::schema::{SchemaReader, with_type};
use super::template_text::{TemplateFields, TemplateText, fields_value, push_field};
use crate::action::is_header_name;
use crate::diagnostic::Code;

use body::BodyTemplate;
use cookie::{Cookie, cookie_header};
use value::{ValueShape, joined, joined_fields, placeholder, shape_of, with_description};

pub(super) use path::{encode_literal, split_placeholder};

/// A request in the making.
pub(super) struct RequestBuilder<'d> {
    document: &'d ApiDocument,
    pub(super) schemas: SchemaReader<'d>,
    pub(super) arguments: ToolArguments<'d>,
    url: TemplateText,
    query: TemplateFields,
    headers: TemplateFields,
    cookies: Vec<Cookie>,
    body: Option<(&'static str, BodyTemplate)>,
    /// What a caller must know of how values are sent.
    pub(super) limitations: Vec<String>,
    /// The query parameter that `paginate` counts.
    page_parameter: Option<String>,
}

impl<'d> RequestBuilder<'d> {
    pub(super) fn new(
        document: &'d ApiDocument,
        max_nesting: usize,
        page_parameter: Option<&str>,
    ) -> RequestBuilder<'d> {
        RequestBuilder {
            document,
            schemas: SchemaReader::new(document, max_nesting),
            arguments: ToolArguments::default(),
            url: TemplateText::default(),
            query: TemplateFields::new(),
            headers: TemplateFields::new(),
            cookies: Vec::new(),
            body: None,
            limitations: Vec::new(),
            page_parameter: page_parameter.map(str::to_owned),
        }
    }

    /// Adds all that an operation takes. `None` where there is something without which it cannot be called.
    pub(super) fn add_operation(
        &mut self,
        operation: &Operation<'d>,
        credentials: &RequestCredentials<'_>,
    ) -> Option<()> {
        let parameters = operation.parameters(self.document);
        self.write_path(operation, &parameters);
        for parameter in parameters.iter().filter(|parameter| !credentials.covers(parameter)) {
            match parameter.location {
                ParameterLocation::Path => {}
                ParameterLocation::Query => self.add_query(parameter),
                ParameterLocation::Header => self.add_header(parameter),
                ParameterLocation::Cookie if credentials.has_cookie_header() => {
                    self.warn_unsupported_parameter(parameter, "a cookie beside one of the security scheme");
                }
                ParameterLocation::Cookie => self.add_cookie(parameter),
            }
        }
        self.query.extend(credentials.query.iter().map(|(name, value)| (name.clone(), vec![value.clone()])));
        let Some(body) = operation.body(self.document) else { return Some(()) };
        if !matches!(operation.method, "GET" | "HEAD") {
            self.add_body(&body);
            return Some(());
        }
        // A body without any field is none.
        let schema = body.schema.and_then(|schema| self.document.resolve(schema));
        let properties = schema.and_then(|schema| schema.get("properties"));
        if properties.is_some_and(|properties| properties.entries().next().is_none()) {
            return Some(());
        }
        let what = if body.required { "is left out" } else { "is sent without it" };
        let words = format!("a {} request with a body {what}", operation.method);
        self.document.warn(operation.node, Code::Unimplemented, words);
        (!body.required).then_some(())
    }

    /// Adds the query of a server's URL, but for what the operation has of it.
    pub(super) fn add_base_query(&mut self, base: &BaseUrl, operation: &Operation<'_>) {
        for (name, value) in &base.query {
            match TemplateText::literal(value) {
                _ if self.query.contains_key(name) => {}
                Some(value) => push_field(&mut self.query, name, value),
                None => {
                    let name = description_text::plain_line(crate::diagnostic::truncate(name, 40).as_ref());
                    let words = format!("the value of `{name}` in the server URL holds a template: it is left out");
                    self.document.warn(server_node(operation, self.document), Code::Template, words);
                }
            }
        }
    }

    /// The keys of `http`, but for the connection.
    pub(super) fn into_keys(mut self, method: &str) -> Map<String, Value> {
        let mut keys = Map::new();
        if method != "GET" {
            keys.insert("method".to_owned(), method.into());
        }
        keys.insert("url".to_owned(), self.url.into());
        if !self.cookies.is_empty() {
            push_field(&mut self.headers, "Cookie", cookie_header(&self.cookies));
        }
        for (key, entries) in [("query", self.query), ("headers", self.headers)] {
            if !entries.is_empty() {
                keys.insert(key.to_owned(), fields_value(entries));
            }
        }
        keys.extend(self.body.map(|(key, body)| (key.to_owned(), body.into())));
        keys
    }

    /// The schema of a parameter, with its description.
    fn parameter_schema(&mut self, parameter: &Parameter<'d>) -> Value {
        let translated = match parameter.schema {
            Some(_) if parameter.is_json => object([("type", "string".into())]),
            Some(schema) => with_type(self.schemas.read(schema)),
            None => object([("type", "string".into())]),
        };
        let mut description = description_text::plain(parameter.description, description_text::ARGUMENT_CHARS);
        if parameter.is_json {
            description = format!("{description} As a JSON text.").trim().to_owned();
        }
        with_description(translated, &description)
    }

    fn add_parameter(&mut self, parameter: &Parameter<'d>, schema: Value) -> String {
        let (wire_name, location) = (parameter.name, parameter.location.as_str());
        // Where pages are counted, the first of them has a number, too.
        let is_paged =
            parameter.location == ParameterLocation::Query && self.page_parameter.as_deref() == Some(parameter.name);
        let required = parameter.required && !is_paged;
        self.arguments.add(NewArgument { wire_name, location, schema, required, node: parameter.node })
    }

    fn warn_unsupported_parameter(&self, parameter: &Parameter<'_>, what: &str) {
        let words = format!("unsupported parameter: {what}; it is left out");
        self.document.warn(parameter.node, Code::Unimplemented, words);
    }

    fn add_header(&mut self, parameter: &Parameter<'d>) {
        if !is_header_name(parameter.name) {
            return self.warn_unsupported_parameter(parameter, "a header whose name no request can hold");
        }
        let schema = self.parameter_schema(parameter);
        let shape = shape_of(&schema);
        let argument = self.add_parameter(parameter, schema);
        let template = match shape {
            ValueShape::List | ValueShape::Mixed => joined(&argument, parameter.style),
            ValueShape::Object => joined_fields(&argument, parameter.style, parameter.explodes).when(&argument),
            _ => placeholder(&argument),
        };
        push_field(&mut self.headers, parameter.name, template);
    }
}
