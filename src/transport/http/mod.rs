//! Streamable HTTP: sessions for versions up to 2025-11-25 and sessionless requests for 2026-07-28 at one endpoint, and
//! optionally HTTP+SSE of 2024-11-05 (`sse`).
//!
//! `post` reads messages; a request is answered in its `session`, or as a `single_request`.

mod accept;
mod admin;
mod batch_response;
mod body;
mod event_channel;
mod connection;
mod connections;
mod descriptor_limit;
mod event_stream;
mod access_guard;
mod authentication;
mod dev_page;
mod health;
mod post;
mod refusal;
mod single_request;
mod standard_headers;
mod liveness;
mod response;
mod session;
mod sessions;
mod sse;
mod streams;

use std::{
    future::pending,
    io,
    net::{IpAddr, SocketAddr},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::Response,
};
use futures_util::{
    FutureExt,
    future::{FusedFuture, join},
    stream,
};
use http_body::Body as _;
use rmcp::model::ProtocolVersion;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::catalog::{Catalog, HttpAccess, HttpServingMode};
use crate::identity::AccessControl;
use crate::server::SharedServer;

pub use self::admin::{AdminListener, AdminView};
pub use self::dev_page::DevPage;

use self::{
    accept::Accepted,
    access_guard::AccessGuard,
    authentication::{AuthDenial, Authentication, RECHECK_INTERVAL, Sender},
    connection::HttpConnection,
    connections::Connections,
    event_stream::StreamKind,
    health::answer_health_check,
    refusal::RequestHead,
    response::{RefusedRequest, add_cors_headers, denied_response, method_not_allowed, other_path, text_response},
    session::{HttpSession, SESSION_ID_HEADER},
    sessions::Sessions,
    sse::SsePaths,
};
use super::{STOP_TIMEOUT, log_abandoned_calls};

/// What a client of a session is told that names none.
const SESSION_REQUIRED: &str = "Bad Request: Session ID is required";

/// How long clients may take to read what was answered before the server stops.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(250);

/// HTTP options that are fixed at the start. AccessControl rules come from the current catalog, whose session limits override
/// those here.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// The address, as `host:port`; port 0 takes a free one.
    pub listen: String,
    /// The path of the endpoint.
    pub path: String,
    /// Whether anybody may be listened to without a token, from other machines too.
    pub insecure: bool,
    /// Whether HTTP+SSE of 2024-11-05 is served too, at `sse` and `messages` beside the endpoint.
    pub sse: bool,
    /// How many sessions there may be at a time.
    pub max_sessions: usize,
    /// For how long a session without a word or an open stream is kept.
    pub session_idle: Duration,
    /// How often the client of a session is pinged.
    pub ping: Option<Duration>,
    /// How often a silent stream shows that it is alive.
    pub keep_alive: Duration,
    /// The page of `folio dev`, whose token is then asked for instead of the manifest's.
    pub page: Option<DevPage>,
}

impl Default for HttpOptions {
    fn default() -> HttpOptions {
        HttpOptions {
            listen: "127.0.0.1:8080".to_owned(),
            path: "/mcp".to_owned(),
            insecure: false,
            sse: false,
            max_sessions: 1000,
            session_idle: Duration::from_secs(3600),
            ping: None,
            keep_alive: Duration::from_secs(15),
            page: None,
        }
    }
}

/// Why a server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The address is invalid.
    #[error("invalid listen address `{listen}`: write `host:port`, such as `127.0.0.1:8080`")]
    InvalidAddress {
        /// What was given.
        listen: String,
    },
    /// The endpoint conflicts with HTTP+SSE.
    #[error("path `{path}` is reserved for HTTP+SSE: use another `path`, or remove `sse`")]
    PathConflict {
        /// The path of the endpoint.
        path: String,
    },
    /// Another program listens there.
    #[error("address already in use: `{address}`; use port 0 for a free one")]
    AddressInUse {
        /// Where it would have listened.
        address: SocketAddr,
    },
    /// The system does not allow it.
    #[error("permission denied: cannot listen on `{address}`")]
    PermissionDenied {
        /// Where it would have listened.
        address: SocketAddr,
    },
    /// Something else is wrong with the address.
    #[error("cannot listen on `{address}`")]
    ListenFailed {
        /// Where it would have listened.
        address: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
}

