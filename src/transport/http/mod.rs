//! Streamable HTTP: sessions for versions to 2025-11-25 and requests that stand for themselves for 2026-07-28, at
//! one endpoint; and beside it, where that is wanted, HTTP+SSE of 2024-11-05 (`sse`).
//!
//! rmcp reads the requests; here is what it leaves open: who may ask at all (`guard`), what is no message, what a
//! session is (`session`, `channel`), how many there are and for how long (`sessions`), `batches`, and an orderly
//! end.

mod batches;
mod body;
mod channel;
mod connection;
mod connections;
mod descriptors;
mod events;
mod guard;
mod large;
mod presence;
mod redact;
mod revoked;
mod session;
mod sessions;
mod sse;
mod streams;

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::{
    body::{Body, Bytes},
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::Response,
};
use http_body::Body as _;
use rmcp::{
    model::{ClientRequest, JsonRpcMessage, ProtocolVersion, RequestId},
    transport::{StreamableHttpServerConfig, StreamableHttpService},
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::budget::block_if_large;
use crate::catalog::Endpoint;
use crate::server::{Live, Reservation, Server, complaint, is_of_sessions};

use self::{
    connection::Connection,
    connections::Connections,
    guard::{Denied, Guard},
    large::Large,
    sessions::Sessions,
    sse::Paths,
};
use super::{
    batch, exchange,
    message::{self, Fault, Incoming, Kind},
};

/// How long streams may take to end with their result when the server stops.
const PARTING: Duration = Duration::from_millis(150);

/// How long calls may take to end when they are cancelled because the server stops.
const CLEANING: Duration = Duration::from_millis(400);

/// How a server listens, as far as that is settled when it starts. Who may ask, the catalog says that is served at the
/// moment; and where it says how many sessions there may be, for how long, that comes before what stands here.
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
    /// How often the client of a session is asked whether it is there.
    pub ping: Option<Duration>,
    /// How often a silent stream shows that it is alive.
    pub keep_alive: Duration,
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
        }
    }
}

/// Why a server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// What should be an address is none.
    #[error("`{listen}` is no address to listen on: write `host:port`, such as `127.0.0.1:8080`")]
    Address {
        /// What was given.
        listen: String,
    },
    /// Two things would be served at one path.
    #[error("`{path}` is where HTTP+SSE is served: give the endpoint another `path`, or leave `sse` out")]
    Path {
        /// The path of the endpoint.
        path: String,
    },
    /// Somebody else listens there.
    #[error("`{address}` is in use by another program; port 0 takes a free one")]
    InUse {
        /// Where it would have listened.
        address: SocketAddr,
    },
    /// The system does not allow it.
    #[error("this user may not listen on `{address}`")]
    Forbidden {
        /// Where it would have listened.
        address: SocketAddr,
    },
    /// Something else is wrong with the address.
    #[error("cannot listen on `{address}`")]
    Listen {
        /// Where it would have listened.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
}

/// An address that is taken, before anything is served there.
#[derive(Debug)]
pub struct Bound {
    listener: TcpListener,
    address: SocketAddr,
    options: HttpOptions,
}

/// The address that `listen` means.
pub async fn resolve(listen: &str) -> Result<SocketAddr, HttpError> {
    let found = tokio::net::lookup_host(listen).await.ok().and_then(|mut addresses| addresses.next());
    found.ok_or_else(|| HttpError::Address { listen: listen.to_owned() })
}

/// Takes the address.
pub async fn bind(mut options: HttpOptions) -> Result<Bound, HttpError> {
    options.path = format!("/{}", options.path.trim_matches('/'));
    if options.sse && Paths::beside(&options.path).collide(&options.path) {
        return Err(HttpError::Path { path: options.path });
    }
    let address = resolve(&options.listen).await?;
    let listener = TcpListener::bind(address).await.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => HttpError::InUse { address },
        io::ErrorKind::PermissionDenied => HttpError::Forbidden { address },
        _ => HttpError::Listen { address, source },
    })?;
    let address = listener.local_addr().map_err(|source| HttpError::Listen { address, source })?;
    Ok(Bound { listener, address, options })
}

