//! `env`: resolves the variables that a manifest declares.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::pack::{PackImport, PackRequest};
use super::variable_command::command_value;
use super::{EnvSource, variable_file};
use crate::compile::{Compiler, Environment, Exposure, LoadContext, Pack, PackVariable, ValueOrigin};
use crate::diagnostic::{Code, LoadPurpose};
use crate::manifest::{EnvEntry, EnvVariable, Manifest};
use crate::redact::{MIN_SECRET_CHARS, SAFE_SECRET_CHARS};
use crate::template::{EnvSlot, Scope, ScopeConstants, ScopeShape};
use crate::value_types::{NamedMap, Scalar, is_identifier};
use crate::yaml::{Location, Spanned};

/// The variables that a manifest may read: those of the process, or what its importer passes.
#[derive(Default)]
pub(super) struct PassedVariables {
    pub(super) values: EnvSource,
    /// Those that are secrets of the importer.
    pub(super) secrets: Vec<String>,
    /// What packs chose of the values, and not the one who serves: the texts of [`ValueOrigin::Pack`].
    pub(super) values_for_review: BTreeMap<String, String>,
}

/// Resolves every variable that the manifest declares, and names the required ones that are not set.
pub(super) fn resolve_variables(
    manifest: &Manifest,
    request: &PackRequest<'_>,
    load_context: &mut LoadContext,
) -> (Environment, Vec<String>) {
    let (mut environment, mut unset) = (Environment::default(), Vec::new());
    for (name, entry) in &manifest.env {
        if !is_identifier(name) {
            load_context
                .error(Code::BadName, name.location, format!("invalid environment variable name `{}`", name.value))
                .help("use letters, digits and `_`");
        }
        let declared = declaration(name, entry, load_context);
        check_source(name, &declared, request.is_served(), load_context);
        let sourced = match request.passed.values.replaces(name) {
            true => None,
            false => sourced_variable(name, &declared, request, load_context),
        };
        let is_sourced = sourced.is_some();
        let mut variable = sourced.unwrap_or_else(|| resolve_variable(name, &declared, request, load_context));
        variable.secret |= request.passed.secrets.contains(&name.value);
        check_secret_length(name, &variable, load_context);
        if variable.value.is_none() && declared.required == Some(true) && !is_sourced {
            unset.push(name.value.clone());
            load_context
                .note(Code::UnsetVariable, name.location, format!("required variable `{}` is not set", name.value))
                .help("set it in the environment of the server; `serve` refuses to start without it")
                .forbid(LoadPurpose::Use);
        }
        environment.variables.insert(name.value.clone(), variable);
    }
    (environment, unset)
}

/// The declaration of a variable; one without keys is empty.
fn declaration(name: &Spanned<String>, entry: &Spanned<EnvEntry>, load_context: &mut LoadContext) -> EnvVariable {
    match &entry.value {
        EnvEntry::Keys(variable) => variable.clone(),
        EnvEntry::Null(()) => EnvVariable::default(),
        EnvEntry::Bare(Scalar(value)) => {
            load_context
                .error(
                    Code::WrongType,
                    entry.location,
                    format!("invalid entry `{}` in `env`, expected a declaration, found a value", name.value),
                )
                .help(match value.starts_with('$') {
                    true => format!("write `{}: {{}}`: its value comes from the environment", name.value),
                    false => format!("write `{{ default: {value:?} }}` for a default"),
                });
            EnvVariable::default()
        }
    }
}

/// Reports a `file` or `command` with what excludes it, and in a pack.
fn check_source(name: &Spanned<String>, declared: &EnvVariable, is_served: bool, load_context: &mut LoadContext) {
    let file = declared.file.as_ref().map(|file| ("file", file.location));
    let command = declared.command.as_ref().map(|command| ("command", command.location));
    let report = &mut load_context.report;
    let Some((key, at)) = file.or(command) else { return };
    if let (Some(_), Some((_, command))) = (file, command) {
        report.error(Code::Conflict, command, "`command` cannot be used with `file`").help("remove one of them");
    }
    if let Some(default) = &declared.default {
        report
            .error(Code::Conflict, default.location, format!("`default` cannot be used with `{key}`"))
            .help("remove it: there is always a value");
    }
    if command.is_some() && declared.secret == Some(false) {
        report
            .error(Code::Conflict, at, "`secret: false` cannot be used with `command`")
            .help("remove it: what a command prints is a secret");
    }
    if !is_served {
        report
            .error(Code::NotGranted, at, format!("`{key}` of a variable is not available in packs"))
            .help(format!("pass the value from the importer: `env: {{ {0}: \"{{{{env.{0}}}}}\" }}`", name.value));
    }
}

/// A variable whose value is that of a file, or what a command prints; `None` if it is one of the environment.
fn sourced_variable(
    name: &Spanned<String>,
    declared: &EnvVariable,
    request: &PackRequest<'_>,
    load_context: &mut LoadContext,
) -> Option<PackVariable> {
    let value = match (&declared.file, &declared.command) {
        (None, None) => return None,
        _ if !request.is_served() => None,
        (Some(file), _) => variable_file::read_variable(file, load_context),
        (None, Some(command)) => command_value(name, command, request.sources.commands, load_context),
    };
    Some(PackVariable { value, secret: declared.secret != Some(false), default: None, origin: ValueOrigin::Operator })
}

