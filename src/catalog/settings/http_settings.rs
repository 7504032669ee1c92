//! Checks the `http` key of a manifest.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Map;
use url::Url;

use crate::catalog::entry::listed_text::render_at_load;
use crate::catalog::none_if_invalid;
use crate::catalog::settings::caller_headers::check_caller_headers;
use crate::catalog::settings::http_access::{HttpAccess, TokenDigest, normalize_origin};
use crate::catalog::settings::http_auth::{AuthSettings, auth_settings};
use crate::catalog::settings::http_limits::{HttpLimits, check_trusted_proxies, http_limits};
use crate::compile::{Compiler, Exposure};
use crate::diagnostic::{Code, LoadPurpose, Span};
use crate::load::{LoadedPack, is_unexpanded};
use crate::manifest;
use crate::template::{Scope, ScopeConstants, Template, TextSlot};
use crate::value_types;
use crate::world::Network;
use crate::yaml::Spanned;

/// The HTTP settings of a manifest.
#[derive(Debug, Clone, Default)]
pub struct HttpSettings {
    /// The address.
    pub listen: Option<SocketAddr>,
    /// The path of the endpoint.
    pub path: Option<String>,
    /// Who may ask.
    pub access: HttpAccess,
    /// Who calls; `None` where nobody is asked who it is.
    pub auth: Option<Arc<AuthSettings>>,
    /// The URL of the endpoint, as clients name it.
    pub public_url: Option<Url>,
    /// The headers that clients send for templates, as they are written.
    pub caller_headers: Vec<String>,
    /// Whose `X-Forwarded-For` counts.
    pub trusted_proxies: Vec<Network>,
    /// Whether a connection exchanges the token of the caller.
    pub exchanges_tokens: bool,
    /// Whether HTTP+SSE of 2024-11-05 is served too.
    pub sse: bool,
    /// Where sessions are.
    pub sessions: manifest::SessionHome,
    /// How many sessions there may be.
    pub max_sessions: Option<usize>,
    /// How long a session may be idle.
    pub session_idle: Option<Duration>,
    /// How often the client of a session is pinged.
    pub ping: Option<Duration>,
    /// How calls end when the server stops; `None` where they are cancelled at once.
    pub drain: Option<HttpDrain>,
    /// Limits of connections, requests and streams.
    pub limits: HttpLimits,
    /// Locations of `http` and its keys.
    key_spans: Vec<(&'static str, Span)>,
    at: Option<Span>,
}

impl HttpSettings {
    /// The location of a key of `http`, or of the map that should hold it.
    pub fn key_span(&self, key: &str) -> Option<Span> {
        let place = self.key_spans.iter().find(|(known, _)| *known == key).map(|(_, place)| *place);
        place.or(self.at)
    }
}

/// How calls end when the server stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpDrain {
    /// How long requests are still taken.
    pub delay: Duration,
    /// How long calls may take to end then.
    pub timeout: Duration,
}

