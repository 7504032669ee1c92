//! The inputs of an entry: its arguments as a JSON Schema, their defaults, and their binding at a call.

pub(super) mod argument_schema;
pub(super) mod listed_argument;
pub(super) mod path_confinement;
pub(super) mod resolve_confined_paths;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use serde_json::{Map, Value, json};

use crate::action::{CallContext, ask_roots};
use crate::budget::{BudgetExceeded, memory_size};
use crate::catalog::entry::PackContext;
use crate::catalog::inputs::argument_schema::{
    DeclaredArguments, LISTED_TEXTS, compile_schema, object_schema, render_texts,
};
use crate::catalog::inputs::listed_argument::{ArgumentSummary, choice_text};
use crate::catalog::inputs::path_confinement::ConfinedArgument;
use crate::catalog::listing::{Object, PromptArgumentListing};
use crate::catalog::result::refusal::{CallError, Refusal, RefusalKind};
use crate::compile::{Compiler, LocatedJson, shape_of};
use crate::diagnostic::{Code, Severity};
use crate::manifest::{Argument, Arguments, MAX_ARGUMENTS};
use crate::schema::{Coercion, EmptyText, Schema, Violation, lint, normalize_integers, unknown_keywords};
use crate::template::{CALLER, CoverageMarker, Scope, Shape, reserved_name_meaning};
use crate::value_types::is_identifier;
use crate::yaml::Spanned;

/// The arguments of one entry.
#[derive(Debug)]
pub(super) struct Inputs {
    schema: Schema,
    /// The arguments that must be paths inside of folders.
    confined_arguments: Vec<ConfinedArgument>,
    /// Whether arguments that are not declared are in scope too.
    allows_additional: bool,
    /// Whether `caller` is an argument.
    declares_caller: bool,
    /// Whether a call reached the entry, where that is recorded.
    pub(super) marker: Option<CoverageMarker>,
}

/// Why values cannot be bound.
#[derive(Debug)]
pub(super) enum BindError {
    /// They do not fit.
    Violations(Vec<Violation>),
    /// The check exceeds the budget.
    BudgetExceeded(BudgetExceeded),
}

impl From<BudgetExceeded> for BindError {
    fn from(why: BudgetExceeded) -> BindError {
        BindError::BudgetExceeded(why)
    }
}

impl From<BindError> for Refusal {
    fn from(bind_error: BindError) -> Refusal {
        match bind_error {
            BindError::Violations(violations) => {
                Refusal::new(RefusalKind::BadArguments, violations_message(&violations))
            }
            BindError::BudgetExceeded(why) => why.into(),
        }
    }
}

