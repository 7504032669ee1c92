//! Checks data of protocol extensions that is passed on as written: MCP Apps (`ui://`) and declared capabilities.

use serde_json::Value;

use crate::catalog::listing::Object;
use crate::compile::LoadContext;
use crate::diagnostic::Code;
use crate::load::LoadedPack;
use crate::yaml::Location;
use crate::yaml::pointer::join as join_pointer;

/// The type that hosts show as an app.
const APP_MIME_TYPE: &str = "text/html;profile=mcp-app";

/// What answers a URI: nothing, or something whose type may be known.
type MimeTypeLookup<'a> = dyn Fn(&str) -> Option<Option<String>> + 'a;

/// Warns of what hosts of apps will not take, and reports unknown capabilities.
pub(in crate::catalog) fn check(pack: &LoadedPack, mime_type_of: &MimeTypeLookup<'_>, load_context: &mut LoadContext) {
    for file in &pack.entry_files {
        for tool in file.entries.tools.values() {
            check_tool_ui(tool.meta.as_ref(), tool.location, mime_type_of, load_context);
        }
        for resource in file.entries.resources.values() {
            let uri = resource.uri.as_ref().map(|uri| uri.value.as_str()).unwrap_or_default();
            check_resource_ui(uri, resource.meta.as_ref(), resource.location, load_context);
        }
    }
    let server = pack.manifest.server.as_ref();
    let settings = server.into_iter().flat_map(|server| [&server.extensions, &server.experimental]);
    // Each capability is a map of settings: of anything else the whole would be lost.
    for map in settings.flatten() {
        for (name, _) in map.iter().filter(|(_, settings)| !settings.is_object()) {
            let at = load_context.documents.value_at(map.location, &join_pointer("", name));
            let message = format!("invalid type for `{name}`, expected a map");
            load_context.error(Code::WrongType, at, message).help("write `{}` for no settings");
        }
    }
    let extensions_by_hand = server.and_then(|server| server.extensions.as_ref());
    if let Some(extensions) =
        extensions_by_hand.filter(|extensions| extensions.contains_key("io.modelcontextprotocol/skills"))
    {
        let at = load_context.documents.key_at(extensions.location, "/io.modelcontextprotocol~1skills");
        let message = "redundant extension `io.modelcontextprotocol/skills`: `skills` declares it";
        load_context.warning(Code::Unused, at, message).help("write `skills: { dir: skills }` at the top level");
    }
}

fn check_tool_ui(
    meta: Option<&Object>,
    at: Location,
    mime_type_of: &MimeTypeLookup<'_>,
    load_context: &mut LoadContext,
) {
    let Some(meta) = meta else { return };
    let old = meta.get("ui/resourceUri").map(|uri| (uri, "/_meta/ui~1resourceUri"));
    let new = meta.get("ui").and_then(|ui| ui.get("resourceUri")).map(|uri| (uri, "/_meta/ui/resourceUri"));
    for (uri, pointer) in [old, new].into_iter().flatten() {
        let place = load_context.documents.value_at(at, pointer);
        check_app_uri(uri, place, mime_type_of, load_context);
    }
    let Some(ui) = meta.get("ui") else { return };
    let mut warn = |pointer: &str, message: &str, help: &str| {
        let place = load_context.documents.value_at(at, pointer);
        load_context.warning(Code::ClientCompatibility, place, message).help(help);
    };
    if !ui.is_object() {
        warn("/_meta/ui", "invalid type for `ui`, expected a map", "write `ui: { resourceUri: \"ui://…\" }`");
    }
    let known = |who: &Value| matches!(who.as_str(), Some("model" | "app"));
    if ui.get("visibility").is_some_and(|list| !list.as_array().is_some_and(|list| list.iter().all(known))) {
        warn(
            "/_meta/ui/visibility",
            "invalid `visibility`, expected a list of `model` and `app`",
            "write `[model, app]`",
        );
    }
}

fn check_app_uri(uri: &Value, place: Location, mime_type_of: &MimeTypeLookup<'_>, load_context: &mut LoadContext) {
    let mut warn = |message: String, help: &str| {
        load_context.warning(Code::ClientCompatibility, place, message).help(help);
    };
    let Some(uri) = uri.as_str().filter(|uri| uri.starts_with("ui://")) else {
        return warn("invalid `resourceUri`, expected a `ui://` URI".to_owned(), "such as `ui://desk/board`");
    };
    match mime_type_of(uri) {
        None => warn(format!("unknown resource `{uri}`"), "declare it under `resources`"),
        Some(Some(mime_type)) if mime_type.replace(' ', "") != APP_MIME_TYPE => warn(
            format!("`{uri}` has type `{mime_type}`, which hosts do not show as an app"),
            "set `mimeType: text/html;profile=mcp-app` on the resource",
        ),
        Some(_) => {}
    }
}

/// What may stand in the `ui` of a resource.
const CSP_KEYS: &[&str] = &["connectDomains", "resourceDomains", "frameDomains", "baseUriDomains"];

fn check_resource_ui(uri: &str, meta: Option<&Object>, at: Location, load_context: &mut LoadContext) {
    let Some(ui) = meta.and_then(|meta| meta.get("ui")) else { return };
    let mut warn = |pointer: &str, message: String, help: &str| {
        let place = load_context.documents.value_at(at, pointer);
        load_context.warning(Code::ClientCompatibility, place, message).help(help);
    };
    if !uri.starts_with("ui://") {
        warn("/_meta/ui", "unused `ui`: only `ui://` resources are apps".to_owned(), "remove it");
    }
    let texts = |list: &Value| list.as_array().is_some_and(|list| list.iter().all(Value::is_string));
    for name in CSP_KEYS {
        let list = ui.get("csp").and_then(|csp| csp.get(name));
        if list.is_some_and(|list| !texts(list)) {
            let pointer = format!("/_meta/ui/csp/{name}");
            warn(
                &pointer,
                format!("invalid type for `{name}`, expected a list of origins"),
                "such as `[\"https://api.example\"]`",
            );
        }
    }
    for name in ["csp", "permissions"] {
        if ui.get(name).is_some_and(|value| !value.is_object()) {
            warn(
                &format!("/_meta/ui/{name}"),
                format!("invalid type for `{name}`, expected a map"),
                "see the MCP Apps extension for its keys",
            );
        }
    }
    if ui.get("prefersBorder").is_some_and(|value| !value.is_boolean()) {
        warn(
            "/_meta/ui/prefersBorder",
            "invalid type for `prefersBorder`, expected a boolean".to_owned(),
            "write `true` or `false`",
        );
    }
}
