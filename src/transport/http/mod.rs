//! Streamable HTTP: sessions for versions up to 2025-11-25 and sessionless requests for 2026-07-28 at one endpoint, and
//! optionally HTTP+SSE of 2024-11-05 (`sse`).
//!
//! `post` reads messages; a request is answered in its `session`, or as a `single_request`.

mod accept;
mod admin;
mod admission;
mod batch_response;
mod body;
mod event_channel;
mod connection;
mod connections;
mod descriptor_limit;
mod event_stream;
mod forwarded;
mod access_guard;
mod authentication;
mod dev_page;
mod health;
mod http_server;
mod post;
mod refusal;
mod request_head;
mod single_request;
mod standard_headers;
mod liveness;
mod response;
mod resumed_events;
mod session;
mod sessions;
mod shared_session;
mod sse;
mod stream_name;
mod streams;

use std::{
    future::pending,
    io,
    net::{IpAddr, SocketAddr},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use futures_util::{
    FutureExt,
    future::{FusedFuture, join},
};
use tokio::{net::TcpListener, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::catalog::HttpServingMode;
use crate::manifest::SessionHome;
use crate::server::SharedServer;

pub use self::admin::{AdminListener, AdminView};
pub use self::dev_page::DevPage;

use self::{
    connections::Connections,
    http_server::{HttpServer, handle_request},
    sessions::Sessions,
    sse::SsePaths,
};
use super::{STOP_TIMEOUT, log_abandoned_calls};

/// How long clients may take to read what was answered before the server stops.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(250);

/// HTTP options that are fixed at the start. Who may ask, and the limits of sessions, are those of the current catalog.
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
    /// Where sessions are.
    pub sessions: SessionHome,
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
            sessions: SessionHome::Memory,
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
        let connections = Connections::new(shared_server.clone(), http_server.admission.clone());
        let serving = connections.clone().serve(self.listener, no_more_requests.clone(), {
            let http_server = http_server.clone();
            move |connection, request| handle_request(http_server.clone(), connection, request)
        });
        let sessions = &http_server.sessions;
        let end = async {
            stop.cancelled().await;
            let drained = drain(shared_server, sessions, &connections, &no_more_requests);
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
async fn drain(
    shared_server: &SharedServer,
    sessions: &Sessions,
    connections: &Connections,
    no_more_requests: &CancellationToken,
) {
    let Some(drain) = shared_server.catalog().http_settings().drain else { return };
    shared_server.health().start_draining();
    tracing::info!(target: "folio::http", "stopping: new requests are taken for {:?} more", drain.delay);
    tokio::time::sleep(drain.delay).await;
    no_more_requests.cancel();
    shared_server.end_listening();
    let answered = async {
        // What arrives still is no call yet.
        connections.wait_until_answered().await;
        join(shared_server.wait_until_idle(), sessions.wait_until_answered()).await;
    };
    let _ = tokio::time::timeout(drain.timeout, answered).await;
}

/// Sleeps until an instant, or forever without one.
async fn sleep_until_due(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}