impl Bound {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The endpoint, as a client on this machine calls it.
    pub fn url(&self) -> String {
        format!("{}{}", self.origin(), self.options.path)
    }

    /// The same for HTTP+SSE, where that is served.
    pub fn sse_url(&self) -> Option<String> {
        self.options.sse.then(|| format!("{}{}", self.origin(), Paths::beside(&self.options.path).stream()))
    }

    fn origin(&self) -> String {
        let host = match self.address.ip() {
            ip if ip.is_unspecified() => "127.0.0.1".to_owned(),
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        format!("http://{host}:{}", self.address.port())
    }

    /// Whether nobody is answered without a token.
    fn needs_token(&self) -> bool {
        Endpoint { address: self.address, insecure: self.options.insecure, started: None }.needs_token()
    }

    /// Serves until `stop` is cancelled; then ends streams with their result, cancels what is running, and returns
    /// within a second.
    pub async fn serve(self, live: &Live, stop: CancellationToken) {
        let ending = CancellationToken::new();
        let desk = Arc::new(Desk::new(&self, live, ending.clone()));
        let connections = Connections::new(live.clone());
        let serving = connections.serve(self.listener, stop.clone(), {
            let desk = desk.clone();
            move |connection, request| answer(desk.clone(), connection, request)
        });
        let end = async {
            stop.cancelled().await;
            live.close();
            tokio::time::sleep(PARTING).await;
            ending.cancel();
            let _ = tokio::time::timeout(CLEANING, live.idle()).await;
        };
        tokio::select! {
            () = serving => {}
            () = end => {}
            () = desk.sessions.sweep() => {}
            () = desk.sessions.ping() => {}
        }
        ending.cancel();
    }
}

/// What every request is answered with.
struct Desk {
    path: String,
    sse: Option<Paths>,
    live: Live,
    guard: Guard,
    sessions: Arc<Sessions>,
    service: StreamableHttpService<Server, Sessions>,
    keep_alive: Duration,
}

impl Desk {
    fn new(bound: &Bound, live: &Live, ending: CancellationToken) -> Desk {
        let options = &bound.options;
        let sessions = Arc::new(Sessions::new(live.clone(), options, ending.clone()));
        // Hosts and origins are checked for every path, before anything else.
        let config = StreamableHttpServerConfig::default()
            .with_json_response(true)
            .with_legacy_session_mode(true)
            .with_sse_keep_alive(Some(options.keep_alive))
            .with_sse_retry(None)
            .with_max_request_body_bytes(body::LARGEST)
            .with_cancellation_token(ending)
            .disable_allowed_hosts()
            .disable_allowed_origins();
        let connecting = live.clone();
        let connect = move || Ok(connecting.connect());
        Desk {
            path: options.path.clone(),
            sse: options.sse.then(|| Paths::beside(&options.path)),
            guard: Guard::new(bound.address, bound.needs_token()),
            live: live.clone(),
            service: StreamableHttpService::new(connect, sessions.clone(), config),
            sessions,
            keep_alive: options.keep_alive,
        }
    }
}

async fn answer(desk: Arc<Desk>, connection: Arc<Connection>, request: Request) -> Response {
    if request.body().is_end_stream() {
        connection.arrived();
    }
    let catalog = desk.live.catalog();
    let access = &catalog.listening().access;
    let origin = match desk.guard.check(&request, access) {
        Ok(origin) => origin,
        // Its words are constant: there is nothing to hide in them.
        Err(denied) => return refusal(&denied),
    };
    let shown = request.headers().get(header::AUTHORIZATION).cloned();
    let path = request.uri().path();
    let sse = desk.sse.as_ref().filter(|paths| paths.have(path));
    let mut response = if request.method() == Method::OPTIONS && origin.is_some() {
        plain(StatusCode::NO_CONTENT, "")
    } else if sse.is_none() && path.trim_end_matches('/') != desk.path.trim_end_matches('/') {
        elsewhere(&desk.path, path)
    } else if let Err(denied) = desk.guard.identify(shown.as_ref(), access) {
        refusal(&denied)
    } else if let Some(paths) = sse {
        sse::answer(&desk, paths, &connection, request).await
    } else {
        endpoint(&desk, &connection, request).await
    };
    response = revoked::until_denied(response, &desk, shown);
    response = redact::response(response, desk.sessions.live().redactors()).await;
    if let Some(origin) = origin {
        share(response.headers_mut(), origin);
    }
    response
}

async fn endpoint(desk: &Desk, connection: &Connection, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let ends = parts.method == Method::DELETE;
    let mut reserved = None;
    let body = if parts.method == Method::POST {
        let (bytes, reservation) = match read(desk, connection, &parts.headers, body).await {
            Ok(read) => read,
            Err(response) => return response,
        };
        if is_json(&parts.headers) {
            if batch::is_list(&bytes) {
                // Each message in it has a reservation of its own.
                drop(reservation);
                return batches::answer(desk, &parts.headers, &bytes).await;
            }
            if let Err(refused) = block_if_large(bytes.len() as u64, || inspect(desk, &parts.headers, &bytes)) {
                return refused.response();
            }
        }
        parts.extensions.insert(reservation.clone());
        reserved = Some(reservation);
        Body::from(bytes)
    } else {
        Body::empty()
    };
    let handled = desk.service.handle(Request::from_parts(parts, body));
    let mut response = match &reserved {
        Some(reservation) => Large::new(Box::pin(handled), reservation.clone()).await.map(Body::new),
        None => handled.await.map(Body::new),
    };
    // rmcp says 202 to the end of a session, which the Python SDK takes for a failure.
    if ends && response.status() == StatusCode::ACCEPTED {
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    if let Some(reservation) = reserved {
        response = response.map(|body| Body::new(Large::new(body, reservation.clone())));
        response.extensions_mut().insert(reservation);
    }
    response
}

/// Reads a body, and reserves for whoever has sent it what the message in it takes.
async fn read(
    desk: &Desk,
    connection: &Connection,
    headers: &HeaderMap,
    body: Body,
) -> Result<(Bytes, Arc<Reservation>), Response> {
    let session = headers.get(SESSION).and_then(|session| desk.sessions.find(session.to_str().ok()?, false));
    let peer = session.as_ref().map_or(connection.bytes(), |session| session.bytes());
    let reservation = Arc::new(peer.reserve(0));
    let bytes = whole(body, connection, &reservation).await?;
    let weight = block_if_large(bytes.len() as u64, || exchange::weight(&bytes, peer.account()));
    let too_large = |words: String| error(StatusCode::PAYLOAD_TOO_LARGE, &Fault::request(None, words));
    reservation.resize(weight.map_err(too_large)?);
    Ok((bytes, reservation))
}

/// Reads a body to its end.
async fn whole(body: Body, connection: &Connection, reservation: &Reservation) -> Result<Bytes, Response> {
    let bytes = body::read(body, connection.limits().body_timeout, reservation).await;
    let bytes = bytes.map_err(|unread| unread.response())?;
    connection.arrived();
    Ok(bytes)
}

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

fn is_json(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    content_type.split(';').next().is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}

/// Whether a request is of a version in which each stands for itself.
fn is_without_session(headers: &HeaderMap) -> bool {
    version(headers).is_some_and(|version| version >= ProtocolVersion::V_2026_07_28.as_str())
}

fn version(headers: &HeaderMap) -> Option<&str> {
    headers.get("mcp-protocol-version").and_then(|value| value.to_str().ok())
}

/// Whether a request is by a method of sessions, and without one: rmcp would begin one, or ask for a header that nobody
/// sends with it. That nobody knows a version, rmcp says itself.
fn is_gone(method: &str, headers: &HeaderMap) -> bool {
    let known = version(headers) == Some(ProtocolVersion::V_2026_07_28.as_str());
    known && is_of_sessions(method) || method == "initialize" && is_without_session(headers)
}

/// Why a message is refused, and with which status.
struct Refused(StatusCode, Fault);

impl Refused {
    fn response(&self) -> Response {
        let mut response = error(self.0, &self.1);
        if self.0 == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("60"));
        }
        response
    }
}

