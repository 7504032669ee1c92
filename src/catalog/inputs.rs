//! What an entry takes: its arguments as a JSON Schema, their defaults, and how they are bound.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::budget::weight;
use crate::compile::{Compiler, Placed, shape_of};
use crate::diagnostic::{Code, Severity};
use crate::manifest::{Argument, Arguments, KEYWORDS};
use crate::notation::is_identifier;
use crate::schema::{Coerced, LintKind, Schema, SchemaFault, Violation, lint, unknown_keywords};
use crate::template::is_helper;
use crate::yaml::Spanned;

use super::answer::{Refusal, RefusalKind};
use super::entry::Calling;
use super::face::{Object, PromptArgument};
use super::within;

/// Names that templates give a meaning of their own.
const TAKEN: &[&str] = &["env", "server", "steps", "result", "arguments", "this"];

/// The arguments of one entry.
#[derive(Debug)]
pub(super) struct Inputs {
    schema: Schema,
    /// The names in scope of its templates.
    declared: Vec<String>,
    required: BTreeSet<String>,
    /// The arguments that must be paths inside the client's roots.
    within: Vec<String>,
}

impl Inputs {
    /// Takes arguments as `arguments:` declares them, and puts them in scope, whatever is wrong with them.
    pub(super) fn of(arguments: &Arguments, compiler: &mut Compiler<'_>) -> Option<Inputs> {
        for (name, argument) in arguments {
            check_name(name, compiler);
            check_argument(name, argument, compiler);
        }
        Inputs::of_checked(arguments, compiler)
    }

    /// Takes arguments whose names are checked already, or are not the author's own.
    pub(super) fn of_checked(arguments: &Arguments, compiler: &mut Compiler<'_>) -> Option<Inputs> {
        let allowed = arguments.iter().filter(|(_, argument)| argument.allow_dash == Some(true));
        compiler.allow_dash = allowed.map(|(name, _)| name.value.clone()).collect();
        compiler.declared = arguments.keys().map(|name| (name.value.clone(), name.at)).collect();
        let schema = object_schema(arguments, compiler);
        in_scope(&schema, compiler);
        let within = arguments.iter().filter(|(_, argument)| argument.within.is_some());
        let within = within.map(|(name, _)| name.value.clone()).collect();
        compile(schema, arguments, compiler).map(|schema| Inputs { within, ..Inputs::new(schema) })
    }

    /// Whether an argument must be inside the client's roots.
    pub(super) fn is_confined(&self) -> bool {
        !self.within.is_empty()
    }