/// A bound address, before it serves.
#[derive(Debug)]
pub struct BoundServer {
    listener: TcpListener,
    pub(in crate::transport) address: SocketAddr,
    options: HttpOptions,
}

/// The address that `listen` means.
pub async fn resolve(listen: &str) -> Result<SocketAddr, HttpError> {
    let address = tokio::net::lookup_host(listen).await.ok().and_then(|mut addresses| addresses.next());
    address.ok_or_else(|| HttpError::InvalidAddress { listen: listen.to_owned() })
}

/// Takes the address.
pub async fn bind(mut options: HttpOptions) -> Result<BoundServer, HttpError> {
    options.path = format!("/{}", options.path.trim_matches('/'));
    if options.sse && SsePaths::for_endpoint(&options.path).conflicts_with(&options.path) {
        return Err(HttpError::PathConflict { path: options.path });
    }
    let (listener, address) = bind_listener(resolve(&options.listen).await?).await?;
    Ok(BoundServer { listener, address, options })
}

/// Listens on an address, and says which one it is.
async fn bind_listener(address: SocketAddr) -> Result<(TcpListener, SocketAddr), HttpError> {
    let listener = TcpListener::bind(address).await.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => HttpError::AddressInUse { address },
        io::ErrorKind::PermissionDenied => HttpError::PermissionDenied { address },
        _ => HttpError::ListenFailed { address, source },
    })?;
    let address = listener.local_addr().map_err(|source| HttpError::ListenFailed { address, source })?;
    Ok((listener, address))
}

impl BoundServer {
    /// The endpoint, as a client on this machine calls it.
    pub fn url(&self) -> String {
        format!("{}{}", self.origin(), self.options.path)
    }

    /// The same for HTTP+SSE, where that is served.
    pub fn sse_url(&self) -> Option<String> {
        self.options.sse.then(|| format!("{}{}", self.origin(), SsePaths::for_endpoint(&self.options.path).stream()))
    }

    /// Where its page is.
    pub fn origin(&self) -> String {
        let host = match self.address.ip() {
            ip if ip.is_unspecified() => "127.0.0.1".to_owned(),
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        format!("http://{host}:{}", self.address.port())
    }

    /// Whether every request needs a token.
    fn needs_token(&self) -> bool {
        HttpServingMode { address: self.address, insecure: self.options.insecure, settings_at_start: None }
            .needs_token()
    }

    /// Serves until `stop` is cancelled; then ends streams with their result, and answers what is running with an error.
    /// Without `drain` in the manifest it returns within a second; else calls have the time that is given there, or until
    /// `stop_now` is cancelled.
    pub async fn serve(self, shared_server: &SharedServer, stop: CancellationToken, stop_now: CancellationToken) {
        let (shutdown, no_more_requests) = (CancellationToken::new(), CancellationToken::new());
        let http_server = Arc::new(HttpServer::new(&self, shared_server, stop.clone(), shutdown.clone()));
        let connections = Connections::new(shared_server.clone());
        let serving = connections.serve(self.listener, no_more_requests.clone(), {
            let http_server = http_server.clone();
            move |connection, request| handle_request(http_server.clone(), connection, request)
        });
        let sessions = &http_server.sessions;
        let end = async {
            stop.cancelled().await;
            let drained = drain(shared_server, sessions, &no_more_requests);
            stop_now.run_until_cancelled(drained).await;
            no_more_requests.cancel();
            let running_tasks = shared_server.running_tasks();
            shared_server.stop();
            let answered = join(shared_server.wait_until_idle(), sessions.wait_until_answered());
            let _ = tokio::time::timeout(STOP_TIMEOUT, answered).await;
            (running_tasks, sessions.end_all())
        };
        let mut serving = pin!(serving.fuse());
        let (running_tasks, ended_sessions) = tokio::select! {
            ended = end => ended,
            // Calls are answered though no connection is left: they are to end.
            () = serving.as_mut().then(|()| pending()) => return,
            () = sessions.end_idle_sessions() => return,
            () = sessions.ping_clients() => return,
        };
        if !serving.is_terminated() {
            let _ = tokio::time::timeout(CLOSE_TIMEOUT, serving).await;
        }
        let unread = ended_sessions.iter().map(|session| session.unread_answers()).sum::<usize>();
        log_abandoned_calls(running_tasks + unread);
        shutdown.cancel();
    }
}

/// Lets calls end, and then takes no more, as long as the manifest says: a balancer learns late that this server is not ready
/// any more.
async fn drain(shared_server: &SharedServer, sessions: &Sessions, no_more_requests: &CancellationToken) {
    let Some(drain) = shared_server.catalog().http_settings().drain else { return };
    shared_server.health().start_draining();
    tokio::time::sleep(drain.delay).await;
    no_more_requests.cancel();
    shared_server.end_listening();
    let answered = join(shared_server.wait_until_idle(), sessions.wait_until_answered());
    let _ = tokio::time::timeout(drain.timeout, answered).await;
}

/// What every request is answered with.
struct HttpServer {
    path: String,
    sse: Option<SsePaths>,
    shared_server: SharedServer,
    guard: AccessGuard,
    authentication: Authentication,
    sessions: Arc<Sessions>,
    keep_alive: Duration,
    page: Option<DevPage>,
    /// Cancelled when the server stops.
    stop: CancellationToken,
    /// Cancelled when nothing is answered any more.
    shutdown: CancellationToken,
}

impl HttpServer {
    /// Who may send requests.
    fn access<'a>(&'a self, catalog: &'a Catalog) -> &'a HttpAccess {
        self.page.as_ref().map_or(&catalog.http_settings().access, |page| &page.access)
    }