/// Checks `http`.
pub(in crate::catalog) fn http_settings(pack: &LoadedPack, compiler: &mut Compiler<'_>) -> Option<HttpSettings> {
    let Some(http) = &pack.manifest.http else {
        return Some(HttpSettings { at: Some(pack.at.span()), ..HttpSettings::default() });
    };
    let listen = http.listen.as_ref().map(|listen| parse_address(listen, compiler));
    let path = http.path.as_ref().map(|path| check_endpoint_path(path, compiler));
    // HTTP+SSE has its two paths beside that of the endpoint.
    let is_sse_path = |path: &str| matches!(path.trim_end_matches('/').rsplit('/').next(), Some("sse" | "messages"));
    if let Some(path) = http.path.as_ref().filter(|path| http.sse == Some(true) && is_sse_path(path)) {
        compiler
            .error(Code::Conflict, path.location, format!("path `{}` is reserved for HTTP+SSE", path.value))
            .help("use another path, or remove `sse`");
    }
    warn_of_open_address(http, listen.flatten(), compiler);
    let token = http.token.as_ref().map(|token| bearer_token(token, pack, compiler));
    let public_url = http.public_url.as_ref().map(|url| check_public_url(url, http.path.as_ref(), compiler));
    let auth = http.auth.as_ref().map(|auth| auth_settings(auth, pack, compiler));
    check_auth_beside_others(http, compiler);
    let caller_headers = check_caller_headers(http, compiler);
    check_sessions(http, pack, compiler);
    check_origins(http, compiler);
    check_hosts(http, compiler);
    warn_of_wildcard_host(http, compiler);
    if let Some(max) = http.max_sessions.as_ref().filter(|max| max.value == 0) {
        compiler.error(Code::BadValue, max.location, "invalid `maxSessions`, expected at least 1");
    }
    if let Some(ping) = http.ping.as_ref().filter(|ping| ping.value.to_std().is_zero()) {
        compiler.error(Code::BadValue, ping.location, "invalid `ping`, expected more than zero").help("such as `30s`");
    }
    let public_url = none_if_invalid(public_url)?;
    Some(HttpSettings {
        listen: none_if_invalid(listen)?,
        path: none_if_invalid(path)?,
        auth: none_if_invalid(auth)?.map(Arc::new),
        access: http_access(http, none_if_invalid(token)?.flatten(), public_url.as_ref()),
        public_url,
        caller_headers,
        trusted_proxies: check_trusted_proxies(http, compiler),
        exchanges_tokens: pack.pack.connections.values().any(|connection| exchanges_token(connection)),
        sse: http.sse.unwrap_or_default(),
        sessions: http.sessions.as_ref().map(|sessions| sessions.value).unwrap_or_default(),
        max_sessions: http.max_sessions.as_ref().and_then(|max| usize::try_from(max.value).ok()),
        session_idle: http.session_idle.map(value_types::Duration::to_std),
        ping: http.ping.as_ref().map(|ping| ping.value.to_std()),
        drain: http.drain.as_ref().map(|drain| HttpDrain {
            delay: drain.delay.map_or(Duration::from_secs(5), value_types::Duration::to_std),
            timeout: drain.timeout.map_or(Duration::from_secs(25), value_types::Duration::to_std),
        }),
        limits: http_limits(http, compiler),
        key_spans: ["listen", "path", "sse", "sessions"]
            .map(|key| (key, compiler.key_location(http.location, key).span()))
            .into(),
        at: Some(http.location.span()),
    })
}

/// Who may ask, besides this machine: pages and clients that know the server by its public URL, too.
fn http_access(http: &manifest::Http, token: Option<TokenDigest>, public_url: Option<&Url>) -> HttpAccess {
    let origins = http.allowed_origins.iter().flatten().map(|origin| normalize_origin(origin));
    let hosts = http.allowed_hosts.iter().flatten().map(|host| host.to_ascii_lowercase());
    let public_host = public_url.and_then(|url| url.host_str().map(str::to_owned));
    HttpAccess {
        token,
        origins: origins.chain(public_url.map(|url| url.origin().ascii_serialization())).collect(),
        hosts: hosts.chain(public_host).collect(),
    }
}

pub(in crate::catalog) fn parse_address(address: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<SocketAddr> {
    let text = address.replacen("localhost:", "127.0.0.1:", 1);
    let parsed = text.parse().ok();
    if parsed.is_none() {
        compiler
            .error(Code::BadValue, address.location, format!("invalid socket address `{}`", address.value))
            .help("such as `127.0.0.1:8080`, or `[::1]:8080`");
    }
    parsed
}

fn check_endpoint_path(path: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<String> {
    let is_allowed = |character: char| character.is_ascii_alphanumeric() || "/-._~".contains(character);
    if !path.starts_with('/') || !path.chars().all(is_allowed) {
        compiler
            .error(Code::BadValue, path.location, format!("invalid path `{}`", path.value))
            .help("start it with `/` and use letters, digits and `-._~`, such as `/mcp`");
        return None;
    }
    let resolved = resolve_segments(path);
    if path.trim_end_matches('/') != resolved.trim_end_matches('/') || path.ends_with("//") {
        compiler
            .error(Code::BadValue, path.location, format!("invalid path `{}`", path.value))
            .help(format!("write `{resolved}`: clients resolve `.` and `..`, and no segment is empty"))
            .suggest(path.location.span(), resolved);
        return None;
    }
    Some(path.value.clone())
}

/// A path as clients ask for it: without empty segments, `.` and `..`.
fn resolve_segments(path: &str) -> String {
    let mut segments = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            segment => segments.push(segment),
        }
    }
    format!("/{}", segments.join("/"))
}