    /// Checks that what must be inside the client's roots is, and asks for them where something is given. Gives the
    /// call on its way, and the roots where they were needed.
    ///
    /// # Errors
    /// What is outside of them, and a client that cannot be asked, or has yet to answer.
    pub(super) async fn confined<'a>(
        &self,
        arguments: &Object,
        calling: &Calling<'a>,
    ) -> Result<(Calling<'a>, Option<Vec<String>>), Refusal> {
        if self.within.is_empty() || !within::is_given(&self.within, arguments) {
            return Ok((*calling, None));
        }
        let roots = calling.roots().await?;
        let complaints = within::outside(&self.within, arguments, &roots);
        if complaints.is_empty() {
            return Ok((calling.behind_roots(), Some(roots)));
        }
        Err(Refusal::new(RefusalKind::BadArguments, complaints.join("\n")))
    }

    /// Takes arguments as a whole JSON Schema declares them, and puts them in scope, whatever is wrong with it.
    pub(super) fn of_schema(placed: &Placed, compiler: &mut Compiler<'_>) -> Option<Inputs> {
        in_scope(&placed.value, compiler);
        compiler.declared = properties_of(&placed.value)
            .map(|(name, _)| (name.clone(), compiler.findings.documents.key_at(placed.at, &pointer(name))))
            .collect();
        let schema = compiler.schema(placed.clone())?;
        if placed.value.get("type").and_then(Value::as_str) != Some("object") {
            compiler
                .error(Code::Schema, placed.at, "an `inputSchema` describes an object: its `type` is `object`")
                .help("add `type: object`");
            return None;
        }
        let keywords = unknown_keywords(&placed.value, &[]);
        let lints = lint(&placed.value);
        let lints =
            lints.into_iter().map(|lint| SchemaFault { pointer: lint.pointer, message: lint.message, help: lint.help });
        for fault in keywords.into_iter().chain(lints) {
            compiler.report_schema(&fault, placed.at, Severity::Warning);
        }
        Some(Inputs::new(schema))
    }

    fn new(schema: Schema) -> Inputs {
        let json = schema.json();
        let declared = json.get("properties").and_then(Value::as_object).map(|all| all.keys().cloned().collect());
        let required = json.get("required").and_then(Value::as_array).into_iter().flatten();
        let required = required.filter_map(Value::as_str).map(str::to_owned).collect();
        Inputs { declared: declared.unwrap_or_default(), required, schema, within: Vec::new() }
    }

    /// The schema as clients see it.
    pub(super) fn schema(&self) -> &Arc<Object> {
        self.schema.json()
    }

    /// The arguments as a prompt lists them.
    pub(super) fn listed(&self) -> Vec<PromptArgument> {
        let properties = self.schema.json().get("properties").and_then(Value::as_object);
        let text = |schema: &Value, key: &str| schema.get(key).and_then(Value::as_str).map(str::to_owned);
        properties
            .into_iter()
            .flatten()
            .map(|(name, schema)| PromptArgument {
                name: name.clone(),
                title: text(schema, "title"),
                description: text(schema, "description"),
                required: self.required.contains(name),
            })
            .collect()
    }

    /// Binds the values of a tool's call, which are taken as they are.
    ///
    /// # Errors
    /// All that is wrong with them.
    pub(super) fn bind(&self, given: Option<Object>) -> Result<Object, Vec<Violation>> {
        let mut values = given.unwrap_or_default();
        self.schema.fill_defaults(&mut values);
        let whole = Value::Object(values);
        let violations = self.schema.violations(&whole);
        if !violations.is_empty() {
            return Err(violations);
        }
        let mut values = match whole {
            Value::Object(values) => values,
            _ => Map::new(),
        };
        let declared_all = values.len() == self.declared.len() && values.keys().eq(self.declared.iter());
        if declared_all {
            return Ok(values);
        }
        // Every declared argument is bound, and nothing else is.
        Ok(self.declared.iter().map(|name| (name.clone(), values.remove(name).unwrap_or(Value::Null))).collect())
    }

    /// Binds what of the arguments is filled in already, when one is to be completed: those that are declared and
    /// fit; the others are null.
    pub(super) fn bind_partly(&self, given: &BTreeMap<String, String>) -> Object {
        let violates = |name: &str, value: &Value| {
            let alone = Value::Object(Map::from_iter([(name.to_owned(), value.clone())]));
            self.schema.violations(&alone).iter().any(|violation| violation.name.as_deref() == Some(name))
        };
        let fitting = |name: &String| match self.schema.coerce(name, given.get(name)?) {
            Coerced::Value(value) if !violates(name, &value) => Some(value),
            _ => None,
        };
        self.declared.iter().map(|name| (name.clone(), fitting(name).unwrap_or(Value::Null))).collect()
    }

    /// Binds values that arrive as texts: coerced by their declared types first.
    ///
    /// # Errors
    /// All that is wrong with them.
    pub(super) fn bind_texts(&self, given: Option<Object>) -> Result<Object, Vec<Violation>> {
        let mut values = Map::new();
        for (name, value) in given.unwrap_or_default() {
            match value {
                Value::Null => {}
                Value::String(text) => {
                    if let Coerced::Value(value) = self.schema.coerce(&name, &text) {
                        values.insert(name, value);
                    }
                }
                other => {
                    values.insert(name, other);
                }
            }
        }
        self.bind(Some(values))
    }
}

/// About how many bytes arguments take.
pub(super) fn size_of(given: Option<&Object>) -> usize {
    given.into_iter().flatten().map(|(name, value)| name.len() + weight(value)).sum()
}

/// The properties that a schema describes.
fn properties_of(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten()
}

fn pointer(property: &str) -> String {
    format!("/properties/{}", property.replace('~', "~0").replace('/', "~1"))
}

/// Puts the arguments that a schema describes in scope.
fn in_scope(schema: &Value, compiler: &mut Compiler<'_>) {
    let shapes = properties_of(schema).map(|(name, schema)| (name.clone(), shape_of(schema)));
    compiler.names = std::mem::take(&mut compiler.names).with_arguments(shapes);
}