/// Whether a value is still `${NAME}`, which the caller of folio did not expand.
pub(crate) fn is_unexpanded(value: &str) -> bool {
    value.starts_with("${") && value.ends_with('}')
}

/// Reports short secrets: redacting them would spoil unrelated text.
fn check_secret_length(name: &Spanned<String>, variable: &PackVariable, load_context: &mut LoadContext) {
    let Some(value) = variable.value.as_deref().filter(|_| variable.secret) else { return };
    let length = value.trim().chars().count();
    let message = format!("secret `{}` is too short: {length} characters", name.value);
    let place = name.location.span();
    if length < MIN_SECRET_CHARS {
        let help = format!("use {SAFE_SECRET_CHARS} characters or more: a shorter value cannot be redacted");
        load_context.error(Code::Secret, place, message).help(help);
    } else if length < SAFE_SECRET_CHARS {
        let help = format!(
            "use {SAFE_SECRET_CHARS} characters or more: a shorter value is also redacted where it occurs by chance"
        );
        load_context.warning(Code::Secret, place, message).help(help);
    }
}

fn resolve_variable(
    name: &Spanned<String>,
    declared: &EnvVariable,
    request: &PackRequest<'_>,
    load_context: &mut LoadContext,
) -> PackVariable {
    let secret = declared.secret == Some(true);
    let default = declared.default.as_ref().map(|default| default.value.0.clone());
    if let (true, Some(default)) = (secret, &declared.default) {
        load_context
            .warning(Code::Secret, default.location, format!("secret `{}` has a default in plain text", name.value))
            .help("remove the default, and set the variable");
    }
    let given = request.passed.values.get(&name.value).map(|value| value.trim().to_owned());
    let unexpanded = given.as_deref().is_some_and(is_unexpanded);
    if unexpanded {
        let words = format!("unexpanded value of `{}`: `${{…}}`", name.value);
        load_context
            .warning(Code::UnsetVariable, name.location, words)
            .help("set the variable: an unexpanded value counts as not set");
    }
    let given = given.filter(|value| !unexpanded && !value.is_empty());
    let pack_text = match given {
        Some(_) => request.passed.values_for_review.get(&name.value),
        None => default.as_ref(),
    };
    let origin = match pack_text.filter(|_| !request.is_served()) {
        Some(text) => ValueOrigin::Pack(text.clone()),
        None => ValueOrigin::Operator,
    };
    PackVariable { value: given.or_else(|| default.clone()), secret, default, origin }
}

/// The variables that an importer passes to a pack, rendered from its own.
pub(super) fn pack_environment(
    written: &NamedMap<Spanned<Scalar>>,
    importer: &Pack,
    is_served: bool,
    load_context: &mut LoadContext,
) -> PassedVariables {
    let mut compiler = Compiler::new(load_context, importer, std::path::Path::new(""));
    compiler.scope_shape = ScopeShape::new().with_name("env", importer.env.shape());
    let scope = |env: Value| Scope::new(Map::new(), Arc::new(ScopeConstants { env, ..ScopeConstants::default() }));
    let (values_scope, texts_scope) = (scope(importer.env.values()), scope(importer.env.values_for_review()));
    let mut values = BTreeMap::new();
    let mut secrets = Vec::new();
    let mut values_for_review = BTreeMap::new();
    for (name, value) in written {
        let Some(template) = compiler.template::<EnvSlot>(&value.to_text(), Exposure::Variable) else { continue };
        let secret =
            template.read_paths().iter().any(|path| path.get(1).is_none_or(|name| importer.env.is_secret(name)));
        if let Ok(rendered) = template.render(&values_scope) {
            values.insert(name.value.clone(), rendered.text);
        }
        if !is_served && !importer.env.is_set_by_operator(template.single_path()) {
            let text = template.render(&texts_scope).map(|rendered| rendered.text);
            values_for_review.insert(name.value.clone(), text.unwrap_or_else(|_| value.0.clone()));
        }
        if secret {
            secrets.push(name.value.clone());
        }
    }
    PassedVariables { values: EnvSource::Fixed(values), secrets, values_for_review }
}

/// Warns of variables that are passed to a pack which does not declare them.
pub(super) fn warn_undeclared(
    written: &NamedMap<Spanned<Scalar>>,
    pack: &Environment,
    at: Location,
    load_context: &mut LoadContext,
) {
    for name in written.keys().filter(|name| !pack.variables.contains_key(&name.value)) {
        let message = format!("undeclared variable `{}` in the `env` of a pack", name.value);
        let place = name.location.span();
        load_context
            .warning(Code::Unused, place, message)
            .did_you_mean(name, pack.variables.keys().map(String::as_str))
            .note(at.span(), "the pack's manifest");
    }
}

/// Notes variables of a pack that are set in the process, but not passed by its importer.
pub(super) fn report_not_passed(
    import: PackImport<'_>,
    pack: &Environment,
    process_env: &EnvSource,
    load_context: &mut LoadContext,
) {
    let PackImport { key, reference } = import;
    for name in pack.variables.keys().filter(|name| !reference.env.contains_key(name.as_str())) {
        if process_env.get(name).is_none_or(|value| value.is_empty()) {
            continue;
        }
        let words = format!("variable `{name}` is set but not passed to the pack `{}`", key.value);
        load_context
            .note(Code::UnsetVariable, key.location, words)
            .help(format!("declare `{name}` under `env`, and write `env: {{ {name}: \"{{{{env.{name}}}}}\" }}` here"));
    }
}
