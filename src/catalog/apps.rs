//! What extensions of the protocol say by data alone: MCP Apps (`ui://`), and the capabilities of the server.
//!
//! All of it is passed on as it was written. Where the shape is known, what no client will understand is said.

use serde_json::Value;

use crate::compile::Findings;
use crate::diagnostic::Code;
use crate::load::LoadedPack;
use crate::yaml::{Location, Spanned};

use super::listing::Object;

/// The type that hosts show as an app.
const APP_MIME_TYPE: &str = "text/html;profile=mcp-app";

/// What answers a URI: nothing, or something whose type may be known.
type MimeTypeLookup<'a> = dyn Fn(&str) -> Option<Option<String>> + 'a;

/// Warns of what hosts of apps will not take, and reports capabilities that are none.
pub(super) fn check(pack: &LoadedPack, mime_type_of: &MimeTypeLookup<'_>, findings: &mut Findings) {
    for file in &pack.entry_files {
        for tool in file.tools.values() {
            check_tool_ui(tool.meta.as_ref(), tool.location, mime_type_of, findings);
        }
        for resource in file.resources.values() {
            let uri = resource.uri.as_ref().map(|uri| uri.value.as_str()).unwrap_or_default();
            check_resource_ui(uri, resource.meta.as_ref(), resource.location, findings);
        }
    }
    let server = pack.server.as_ref();
    let settings = server.into_iter().flat_map(|server| [&server.extensions, &server.experimental]);
    settings.flatten().for_each(|map| check_capability_map(map, findings));
    let extensions_by_hand = server.and_then(|server| server.extensions.as_ref());
    if let Some(extensions) =
        extensions_by_hand.filter(|extensions| extensions.contains_key("io.modelcontextprotocol/skills"))
    {
        let at = findings.documents.key_at(extensions.location, "/io.modelcontextprotocol~1skills");
        let words = "this extension is declared by itself, where there are skills";
        findings.report.warning(Code::Unused, at, words).help("write `skills: { dir: skills }` at the top level");
    }
}

/// Each capability is a map of settings: of anything else the whole would be lost.
fn check_capability_map(map: &Spanned<Object>, findings: &mut Findings) {
    for (name, _) in map.iter().filter(|(_, settings)| !settings.is_object()) {
        let pointer = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
        let at = findings.documents.value_at(map.location, &pointer);
        let words = format!("the settings of `{name}` are a map");
        findings.report.error(Code::WrongType, at, words).help("write `{}` where there are none");
    }
}

fn check_tool_ui(meta: Option<&Object>, at: Location, mime_type_of: &MimeTypeLookup<'_>, findings: &mut Findings) {
    let Some(meta) = meta else { return };
    let old = meta.get("ui/resourceUri").map(|uri| (uri, "/_meta/ui~1resourceUri"));
    let new = meta.get("ui").and_then(|ui| ui.get("resourceUri")).map(|uri| (uri, "/_meta/ui/resourceUri"));
    for (uri, pointer) in [old, new].into_iter().flatten() {
        let place = findings.documents.value_at(at, pointer);
        check_app_uri(uri, place, mime_type_of, findings);
    }
    let Some(ui) = meta.get("ui") else { return };
    let mut warn = |pointer: &str, words: &str, help: &str| {
        let place = findings.documents.value_at(at, pointer);
        findings.report.warning(Code::ClientCompatibility, place, words).help(help);
    };
    if !ui.is_object() {
        warn("/_meta/ui", "`ui` is no map", "write `ui: { resourceUri: \"ui://…\" }`");
    }
    let known = |who: &Value| matches!(who.as_str(), Some("model" | "app"));
    if ui.get("visibility").is_some_and(|list| !list.as_array().is_some_and(|list| list.iter().all(known))) {
        warn("/_meta/ui/visibility", "`visibility` is a list of `model` and `app`", "write `[model, app]`");
    }
}

fn check_app_uri(uri: &Value, place: Location, mime_type_of: &MimeTypeLookup<'_>, findings: &mut Findings) {
    let mut warn = |words: String, help: &str| {
        findings.report.warning(Code::ClientCompatibility, place, words).help(help);
    };
    let Some(uri) = uri.as_str().filter(|uri| uri.starts_with("ui://")) else {
        return warn("`resourceUri` is no `ui://` URI".to_owned(), "such as `ui://desk/board`");
    };
    match mime_type_of(uri) {
        None => warn(format!("no resource has the URI `{uri}`"), "write it under `resources`"),
        Some(Some(mime_type)) if mime_type.replace(' ', "") != APP_MIME_TYPE => warn(
            format!("`{uri}` is of the type `{mime_type}`, which hosts do not show as an app"),
            "give the resource `mimeType: text/html;profile=mcp-app`",
        ),
        Some(_) => {}
    }
}

/// What may stand in the `ui` of a resource.
const CSP_KEYS: &[&str] = &["connectDomains", "resourceDomains", "frameDomains", "baseUriDomains"];

fn check_resource_ui(uri: &str, meta: Option<&Object>, at: Location, findings: &mut Findings) {
    let Some(ui) = meta.and_then(|meta| meta.get("ui")) else { return };
    let mut warn = |pointer: &str, words: String, help: &str| {
        let place = findings.documents.value_at(at, pointer);
        findings.report.warning(Code::ClientCompatibility, place, words).help(help);
    };
    if !uri.starts_with("ui://") {
        warn(
            "/_meta/ui",
            "`ui` says something of apps alone, whose URIs begin with `ui://`".to_owned(),
            "leave it out",
        );
    }
    let texts = |list: &Value| list.as_array().is_some_and(|list| list.iter().all(Value::is_string));
    for name in CSP_KEYS {
        let list = ui.get("csp").and_then(|csp| csp.get(name));
        if list.is_some_and(|list| !texts(list)) {
            let pointer = format!("/_meta/ui/csp/{name}");
            warn(&pointer, format!("`{name}` is a list of origins"), "such as `[\"https://api.example\"]`");
        }
    }
    for name in ["csp", "permissions"] {
        if ui.get(name).is_some_and(|value| !value.is_object()) {
            warn(&format!("/_meta/ui/{name}"), format!("`{name}` is a map"), "see the extension for its keys");
        }
    }
    if ui.get("prefersBorder").is_some_and(|value| !value.is_boolean()) {
        warn("/_meta/ui/prefersBorder", "`prefersBorder` is `true` or `false`".to_owned(), "write one of them");
    }
}
