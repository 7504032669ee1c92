//! What the server is called, and how it listens.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Map;

use crate::compile::{Compiler, Exposure};
use crate::diagnostic::{Code, Purpose, Span};
use crate::load::{LoadedPack, is_unexpanded};
use crate::manifest::{self, TraceKey};
use crate::notation;
use crate::template::{Scope, ScopeConstants, Template, Text};
use crate::world::TracePropagation;
use crate::yaml::Spanned;

use super::access::{HttpAccess, TokenDigest, normalize_origin};
use super::block::{check_icons, listed_icons};
use super::listed_text::{listed_text, render_at_load};
use super::listing::{CacheScope, ServerInfo};

/// How a server listens over HTTP, as far as the manifest says.
#[derive(Debug, Clone, Default)]
pub struct HttpSettings {
    /// The address.
    pub listen: Option<SocketAddr>,
    /// The path of the endpoint.
    pub path: Option<String>,
    /// Who may ask.
    pub access: HttpAccess,
    /// Whether HTTP+SSE of 2024-11-05 is served too.
    pub sse: bool,
    /// How many sessions there may be.
    pub max_sessions: Option<usize>,
    /// How long a session may be silent.
    pub session_idle: Option<Duration>,
    /// How often a session's client is asked whether it is there.
    pub ping: Option<Duration>,
    /// What its connections may take.
    pub limits: HttpLimits,
    /// Where `http` and its keys stand.
    key_spans: Vec<(&'static str, Span)>,
    at: Option<Span>,
}

impl HttpSettings {
    /// Where a key of `http` stands, or what should hold it.
    pub fn key_span(&self, key: &str) -> Option<Span> {
        let place = self.key_spans.iter().find(|(known, _)| *known == key).map(|(_, place)| *place);
        place.or(self.at)
    }
}

/// What of a caller's trace goes along beside `traceparent`.
pub(super) fn trace_propagation(pack: &LoadedPack) -> TracePropagation {
    let written = pack.server.as_ref().and_then(|server| server.trace.as_deref()).unwrap_or_default();
    TracePropagation {
        tracestate: written.contains(&TraceKey::Tracestate),
        baggage: written.contains(&TraceKey::Baggage),
    }
}

/// How many connections there may be, and how long each part of a request may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpLimits {
    /// How many connections there may be at a time.
    pub connections: usize,
    /// How long the head of a request may take to arrive.
    pub header_timeout: Duration,
    /// How long the body of a request may take to arrive.
    pub body_timeout: Duration,
    /// How long a client may read nothing of an answer.
    pub write_timeout: Duration,
}

impl Default for HttpLimits {
    fn default() -> HttpLimits {
        HttpLimits {
            connections: 1024,
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
        }
    }
}

/// Checks what the server is called.
pub(super) fn server_info(pack: &LoadedPack, compiler: &mut Compiler<'_>) -> Option<ServerInfo> {
    let Some(written) = &pack.server else {
        compiler
            .error(Code::MissingKey, pack.at, "a manifest says what the server is called")
            .help("add `server: { name: my-server }`");
        return None;
    };
    check_icons(written.icons.as_deref(), written.location, compiler);
    let Some(name) = &written.name else {
        compiler.error(Code::MissingKey, written.location, "`server` needs a `name`");
        return None;
    };
    check_server_name(name, compiler);
    if let Some(size) = written.page_size.as_ref().filter(|size| size.value == 0) {
        compiler.error(Code::BadValue, size.location, "a page holds at least one entry");
    }
    if let Some(url) = written.website_url.as_ref().filter(|url| url::Url::parse(url).is_err()) {
        compiler
            .error(Code::BadValue, url.location, format!("`{}` is no URL", url.value))
            .help("such as `https://desk.example`");
    }
    let instructions = written.instructions.as_ref().and_then(|text| compiler.resolve_text(text));
    let instructions = instructions.and_then(|text| render_at_load(&text, compiler));
    let version = written.version.as_ref().map_or_else(|| "0.0.0".to_owned(), |version| version.0.clone());
    Some(ServerInfo {
        title: listed_text(written.title.as_deref(), (written.location, "title"), compiler),
        description: listed_text(written.description.as_deref(), (written.location, "description"), compiler),
        instructions: instructions.map(|text| text.trim_end().to_owned()),
        icons: listed_icons(written.icons.as_deref()),
        website_url: written.website_url.as_ref().map(|url| url.value.clone()),
        page_size: written.page_size.as_ref().and_then(|size| usize::try_from(size.value).ok()),
        ttl_ms: written.ttl_ms,
        cache_scope: written.cache_scope.map(cache_scope),
        extensions: written.extensions.as_ref().map(|map| map.value.clone()),
        experimental: written.experimental.as_ref().map(|map| map.value.clone()),
        ..ServerInfo::new(name.value.clone(), version)
    })
}

