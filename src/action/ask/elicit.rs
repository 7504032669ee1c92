//! `elicit`: asks the user, by a form or on a page.

use serde_json::{Map, Value, json};

use super::spec::Elicit;
use super::{AnswerVerdict, elicitation_url};
use crate::action::ActionError;
use crate::action::context::client::{ClientCapability, QuestionKind};
use crate::action::sibling_keys::check_exactly_one;
use crate::compile::{Compiler, Exposure, shape_of};
use crate::diagnostic::{Code, Reporting, Severity};
use crate::schema::{EmptyText, Schema, SchemaError, lint, normalize_integers};
use crate::template::{Scope, Shape, Template, TextSlot, UrlSlot};
use crate::yaml::{Location, Spanned};

/// A compiled question to the user.
pub(super) struct ElicitTemplate {
    message: Template<TextSlot>,
    mode: ElicitMode,
}

enum ElicitMode {
    Form(Schema),
    Url(Template<UrlSlot>),
}

/// Words in the names of fields that ask for a secret.
const SECRET_FIELD_WORDS: &[&str] = &["password", "passwd", "token", "secret", "apikey", "api_key", "credential"];
/// The formats of strings in MCP forms.
const FORM_FIELD_FORMATS: &[&str] = &["email", "uri", "date", "date-time"];
/// The keywords of fields in MCP forms.
const FORM_FIELD_KEYWORDS: &[&str] = &[
    "type", "title", "description", "default", "enum", "enumNames", "oneOf", "items", "minItems", "maxItems", "format",
    "minLength", "maxLength", "pattern", "minimum", "maximum",
];

impl ElicitTemplate {
    pub(super) fn compile(elicit: &Spanned<Elicit>, compiler: &mut Compiler<'_>) -> Option<ElicitTemplate> {
        let Some(message) = &elicit.message else {
            compiler.error(Code::MissingKey, elicit.location, "missing key `message` in `elicit`");
            return None;
        };
        let at = message.location;
        let message: Option<Template<TextSlot>> = compiler.template(message, Exposure::Client);
        if message.as_ref().is_some_and(Template::is_blank) {
            compiler
                .error(Code::BadValue, at, "empty `message` in `elicit`")
                .help("write what the person is asked, such as `message: Which name?`");
            return None;
        }
        let modes = [
            ("schema", elicit.schema.is_some()),
            ("requestedSchema", elicit.requested_schema.is_some()),
            ("url", elicit.url.is_some()),
        ];
        check_exactly_one("elicit", elicit.location, &modes, compiler)?;
        let mode = match &elicit.url {
            Some(url) => {
                let template = compiler.template(url, Exposure::Client)?;
                elicitation_url::check(url, &template, compiler).map(|()| ElicitMode::Url(template))
            }
            None => compile_form(elicit, compiler).map(ElicitMode::Form),
        };
        Some(ElicitTemplate { message: message?, mode: mode? })
    }

    pub(super) fn required_capability(&self) -> ClientCapability {
        match self.mode {
            ElicitMode::Form(_) => ClientCapability::ElicitationForm,
            ElicitMode::Url(_) => ClientCapability::ElicitationUrl,
        }
    }

    /// The schema of its form, unless it leads to a page.
    pub(super) fn form_schema(&self) -> Option<&Map<String, Value>> {
        match &self.mode {
            ElicitMode::Form(schema) => Some(schema.json()),
            ElicitMode::Url(_) => None,
        }
    }

    pub(super) fn render(&self, scope: &Scope) -> Result<QuestionKind, ActionError> {
        let message = self.message.render(scope)?.0;
        Ok(match &self.mode {
            ElicitMode::Form(schema) => QuestionKind::Form { message, schema: schema.json().clone() },
            ElicitMode::Url(url) => QuestionKind::Url { message, url: elicitation_url::render(url, scope)? },
        })
    }

    /// Checks an `ElicitResult`.
    pub(super) fn check_answer(
        &self,
        answer: &Value,
        continues_on_decline: bool,
        scope: &Scope,
    ) -> Result<AnswerVerdict, ActionError> {
        let action = answer.get("action").and_then(Value::as_str).unwrap_or_default();
        match action {
            "accept" => scope.budget().run(|| self.check_content(answer))?,
            "decline" | "cancel" if continues_on_decline => Ok(AnswerVerdict::Accepted(json!({ "action": action }))),
            "decline" => Ok(AnswerVerdict::Declined(format!("the user declined: {}", self.message.render(scope)?.0))),
            "cancel" => Ok(AnswerVerdict::Declined(format!("the user cancelled: {}", self.message.render(scope)?.0))),
            _ => Ok(AnswerVerdict::Invalid("invalid `action`, expected `accept`, `decline` or `cancel`".to_owned())),
        }
    }

