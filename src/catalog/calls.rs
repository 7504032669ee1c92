//! What steps and tests give to entries that they name, held against what those take, as far as it is known at load.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::compile::Findings;
use crate::diagnostic::Code;
use crate::template::{Printed, printed};

use super::face::Object;
use super::inputs::Inputs;
use super::reference::Call;

/// Reports arguments that the entry does not take, that do not fit, or that are missing.
pub(super) fn check(call: &Call, inputs: &Inputs, findings: &mut Findings) {
    let entry = call.node.name();
    for name in call.given.keys().filter(|name| !inputs.has(name)) {
        let words = format!("`{entry}` takes no argument `{}`", name.value);
        let fault = findings.report.error(Code::UnknownVariable, name.at.span(), words);
        fault.did_you_mean(name, name.at.span(), inputs.names());
        if fault.help.is_none() {
            let names: Vec<&str> = inputs.names().collect();
            fault.help(if names.is_empty() {
                "it takes none".to_owned()
            } else {
                format!("it takes `{}`", names.join("`, `"))
            });
        }
    }
    let (mut known, mut later) = (Object::new(), BTreeSet::new());
    for (name, value) in call.given.iter().filter(|(name, _)| inputs.has(name)) {
        match call.templates && holds_template(&value.0) {
            true => drop(later.insert(name.value.clone())),
            false => drop(known.insert(name.value.clone(), value.0.clone())),
        }
    }
    for misfit in inputs.misfits(known, &later, !call.node.is_tool()) {
        let given = misfit.name.as_deref().and_then(|name| call.given.get(name));
        let at = given.map_or(call.at, |value| value.at);
        findings.report.error(Code::BadValue, at.span(), format!("`{entry}`: {}", misfit.message));
    }
}

/// Reports an entry that its pack may not run, so that it is not there.
pub(super) fn not_granted(call: &Call, findings: &mut Findings) {
    let words = format!("`{}` is left out: its pack may not do what it does", call.node.name());
    findings
        .report
        .error(Code::NotGranted, call.at.span(), words)
        .help("grant it with `allow` where the pack is taken in; `folio check` says what it needs");
}

/// Whether any of the strings in a value is more than text.
fn holds_template(value: &Value) -> bool {
    match value {
        Value::String(text) => {
            text.contains("{{") && printed(text).iter().any(|piece| !matches!(piece, Printed::Text(_)))
        }
        Value::Array(items) => items.iter().any(holds_template),
        Value::Object(fields) => fields.values().any(holds_template),
        _ => false,
    }
}