/// Refuses what rmcp would refuse without a word that a client could show.
fn inspect(desk: &Desk, headers: &HeaderMap, bytes: &Bytes) -> Result<(), Refused> {
    let bad = |fault: Fault| Refused(StatusCode::BAD_REQUEST, fault);
    let envelope = message::open(bytes).map_err(bad)?;
    let Kind::Request { id, method } = &envelope.kind else { return Ok(()) };
    let (id, initialize) = (id.clone(), method == "initialize");
    if is_gone(method, headers) {
        let words = format!("unknown method `{}`", crate::diagnostic::cut(method, 64));
        return Err(Refused(StatusCode::NOT_FOUND, Fault::method(id, words)));
    }
    if let Some(JsonRpcMessage::Request(request)) = envelope.read(bytes).map_err(bad)?
        && let ClientRequest::CustomRequest(custom) = &request.request
        && (initialize || !is_custom(bytes))
    {
        let complaint = complaint(&custom.method, custom.params.as_ref());
        return Err(bad(Fault::params(id, complaint.unwrap_or_else(|| "`params` do not fit the method".to_owned()))));
    }
    let session = headers.get(SESSION).filter(|_| !is_without_session(headers));
    let session = session.and_then(|session| desk.sessions.find(session.to_str().ok()?, false));
    if session.is_some_and(|session| session.is_asked(&id)) {
        return Err(bad(exchange::in_use(&id)));
    }
    if initialize && !headers.contains_key(SESSION) && desk.sessions.is_full() {
        return Err(full(Some(id)));
    }
    Ok(())
}

