//! Checks the client capabilities that a tool requires (`requires`).

use serde_json::{Map, Value, json};

use crate::action::McpClient;
use crate::catalog::listing::Object;
use crate::catalog::result::refusal::{Refusal, RefusalKind};
use crate::compile::Compiler;
use crate::diagnostic::{Code, nearest};
use crate::yaml::pointer::join as join_pointer;
use crate::yaml::{Location, Spanned};

/// The capabilities that clients declare, and what may stand in each; nothing where the names are not MCP's own.
const CAPABILITIES: &[(&str, &[&str])] = &[
    ("sampling", &["context", "tools"]),
    ("elicitation", &["form", "url"]),
    ("roots", &["listChanged"]),
    ("extensions", &[]),
    ("experimental", &[]),
];
/// What 2025-11-25 has among the capabilities, and 2026-07-28 among the extensions.
const TASKS_CAPABILITY: &str = "tasks";
const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";
/// The extensions of MCP itself.
const MCP_EXTENSIONS: &[&str] = &[TASKS_EXTENSION, "io.modelcontextprotocol/ui", "io.modelcontextprotocol/skills"];

/// Capabilities without which a tool does nothing, as clients declare them.
pub(in crate::catalog) struct RequiredCapabilities(Object);

impl RequiredCapabilities {
    /// Checks what a tool requires.
    pub(in crate::catalog) fn build(
        written: &Spanned<Object>,
        compiler: &mut Compiler<'_>,
    ) -> Option<RequiredCapabilities> {
        if written.is_empty() {
            compiler
                .warning(Code::Unused, written.location, "empty `requires`")
                .help("write a capability, such as `sampling: {}`");
            return None;
        }
        for (name, value) in &written.value {
            check_capability(name, value, written.location, compiler);
        }
        Some(RequiredCapabilities(to_client_capabilities(written.value.clone())))
    }

    /// Refuses a client that has not declared them; calls without a client pass.
    pub(in crate::catalog) fn check_client(&self, name: &str, client: &dyn McpClient) -> Result<(), Refusal> {
        let Some(declared) = client.declared_capabilities() else { return Ok(()) };
        let missing: Object = self
            .0
            .iter()
            .filter(|(key, _)| !has_capability(&declared, key, &self.0))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let label = |(key, value): (&String, &Value)| {
            let inner: Vec<&str> = value.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
            if inner.is_empty() { format!("`{key}`") } else { format!("`{key}` ({})", inner.join(", ")) }
        };
        let names: Vec<String> = missing.iter().map(label).collect();
        let message =
            format!("tool `{name}` requires client capability {}, which is not declared", names.join(" and "));
        Err(Refusal::new(RefusalKind::MissingCapability, message).with_data(Value::Object(missing)))
    }
}

/// What is required, in the form in which a client declares it: `tasks` is an extension.
fn to_client_capabilities(mut required: Object) -> Object {
    if required.remove(TASKS_CAPABILITY).is_some() {
        let extensions = required.entry("extensions").or_insert_with(|| json!({}));
        if let Some(extensions) = extensions.as_object_mut() {
            extensions.entry(TASKS_EXTENSION).or_insert_with(|| json!({}));
        }
    }
    required
}

/// Whether a capability is declared with everything that is required in it.
fn has_capability(declared: &Object, key: &str, required: &Object) -> bool {
    let Some(declared) = declared.get(key) else { return false };
    let none = Map::new();
    let settings = |value: Option<&Value>| value.and_then(Value::as_object).unwrap_or(&none).clone();
    let (mut declared, mut wanted) = (settings(Some(declared)), settings(required.get(key)));
    if key == "elicitation" {
        // Said without a mode, it is that of forms.
        for one in [&mut declared, &mut wanted].into_iter().filter(|one| one.is_empty()) {
            one.insert("form".to_owned(), json!({}));
        }
    }
    satisfies_all(&declared, &wanted)
}

fn satisfies_all(declared: &Object, required: &Object) -> bool {
    required.iter().all(|(name, value)| satisfies(declared.get(name), value))
}

/// Whether a setting is as it is wanted. One that is wanted to be `false` may be absent, and a list may hold more.
fn satisfies(declared: Option<&Value>, required: &Value) -> bool {
    match (declared, required) {
        (declared, Value::Bool(false)) => declared.is_none_or(|declared| declared == required),
        (Some(Value::Bool(declared)), Value::Bool(_) | Value::Object(_) | Value::Null) => *declared,
        (Some(Value::Object(declared)), Value::Object(required)) => satisfies_all(declared, required),
        (Some(Value::Object(_)), Value::Bool(true) | Value::Null) => true,
        (Some(Value::Array(declared)), Value::Array(required)) => required.iter().all(|value| declared.contains(value)),
        (declared, required) => declared == Some(required),
    }
}