    fn check_content(&self, answer: &Value) -> Result<AnswerVerdict, ActionError> {
        let mut outcome = Map::new();
        if let ElicitMode::Form(schema) = &self.mode {
            let content = match answer.get("content") {
                None | Some(Value::Null) => Map::new(),
                Some(Value::Array(fields)) if fields.is_empty() => Map::new(),
                Some(Value::Object(content)) => content.clone(),
                Some(_) => return Ok(AnswerVerdict::Invalid("invalid `content`, expected an object".to_owned())),
            };
            let fields = schema.json().get("properties").and_then(Value::as_object);
            let declared = content
                .into_iter()
                .filter(|(name, _)| fields.is_some_and(|fields| fields.contains_key(name)))
                .collect();
            // A client need not fill in defaults, and one of an older version is not sent them.
            let (settled, violations) = schema.settle(declared, EmptyText::Absent)?;
            if !violations.is_empty() {
                let messages: Vec<String> = violations.into_iter().map(|violation| violation.message).collect();
                return Ok(AnswerVerdict::Invalid(messages.join("; ")));
            }
            outcome = settled;
        }
        outcome.values_mut().for_each(|value| _ = normalize_integers(value));
        outcome.insert("action".to_owned(), "accept".into());
        Ok(AnswerVerdict::Accepted(Value::Object(outcome)))
    }
}

/// The shape of the answer.
pub(super) fn elicit_answer_shape(elicit: &Elicit) -> Shape {
    let field = |name: &str, schema: &Value| {
        let typed = schema.get("type").is_some() || !schema.is_object();
        (name.to_owned(), if typed { shape_of(schema) } else { Shape::Text })
    };
    let raw = elicit.requested_schema.as_ref();
    if raw.is_some_and(|raw| raw.0.get("properties").is_none()) {
        return Shape::Map(Box::new(Shape::Any));
    }
    let fields = elicit.schema.iter().flat_map(|fields| &fields.value).map(|(name, json)| field(name, &json.0));
    let raw = raw.and_then(|raw| raw.0.get("properties")?.as_object());
    let raw = raw.into_iter().flatten().map(|(name, json)| field(name, json));
    Shape::object(fields.chain(raw).chain([("action".to_owned(), Shape::Text)]))
}

/// The schema of a form before it is checked, and which part of it the text at a location is.
struct FormSchema {
    compiled: Result<Schema, Vec<SchemaError>>,
    at: Location,
    pointer: &'static str,
}

/// The schema of a form, unless it or one of its fields has an error.
fn compile_form(elicit: &Spanned<Elicit>, compiler: &mut Compiler<'_>) -> Option<Schema> {
    let (form, reported) = compiler.attempt(|compiler| check_form_fields(elicit, compiler));
    let has_valid_fields = reported.is_empty();
    compiler.load_context.report.extend(reported);
    let FormSchema { compiled, at, pointer } = form?;
    let errors = match &compiled {
        Ok(schema) => {
            let lints = lint(&Value::Object(schema.json().clone())).into_iter();
            lints.map(|lint| lint.error).collect()
        }
        Err(errors) if has_valid_fields => errors.clone(),
        Err(_) => Vec::new(),
    };
    let is_valid = has_valid_fields && errors.is_empty();
    for error in errors {
        let error = error.map_position(|at| at.strip_prefix(pointer).unwrap_or_default().to_owned());
        compiler.report_schema_error(error, at, Severity::Error);
    }
    compiled.ok().filter(|_| is_valid)
}

