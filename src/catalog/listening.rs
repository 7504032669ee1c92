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
use crate::template::{Fixed, Scope, Template, Text};
use crate::world::HandOn;
use crate::yaml::Spanned;

use super::access::{Access, Token, normal_origin};
use super::block::{check_icons, icons};
use super::face::{CacheScope, Server};
use super::listed_text::{filled, listed_text};

/// How a server listens over HTTP, as far as the manifest says.
#[derive(Debug, Clone, Default)]
pub struct Listening {
    /// The address.
    pub listen: Option<SocketAddr>,
    /// The path of the endpoint.
    pub path: Option<String>,
    /// Who may ask.
    pub access: Access,
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
    places: Vec<(&'static str, Span)>,
    at: Option<Span>,
}

impl Listening {
    /// Where a key of `http` stands, or what should hold it.
    pub fn place(&self, key: &str) -> Option<Span> {
        let place = self.places.iter().find(|(known, _)| *known == key).map(|(_, place)| *place);
        place.or(self.at)
    }
}

/// What of a caller's trace goes along beside `traceparent`.
pub(super) fn hand_on(pack: &LoadedPack) -> HandOn {
    let written = pack.server.as_ref().and_then(|server| server.trace.as_deref()).unwrap_or_default();
    HandOn { state: written.contains(&TraceKey::Tracestate), baggage: written.contains(&TraceKey::Baggage) }
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
pub(super) fn server(pack: &LoadedPack, compiler: &mut Compiler<'_>) -> Option<Server> {
    let Some(written) = &pack.server else {
        compiler
            .error(Code::MissingKey, pack.at, "a manifest says what the server is called")
            .help("add `server: { name: my-server }`");
        return None;
    };
    check_icons(written.icons.as_deref(), written.at, compiler);
    let Some(name) = &written.name else {
        compiler.error(Code::MissingKey, written.at, "`server` needs a `name`");
        return None;
    };
    check_server_name(name, compiler);
    if let Some(size) = written.page_size.as_ref().filter(|size| size.value == 0) {
        compiler.error(Code::BadValue, size.at, "a page holds at least one entry");
    }
    if let Some(url) = written.website_url.as_ref().filter(|url| url::Url::parse(url).is_err()) {
        compiler
            .error(Code::BadValue, url.at, format!("`{}` is no URL", url.value))
            .help("such as `https://desk.example`");
    }
    let instructions = written.instructions.as_ref().and_then(|text| compiler.text(text));
    let instructions = instructions.and_then(|text| filled(&text, compiler));
    let version = written.version.as_ref().map_or_else(|| "0.0.0".to_owned(), |version| version.0.clone());
    Some(Server {
        title: listed_text(written.title.as_deref(), (written.at, "title"), compiler),
        description: listed_text(written.description.as_deref(), (written.at, "description"), compiler),
        instructions: instructions.map(|text| text.trim_end().to_owned()),
        icons: icons(written.icons.as_deref()),
        website_url: written.website_url.as_ref().map(|url| url.value.clone()),
        page_size: written.page_size.as_ref().and_then(|size| usize::try_from(size.value).ok()),
        ttl_ms: written.ttl_ms,
        cache_scope: written.cache_scope.map(cache_scope),
        extensions: written.extensions.as_ref().map(|map| map.value.clone()),
        experimental: written.experimental.as_ref().map(|map| map.value.clone()),
        ..Server::new(name.value.clone(), version)
    })
}

fn check_server_name(name: &Spanned<String>, compiler: &mut Compiler<'_>) {
    let fine = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    if name.is_empty() || name.len() > 64 || !name.chars().all(fine) {
        let words = format!("`{}` is no name of a server", name.value);
        compiler
            .error(Code::BadName, name.at, words)
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
pub(super) fn listening(pack: &LoadedPack, compiler: &mut Compiler<'_>) -> Option<Listening> {
    let Some(written) = &pack.http else { return Some(Listening { at: Some(pack.at.span()), ..Listening::default() }) };
    let listen = written.listen.as_ref().map(|listen| address(listen, compiler));
    let path = written.path.as_ref().map(|path| endpoint(path, compiler));
    if let Some(path) = written.path.as_ref().filter(|path| written.sse == Some(true) && is_of_sse(path)) {
        compiler
            .error(Code::Conflict, path.at, format!("`{}` is where HTTP+SSE is served", path.value))
            .help("give the endpoint another path, or leave `sse` out");
    }
    if let (Some(listen), Some(Some(address)), None) = (&written.listen, listen, &written.token) {
        warn_of_others(listen, address, compiler);
    }
    let token = written.token.as_ref().map(|token| bearer(token, pack, compiler));
    check_origins(written, compiler);
    warn_of_any_host(written, compiler);
    if let Some(most) = written.max_sessions.as_ref().filter(|most| most.value == 0) {
        compiler.error(Code::BadValue, most.at, "expected at least 1: with 0 nobody could be served");
    }
    if let Some(ping) = written.ping.as_ref().filter(|ping| ping.value.get().is_zero()) {
        compiler.error(Code::BadValue, ping.at, "expected more than 0s, such as `30s`");
    }
    Some(Listening {
        listen: transposed(listen)?,
        path: transposed(path)?,
        access: Access {
            token: transposed(token)?.flatten(),
            origins: written.allowed_origins.iter().flatten().map(|origin| normal_origin(origin)).collect(),
            hosts: written.allowed_hosts.iter().flatten().map(|host| host.to_ascii_lowercase()).collect(),
        },
        sse: written.sse.unwrap_or_default(),
        max_sessions: written.max_sessions.as_ref().and_then(|most| usize::try_from(most.value).ok()),
        session_idle: written.session_idle.map(notation::Duration::get),
        ping: written.ping.as_ref().map(|ping| ping.value.get()),
        limits: http_limits(written, compiler),
        places: ["listen", "path", "sse"].map(|key| (key, compiler.key(written.at, key).span())).into(),
        at: Some(written.at.span()),
    })
}

/// Checks `http.limits`. What is not written has its default.
fn http_limits(written: &manifest::Http, compiler: &mut Compiler<'_>) -> HttpLimits {
    let mut limits = HttpLimits::default();
    let Some(written) = &written.limits else { return limits };
    if let Some(connections) = &written.connections {
        if connections.value == 0 {
            compiler.error(Code::BadValue, connections.at, "`connections` must be at least 1");
        }
        limits.connections = connections.value as usize;
    }
    for (name, timeout, limit) in [
        ("headerTimeout", &written.header_timeout, &mut limits.header_timeout),
        ("bodyTimeout", &written.body_timeout, &mut limits.body_timeout),
        ("writeTimeout", &written.write_timeout, &mut limits.write_timeout),
    ] {
        let Some(timeout) = timeout else { continue };
        if timeout.value.get().is_zero() {
            compiler.error(Code::BadValue, timeout.at, format!("`{name}` must be greater than zero"));
        }
        *limit = timeout.value.get();
    }
    limits
}

/// `None` where something that was written is wrong.
fn transposed<T>(value: Option<Option<T>>) -> Option<Option<T>> {
    match value {
        Some(wrong_or_right) => wrong_or_right.map(Some),
        None => Some(None),
    }
}

fn address(written: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<SocketAddr> {
    let text = written.replacen("localhost:", "127.0.0.1:", 1);
    let parsed = text.parse().ok();
    if parsed.is_none() {
        compiler
            .error(Code::BadValue, written.at, format!("`{}` is no address with a port", written.value))
            .help("such as `127.0.0.1:8080`, or `[::1]:8080`");
    }
    parsed
}

/// `serve --http` refuses to listen there, unless it is told to.
fn warn_of_others(written: &Spanned<String>, address: SocketAddr, compiler: &mut Compiler<'_>) {
    if !address.ip().is_loopback() {
        let words = format!("`{address}` can be reached from other machines, and there is no `token`");
        compiler
            .warning(Code::Unsafe, written.at, words)
            .help("give a `token` that callers must show, or listen on `127.0.0.1`");
    }
}

fn endpoint(written: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<String> {
    let fine = |letter: char| letter.is_ascii_alphanumeric() || "/-._~".contains(letter);
    if !written.starts_with('/') || !written.chars().all(fine) {
        compiler.error(Code::BadValue, written.at, "the path of the endpoint begins with `/`, as `/mcp` does");
        return None;
    }
    Some(written.value.clone())
}

/// HTTP+SSE has its two paths beside that of the endpoint.
fn is_of_sse(path: &str) -> bool {
    matches!(path.trim_end_matches('/').rsplit('/').next(), Some("sse" | "messages"))
}

fn check_origins(written: &manifest::Http, compiler: &mut Compiler<'_>) {
    for origin in written.allowed_origins.iter().flatten() {
        let parsed = url::Url::parse(origin).ok().filter(|url| url.path() == "/" && url.has_host());
        if parsed.is_none() || origin.ends_with('/') {
            compiler
                .error(Code::BadValue, origin.at, format!("`{}` is no origin", origin.value))
                .help("scheme, host and port alone, such as `https://desk.example`");
        }
    }
}

/// With a name of its own that it points at this machine, a page of any web site could then read what is served.
fn warn_of_any_host(written: &manifest::Http, compiler: &mut Compiler<'_>) {
    for host in written.allowed_hosts.iter().flatten().filter(|host| host.value == "*") {
        compiler
            .warning(
                Code::Unsafe,
                host.at,
                "`*` answers to every `Host`, so that web pages can reach this server by DNS rebinding",
            )
            .help("name the hosts under which it is called, such as `desk.example`");
    }
}

/// A token that is shorter can be guessed.
const SHORTEST_TOKEN: usize = 16;

/// The token: `Some(None)` where its variable is not set.
fn bearer(written: &Spanned<String>, pack: &LoadedPack, compiler: &mut Compiler<'_>) -> Option<Option<Token>> {
    let template: Template<Text> = compiler.template(written, Exposure::Private)?;
    let Some(name) = template.sole().and_then(|path| match path {
        [env, name] if env == "env" => Some(name),
        _ => None,
    }) else {
        compiler
            .error(Code::Secret, written.at, "`token` is exactly one `{{env.NAME}}`: it does not stand in the manifest")
            .help("declare the variable under `env` with `secret: true`");
        return None;
    };
    let fixed = Arc::new(Fixed { env: pack.pack.env.values(), server: serde_json::Value::Null });
    let value = template.render(&Scope::new(Map::new(), fixed)).ok()?.0;
    let value = value.trim();
    if value.is_empty() || is_unexpanded(value) {
        // That a variable is required and not set is said where it is declared.
        if !pack.unset.contains(name) {
            compiler
                .note(Code::Unset, written.at, format!("`{name}` is not set: without a token anybody may ask"))
                .help("set it where the server is started; `serve --http` refuses to start without it")
                .forbid(Purpose::Http);
        }
        return Some(None);
    }
    if value.chars().count() < SHORTEST_TOKEN {
        compiler
            .warning(Code::Secret, written.at, format!("`{name}` has fewer than {SHORTEST_TOKEN} characters"))
            .help("a token that cannot be guessed is made with `openssl rand -hex 32`");
    }
    Some(Some(Token::new(value)))
}
