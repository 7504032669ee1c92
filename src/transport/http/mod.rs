//! Streamable HTTP: sessions for versions up to 2025-11-25 and sessionless requests for 2026-07-28 at one endpoint, and
//! optionally HTTP+SSE of 2024-11-05 (`sse`).
//!
//! rmcp parses requests. Access checks, message errors, sessions, batches and shutdown are done here.

mod accept;
mod batch_response;
mod body;
mod event_channel;
mod connection;
mod connections;
mod descriptor_limit;
mod event_stream;
mod access_guard;
mod dev_page;
mod health;
mod liveness;
mod redact;
mod response;
mod token_revocation;
mod session;
mod session_transport;
mod sessions;
mod sse;
mod streams;

use std::{
    borrow::Cow,
    future::{pending, poll_fn},
    io,
    net::{IpAddr, SocketAddr},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use axum::{
    body::{Body, Bytes},
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::Response,
};
use futures_util::{
    FutureExt,
    future::{FusedFuture, join},
};
use http_body::Body as _;
use rmcp::{
    model::{ClientRequest, JsonRpcMessage, ProtocolVersion},
    transport::{StreamableHttpServerConfig, StreamableHttpService},
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::budget::{Caller, Reservation, block_if_large};
use crate::catalog::{Catalog, HttpAccess, HttpServingMode};
use crate::diagnostic::bytes_without_byte_order_mark;
use crate::server::{ConnectionHandler, SharedServer, is_session_method, params_error};

pub use self::dev_page::DevPage;

use self::{
    accept::Accepted,
    access_guard::AccessGuard,
    body::BodyError,
    connection::HttpConnection,
    connections::Connections,
    health::answer_health_check,
    response::{
        RefusedMessage, add_cors_headers, denied_response, error_response, other_path_response, text_response,
        too_many_sessions,
    },
    session::{HttpSession, SESSION_ID_HEADER},
    sessions::Sessions,
    sse::SsePaths,
};
use super::{
    STOP_TIMEOUT, batch, log_abandoned_calls,
    message::{self, Incoming, MessageError, MessageKind},
    normalize::normalize,
    peer_state,
};

/// How long clients may take to read what was answered before the server stops.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(250);

/// HTTP options that are fixed at the start. Access rules come from the current catalog, whose session limits override
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
    let address = resolve(&options.listen).await?;
    let listener = TcpListener::bind(address).await.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => HttpError::AddressInUse { address },
        io::ErrorKind::PermissionDenied => HttpError::PermissionDenied { address },
        _ => HttpError::ListenFailed { address, source },
    })?;
    let address = listener.local_addr().map_err(|source| HttpError::ListenFailed { address, source })?;
    Ok(BoundServer { listener, address, options })
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

    /// Serves until `stop` is cancelled; then ends streams with their result, answers what is running with an error, and
    /// returns within a second.
    pub async fn serve(self, shared_server: &SharedServer, stop: CancellationToken) {
        let shutdown = CancellationToken::new();
        let http_server = Arc::new(HttpServer::new(&self, shared_server, stop.clone(), shutdown.clone()));
        let connections = Connections::new(shared_server.clone());
        let serving = connections.serve(self.listener, stop.clone(), {
            let http_server = http_server.clone();
            move |connection, request| handle_request(http_server.clone(), connection, request)
        });
        let sessions = &http_server.sessions;
        let end = async {
            stop.cancelled().await;
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

/// What every request is answered with.
struct HttpServer {
    path: String,
    sse: Option<SsePaths>,
    shared_server: SharedServer,
    guard: AccessGuard,
    sessions: Arc<Sessions>,
    service: StreamableHttpService<ConnectionHandler, Sessions>,
    keep_alive: Duration,
    page: Option<DevPage>,
    /// Cancelled when the server stops.
    stop: CancellationToken,
}

impl HttpServer {
    /// Who may send requests.
    fn access<'a>(&'a self, catalog: &'a Catalog) -> &'a HttpAccess {
        self.page.as_ref().map_or(&catalog.http_settings().access, |page| &page.access)
    }

    fn new(
        bound: &BoundServer,
        shared_server: &SharedServer,
        stop: CancellationToken,
        shutdown: CancellationToken,
    ) -> HttpServer {
        let options = &bound.options;
        let sessions = Arc::new(Sessions::new(shared_server.clone(), options, shutdown.clone()));
        // Hosts and origins are checked for every path, before anything else.
        let config = StreamableHttpServerConfig::default()
            .with_json_response(true)
            .with_legacy_session_mode(true)
            .with_sse_keep_alive(Some(options.keep_alive))
            .with_sse_retry(None)
            .with_max_request_body_bytes(body::MAX_BODY_BYTES)
            .with_cancellation_token(shutdown)
            .disable_allowed_hosts()
            .disable_allowed_origins();
        let connecting = shared_server.clone();
        let connect = move || Ok(connecting.connect());
        HttpServer {
            path: options.path.clone(),
            sse: options.sse.then(|| SsePaths::for_endpoint(&options.path)),
            guard: AccessGuard::new(bound.address, bound.needs_token()).with_links(options.page.is_some()),
            shared_server: shared_server.clone(),
            service: StreamableHttpService::new(connect, sessions.clone(), config),
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
    let access = http_server.access(&catalog);
    let origin = match http_server.guard.check_host_and_origin(&request, access) {
        Ok(origin) => origin,
        // Its words are constant: there is nothing to hide in them.
        Err(denied) => return denied_response(&denied),
    };
    let authorization = request.headers().get(header::AUTHORIZATION).cloned();
    if let Some(file) = http_server.page.as_ref().and_then(|_| DevPage::file(request.method(), path)) {
        return file;
    }
    let page = http_server.page.as_ref().filter(|_| path == dev_page::EVENTS_PATH);
    let sse = http_server.sse.as_ref().filter(|paths| paths.contains(path));
    let mut response = if request.method() == Method::OPTIONS && origin.is_some() {
        text_response(StatusCode::NO_CONTENT, "")
    } else if sse.is_none() && page.is_none() && path.trim_end_matches('/') != http_server.path.trim_end_matches('/') {
        other_path_response(&http_server.path, path)
    } else if let Err(denied) = http_server.guard.check_token(authorization.as_ref(), access) {
        denied_response(&denied)
    } else if let Some(page) = page {
        page.event_stream(http_server.keep_alive)
    } else if let Some(paths) = sse {
        sse::handle_sse(&http_server, paths, &connection, request).await
    } else {
        handle_mcp(&http_server, &connection, request).await
    };
    response = token_revocation::end_on_revocation(response, &http_server, authorization);
    response = redact::redact_response(response, http_server.sessions.shared_server().redactors()).await;
    if let Some(origin) = origin {
        add_cors_headers(response.headers_mut(), origin);
    }
    response
}

async fn handle_mcp(http_server: &HttpServer, connection: &HttpConnection, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let accepted = Accepted::from_headers(&parts.headers);
    if let Some(refused) = refuse_media_types(&parts, accepted) {
        return refused;
    }
    Accepted::normalize(&mut parts.headers);
    let session = parts.headers.get(SESSION_ID_HEADER).and_then(|id| id.to_str().ok());
    let session = session.and_then(|id| http_server.sessions.find(id, false));
    if parts.method == Method::POST {
        let posted = PostedRequest { parts, accepted, session: session.as_deref() };
        let response = handle_post(http_server, connection, posted, body).await;
        return accepted.convert(response, session.as_deref()).await;
    }
    let is_delete = parts.method == Method::DELETE;
    let response = http_server.service.handle(Request::from_parts(parts, Body::empty())).await;
    // rmcp says 202 to the end of a session, which the Python SDK takes for a failure.
    match is_delete && response.status() == StatusCode::ACCEPTED {
        true if session.is_some() => text_response(StatusCode::NO_CONTENT, ""),
        true => text_response(StatusCode::NOT_FOUND, "Not Found: Session not found"),
        false => response.map(Body::new),
    }
}

/// Refuses a request whose types or codings are not those of MCP.
fn refuse_media_types(parts: &http::request::Parts, accepted: Accepted) -> Option<Response> {
    match parts.method {
        Method::POST if !accepted.json && !accepted.event_stream => {
            Some(Accepted::refusal("application/json or text/event-stream"))
        }
        Method::POST => refuse_body_type(&parts.headers),
        Method::GET if !accepted.event_stream => Some(Accepted::refusal("text/event-stream")),
        _ => None,
    }
}

/// A request that carries a message: its head, and where it is sent.
struct PostedRequest<'a> {
    parts: http::request::Parts,
    accepted: Accepted,
    session: Option<&'a HttpSession>,
}

async fn handle_post(
    http_server: &HttpServer,
    connection: &HttpConnection,
    PostedRequest { mut parts, accepted, session }: PostedRequest<'_>,
    body: Body,
) -> Response {
    let caller = session.map_or(connection.caller(), HttpSession::caller);
    let (bytes, reservation) = match read_admitted(body, connection, caller).await {
        Ok(admitted) => admitted,
        Err(response) => return response,
    };
    let bytes = normalized_body(&bytes);
    if batch::is_batch(&bytes) {
        return batch_response::respond_to_batch(http_server, &parts.headers, bytes, reservation).await;
    }
    let check = || check_message(http_server, &parts.headers, accepted, &bytes);
    if let Err(refused) = block_if_large(bytes.len() as u64, check) {
        return refused.response();
    }
    parts.extensions.insert(reservation.clone());
    let mut handled = Box::pin(http_server.service.handle(Request::from_parts(parts, Body::from(bytes))));
    let handled = poll_fn(|context| block_if_large(reservation.bytes(), || handled.as_mut().poll(context)));
    let mut response = handled.await.map(Body::new);
    response.extensions_mut().insert(reservation);
    response
}

/// Reads a body to its end, and waits for room for its message before anybody parses it.
async fn read_admitted(
    body: Body,
    connection: &HttpConnection,
    caller: &Arc<Caller>,
) -> Result<(Bytes, Arc<Reservation>), Response> {
    let reservation = Arc::new(caller.reserve(0));
    let bytes = body::read_body(body, connection.limits().body_timeout, &reservation).await;
    let bytes = bytes.map_err(|unread| unread.response())?;
    connection.message_arrived();
    let too_large =
        |message: String| error_response(StatusCode::PAYLOAD_TOO_LARGE, &MessageError::invalid_request(None, message));
    let size = block_if_large(bytes.len() as u64, || peer_state::checked_size(&bytes, caller.pool()));
    let size = size.map_err(too_large)?;
    body::admit(size, &reservation).await.map_err(|busy| BodyError::Busy(busy).response())?;
    Ok((bytes, reservation))
}

/// A body as it is parsed, by rmcp too.
fn normalized_body(bytes: &Bytes) -> Bytes {
    let bare = bytes_without_byte_order_mark(bytes);
    match normalize(bare) {
        Cow::Borrowed(_) => bytes.slice_ref(bare),
        Cow::Owned(normal) => normal.into(),
    }
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

fn protocol_version(headers: &HeaderMap) -> Option<&str> {
    headers.get("mcp-protocol-version").and_then(|value| value.to_str().ok())
}

/// Whether the method was removed from the version of the request: rmcp would start a session, or require a header.
/// rmcp itself refuses unknown versions.
fn is_removed_method(method: &str, headers: &HeaderMap) -> bool {
    let is_newest = protocol_version(headers) == Some(ProtocolVersion::V_2026_07_28.as_str());
    is_newest && is_session_method(method) || method == "initialize" && is_sessionless(headers)
}

/// Refuses what rmcp would refuse without a word that a client could show.
fn check_message(
    http_server: &HttpServer,
    headers: &HeaderMap,
    accepted: Accepted,
    bytes: &Bytes,
) -> Result<(), RefusedMessage> {
    let bad = |error: MessageError| RefusedMessage(StatusCode::BAD_REQUEST, error);
    let envelope = message::parse_envelope(bytes).map_err(bad)?;
    let MessageKind::Request { id, method } = &envelope.kind else { return Ok(()) };
    let (id, initialize) = (id.clone(), method == "initialize");
    if is_removed_method(method, headers) {
        let message = format!("unknown method `{}`", crate::diagnostic::truncate(method, 64));
        return Err(RefusedMessage(StatusCode::NOT_FOUND, MessageError::method_not_found(id, message)));
    }
    if method == "subscriptions/listen" && !accepted.event_stream {
        let error = MessageError::invalid_request(Some(id), "the answer is a stream: accept `text/event-stream`");
        return Err(RefusedMessage(StatusCode::NOT_ACCEPTABLE, error));
    }
    if let Some(complaint) = untyped_error(envelope.parse(bytes).map_err(bad)?.as_ref())
        && (initialize || !is_untyped_request(bytes))
    {
        return Err(bad(MessageError::invalid_params(id, complaint)));
    }
    let session = headers.get(SESSION_ID_HEADER).filter(|_| !is_sessionless(headers));
    let session = session.and_then(|session| http_server.sessions.find(session.to_str().ok()?, false));
    if session.is_some_and(|session| session.has_pending(&id)) {
        return Err(bad(peer_state::id_in_use(&id)));
    }
    if initialize && !headers.contains_key(SESSION_ID_HEADER) && http_server.sessions.is_full() {
        return Err(too_many_sessions(Some(id)));
    }
    Ok(())
}

/// What is wrong with the parameters of a request that is of no type.
fn untyped_error(message: Option<&Incoming>) -> Option<String> {
    let Some(JsonRpcMessage::Request(request)) = message else { return None };
    let ClientRequest::CustomRequest(custom) = &request.request else { return None };
    let complaint = params_error(&custom.method, custom.params.as_ref());
    Some(complaint.unwrap_or_else(|| "invalid params".to_owned()))
}

/// Whether rmcp takes the message for a request that it has no type for, which the handler explains. It would take
/// parameters that do not fit for none at all where none are needed.
fn is_untyped_request(bytes: &[u8]) -> bool {
    match serde_json::from_slice(bytes) {
        Ok(Incoming::Request(request)) => matches!(request.request, ClientRequest::CustomRequest(_)),
        _ => false,
    }
}
