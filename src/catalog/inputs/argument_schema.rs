//! `arguments` as one JSON Schema: of the properties that an author wrote, with their errors at the author's own places.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::catalog::entry::listed_text::listed_text;
use crate::compile::{Compiler, LocatedJson};
use crate::diagnostic::Severity;
use crate::manifest::{ARGUMENT_KEYWORDS, Argument, Arguments};
use crate::schema::{LintKind, Schema, SchemaError, lint};
use crate::yaml::{Location, Spanned};

/// `arguments` as written, and `additionalProperties` beside it.
#[derive(Clone, Copy)]
pub(in crate::catalog) struct DeclaredArguments<'a> {
    pub(in crate::catalog) arguments: &'a Arguments,
    pub(in crate::catalog) others: Option<&'a LocatedJson>,
}

impl DeclaredArguments<'_> {
    /// What a pointer into the whole schema leads to: the value that an author wrote, and the pointer from there on.
    pub(in crate::catalog) fn locate(self, pointer: &str) -> Option<(Location, String)> {
        if let (Some(others), Some(below)) = (self.others, pointer.strip_prefix("/additionalProperties")) {
            return Some((others.location, below.to_owned()));
        }
        let (name, below) = split_argument_pointer(pointer);
        self.arguments.get(name.as_str()).map(|argument| (argument.location, below))
    }
}

impl<'a> From<&'a Arguments> for DeclaredArguments<'a> {
    fn from(arguments: &'a Arguments) -> DeclaredArguments<'a> {
        DeclaredArguments { arguments, others: None }
    }
}

/// The schema of an object of these arguments.
pub(in crate::catalog) fn object_schema(
    DeclaredArguments { arguments, others }: DeclaredArguments<'_>,
    compiler: &Compiler<'_>,
) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, argument) in arguments {
        properties.insert(name.value.clone(), property_schema(argument, compiler));
        if argument.required == Some(true) {
            required.push(Value::from(name.value.clone()));
        }
    }
    let mut schema = Map::new();
    schema.insert("type".to_owned(), Value::from("object"));
    schema.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        schema.insert("required".to_owned(), Value::Array(required));
    }
    let others = others.map_or(Value::Bool(false), |others| others.value.clone());
    schema.insert("additionalProperties".to_owned(), others);
    Value::Object(schema)
}

/// The keys of an argument that are templates of values known at load.
pub(in crate::catalog) const LISTED_TEXTS: &[&str] = &["title", "description"];

/// Renders those keys of each argument.
pub(in crate::catalog) fn render_texts(schema: &mut Value, arguments: &Arguments, compiler: &mut Compiler<'_>) {
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for (name, argument) in arguments {
        let Some(property) = properties.get_mut(name.as_str()).and_then(Value::as_object_mut) else { continue };
        for key in LISTED_TEXTS {
            let Some(Value::String(text)) = property.get_mut(*key) else { continue };
            if let Some(rendered) = listed_text(Some(text), argument.location, key, compiler) {
                *text = rendered;
            }
        }
    }
}

/// The JSON Schema in an argument, with the type of its choices; without a keyword for values the type is `string`.
fn property_schema(argument: &Spanned<Argument>, compiler: &Compiler<'_>) -> Value {
    let mut schema = match compiler.load_context.documents.json(argument.location) {
        Value::Object(schema) => schema,
        _ => Map::new(),
    };
    schema.retain(|key, _| {
        !ARGUMENT_KEYWORDS.contains(&key.as_str()) && (!key.starts_with("x-") || key == "x-mcp-header")
    });
    let is_typed = ["type", "anyOf", "oneOf", "allOf", "$ref"].iter().any(|key| schema.contains_key(*key));
    if let Some(name) = implied_type(&schema).filter(|_| !is_typed) {
        schema.shift_insert(0, "type".to_owned(), Value::from(name));
    }
    // Some APIs of models refuse a list without.
    if schema.get("type").is_some_and(|kind| kind == "array") && !schema.contains_key("items") {
        schema.insert("items".to_owned(), Value::Object(Map::new()));
    }
    Value::Object(schema)
}

/// The type of an argument that names none: that of its choices if they have one in common, else `string`.
fn implied_type(schema: &Map<String, Value>) -> Option<&'static str> {
    let choices = match (schema.get("enum"), schema.get("const")) {
        (Some(Value::Array(choices)), _) => choices.as_slice(),
        (Some(_), _) => return None,
        (None, Some(only)) => std::slice::from_ref(only),
        (None, None) => return Some("string"),
    };
    let all = |is_of_type: fn(&Value) -> bool| choices.iter().all(is_of_type);
    match () {
        () if all(Value::is_string) => Some("string"),
        () if all(Value::is_boolean) => Some("boolean"),
        () if all(|value| value.is_i64() || value.is_u64()) => Some("integer"),
        () if all(Value::is_number) => Some("number"),
        () => None,
    }
}

/// Compiles the schema of all arguments, and reports its errors at the argument that each is of.
pub(in crate::catalog) fn compile_schema(
    schema: Value,
    arguments: DeclaredArguments<'_>,
    compiler: &mut Compiler<'_>,
) -> Option<Schema> {
    let lints = lint(&schema);
    let base = compiler.base;
    let compiled = compiler.try_schema(schema, base);
    let mut names_with_errors: BTreeSet<String> = BTreeSet::new();
    for error in compiled.as_ref().err().into_iter().flatten() {
        names_with_errors.insert(split_argument_pointer(&error.at).0);
        report_at_argument(error, arguments, Severity::Error, compiler);
    }
    // Checks only the arguments whose schema compiles.
    for lint in lints.into_iter().filter(|lint| !names_with_errors.contains(&split_argument_pointer(&lint.error.at).0))
    {
        let severity = if lint.kind == LintKind::Unsatisfiable { Severity::Error } else { Severity::Warning };
        report_at_argument(&lint.error, arguments, severity, compiler);
    }
    compiled.ok()
}

/// The argument that a pointer into the whole schema leads to, and the pointer from there on.
fn split_argument_pointer(pointer: &str) -> (String, String) {
    let rest = pointer.strip_prefix("/properties/").unwrap_or_default();
    let (name, below) = rest.split_once('/').map_or((rest, String::new()), |(name, below)| (name, format!("/{below}")));
    (name.replace("~1", "/").replace("~0", "~"), below)
}

/// Reports an error of the whole schema at its argument.
fn report_at_argument(
    error: &SchemaError,
    arguments: DeclaredArguments<'_>,
    severity: Severity,
    compiler: &mut Compiler<'_>,
) {
    let Some((at, below)) = arguments.locate(&error.at) else { return };
    compiler.report_schema_error(error.clone().map_position(|_| below), at, severity);
}