/// The violations as one message.
pub(super) fn complaint(violations: &[Violation]) -> String {
    match violations {
        [one] => one.message.clone(),
        many => many.iter().map(|violation| format!("- {}", violation.message)).collect::<Vec<_>>().join("\n"),
    }
}

/// Whether templates give a name a meaning of their own.
pub(super) fn is_taken(name: &str) -> bool {
    TAKEN.contains(&name)
}

/// Checks the name of an argument.
pub(super) fn check_name(name: &Spanned<String>, compiler: &mut Compiler<'_>) {
    if !is_identifier(name) {
        compiler
            .error(Code::BadName, name.at, format!("`{}` is no name of an argument", name.value))
            .help("use letters, digits and `_`, and begin with no digit");
    } else if is_taken(name) {
        compiler.error(Code::BadName, name.at, format!("`{}` is taken, and cannot name an argument", name.value));
    } else if is_helper(name) && name.at.is_written() {
        compiler
            .warning(
                Code::BadName,
                name.at,
                format!("`{}` is also a helper: in templates the name means the argument", name.value),
            )
            .help("another name keeps the helper");
    }
}

/// Checks what stands in an argument beside its schema.
pub(super) fn check_argument(name: &Spanned<String>, argument: &Spanned<Argument>, compiler: &mut Compiler<'_>) {
    if argument.required == Some(true) && argument.default.is_some() {
        let at = compiler.findings.documents.key_at(argument.at, "/default");
        compiler
            .warning(Code::Unused, at, format!("the default of `{}` is never used, as it is required", name.value))
            .help("leave out `required` or `default`");
    }
}

/// The schema of an object of these arguments, which takes no others.
fn object_schema(arguments: &Arguments, compiler: &Compiler<'_>) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, argument) in arguments {
        properties.insert(name.value.clone(), property(argument, compiler));
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
    schema.insert("additionalProperties".to_owned(), Value::Bool(false));
    Value::Object(schema)
}

/// The JSON Schema in an argument. No `type` means text, unless something else says what it is.
fn property(argument: &Spanned<Argument>, compiler: &Compiler<'_>) -> Value {
    let mut schema = match compiler.findings.documents.json(argument.at) {
        Value::Object(schema) => schema,
        _ => Map::new(),
    };
    schema.retain(|key, _| !KEYWORDS.contains(&key.as_str()) && (!key.starts_with("x-") || key == "x-mcp-header"));
    let typed =
        ["type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"].iter().any(|key| schema.contains_key(*key));
    if typed {
        return Value::Object(schema);
    }
    schema.shift_insert(0, "type".to_owned(), Value::from("string"));
    Value::Object(schema)
}

fn compile(schema: Value, arguments: &Arguments, compiler: &mut Compiler<'_>) -> Option<Schema> {
    let lints = lint(&schema);
    let base = compiler.base;
    let compiled = compiler.try_schema(schema, base);
    let mut faulty: BTreeSet<String> = BTreeSet::new();
    for fault in compiled.as_ref().err().into_iter().flatten() {
        faulty.insert(argument_of(&fault.pointer).0);
        report(fault, arguments, Severity::Error, compiler);
    }
    // What cannot be satisfied is said of the arguments that are schemas at all.
    for fault in lints.into_iter().filter(|fault| !faulty.contains(&argument_of(&fault.pointer).0)) {
        let severity = if fault.kind == LintKind::Unsatisfiable { Severity::Error } else { Severity::Warning };
        let fault = SchemaFault { pointer: fault.pointer, message: fault.message, help: fault.help };
        report(&fault, arguments, severity, compiler);
    }
    compiled.ok()
}

/// The argument that a pointer into the whole schema leads to, and the pointer from there on.
pub(super) fn argument_of(pointer: &str) -> (String, String) {
    let rest = pointer.strip_prefix("/properties/").unwrap_or_default();
    let (name, below) = rest.split_once('/').map_or((rest, String::new()), |(name, below)| (name, format!("/{below}")));
    (name.replace("~1", "/").replace("~0", "~"), below)
}

/// Reports a fault of the whole schema at the argument in which it stands.
fn report(fault: &SchemaFault, arguments: &Arguments, severity: Severity, compiler: &mut Compiler<'_>) {
    let (name, below) = argument_of(&fault.pointer);
    let Some((_, argument)) = arguments.get_key_value(name.as_str()) else { return };
    let inner = SchemaFault { pointer: below, ..fault.clone() };
    compiler.report_schema(&inner, argument.at, severity);
}