/// `serve --http` refuses to listen there without `--insecure`.
fn warn_of_open_address(http: &manifest::Http, address: Option<SocketAddr>, compiler: &mut Compiler<'_>) {
    let is_protected = http.token.is_some() || http.auth.is_some();
    let open = address.filter(|address| !address.ip().is_loopback() && !is_protected);
    if let Some((listen, address)) = http.listen.as_ref().zip(open) {
        let message = format!("missing `token`: `{address}` is reachable from other machines");
        compiler.warning(Code::Unsafe, listen.location, message).help("set `token`, or listen on `127.0.0.1`");
    }
}

fn check_sessions(http: &manifest::Http, pack: &LoadedPack, compiler: &mut Compiler<'_>) {
    let Some(sessions) = http.sessions.as_ref().filter(|sessions| sessions.value != manifest::SessionHome::Memory)
    else {
        return;
    };
    if http.sse == Some(true) {
        compiler
            .error(Code::Conflict, sessions.location, "sessions of HTTP+SSE are in memory")
            .help("remove `sse`, or write `sessions: memory`");
    }
    if sessions.value == manifest::SessionHome::Store && pack.manifest.store.is_none() {
        compiler
            .error(Code::MissingKey, sessions.location, "missing key `store`, which holds the sessions")
            .help("add `store: { redis: \"{{env.REDIS_URL}}\" }` at the top of the manifest");
    }
}

fn check_origins(http: &manifest::Http, compiler: &mut Compiler<'_>) {
    for origin in http.allowed_origins.iter().flatten() {
        let parsed = url::Url::parse(origin).ok().filter(|url| url.path() == "/" && url.has_host());
        if parsed.is_none() || origin.ends_with('/') {
            compiler
                .error(Code::BadValue, origin.location, format!("invalid origin `{}`", origin.value))
                .help("use scheme, host and port only, such as `https://desk.example`");
        }
    }
}

/// Reports what no `Host` header can be.
fn check_hosts(http: &manifest::Http, compiler: &mut Compiler<'_>) {
    for host in http.allowed_hosts.iter().flatten().filter(|host| !is_host(host)) {
        let after = host.split_once("://").map_or(host.as_str(), |(_, rest)| rest);
        let bare = after.split('/').next().filter(|bare| is_host(bare)).unwrap_or("desk.example").to_owned();
        compiler
            .error(Code::BadValue, host.location, format!("invalid host `{}`", host.value))
            .help(format!("write a host name, with a port if need be, such as `{bare}`"));
    }
}

/// Whether it is a host with or without a port, or `*`.
fn is_host(host: &str) -> bool {
    let bracketed = host.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(_, port)| port);
    let (name, port) = match (bracketed, host.split_once(':')) {
        (Some(port), _) => ("v6", port.strip_prefix(':').unwrap_or(if port.is_empty() { "0" } else { "x" })),
        (None, Some((name, port))) => (name, port),
        (None, None) => (host, "0"),
    };
    let is_name = !name.is_empty()
        && !name.ends_with('.')
        && name.chars().all(|character| character.is_ascii_alphanumeric() || "-._".contains(character));
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok();
    host == "*" || is_name && is_port
}

/// A web page could then read the server by a host name of its own that points to this machine.
fn warn_of_wildcard_host(http: &manifest::Http, compiler: &mut Compiler<'_>) {
    for host in http.allowed_hosts.iter().flatten().filter(|host| host.value == "*") {
        compiler
            .warning(
                Code::Unsafe,
                host.location,
                "`*` accepts any `Host`, so web pages can reach this server by DNS rebinding",
            )
            .help("list the host names of the server, such as `desk.example`");
    }
}

/// The URL of the endpoint, as clients name it.
fn check_public_url(
    text: &Spanned<String>,
    path: Option<&Spanned<String>>,
    compiler: &mut Compiler<'_>,
) -> Option<Url> {
    let rendered = render_at_load(text, compiler)?;
    let url = Url::parse(&rendered).ok().filter(|url| matches!(url.scheme(), "https" | "http"));
    let url = url.filter(|url| url.query().is_none() && url.fragment().is_none() && url.username().is_empty());
    if url.is_none() {
        compiler
            .error(Code::BadValue, text.location, "invalid `publicUrl`, expected the URL of the endpoint")
            .help("such as `https://desk.example/mcp`");
    }
    let path = path.map_or("/mcp", |path| path.as_str());
    if let Some(url) = url.as_ref().filter(|url| url.path() == "/" && path != "/") {
        let whole = format!("{}{path}", url.as_str().trim_end_matches('/'));
        compiler
            .warning(Code::BadValue, text.location, format!("`publicUrl` has no path: the endpoint is at `{path}`"))
            .help(format!("write `{whole}`, unless a proxy adds the path"));
    }
    url
}

