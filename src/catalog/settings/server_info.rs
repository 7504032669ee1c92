//! Checks the `server` key of a manifest.

use crate::catalog::entry::listed_text::{listed_text, render_at_load};
use crate::catalog::listing::ServerInfo;
use crate::catalog::listing::bridge::BridgePolicy;
use crate::catalog::listing::icons::{check_icons, listed_icons};
use crate::compile::Compiler;
use crate::diagnostic::{Code, one_line};
use crate::load::LoadedPack;
use crate::manifest::TraceKey;
use crate::world::TracePropagation;
use crate::yaml::Spanned;

/// Checks `server`.
pub(in crate::catalog) fn server_info(pack: &LoadedPack, compiler: &mut Compiler<'_>) -> Option<ServerInfo> {
    let Some(server) = &pack.manifest.server else {
        compiler.error(Code::MissingKey, pack.at, "missing key `server`").help("add `server: { name: my-server }`");
        return None;
    };
    check_icons(server.icons.as_deref(), server.location, compiler);
    let Some(name) = &server.name else {
        compiler.error(Code::MissingKey, server.location, "missing key `name` in `server`");
        return None;
    };
    check_server_name(name, compiler);
    if let Some(size) = server.page_size.as_ref().filter(|size| size.value == 0) {
        compiler.error(Code::BadValue, size.location, "invalid `pageSize`, expected at least 1");
    }
    if let Some(url) = server.website_url.as_ref().filter(|url| url::Url::parse(url).is_err()) {
        compiler
            .error(Code::BadValue, url.location, format!("invalid URL `{}`", url.value))
            .help("such as `https://desk.example`");
    }
    let instructions = server.instructions.as_ref().and_then(|text| compiler.resolve_text(text));
    let instructions = instructions.and_then(|text| render_at_load(&text, compiler));
    Some(ServerInfo {
        name: name.value.clone(),
        version: server.version.as_ref().map_or_else(|| "0.0.0".to_owned(), |version| version.0.clone()),
        title: listed_text(server.title.as_deref(), server.location, "title", compiler),
        description: listed_text(server.description.as_deref(), server.location, "description", compiler),
        instructions: instructions.map(|text| text.trim_end().to_owned()),
        icons: listed_icons(server.icons.as_deref()),
        website_url: server.website_url.as_ref().map(|url| url.value.clone()),
        page_size: server.page_size.as_ref().and_then(|size| usize::try_from(size.value).ok()),
        ttl_ms: server.ttl_ms,
        cache_scope: server.cache_scope,
        extensions: server.extensions.as_ref().map(|map| map.value.clone()),
        experimental: server.experimental.as_ref().map(|map| map.value.clone()),
        bridge: server.bridge.as_ref().map(BridgePolicy::new).unwrap_or_default(),
        tool_search: server.tool_search,
    })
}

fn check_server_name(name: &Spanned<String>, compiler: &mut Compiler<'_>) {
    let is_allowed = |character: char| character.is_ascii_lowercase() || character.is_ascii_digit() || character == '-';
    let is_part = |part: &str| !part.is_empty() && part.chars().all(is_allowed);
    let is_one_namespace = name.matches('/').count() <= 1;
    if name.len() > 64 || !is_one_namespace || !name.split(['/', '.']).all(is_part) {
        let message = format!("invalid server name `{}`", name.value);
        let rule = "use 1 to 64 of `a-z`, `0-9` and `-`, with `.` and one `/` between";
        let words = name.split(|character: char| !character.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        let near = words.collect::<Vec<_>>().join("-").to_ascii_lowercase();
        let help = match near.is_empty() || near.len() > 64 {
            true => format!("{rule}, and `title` for a display name"),
            false => format!("{rule}: write `name: {near}`, and `title: {}` for people", one_line(name)),
        };
        compiler.error(Code::BadName, name.location, message).help(help);
    }
}

/// The trace context that is propagated besides `traceparent`.
pub(in crate::catalog) fn trace_propagation(pack: &LoadedPack) -> TracePropagation {
    let keys = pack.manifest.server.as_ref().and_then(|server| server.trace.as_deref()).unwrap_or_default();
    TracePropagation { tracestate: keys.contains(&TraceKey::Tracestate), baggage: keys.contains(&TraceKey::Baggage) }
}