fn check_form_fields(elicit: &Spanned<Elicit>, compiler: &mut Compiler<'_>) -> Option<FormSchema> {
    let placed = match (&elicit.schema, &elicit.requested_schema) {
        (Some(fields), _) => {
            for (name, field) in &fields.value {
                compiler.warn_unexpanded_schema(&field.0, field.location);
                check_field_name(name, name.location, compiler);
                check_field(&field.0, field.location, compiler);
            }
            let schema = object_schema(fields.value.iter().map(|(name, field)| (name.as_str(), &field.0)));
            let compiled = compiler.try_schema(schema, compiler.base);
            return Some(FormSchema { compiled, at: fields.location, pointer: "/properties" });
        }
        (None, Some(raw)) => compiler.json_value(raw)?,
        (None, None) => return None,
    };
    let properties = placed.value.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    if placed.value.get("type").and_then(Value::as_str) != Some("object") || properties.is_empty() {
        compiler
            .error(Code::Schema, placed.location, "`requestedSchema` must be the schema of an object with `properties`")
            .help("add `type: object` and `properties`");
        return None;
    }
    compiler.warn_unexpanded_schema(&placed.value, placed.location);
    for (name, field) in &properties {
        let pointer = format!("/properties/{}", name.replace('~', "~0").replace('/', "~1"));
        let documents = &compiler.load_context.documents;
        let (key, value) = (documents.key_at(placed.location, &pointer), documents.value_at(placed.location, &pointer));
        check_field_name(name, key, compiler);
        check_field(field, value, compiler);
    }
    let compiled = compiler.try_schema(placed.value, &placed.folder);
    Some(FormSchema { compiled, at: placed.location, pointer: "" })
}

/// The schema of an object with these fields. As in `arguments`, the default type is `string`.
fn object_schema<'a>(fields: impl Iterator<Item = (&'a str, &'a Value)>) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, field) in fields {
        let mut schema = field.as_object().cloned().unwrap_or_default();
        if schema.shift_remove("required") == Some(Value::Bool(true)) {
            required.push(Value::from(name));
        }
        let mut typed = Map::new();
        if !schema.contains_key("type") {
            typed.insert("type".to_owned(), "string".into());
        }
        typed.extend(schema);
        properties.insert(name.to_owned(), Value::Object(typed));
    }
    let mut schema = json!({ "type": "object", "properties": properties });
    if let (Value::Object(schema), false) = (&mut schema, required.is_empty()) {
        schema.insert("required".to_owned(), Value::Array(required));
    }
    schema
}

/// Checks the name of a field of a form, which does not ask for a secret.
fn check_field_name(name: &str, at: Location, compiler: &mut Compiler<'_>) {
    let lower = name.to_lowercase();
    if SECRET_FIELD_WORDS.iter().any(|secret| lower.contains(secret)) {
        compiler
            .error(Code::Secret, at, format!("a form must not ask for a secret: `{name}`"))
            .help("use `url` to send the user to a page");
    }
    if name == "action" {
        compiler
            .error(Code::BadName, at, "reserved field name `action`")
            .help("answers already have an `action`: `accept`, `decline` or `cancel`");
    }
}

/// Checks a field of a form, which is flat.
fn check_field(field: &Value, at: Location, compiler: &mut Compiler<'_>) {
    let kind = field.get("type").and_then(Value::as_str).unwrap_or("string");
    let list_of_choices = kind == "array" && field.get("items").is_some_and(is_choice_items);
    if !matches!(kind, "string" | "number" | "integer" | "boolean") && !list_of_choices {
        compiler
            .error(
                Code::BadValue,
                at,
                format!("invalid type `{kind}` of a form field, expected a string, a number, a boolean or a choice"),
            )
            .help("forms in MCP are flat");
        return;
    }
    for key in field.as_object().into_iter().flatten().map(|(key, _)| key) {
        if !FORM_FIELD_KEYWORDS.contains(&key.as_str()) && key != "required" && !key.starts_with("x-") {
            let place = compiler.key_location(at, key);
            compiler
                .error(Code::UnknownKey, place, format!("unknown key `{key}` in a form field"))
                .did_you_mean(key, FORM_FIELD_KEYWORDS.iter().copied());
        }
    }
    if let Some(format) = field.get("format").and_then(Value::as_str)
        && !FORM_FIELD_FORMATS.contains(&format)
    {
        let place = compiler.load_context.documents.value_at(at, "/format");
        compiler
            .error(Code::BadValue, place, format!("unknown format `{format}` of a form field"))
            .help(format!("use one of `{}`, or a `pattern`", FORM_FIELD_FORMATS.join(" ")));
    }
}

/// Whether items are choices: an `enum`, or an `anyOf` of titled constants.
fn is_choice_items(items: &Value) -> bool {
    let titled = |choice: &Value| choice.get("const").is_some();
    items.get("enum").is_some_and(Value::is_array)
        || items.get("anyOf").and_then(Value::as_array).is_some_and(|choices| choices.iter().all(titled))
}