fn check_server_name(name: &Spanned<String>, compiler: &mut Compiler<'_>) {
    let fine = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    if name.is_empty() || name.len() > 64 || !name.chars().all(fine) {
        let words = format!("`{}` is no name of a server", name.value);
        compiler
            .error(Code::BadName, name.location, words)
            .help("use 1 to 64 of `a-z`, `0-9` and `-`; `title` is for people");
    }
}

/// A cache's scope as clients see it.
pub(super) fn cache_scope(written: notation::CacheScope) -> CacheScope {
    match written {
        notation::CacheScope::Public => CacheScope::Public,
        notation::CacheScope::Private => CacheScope::Private,
    }
}

/// Checks how the server listens.
pub(super) fn http_settings(pack: &LoadedPack, compiler: &mut Compiler<'_>) -> Option<HttpSettings> {
    let Some(written) = &pack.http else {
        return Some(HttpSettings { at: Some(pack.at.span()), ..HttpSettings::default() });
    };
    let listen = written.listen.as_ref().map(|listen| parse_address(listen, compiler));
    let path = written.path.as_ref().map(|path| check_endpoint_path(path, compiler));
    if let Some(path) = written.path.as_ref().filter(|path| written.sse == Some(true) && is_sse_path(path)) {
        compiler
            .error(Code::Conflict, path.location, format!("`{}` is where HTTP+SSE is served", path.value))
            .help("give the endpoint another path, or leave `sse` out");
    }
    if let (Some(listen), Some(Some(address)), None) = (&written.listen, listen, &written.token) {
        warn_of_others(listen, address, compiler);
    }
    let token = written.token.as_ref().map(|token| bearer_token(token, pack, compiler));
    check_origins(written, compiler);
    warn_of_wildcard_host(written, compiler);
    if let Some(most) = written.max_sessions.as_ref().filter(|most| most.value == 0) {
        compiler.error(Code::BadValue, most.location, "expected at least 1: with 0 nobody could be served");
    }
    if let Some(ping) = written.ping.as_ref().filter(|ping| ping.value.to_std().is_zero()) {
        compiler.error(Code::BadValue, ping.location, "expected more than 0s, such as `30s`");
    }
    Some(HttpSettings {
        listen: transpose_checked(listen)?,
        path: transpose_checked(path)?,
        access: HttpAccess {
            token: transpose_checked(token)?.flatten(),
            origins: written.allowed_origins.iter().flatten().map(|origin| normalize_origin(origin)).collect(),
            hosts: written.allowed_hosts.iter().flatten().map(|host| host.to_ascii_lowercase()).collect(),
        },
        sse: written.sse.unwrap_or_default(),
        max_sessions: written.max_sessions.as_ref().and_then(|most| usize::try_from(most.value).ok()),
        session_idle: written.session_idle.map(notation::Duration::to_std),
        ping: written.ping.as_ref().map(|ping| ping.value.to_std()),
        limits: http_limits(written, compiler),
        key_spans: ["listen", "path", "sse"]
            .map(|key| (key, compiler.key_location(written.location, key).span()))
            .into(),
        at: Some(written.location.span()),
    })
}

/// Checks `http.limits`. What is not written has its default.
fn http_limits(written: &manifest::Http, compiler: &mut Compiler<'_>) -> HttpLimits {
    let mut limits = HttpLimits::default();
    let Some(written) = &written.limits else { return limits };
    if let Some(connections) = &written.connections {
        if connections.value == 0 {
            compiler.error(Code::BadValue, connections.location, "`connections` must be at least 1");
        }
        limits.connections = connections.value as usize;
    }
    for (name, timeout, limit) in [
        ("headerTimeout", &written.header_timeout, &mut limits.header_timeout),
        ("bodyTimeout", &written.body_timeout, &mut limits.body_timeout),
        ("writeTimeout", &written.write_timeout, &mut limits.write_timeout),
    ] {
        let Some(timeout) = timeout else { continue };
        if timeout.value.to_std().is_zero() {
            compiler.error(Code::BadValue, timeout.location, format!("`{name}` must be greater than zero"));
        }
        *limit = timeout.value.to_std();
    }
    limits
}

