//! What a tool requires of the client that calls it, in MCP's own words.

use serde_json::{Map, Value, json};

use crate::action::Client;
use crate::compile::Compiler;
use crate::diagnostic::Code;
use crate::yaml::{At, Spanned};

use super::answer::{Refusal, RefusalKind};
use super::face::Object;

/// The capabilities that clients declare, and what may stand in each; nothing where anything may.
const CAPABILITIES: &[(&str, &[&str])] = &[
    ("sampling", &["context", "tools"]),
    ("elicitation", &["form", "url"]),
    ("roots", &["listChanged"]),
    ("extensions", &[]),
    ("experimental", &[]),
    ("tasks", &[]),
];

/// Capabilities without which a tool does nothing.
pub(super) struct Requires(Object);

impl Requires {
    /// Checks what a tool requires.
    pub(super) fn build(written: &Spanned<Object>, compiler: &mut Compiler<'_>) -> Option<Requires> {
        if written.is_empty() {
            compiler.warning(Code::Unused, written.at, "`requires` names no capability").help("such as `sampling: {}`");
            return None;
        }
        for (name, value) in &written.value {
            check(name, value, written.at, compiler);
        }
        Some(Requires(written.value.clone()))
    }

    /// Refuses a client that has not declared them. Where there is none, nobody is refused.
    pub(super) fn met(&self, name: &str, client: &dyn Client) -> Result<(), Refusal> {
        let Some(declared) = client.declared() else { return Ok(()) };
        let missing: Object = self.0.iter().filter(|(key, _)| !has(&declared, key, &self.0)).map(cloned).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = missing.iter().map(|(key, value)| named(key, value)).collect();
        let words = format!("`{name}` needs a client with {}, and this one has not declared it", names.join(" and "));
        Err(Refusal::new(RefusalKind::Needs, words).with_data(Value::Object(missing)))
    }
}

fn cloned((key, value): (&String, &Value)) -> (String, Value) {
    (key.clone(), value.clone())
}

/// Whether a capability is declared with everything that is required in it.
fn has(declared: &Object, key: &str, required: &Object) -> bool {
    let Some(there) = declared.get(key) else { return false };
    let none = Map::new();
    let settings = |value: Option<&Value>| value.and_then(Value::as_object).unwrap_or(&none).clone();
    let (mut there, mut wanted) = (settings(Some(there)), settings(required.get(key)));
    if key == "elicitation" {
        // Said without a mode, it is that of forms.
        for one in [&mut there, &mut wanted].into_iter().filter(|one| one.is_empty()) {
            one.insert("form".to_owned(), json!({}));
        }
    }
    wanted.iter().all(|(inner, value)| match there.get(inner) {
        Some(Value::Bool(there)) => *there || value == &Value::Bool(false),
        Some(_) => true,
        None => value == &Value::Bool(false),
    })
}

fn named(key: &str, value: &Value) -> String {
    let inner: Vec<&str> = value.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    if inner.is_empty() { format!("`{key}`") } else { format!("`{key}` ({})", inner.join(", ")) }
}

fn check(name: &str, value: &Value, at: At, compiler: &mut Compiler<'_>) {
    let Some((_, known)) = CAPABILITIES.iter().find(|(known, _)| *known == name) else {
        let place = compiler.key(at, name);
        compiler.error(Code::UnknownKey, place, format!("no client has a capability `{name}`")).did_you_mean(
            name,
            place.span(),
            CAPABILITIES.iter().map(|(known, _)| *known),
        );
        return;
    };
    let Some(settings) = value.as_object() else {
        let place = compiler.findings.documents.value_at(at, &format!("/{name}"));
        compiler.error(Code::WrongType, place, "a capability is a map").help(format!("write `{name}: {{}}`"));
        return;
    };
    for inner in settings.keys().filter(|inner| !known.is_empty() && !known.contains(&inner.as_str())) {
        let place = compiler.findings.documents.key_at(at, &format!("/{name}/{inner}"));
        compiler.error(Code::UnknownKey, place, format!("`{name}` has no `{inner}`")).did_you_mean(
            inner,
            place.span(),
            known.iter().copied(),
        );
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;

    #[test]
    fn a_capability_is_there_with_all_that_is_required_in_it_or_not_at_all() {
        for (required, declared, there) in [
            (json!({ "sampling": {} }), json!({ "sampling": {} }), true),
            (json!({ "sampling": {} }), json!({ "sampling": { "tools": {} } }), true),
            (json!({ "sampling": { "tools": {} } }), json!({ "sampling": {} }), false),
            (json!({ "sampling": {} }), json!({ "roots": {} }), false),
            (json!({ "elicitation": {} }), json!({ "elicitation": {} }), true),
            (json!({ "elicitation": { "form": {} } }), json!({ "elicitation": {} }), true),
            (json!({ "elicitation": {} }), json!({ "elicitation": { "form": {} } }), true),
            (json!({ "elicitation": {} }), json!({ "elicitation": { "url": {} } }), false),
            (json!({ "elicitation": { "url": {} } }), json!({ "elicitation": {} }), false),
            (json!({ "roots": { "listChanged": true } }), json!({ "roots": { "listChanged": false } }), false),
            (json!({ "roots": { "listChanged": true } }), json!({ "roots": { "listChanged": true } }), true),
            (json!({ "extensions": { "a/b": {} } }), json!({ "extensions": { "a/b": { "x": 1 } } }), true),
            (json!({ "extensions": { "a/b": {} } }), json!({ "extensions": {} }), false),
        ] {
            let (required, declared) = (required.as_object().unwrap(), declared.as_object().unwrap());
            let key = required.keys().next().unwrap();
            assert_eq!(has(declared, key, required), there, "{required:?} of {declared:?}");
        }
    }
}