/// Says that there can be no more sessions for now.
fn full(id: Option<RequestId>) -> Refused {
    let fault = Fault::busy(id, "there are as many sessions as the server allows; try again later");
    Refused(StatusCode::SERVICE_UNAVAILABLE, fault)
}

/// Whether rmcp takes the message for a request that it has no type for, which the handler explains. It would take
/// parameters that do not fit for none at all where none are needed.
fn is_custom(bytes: &[u8]) -> bool {
    match serde_json::from_slice(bytes) {
        Ok(Incoming::Request(request)) => matches!(request.request, ClientRequest::CustomRequest(_)),
        _ => false,
    }
}

fn refusal(denied: &Denied) -> Response {
    match denied {
        Denied::Host => plain(
            StatusCode::FORBIDDEN,
            "this server is not known by the `Host` of the request; see `allowedHosts` in the manifest\n",
        ),
        Denied::Origin => plain(
            StatusCode::FORBIDDEN,
            "web pages of that `Origin` may not use this server; see `allowedOrigins` in the manifest\n",
        ),
        Denied::Token => {
            let mut response = plain(StatusCode::UNAUTHORIZED, "send the server's token: `Authorization: Bearer …`\n");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            response
        }
    }
}

fn elsewhere(path: &str, asked: &str) -> Response {
    let status = if asked == "/" { StatusCode::OK } else { StatusCode::NOT_FOUND };
    plain(status, format!("this is an MCP server; its endpoint is {path}\n"))
}

fn error(status: StatusCode, fault: &Fault) -> Response {
    let body = serde_json::to_vec(fault).unwrap_or_default();
    respond(status, "application/json", Body::from(body))
}

fn plain(status: StatusCode, text: impl Into<String>) -> Response {
    respond(status, "text/plain; charset=utf-8", Body::from(text.into()))
}

fn respond(status: StatusCode, content_type: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// Lets a page of an allowed origin read the response: its browser asks for that.
fn share(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::VARY, HeaderValue::from_static("Origin"));
    for (name, value) in [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, DELETE"),
        (
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            "Authorization, Content-Type, Last-Event-ID, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id",
        ),
        (header::ACCESS_CONTROL_EXPOSE_HEADERS, "Mcp-Session-Id"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