/// `None` where something that was written is wrong.
fn transpose_checked<T>(value: Option<Option<T>>) -> Option<Option<T>> {
    match value {
        Some(checked) => checked.map(Some),
        None => Some(None),
    }
}

fn parse_address(written: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<SocketAddr> {
    let text = written.replacen("localhost:", "127.0.0.1:", 1);
    let parsed = text.parse().ok();
    if parsed.is_none() {
        compiler
            .error(Code::BadValue, written.location, format!("`{}` is no address with a port", written.value))
            .help("such as `127.0.0.1:8080`, or `[::1]:8080`");
    }
    parsed
}

/// `serve --http` refuses to listen there, unless it is told to.
fn warn_of_others(written: &Spanned<String>, address: SocketAddr, compiler: &mut Compiler<'_>) {
    if !address.ip().is_loopback() {
        let words = format!("`{address}` can be reached from other machines, and there is no `token`");
        compiler
            .warning(Code::Unsafe, written.location, words)
            .help("give a `token` that callers must show, or listen on `127.0.0.1`");
    }
}

fn check_endpoint_path(written: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<String> {
    let fine = |letter: char| letter.is_ascii_alphanumeric() || "/-._~".contains(letter);
    if !written.starts_with('/') || !written.chars().all(fine) {
        compiler.error(Code::BadValue, written.location, "the path of the endpoint begins with `/`, as `/mcp` does");
        return None;
    }
    Some(written.value.clone())
}

/// HTTP+SSE has its two paths beside that of the endpoint.
fn is_sse_path(path: &str) -> bool {
    matches!(path.trim_end_matches('/').rsplit('/').next(), Some("sse" | "messages"))
}

fn check_origins(written: &manifest::Http, compiler: &mut Compiler<'_>) {
    for origin in written.allowed_origins.iter().flatten() {
        let parsed = url::Url::parse(origin).ok().filter(|url| url.path() == "/" && url.has_host());
        if parsed.is_none() || origin.ends_with('/') {
            compiler
                .error(Code::BadValue, origin.location, format!("`{}` is no origin", origin.value))
                .help("scheme, host and port alone, such as `https://desk.example`");
        }
    }
}

/// With a name of its own that it points at this machine, a page of any web site could then read what is served.
fn warn_of_wildcard_host(written: &manifest::Http, compiler: &mut Compiler<'_>) {
    for host in written.allowed_hosts.iter().flatten().filter(|host| host.value == "*") {
        compiler
            .warning(
                Code::Unsafe,
                host.location,
                "`*` answers to every `Host`, so that web pages can reach this server by DNS rebinding",
            )
            .help("name the hosts under which it is called, such as `desk.example`");
    }
}

/// A token that is shorter can be guessed.
const MIN_TOKEN_CHARS: usize = 16;

/// The token: `Some(None)` where its variable is not set.
fn bearer_token(
    written: &Spanned<String>,
    pack: &LoadedPack,
    compiler: &mut Compiler<'_>,
) -> Option<Option<TokenDigest>> {
    let template: Template<Text> = compiler.template(written, Exposure::Private)?;
    let Some(name) = template.single_path().and_then(|path| match path {
        [env, name] if env == "env" => Some(name),
        _ => None,
    }) else {
        compiler
            .error(
                Code::Secret,
                written.location,
                "`token` is exactly one `{{env.NAME}}`: it does not stand in the manifest",
            )
            .help("declare the variable under `env` with `secret: true`");
        return None;
    };
    let fixed = Arc::new(ScopeConstants { env: pack.pack.env.values(), server: serde_json::Value::Null });
    let value = template.render(&Scope::new(Map::new(), fixed)).ok()?.0;
    let value = value.trim();
    if value.is_empty() || is_unexpanded(value) {
        // That a variable is required and not set is said where it is declared.
        if !pack.unset_variables.contains(name) {
            compiler
                .note(
                    Code::UnsetVariable,
                    written.location,
                    format!("`{name}` is not set: without a token anybody may ask"),
                )
                .help("set it where the server is started; `serve --http` refuses to start without it")
                .forbid(Purpose::Http);
        }
        return Some(None);
    }
    if value.chars().count() < MIN_TOKEN_CHARS {
        compiler
            .warning(Code::Secret, written.location, format!("`{name}` has fewer than {MIN_TOKEN_CHARS} characters"))
            .help("a token that cannot be guessed is made with `openssl rand -hex 32`");
    }
    Some(Some(TokenDigest::new(value)))
}
