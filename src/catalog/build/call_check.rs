//! Checks the arguments that steps and tests pass to other entries, as far as they are known at load.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::catalog::entry::entry_references::DeclaredCall;
use crate::catalog::inputs::Inputs;
use crate::catalog::listing::Object;
use crate::compile::LoadContext;
use crate::diagnostic::{Code, quote_names};
use crate::template::{OutputPiece, output_pieces};

/// How many arguments the help for an unknown one lists.
const MAX_LISTED_NAMES: usize = 20;

/// Reports arguments that the entry does not take, that do not fit, or that are missing.
pub(in crate::catalog) fn check(call: &DeclaredCall, inputs: &Inputs, load_context: &mut LoadContext) {
    let entry = call.entry_id.name();
    for name in call.arguments.keys().filter(|name| !inputs.takes(name)) {
        let message = format!("unknown argument `{}` of `{entry}`", name.value);
        let diagnostic = load_context.error(Code::UnknownVariable, name.location, message);
        diagnostic.did_you_mean(name, inputs.names());
        if diagnostic.help.is_none() {
            let names: Vec<&str> = inputs.names().take(MAX_LISTED_NAMES + 1).collect();
            let more = if names.len() > MAX_LISTED_NAMES { ", …" } else { "" };
            diagnostic.help(match names.get(..MAX_LISTED_NAMES).unwrap_or(&names) {
                [] => format!("`{entry}` takes no arguments"),
                listed => format!("expected one of {}{more}", quote_names(listed)),
            });
        }
    }
    let (mut known, mut templated) = (Object::new(), BTreeSet::new());
    for (name, value) in call.arguments.iter().filter(|(name, _)| inputs.takes(name)) {
        match call.has_templates && contains_template(&value.0) {
            true => drop(templated.insert(name.value.clone())),
            false => drop(known.insert(name.value.clone(), value.0.clone())),
        }
    }
    for violation in inputs.known_violations(known, &templated, !call.entry_id.is_tool()) {
        let name = violation.name.as_deref().unwrap_or_default();
        let given = call.arguments.get(name);
        if given.is_none() && inputs.has_default(name) {
            // It is reported where the default is written.
            continue;
        }
        let at = given.map_or(call.at, |value| value.location);
        let message = format!("`{entry}`: {}", violation.message);
        let diagnostic = load_context.error(Code::BadValue, at, message);
        // What YAML reads instead of a string where there are no quotes.
        let yaml_type = given.and_then(|value| match value.0 {
            Value::Number(_) => Some("a number"),
            Value::Bool(_) => Some("a boolean"),
            _ => None,
        });
        if let Some(yaml_type) = yaml_type.filter(|_| inputs.is_text(name)) {
            diagnostic.help(format!("put it in quotes: YAML reads it as {yaml_type}"));
        }
    }
}

/// Reports an entry that its pack may not run, so that it is not there.
pub(in crate::catalog) fn report_not_granted(call: &DeclaredCall, load_context: &mut LoadContext) {
    let message = format!("`{}` is not available: its pack lacks a grant", call.entry_id.name());
    let (report, at) = (&mut load_context.report, call.at.span());
    // A pack that changed elsewhere must not end the server.
    match load_context.grant_uses.iter().any(|grant_use| grant_use.is_withheld) {
        false => report
            .error(Code::NotGranted, at, message)
            .help("add the grant to the `allow` of the pack; `folio check` lists what it needs"),
        true => report.warning(Code::NotGranted, at, message).help("`folio check` lists the packs to trust"),
    };
}

/// Whether any of the strings in a value is more than text.
fn contains_template(value: &Value) -> bool {
    match value {
        Value::String(text) => {
            text.contains("{{") && output_pieces(text).iter().any(|piece| !matches!(piece, OutputPiece::Text(_)))
        }
        Value::Array(items) => items.iter().any(contains_template),
        Value::Object(fields) => fields.values().any(contains_template),
        _ => false,
    }
}