fn exchanges_token(connection: &value_types::Connection) -> bool {
    connection.auth.as_ref().is_some_and(|auth| auth.exchange.is_some())
}

/// Reports what `auth` stands instead of, and what it needs.
fn check_auth_beside_others(http: &manifest::Http, compiler: &mut Compiler<'_>) {
    let Some(auth) = &http.auth else { return };
    if let Some(token) = &http.token {
        compiler
            .error(Code::Conflict, token.location, "`token` and `auth` exclude each other")
            .help("list the token by its digest: `auth: { tokens: { ci: { sha256: … } } }`");
    }
    let is_local =
        http.listen.as_ref().is_none_or(|listen| listen.starts_with("127.") || listen.starts_with("localhost:"));
    let is_behind_proxy = http.trusted_proxies.is_some() || http.allowed_hosts.is_some();
    if auth.issuer.is_some() && http.public_url.is_none() && is_local && is_behind_proxy {
        compiler
            .warning(
                Code::MissingKey,
                auth.location,
                "missing `http.publicUrl`: tokens must name the address that is listened on",
            )
            .help("write the URL that clients use, such as `publicUrl: https://desk.example/mcp`");
    }
    if auth.issuer.is_some() && http.public_url.is_none() && !is_local {
        compiler
            .error(Code::MissingKey, auth.location, "missing `http.publicUrl`, by which tokens name this server")
            .help("write the URL that clients use, such as `publicUrl: https://desk.example/mcp`");
    }
}

/// A token that is shorter can be guessed.
const MIN_TOKEN_CHARS: usize = 16;

/// The token: `Some(None)` where its variable is not set.
fn bearer_token(
    token: &Spanned<String>,
    pack: &LoadedPack,
    compiler: &mut Compiler<'_>,
) -> Option<Option<TokenDigest>> {
    let Some((name, value)) = secret_variable(token, "token", "server has no token", pack, compiler)? else {
        return Some(None);
    };
    if value.chars().count() < MIN_TOKEN_CHARS {
        compiler
            .warning(
                Code::Secret,
                token.location,
                format!("token in `{name}` is shorter than {MIN_TOKEN_CHARS} characters"),
            )
            .help("generate one with `openssl rand -hex 32`");
    }
    Some(Some(TokenDigest::new(&value)))
}

/// The variable that `text` names alone, and its value: `Some(None)` where it is not set, which `consequence` explains.
pub(super) fn secret_variable(
    text: &Spanned<String>,
    key: &str,
    consequence: &str,
    pack: &LoadedPack,
    compiler: &mut Compiler<'_>,
) -> Option<Option<(String, String)>> {
    let template: Template<TextSlot> = compiler.template(text, Exposure::Credential)?;
    let Some(name) = template.single_path().and_then(|path| match path {
        [env, name] if env == "env" => Some(name),
        _ => None,
    }) else {
        compiler
            .error(Code::Secret, text.location, format!("invalid `{key}`, expected exactly one `{{{{env.NAME}}}}`"))
            .help("keep it out of the manifest: declare a variable under `env` with `secret: true`");
        return None;
    };
    let constants = Arc::new(ScopeConstants { env: pack.pack.env.values(), ..ScopeConstants::default() });
    let value = template.render(&Scope::new(Map::new(), constants)).ok()?.0;
    let value = value.trim();
    if value.is_empty() || is_unexpanded(value) {
        // A required variable that is not set is reported at its declaration.
        if !pack.unset_variables.contains(name) {
            compiler
                .note(Code::UnsetVariable, text.location, format!("variable `{name}` is not set: the {consequence}"))
                .help("set it where the server is started; `serve --http` refuses to start without it")
                .forbid(LoadPurpose::Http);
        }
        return Some(None);
    }
    Some(Some((name.clone(), value.to_owned())))
}