impl Inputs {
    /// Compiles `arguments`, and puts them in scope even if they have errors.
    pub(super) fn from_arguments<'a>(
        written: impl Into<DeclaredArguments<'a>>,
        compiler: &mut Compiler<'_>,
    ) -> Option<Inputs> {
        let written = written.into();
        refuse_many_arguments_of_pack(written.arguments, compiler)?;
        for (name, argument) in written.arguments {
            check_name(name, compiler);
            check_argument(name, argument, compiler);
        }
        Inputs::from_checked_arguments(written, compiler)
    }

    /// Takes arguments whose names are checked already, or are not the author's own.
    pub(super) fn from_checked_arguments<'a>(
        written: impl Into<DeclaredArguments<'a>>,
        compiler: &mut Compiler<'_>,
    ) -> Option<Inputs> {
        let written = written.into();
        let arguments = written.arguments;
        let allowed = arguments.iter().filter(|(_, argument)| argument.allow_dash == Some(true));
        compiler.arguments.dash_allowed = allowed.map(|(name, _)| name.value.clone()).collect();
        let closed = arguments.iter().filter(|(_, argument)| has_fixed_values(argument));
        compiler.arguments.fixed_values = closed.map(|(name, _)| name.value.clone()).collect();
        compiler.arguments.locations = arguments.keys().map(|name| (name.value.clone(), name.location)).collect();
        let mut schema = object_schema(written, compiler);
        render_texts(&mut schema, arguments, compiler);
        add_to_scope(&schema, compiler);
        let allows_additional = written.others.is_some_and(|others| others.value != Value::Bool(false));
        if allows_additional {
            compiler.scope_shape = std::mem::take(&mut compiler.scope_shape).with_open_arguments();
        }
        for argument in arguments.values() {
            let mut written = compiler.load_context.documents.json(argument.location);
            // Those of the argument itself are templates.
            LISTED_TEXTS.iter().for_each(|key| drop(written.as_object_mut().and_then(|keys| keys.remove(*key))));
            compiler.warn_unexpanded_schema(&written, argument.location);
        }
        compiler.arguments.paths.clear();
        let confined: Vec<ConfinedArgument> = arguments
            .iter()
            .filter_map(|(name, argument)| ConfinedArgument::compile(name, argument, compiler))
            .collect();
        let is_sound = confined.len() == compiler.arguments.paths.len();
        compile_schema(schema, written, compiler).filter(|_| is_sound).map(|schema| Inputs {
            confined_arguments: confined,
            allows_additional,
            ..Inputs::new(schema)
        })
    }

    /// What an entry with these inputs sees in a call: who calls too, unless an argument has that name.
    pub(super) fn scope(&self, pack_context: &PackContext, arguments: Object, call: &CallContext) -> Scope {
        let scope = pack_context.scope(arguments, &call.budget);
        if self.declares_caller { scope } else { scope.with_caller(call.access.identity(), &call.secrets) }
    }

    /// Whether arguments are given that stand for other values once their paths are resolved.
    pub(super) fn confines(&self, arguments: &Object) -> bool {
        resolve_confined_paths::is_given(self.confined_arguments.iter(), arguments)
    }

    /// Whether an argument must be inside the client's roots.
    pub(super) fn asks_for_roots(&self) -> bool {
        self.confined_arguments.iter().any(ConfinedArgument::needs_roots)
    }

    /// Replaces each path that must be inside of folders by the one that it leads to. Returns the client's roots, which are
    /// asked for where something is given that must be inside of them.
    ///
    /// # Errors
    /// What is outside of them, and a client that cannot be asked, or has yet to answer.
    pub(super) async fn confine(
        &self,
        arguments: Object,
        call: &mut CallContext,
    ) -> Result<(Object, Option<Vec<String>>), CallError> {
        self.marker.iter().for_each(CoverageMarker::hit);
        if !resolve_confined_paths::is_given(self.confined_arguments.iter(), &arguments) {
            return Ok((arguments, None));
        }
        let in_roots = self.confined_arguments.iter().filter(|argument| argument.needs_roots());
        let roots = match resolve_confined_paths::is_given(in_roots, &arguments) {
            true => Some(Box::pin(client_roots(call)).await?),
            false => None,
        };
        let known = roots.as_deref().unwrap_or_default();
        let resolve = || resolve_confined_paths::resolve_paths(&self.confined_arguments, arguments, known);
        let resolved = call.budget.run_io(resolve).flatten()?;
        let arguments =
            resolved.map_err(|complaints| Refusal::new(RefusalKind::BadArguments, complaints.join("\n")))?;
        Ok((arguments, roots))
    }

    /// Compiles `inputSchema`, and puts its properties in scope even if it has errors.
    pub(super) fn from_schema(located: &LocatedJson, compiler: &mut Compiler<'_>) -> Option<Inputs> {
        add_to_scope(&located.value, compiler);
        let is_limited = compiler.pack.locked.is_some();
        if let Some((first, _)) = properties_of(&located.value).nth(MAX_ARGUMENTS).filter(|_| is_limited) {
            let at = compiler.load_context.documents.key_at(located.location, &property_pointer(first));
            compiler.error(Code::TooLarge, at, format!("more than {MAX_ARGUMENTS} arguments"));
            return None;
        }
        compiler.arguments.locations = properties_of(&located.value)
            .map(|(name, _)| {
                (name.clone(), compiler.load_context.documents.key_at(located.location, &property_pointer(name)))
            })
            .collect();
        warn_of_shadowed_names(located, &located.value, "", compiler);
        compiler.warn_unexpanded_schema(&located.value, located.location);
        let schema = compiler.schema(located.clone())?;
        if located.value.get("type").and_then(Value::as_str) != Some("object") {
            compiler
                .error(Code::Schema, located.location, "invalid `inputSchema`, expected an object schema")
                .help("add `type: object`");
            return None;
        }
        let keywords = unknown_keywords(&located.value, &[]);
        let lints = lint(&located.value);
        for error in keywords.into_iter().chain(lints.into_iter().map(|lint| lint.error)) {
            compiler.report_schema_error(error, located.location, Severity::Warning);
        }
        Some(Inputs::new(schema))
    }

    /// The arguments of a prompt of another program, whose names and descriptions are not an author's. They are in no scope.
    pub(super) fn from_imported_arguments(arguments: &Arguments) -> Option<Inputs> {
        let property = |(name, argument): (&Spanned<String>, &Spanned<Argument>)| {
            let keywords =
                [("type", argument.kind.as_deref().cloned()), ("enum", argument.choices.as_deref().cloned())];
            let description = argument.description.clone().map(Value::from);
            let keywords = keywords.into_iter().chain([("description", description)]);
            let schema = keywords.filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
            (name.value.clone(), Value::Object(schema))
        };
        let properties: Map<String, Value> = arguments.iter().map(property).collect();
        let required = arguments.iter().filter(|(_, argument)| argument.required == Some(true));
        let required: Vec<&str> = required.map(|(name, _)| name.as_str()).collect();
        let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
        if let Some(keys) = schema.as_object_mut().filter(|_| !required.is_empty()) {
            keys.insert("required".to_owned(), Value::from(required));
        }
        Schema::compile(schema, &|_| None).ok().map(Inputs::new)
    }

    fn new(schema: Schema) -> Inputs {
        let properties = schema.json().get("properties").and_then(Value::as_object);
        let declares_caller = properties.is_some_and(|properties| properties.contains_key(CALLER));
        Inputs { schema, confined_arguments: Vec::new(), allows_additional: false, declares_caller, marker: None }
    }

    /// The same in less memory, until its first use.
    #[must_use]
    pub(super) fn compacted(mut self) -> Inputs {
        self.schema.compact();
        self
    }

    /// The schema as clients see it.
    pub(super) fn schema(&self) -> &Object {
        self.schema.json()
    }

    /// The arguments as a prompt lists them.
    pub(super) fn prompt_arguments(&self) -> Box<[PromptArgumentListing]> {
        let keyword = |name: &str, key: &str| self.schema.property_keyword(name, key).and_then(Value::as_str);
        let facts = |name: &str| ArgumentSummary {
            description: keyword(name, "description"),
            form: self.schema.property_text_form(name),
            choices: self.choices(name).unwrap_or_default(),
            default: self.schema.property_keyword(name, "default"),
        };
        let listed = |name: &str| PromptArgumentListing {
            name: name.to_owned(),
            title: keyword(name, "title").map(str::to_owned),
            description: facts(name).describe(),
            required: self.requires(name),
        };
        self.names().map(listed).collect()
    }

    /// The values that an argument may have, as texts, where its schema spells them out.
    pub(super) fn choices(&self, name: &str) -> Option<Vec<String>> {
        let choices = self.schema.property_choices(name)?;
        Some(choices.into_iter().filter(|value| !value.is_null()).map(choice_text).collect())
    }

    /// Whether its schema spells out the values of an argument.
    pub(super) fn has_choices(&self, name: &str) -> bool {
        self.schema.property_choices(name).is_some()
    }

    /// Whether an argument accepts a text.
    pub(super) fn accepts(&self, name: &str, text: &str) -> bool {
        matches!(self.schema.coerce_property(name, text), Coercion::Value(value) if self.schema.allows_property(name, &value))
    }

    /// Whether a call without the argument is refused.
    pub(super) fn requires(&self, name: &str) -> bool {
        self.schema.requires(name)
    }

    /// Binds the values of a tool's call, which are taken as they are, but that `2.0` and `1e3` are integers, and null for
    /// an optional argument that does not accept it is none.
    ///
    /// # Errors
    /// All violations.
    pub(super) fn bind(&self, given: Option<Object>) -> Result<Object, BindError> {
        let (values, violations) = self.schema.settle(given.unwrap_or_default(), EmptyText::Text)?;
        if !violations.is_empty() {
            return Err(BindError::Violations(violations));
        }
        let mut whole = Value::Object(values);
        if normalize_integers(&mut whole) {
            let oversized = self.schema.oversized_integers(&whole);
            if !oversized.is_empty() {
                return Err(BindError::Violations(oversized));
            }
        }
        let mut values = match whole {
            Value::Object(values) => values,
            _ => Map::new(),
        };
        if values.keys().eq(self.names()) {
            return Ok(values);
        }
        // In the order of the manifest, and nothing else unless others are allowed.
        let mut bound = Object::with_capacity(values.len());
        for name in self.names() {
            bound.extend(values.shift_remove_entry(name));
        }
        if self.allows_additional {
            bound.append(&mut values);
        }
        Ok(bound)
    }

    /// Binds what of the arguments is filled in already, when one is to be completed: those that are declared and fit.
    /// Those that must be inside of folders are absent: no client is asked for its roots here.
    pub(super) fn bind_partial(&self, given: &BTreeMap<String, String>) -> Object {
        let given = |name: &str| given.get(name).filter(|_| !self.is_confined(name));
        let fitting = |name: &str| {
            let mut value = self.coerce(name, given(name)?)?;
            let fits = self.schema.allows_property(name, &value);
            normalize_integers(&mut value);
            fits.then_some(value)
        };
        self.names().filter_map(|name| Some((name.to_owned(), fitting(name)?))).collect()
    }

    /// Binds what is known of the arguments, and the defaults of the others.
    pub(super) fn bind_with_defaults(&self, given: &BTreeMap<String, String>) -> Object {
        let mut values = self.bind_partial(given);
        self.schema.fill_defaults(&mut values);
        values.values_mut().for_each(|value| _ = normalize_integers(value));
        self.names().filter_map(|name| values.remove_entry(name)).collect()
    }

    /// The violations of values in the manifest. Values in `templated` are only known at a call. `texts` is whether
    /// values are coerced.
    pub(super) fn known_violations(&self, given: Object, templated: &BTreeSet<String>, texts: bool) -> Vec<Violation> {
        let bound = if texts { self.bind_coerced(Some(given)) } else { self.bind(Some(given)) };
        let known = |violation: &Violation| match &violation.name {
            Some(name) => !templated.contains(name),
            None => templated.is_empty(),
        };
        match bound {
            Err(BindError::Violations(violations)) => violations.into_iter().filter(known).collect(),
            // What takes too much to check is found out by the call.
            Ok(_) | Err(BindError::BudgetExceeded(_)) => Vec::new(),
        }
    }

    /// The value of an argument that arrives as a text, by its declared type. A form cannot say that a field was left
    /// empty: an empty text for an optional argument is none where there is a default, or where it does not fit.
    fn coerce(&self, name: &str, text: &str) -> Option<Value> {
        let Coercion::Value(value) = self.schema.coerce_property(name, text) else { return None };
        let is_empty_field = text.is_empty() && !self.requires(name) && self.declares(name);
        let is_none = is_empty_field
            && (self.has_default(name) || self.is_confined(name) || !self.schema.allows_property(name, &value));
        (!is_none).then_some(value)
    }

    fn is_confined(&self, name: &str) -> bool {
        self.confined_arguments.iter().any(|argument| argument.name == name)
    }

    /// Whether an argument has a default.
    pub(super) fn has_default(&self, name: &str) -> bool {
        self.schema.property_keyword(name, "default").is_some()
    }

    /// Whether an argument is a string and nothing else.
    pub(super) fn is_text(&self, name: &str) -> bool {
        self.schema.property_keyword(name, "type").is_some_and(|declared| declared == "string")
    }

    /// Whether it takes an argument of that name.
    pub(super) fn takes(&self, name: &str) -> bool {
        self.allows_additional || self.declares(name)
    }

    fn declares(&self, name: &str) -> bool {
        self.schema.properties().contains_key(name)
    }

    /// The names of arguments that are refused as they are not declared.
    pub(super) fn undeclared_names(&self, error: &BindError) -> Vec<String> {
        let BindError::Violations(violations) = error else { return Vec::new() };
        let names = violations.iter().filter_map(|violation| violation.name.as_ref());
        names.filter(|name| !self.takes(name)).cloned().collect()
    }

    /// The names of its arguments.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.schema.properties().keys().map(String::as_str)
    }

    /// Binds values that arrive as texts: coerced by their declared types first.
    ///
    /// # Errors
    /// All violations.
    pub(super) fn bind_coerced(&self, given: Option<Object>) -> Result<Object, BindError> {
        let mut values = given.unwrap_or_default();
        values.retain(|name, value| {
            let coerced = match value {
                Value::Null => None,
                Value::String(text) if text.is_empty() || !self.schema.is_string_property(name) => {
                    self.coerce(name, text)
                }
                _ => return true,
            };
            coerced.map(|coerced| *value = coerced).is_some()
        });
        self.bind(Some(values))
    }
}