    /// Who sends a request with these headers: by the token of the manifest, or of the page of `folio dev`, or as `auth` says.
    async fn identify(&self, headers: &HeaderMap, catalog: &Catalog) -> Result<Sender, AuthDenial> {
        if self.page.is_none() && catalog.http_settings().auth.is_some() {
            return self.authentication.identify(headers, catalog).await;
        }
        let shown = headers.get(header::AUTHORIZATION);
        self.guard.check_token(shown, self.access(catalog)).map_err(|_| AuthDenial::SharedToken)?;
        Ok(Sender::default())
    }

    /// The header of the trace that a request is part of, where somebody wants it.
    fn traceparent(&self, headers: &HeaderMap) -> Option<Arc<str>> {
        self.shared_server.observers().filter(|observers| observers.parts().traceparent)?;
        headers.get("traceparent")?.to_str().ok().map(Arc::from)
    }

    /// Returns when the token that these headers show is not good any more: for the answer to a request, when the token of
    /// the manifest changes.
    fn wait_for_revocation(
        self: Arc<HttpServer>,
        headers: &HeaderMap,
        kind: StreamKind,
    ) -> impl Future<Output = ()> + Send + use<> {
        let shown = headers.get_all(header::AUTHORIZATION).iter().map(|value| (header::AUTHORIZATION, value.clone()));
        let headers = HeaderMap::from_iter(shown);
        let mut catalogs = self.shared_server.subscribe();
        async move {
            loop {
                // What is changed from here on is noticed below.
                catalogs.mark_unchanged();
                let catalog = self.shared_server.catalog();
                if kind == StreamKind::Answer && catalog.http_settings().auth.is_some() {
                    return pending().await;
                }
                let recheck_after = match self.identify(&headers, &catalog).await {
                    Ok(sender) => sender.recheck_after(),
                    // Nobody says that the token is not good.
                    Err(AuthDenial::IssuerUnavailable) => Some(RECHECK_INTERVAL),
                    Err(_) => return,
                };
                drop(catalog);
                tokio::select! {
                    changed = catalogs.changed() => if changed.is_err() { return pending().await },
                    () = sleep_or_wait(recheck_after) => {}
                }
            }
        }
    }

    /// The session that a request of this caller names, if it lives and is its own.
    fn session_of(&self, headers: &HeaderMap, access: &AccessControl) -> Option<Arc<HttpSession>> {
        let id = headers.get(SESSION_ID_HEADER)?.to_str().ok()?;
        self.sessions.find(id, false, access)
    }

