//! Checks of the keys of a step and of its action.

use super::{ACTIONS, Step};
use crate::compile::Compiler;
use crate::diagnostic::Code;
use crate::yaml::{Location, Spanned, nearest_duration};

/// Reports keys that belong to another action than that of the step.
pub(super) fn check_siblings(step: &Spanned<Step>, compiler: &mut Compiler<'_>) {
    let Some(action) = step.actions().first().copied() else { return };
    for (name, at) in compiler.load_context.documents.keys_of(step.location) {
        let owners = ACTIONS.iter().filter(|other| other.sibling_keys.contains(&name.as_str()));
        let owners: Vec<String> = owners.map(|other| format!("`{}`", other.key)).collect();
        if owners.is_empty() || action.sibling_keys.contains(&name.as_str()) {
            continue;
        }
        let words = format!("unexpected key `{name}` for action `{}`", action.key);
        let help = match name.as_str() {
            "timeout" => format!("write `timeout{}` next to `run`", timeout_text(step, compiler)),
            _ => format!("use `{name}` with {} only", owners.join(" and ")),
        };
        compiler.error(Code::Conflict, at, words).help(help);
    }
}

/// The value of `timeout` as it would be next to `run`, if it is a duration but for its unit.
fn timeout_text(step: &Spanned<Step>, compiler: &Compiler<'_>) -> String {
    let at = compiler.load_context.documents.value_at(step.location, "/timeout");
    let written = compiler.load_context.report.sources.text_of(at.span());
    nearest_duration(written).map(|near| format!(": {near}")).unwrap_or_default()
}

/// Reports unless exactly one of these keys of `parent` is written; each comes with whether it is.
pub(super) fn check_exactly_one(
    parent: &str,
    at: Location,
    keys: &[(&str, bool)],
    compiler: &mut Compiler<'_>,
) -> Option<()> {
    if keys.iter().filter(|(_, written)| *written).count() == 1 {
        return Some(());
    }
    let names: Vec<String> = keys.iter().map(|(name, _)| format!("`{name}`")).collect();
    compiler.not_exactly_one(at, &format!("{} in `{parent}`", names.join(", ")));
    None
}