/// About how many bytes arguments take.
pub(super) fn arguments_size(given: Option<&Object>) -> usize {
    given.into_iter().flatten().map(|(name, value)| name.len() + memory_size(value)).sum()
}

/// The properties that a schema describes.
fn properties_of(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten()
}

fn property_pointer(property: &str) -> String {
    crate::yaml::pointer::join("/properties", property)
}

/// Reports that what a pack from elsewhere has takes too many arguments.
pub(super) fn refuse_many_arguments_of_pack(arguments: &Arguments, compiler: &mut Compiler<'_>) -> Option<()> {
    if compiler.pack.locked.is_some() { refuse_many_arguments(arguments, compiler) } else { Some(()) }
}

/// Reports that there are too many arguments.
pub(super) fn refuse_many_arguments(arguments: &Arguments, compiler: &mut Compiler<'_>) -> Option<()> {
    let Some((first, _)) = arguments.get_index(MAX_ARGUMENTS) else { return Some(()) };
    compiler.error(Code::TooLarge, first.location, format!("more than {MAX_ARGUMENTS} arguments"));
    // Their uses are not further errors.
    let shapes = arguments.keys().map(|name| (name.value.clone(), Shape::Any));
    let names = std::mem::take(&mut compiler.scope_shape).with_arguments(shapes);
    compiler.scope_shape = names.with_caller(&compiler.caller_headers());
    None
}