    fn new(
        bound: &BoundServer,
        shared_server: &SharedServer,
        stop: CancellationToken,
        shutdown: CancellationToken,
    ) -> HttpServer {
        let options = &bound.options;
        let sessions = Arc::new(Sessions::new(shared_server.clone(), options, shutdown.clone()));
        HttpServer {
            path: options.path.clone(),
            sse: options.sse.then(|| SsePaths::for_endpoint(&options.path)),
            guard: AccessGuard::new(bound.address, bound.needs_token()).with_links(options.page.is_some()),
            authentication: Authentication::new(shared_server, bound.url()),
            shared_server: shared_server.clone(),
            shutdown,
            sessions,
            keep_alive: options.keep_alive,
            page: options.page.clone(),
            stop,
        }
    }
}

async fn handle_request(http_server: Arc<HttpServer>, connection: Arc<HttpConnection>, request: Request) -> Response {
    if request.body().is_end_stream() {
        connection.request_arrived();
    }
    let path = request.uri().path();
    let health = answer_health_check(request.method(), path, http_server.stop.is_cancelled());
    if let Some(health) = health.filter(|_| path != http_server.path) {
        return health;
    }
    let catalog = http_server.shared_server.catalog();
    let mut head = RequestHead::new(&request, connection.address());
    let access = http_server.access(&catalog);
    let origin = match http_server.guard.check_host_and_origin(&request, access) {
        Ok(origin) => origin,
        // Its words are constant: there is nothing to hide in them.
        Err(denied) => {
            let mut response = denied_response(&denied);
            head.tell_of_refusal(&mut response, &http_server.shared_server, &catalog);
            return response;
        }
    };
    if let Some(file) = http_server.page.as_ref().and_then(|_| DevPage::file(request.method(), path)) {
        return file;
    }
    let answered = if request.method() == Method::OPTIONS && origin.is_some() {
        Ok(text_response(StatusCode::NO_CONTENT, ""))
    } else {
        answer_request(&http_server, &connection, request, &catalog, &mut head).await
    };
    let redactors = http_server.shared_server.redactors();
    let mut response = answered.unwrap_or_else(|refused| refused.into_response(redactors));
    head.tell_of_refusal(&mut response, &http_server.shared_server, &catalog);
    if let Some(origin) = origin {
        add_cors_headers(response.headers_mut(), origin, &catalog.http_settings().caller_headers);
    }
    response
}

/// Answers a request of a caller who may send one.
async fn answer_request(
    http_server: &Arc<HttpServer>,
    connection: &HttpConnection,
    request: Request,
    catalog: &Catalog,
    head: &mut RequestHead,
) -> Result<Response, RefusedRequest> {
    let path = request.uri().path();
    if let Some(metadata) = http_server.authentication.metadata(request.method(), path, catalog) {
        return Ok(metadata);
    }
    let page = http_server.page.as_ref().filter(|_| path == dev_page::EVENTS_PATH);
    let sse = http_server.sse.as_ref().filter(|paths| paths.contains(path));
    if sse.is_none() && page.is_none() && path.trim_end_matches('/') != http_server.path.trim_end_matches('/') {
        return Err(other_path(&http_server.path, path));
    }
    let sender = match http_server.identify(request.headers(), catalog).await {
        Ok(sender) => {
            let traceparent = http_server.traceparent(request.headers());
            Sender { address: Some(connection.address()), traceparent, ..sender }
        }
        Err(denial) => return Ok(http_server.authentication.denied_response(&denial, catalog)),
    };
    head.access = sender.access.clone();
    let sender = sender.with_secrets(request.headers(), catalog.http_settings())?;
    match (page, sse) {
        (Some(page), _) => Ok(page.event_stream(http_server, request.headers())),
        (None, Some(paths)) => sse::handle_sse(http_server, paths, connection, request, sender).await,
        (None, None) => handle_mcp(http_server, connection, request, sender).await,
    }
}

async fn handle_mcp(
    http_server: &Arc<HttpServer>,
    connection: &HttpConnection,
    request: Request,
    sender: Sender,
) -> Result<Response, RefusedRequest> {
    let (parts, body) = request.into_parts();
    let accepted = Accepted::from_headers(&parts.headers);
    match parts.method {
        Method::POST if !accepted.json && !accepted.event_stream => {
            Ok(Accepted::refusal("application/json or text/event-stream"))
        }
        Method::POST => match refuse_body_type(&parts.headers) {
            Some(refused) => Ok(refused),
            None => post::handle_post(http_server, connection, parts, body, accepted, sender).await,
        },
        Method::GET if !accepted.event_stream => Ok(Accepted::refusal("text/event-stream")),
        Method::GET | Method::DELETE if is_sessionless(&parts.headers) => {
            check_known_version(&parts.headers).map(|()| method_not_allowed("POST"))
        }
        Method::GET => open_stream(http_server, &parts.headers, &sender.access),
        Method::DELETE => end_session(http_server, &parts.headers, &sender.access),
        _ => Ok(method_not_allowed("GET, POST, DELETE")),
    }
}

/// The session that a `GET` or `DELETE` means.
fn require_session(
    http_server: &HttpServer,
    headers: &HeaderMap,
    access: &AccessControl,
) -> Result<Arc<HttpSession>, RefusedRequest> {
    check_known_version(headers)?;
    if !headers.contains_key(SESSION_ID_HEADER) {
        return Err(RefusedRequest::text(StatusCode::BAD_REQUEST, SESSION_REQUIRED));
    }
    http_server.session_of(headers, access).ok_or_else(RefusedRequest::session_not_found)
}

/// Opens the stream of what belongs to no request, or one that broke off.
fn open_stream(
    http_server: &Arc<HttpServer>,
    headers: &HeaderMap,
    access: &AccessControl,
) -> Result<Response, RefusedRequest> {
    let session = require_session(http_server, headers, access)?;
    let last_event = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let reader = match last_event {
        Some(id) => event_channel::parse_event_id(id).and_then(|(channel, after)| session.resume(channel, after)),
        None => session.listen(),
    };
    // A stream that is gone is over: of an error, browsers would try again and again.
    let Some(reader) = reader else {
        return Ok(event_stream::event_stream_response(stream::empty(), http_server, headers, StreamKind::Answer));
    };
    let events = event_stream::read_session_events(reader, session.version());
    Ok(event_stream::event_stream_response(events, http_server, headers, StreamKind::Listening))
}

fn end_session(
    http_server: &HttpServer,
    headers: &HeaderMap,
    access: &AccessControl,
) -> Result<Response, RefusedRequest> {
    require_session(http_server, headers, access)?;
    let id = headers.get(SESSION_ID_HEADER).and_then(|id| id.to_str().ok()).unwrap_or_default();
    http_server.sessions.end(id);
    Ok(text_response(StatusCode::NO_CONTENT, ""))
}

/// Refuses a body that is not JSON as it stands.
fn refuse_body_type(headers: &HeaderMap) -> Option<Response> {
    let value = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_plain = |coding: &HeaderValue| {
        let coding = coding.as_bytes().trim_ascii();
        coding.is_empty() || coding.eq_ignore_ascii_case(b"identity")
    };
    if !headers.get_all(header::CONTENT_ENCODING).iter().all(is_plain) {
        let words = "unsupported `Content-Encoding`; send the body as it is\n";
        let mut response = text_response(StatusCode::UNSUPPORTED_MEDIA_TYPE, words);
        response.headers_mut().insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        return Some(response);
    }
    let essence = value(header::CONTENT_TYPE).split(';').next().unwrap_or_default().trim();
    let is_json = essence.eq_ignore_ascii_case("application/json");
    let words = "unsupported `Content-Type`; send `application/json`\n";
    (!is_json).then(|| text_response(StatusCode::UNSUPPORTED_MEDIA_TYPE, words))
}

/// Whether a request is of a version without sessions.
fn is_sessionless(headers: &HeaderMap) -> bool {
    protocol_version(headers).is_some_and(|version| version >= ProtocolVersion::V_2026_07_28.as_str())
}

/// Refuses a version that is not spoken (basic/transports, `MCP-Protocol-Version`).
fn check_known_version(headers: &HeaderMap) -> Result<(), RefusedRequest> {
    let is_known = |version: &&str| ProtocolVersion::KNOWN_VERSIONS.iter().any(|known| known.as_str() == *version);
    let Some(unknown) = protocol_version(headers).filter(|version| !is_known(version)) else { return Ok(()) };
    let message = format!("Bad Request: Unsupported MCP-Protocol-Version: {unknown}");
    Err(RefusedRequest::text(StatusCode::BAD_REQUEST, message))
}

fn protocol_version(headers: &HeaderMap) -> Option<&str> {
    headers.get("mcp-protocol-version").and_then(|value| value.to_str().ok())
}

/// Waits for this time, or forever.
async fn sleep_or_wait(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => pending().await,
    }
}
