//! `env`: the variables that a manifest may read, and where their values come from.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::Surroundings;
use crate::compile::{Compiler, Environment, Exposure, Findings, Pack, Variable};
use crate::diagnostic::{Code, Purpose};
use crate::manifest::{EnvEntry, EnvVariable, Manifest, PackRef};
use crate::notation::{Named, Scalar, is_identifier};
use crate::redact::{SAFE, SHORTEST};
use crate::template::{EnvValue, Fixed, Names, Scope};
use crate::yaml::{At, Spanned};

/// The variables, and the names of those that are required and not set.
pub(super) struct Variables {
    pub(super) environment: Environment,
    pub(super) unset: Vec<String>,
}

/// Finds the value of every variable that the manifest declares.
pub(super) fn variables(
    manifest: &Manifest,
    (values, secrets): (&Surroundings, &[String]),
    findings: &mut Findings,
) -> Variables {
    let mut found = Variables { environment: Environment::default(), unset: Vec::new() };
    for (name, entry) in &manifest.env {
        if !is_identifier(name) {
            findings
                .report
                .error(Code::BadName, name.at.span(), format!("`{}` is no name of a variable", name.value))
                .help("use letters, digits and `_`");
        }
        let declared = match &entry.value {
            EnvEntry::Keys(variable) => variable.clone(),
            EnvEntry::Nothing(()) => EnvVariable::default(),
            EnvEntry::Bare(Scalar(value)) => {
                findings
                    .report
                    .error(
                        Code::WrongType,
                        entry.at.span(),
                        format!("`env` says which variables may be read, not what `{}` is", name.value),
                    )
                    .help(format!("for a default, write `{{ default: {value:?} }}`"));
                EnvVariable::default()
            }
        };
        let mut variable = variable(name, &declared, values, findings);
        variable.secret |= secrets.contains(&name.value);
        check_length(name, &variable, findings);
        if variable.value.is_none() && declared.required == Some(true) {
            found.unset.push(name.value.clone());
            findings
                .report
                .note(Code::Unset, name.at.span(), format!("`{}` is required and not set", name.value))
                .help("set it where the server is started; `serve` refuses to start without it")
                .forbid(Purpose::Use);
        }
        found.environment.variables.insert(name.value.clone(), variable);
    }
    found
}

/// Whether a value is the name of a variable still, for which whoever started folio was to put its value.
pub(crate) fn is_unexpanded(value: &str) -> bool {
    value.starts_with("${") && value.ends_with('}')
}

/// A short secret cannot be told from innocent text: hidden wherever it stands, it would spoil that.
fn check_length(name: &Spanned<String>, variable: &Variable, findings: &mut Findings) {
    let Some(value) = variable.value.as_deref().filter(|_| variable.secret) else { return };
    let length = value.trim().chars().count();
    let words = format!("the value of the secret `{}` is only {length} characters long", name.value);
    let place = name.at.span();
    if length < SHORTEST {
        let help = format!("it cannot be hidden: set a secret of {SAFE} characters or more");
        findings.report.error(Code::Secret, place, words).help(help);
    } else if length < SAFE {
        let help = format!("it is hidden in innocent text too: set one of {SAFE} characters or more");
        findings.report.warning(Code::Secret, place, words).help(help);
    }
}

fn variable(
    name: &Spanned<String>,
    declared: &EnvVariable,
    values: &Surroundings,
    findings: &mut Findings,
) -> Variable {
    let secret = declared.secret == Some(true);
    let default = declared.default.as_ref().map(|default| default.value.0.clone());
    if let (true, Some(default)) = (secret, &declared.default) {
        findings
            .report
            .warning(
                Code::Secret,
                default.at.span(),
                format!("the default of the secret `{}` stands here in clear", name.value),
            )
            .help("leave the default out, and set the variable");
    }
    let given = values.get(&name.value).map(|value| value.trim().to_owned());
    let unexpanded = given.as_deref().is_some_and(is_unexpanded);
    if unexpanded {
        let words =
            format!("the value of `{}` still looks like `${{…}}`: whoever started folio did not expand it", name.value);
        findings.report.warning(Code::Unset, name.at.span(), words).help("it counts as not set");
    }
    let given = given.filter(|value| !unexpanded && !value.is_empty());
    let (value, given) = (given.clone().or_else(|| default.clone()), given.is_some());
    Variable { value, secret, default, given }
}

/// What an importer hands to a pack: its templates filled from its own variables.
pub(super) fn handed(
    written: &Named<Spanned<Scalar>>,
    importer: &Pack,
    findings: &mut Findings,
) -> (Surroundings, Vec<String>) {
    let mut compiler = Compiler::new(findings, importer, std::path::Path::new(""));
    compiler.names = Names::new().with("env", importer.env.shape());
    let scope = Scope::new(Map::new(), Arc::new(Fixed { env: importer.env.values(), server: Value::Null }));
    let mut values = BTreeMap::new();
    let mut secrets = Vec::new();
    for (name, value) in written {
        let text = Spanned::new(value.value.0.clone(), value.at);
        let Some(template) = compiler.template::<EnvValue>(&text, Exposure::Variable) else { continue };
        let secret = template.reads().iter().any(|path| path.get(1).is_none_or(|name| importer.env.is_secret(name)));
        if let Ok(rendered) = template.render(&scope) {
            values.insert(name.value.clone(), rendered.text);
        }
        if secret {
            secrets.push(name.value.clone());
        }
    }
    (Surroundings::Fixed(values), secrets)
}

/// Warns of variables that are handed to a pack which does not declare them.
pub(super) fn warn_of_undeclared(
    written: &Named<Spanned<Scalar>>,
    pack: &Environment,
    at: At,
    findings: &mut Findings,
) {
    for name in written.keys().filter(|name| !pack.variables.contains_key(&name.value)) {
        findings
            .report
            .warning(Code::Unused, name.at.span(), format!("the pack declares no variable `{}`", name.value))
            .note(at.span(), "the pack's manifest");
    }
}

/// Says which variables a pack asks for that are set where the server is started, and that its importer does not hand it.
pub(super) fn note_not_handed(
    reference: &Spanned<PackRef>,
    (key, pack): (&Spanned<String>, &Environment),
    exported: &Surroundings,
    findings: &mut Findings,
) {
    for name in pack.variables.keys().filter(|name| !reference.env.contains_key(name.as_str())) {
        if exported.get(name).is_none_or(|value| value.is_empty()) {
            continue;
        }
        let words = format!("`{name}` is set, and the pack `{}` is not handed it", key.value);
        findings.report.note(Code::Unset, key.at.span(), words).help(format!(
            "a pack reads only what it is handed: declare `{name}` under `env`, and write `env: {{ {name}: \"{{{{env.{name}}}}}\" }}` here"
        ));
    }
}