/// Puts the arguments that a schema describes in scope.
fn add_to_scope(schema: &Value, compiler: &mut Compiler<'_>) {
    let shapes = properties_of(schema).map(|(name, schema)| (name.clone(), shape_of(schema)));
    let names = std::mem::take(&mut compiler.scope_shape).with_arguments(shapes);
    compiler.scope_shape = names.with_caller(&compiler.caller_headers());
}

/// The violations as one message.
pub(super) fn violations_message(violations: &[Violation]) -> String {
    match violations {
        [one] => one.message.clone(),
        many => many.iter().map(|violation| format!("- {}", violation.message)).collect::<Vec<_>>().join("\n"),
    }
}

/// Warns of properties whose names mean something else in templates.
fn warn_of_shadowed_names(located: &LocatedJson, schema: &Value, pointer: &str, compiler: &mut Compiler<'_>) {
    let parts = schema.get("allOf").and_then(Value::as_array).into_iter().flatten().enumerate();
    for (index, part) in parts {
        warn_of_shadowed_names(located, part, &format!("{pointer}/allOf/{index}"), compiler);
    }
    for (name, _) in properties_of(schema) {
        let Some(meaning) = reserved_name_meaning(name) else { continue };
        let at = format!("{pointer}{}", property_pointer(name));
        let at = compiler.load_context.documents.key_at(located.location, &at);
        compiler
            .warning(Code::BadName, at, format!("shadowed argument `{name}`: in templates `{name}` is {meaning}"))
            .help(format!("write `{{{{arguments.{name}}}}}` for the argument"));
    }
}