fn check_capability(name: &str, value: &Value, at: Location, compiler: &mut Compiler<'_>) {
    let known = CAPABILITIES.iter().find_map(|(known, inner)| (*known == name).then_some(*inner));
    let Some(known) = known.or((name == TASKS_CAPABILITY).then_some(&[])) else {
        let place = compiler.key_location(at, name);
        let names = CAPABILITIES.iter().map(|(known, _)| *known).chain([TASKS_CAPABILITY]);
        compiler.error(Code::UnknownKey, place, format!("unknown capability `{name}`")).did_you_mean(name, names);
        return;
    };
    let Some(settings) = value.as_object() else {
        let place = compiler.load_context.documents.value_at(at, &pointer(&[name]));
        compiler
            .error(Code::WrongType, place, format!("invalid type for `{name}`, expected a map"))
            .help(format!("write `{name}: {{}}`"));
        return;
    };
    match name {
        "extensions" | "experimental" => check_identifiers(name, settings, at, compiler),
        TASKS_CAPABILITY => check_tasks(settings, at, compiler),
        _ => {
            for inner in settings.keys().filter(|inner| !known.contains(&inner.as_str())) {
                let place = compiler.load_context.documents.key_at(at, &pointer(&[name, inner]));
                compiler
                    .error(Code::UnknownKey, place, format!("unknown setting `{inner}` of capability `{name}`"))
                    .did_you_mean(inner, known.iter().copied());
            }
        }
    }
}

/// In 2025-11-25 clients declare in `tasks` which of their own requests may be tasks; this server makes none.
fn check_tasks(settings: &Object, at: Location, compiler: &mut Compiler<'_>) {
    for inner in settings.keys() {
        let place = compiler.load_context.documents.key_at(at, &pointer(&[TASKS_CAPABILITY, inner]));
        compiler
            .error(Code::UnknownKey, place, format!("unknown setting `{inner}` of capability `{TASKS_CAPABILITY}`"))
            .help(format!(
                "write `{TASKS_CAPABILITY}: {{}}`: it is the extension `{TASKS_EXTENSION}`, which has no settings"
            ));
    }
}

/// Checks names that are not of the protocol itself, whose settings are maps.
fn check_identifiers(name: &str, settings: &Object, at: Location, compiler: &mut Compiler<'_>) {
    if settings.is_empty() {
        let message = format!("empty `{name}`");
        compiler
            .warning(Code::Unused, compiler.key_location(at, name), message)
            .help(format!("write an entry, such as `{TASKS_EXTENSION}: {{}}`"));
    }
    for (identifier, value) in settings {
        if !value.is_object() {
            let place = compiler.load_context.documents.value_at(at, &pointer(&[name, identifier]));
            let help = format!("write `{identifier}: {{}}`");
            compiler
                .error(Code::WrongType, place, format!("invalid type for `{identifier}`, expected a map"))
                .help(help);
        }
        if name == "extensions" {
            check_extension(identifier, at, compiler);
        }
    }
}

fn check_extension(identifier: &str, at: Location, compiler: &mut Compiler<'_>) {
    let place = compiler.load_context.documents.key_at(at, &pointer(&["extensions", identifier]));
    if identifier.split_once('/').is_none_or(|(prefix, name)| prefix.is_empty() || name.is_empty()) {
        let prefixed = format!("io.modelcontextprotocol/{identifier}");
        let message = format!("invalid extension identifier `{identifier}`: missing prefix");
        let diagnostic = compiler.error(Code::UnknownKey, place, message);
        match nearest(&prefixed, MCP_EXTENSIONS.iter().copied()) {
            Some(near) => diagnostic.help(format!("did you mean `{near}`?")).suggest(place.span(), near),
            None => diagnostic.help("such as `com.example/name`"),
        };
    } else if !MCP_EXTENSIONS.contains(&identifier) && identifier.starts_with("io.modelcontextprotocol/") {
        let message = format!("unknown MCP extension `{identifier}`");
        let diagnostic = compiler.warning(Code::UnknownKey, place, message);
        diagnostic.did_you_mean(identifier, MCP_EXTENSIONS.iter().copied());
    }
}

/// The pointer that goes through these keys.
fn pointer(keys: &[&str]) -> String {
    keys.iter().fold(String::new(), |pointer, key| join_pointer(&pointer, key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capability_needs_all_required_settings() {
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
            (json!({ "extensions": { "a/b": { "x": 1 } } }), json!({ "extensions": { "a/b": {} } }), false),
            (json!({ "extensions": { "a/b": { "x": 1 } } }), json!({ "extensions": { "a/b": { "x": 1 } } }), true),
            (
                json!({ "extensions": { "a/b": { "x": [1] } } }),
                json!({ "extensions": { "a/b": { "x": [2, 1] } } }),
                true,
            ),
            (
                json!({ "extensions": { "a/b": { "x": [3] } } }),
                json!({ "extensions": { "a/b": { "x": [2, 1] } } }),
                false,
            ),
            (json!({ "elicitation": { "form": { "a": true } } }), json!({ "elicitation": { "form": {} } }), false),
            (json!({ "sampling": { "tools": true } }), json!({ "sampling": { "tools": {} } }), true),
            (json!({ "sampling": { "tools": false } }), json!({ "sampling": {} }), true),
            (json!({ "experimental": { "x": {} } }), json!({ "experimental": { "x": {} } }), true),
        ] {
            let (required, declared) = (required.as_object().unwrap(), declared.as_object().unwrap());
            let key = required.keys().next().unwrap();
            assert_eq!(has_capability(declared, key, required), there, "{required:?} of {declared:?}");
        }
    }
}