/// Checks the name of an argument.
pub(super) fn check_name(name: &Spanned<String>, compiler: &mut Compiler<'_>) {
    if !is_identifier(name) {
        compiler
            .error(Code::BadName, name.location, format!("invalid argument name `{}`", name.value))
            .help("use letters, digits and `_`, and start with a letter or `_`");
    } else if let Some(meaning) = reserved_name_meaning(name) {
        let message = format!("reserved argument name `{}`: in templates it is {meaning}", name.value);
        compiler.error(Code::BadName, name.location, message).help("use another name");
        // Its uses are not further errors.
        if compiler.scope_shape.get(name).is_none() {
            compiler.scope_shape = std::mem::take(&mut compiler.scope_shape).with_name(name.value.clone(), Shape::Any);
        }
    }
}

/// The roots of the client, from the checkpoint or by asking it, which takes of the time of the call.
async fn client_roots(call: &mut CallContext) -> Result<Vec<String>, CallError> {
    let began = Instant::now();
    let known = call.checkpoint.as_ref().and_then(|checkpoint| checkpoint.roots.clone());
    let roots = match known {
        Some(known) => known,
        None => ask_roots(call.client(), &call.budget, call.budget.time_left()).await?,
    };
    call.time_left = call.time_left.saturating_sub(began.elapsed());
    // A run that waited for roots has not begun.
    call.checkpoint = call.checkpoint.take().filter(|checkpoint| !checkpoint.wants_roots);
    Ok(roots)
}

/// Checks the keys of an argument besides its schema.
pub(super) fn check_argument(name: &Spanned<String>, argument: &Spanned<Argument>, compiler: &mut Compiler<'_>) {
    if argument.required == Some(true) && argument.default.is_some() {
        let at = compiler.load_context.documents.key_at(argument.location, "/default");
        compiler
            .warning(Code::Unused, at, format!("unused `default` of required argument `{}`", name.value))
            .help("remove `required` or `default`");
    }
}

/// Whether each value of an argument is one that the author wrote, a number or a boolean.
fn has_fixed_values(argument: &Argument) -> bool {
    let kind = argument.kind.as_deref().and_then(Value::as_str);
    argument.choices.is_some() || argument.constant.is_some() || matches!(kind, Some("integer" | "number" | "boolean"))
}
