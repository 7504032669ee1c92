//! Builds the HTTP clients, and classifies their errors.

use std::collections::HashMap;
use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use rustls::ClientConfig;
use url::{Origin, Url};

use super::connection_thread::ConnectionThread;
use super::error::{WorldError, is_out_of_files, system_reason};
use super::host_policy::AllowedAddresses;
use super::request_body::FileReadError;
use super::tls_options::{TlsKey, TlsOptions};

/// How many clients are kept: one for each origin, with its list of networks, certificates and proxy. With the
/// connections of each, this bounds the descriptors that are open between calls.
const MAX_CLIENTS: usize = 32;
/// How many connections of a client are kept between calls.
const MAX_IDLE_CONNECTIONS: usize = 8;
/// How long they are. An HTTP/2 server that floods one is read until then.
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);
/// After which silence a server is asked by a ping of HTTP/2 whether it is there, if a request waits for it, and how long
/// it may take to answer. Between requests it is not asked: some servers end connections with such pings.
const PING_INTERVAL: Duration = Duration::from_secs(5);
const PING_TIMEOUT: Duration = Duration::from_secs(5);

/// A client for each origin and set of allowed addresses, built on first use. They share no connections, so that none is
/// used by a request that could not have opened it.
pub(super) struct HttpClients {
    pool: Mutex<ClientPool>,
    lookup: Arc<dyn HostLookup>,
}

#[derive(Default)]
struct ClientPool {
    by_key: HashMap<PoolKey, PooledClient>,
    /// What is slow to build, as the authorities of the system are read for it.
    tls_configs: HashMap<TlsKey, ClientConfig>,
}

struct PooledClient {
    client: Arc<HttpClient>,
    last_used: Instant,
}

impl Default for HttpClients {
    fn default() -> HttpClients {
        HttpClients::with_lookup(Arc::new(SystemLookup))
    }
}

/// What connections differ in.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct PoolKey {
    /// The addresses that are connected to: those of the proxy, if there is one.
    pub(super) addresses: AllowedAddresses,
    pub(super) tls: TlsKey,
    pub(super) proxy: Option<Url>,
    pub(super) origin: Origin,
    /// Whether connections are used again.
    pub(super) keeps_connections: bool,
}

/// A client, and whether it ever had an answer: only then can it have a connection that is used again.
pub(super) struct HttpClient {
    pub(super) client: reqwest::Client,
    pub(super) has_answered: AtomicBool,
    thread: ConnectionThread,
}

/// A request that is under way. When it ends without an answer, no other request uses the connection that it may have
/// left behind: that may be dead, or flooded, which HTTP/2 does not tell from one that is idle. The client is then not
/// kept, and ends with the last of its requests.
pub(super) struct InFlightRequest<'c> {
    pub(super) client: Arc<HttpClient>,
    clients: &'c HttpClients,
    key: PoolKey,
    is_answered: bool,
    has_transfer: bool,
}

impl InFlightRequest<'_> {
    /// Sends a request, until its connection is flooded.
    pub(super) async fn send(
        &mut self,
        request: reqwest::RequestBuilder,
    ) -> Result<Result<reqwest::Response, reqwest::Error>, FloodError> {
        let thread = &self.client.thread;
        let answer = tokio::select! {
            biased;
            answer = thread.run(request.send()) => answer,
            () = thread.wait_for_flood() => return Err(FloodError),
        };
        if answer.is_ok() {
            self.client.has_answered.store(true, Ordering::Relaxed);
            self.begin_transfer();
        }
        Ok(answer)
    }

    /// Says that a body is sent or read from now on.
    pub(super) fn begin_transfer(&mut self) {
        if !std::mem::replace(&mut self.has_transfer, true) {
            self.client.thread.begin_transfer();
        }
    }

    /// Ends the exchange with an answer.
    pub(super) fn end(mut self) {
        self.is_answered = true;
    }
}

/// A server sends without an end, and no response.
pub(super) struct FloodError;

impl Drop for InFlightRequest<'_> {
    fn drop(&mut self) {
        if self.has_transfer {
            self.client.thread.end_transfer();
        }
        if !self.is_answered {
            self.clients.remove(&self.key, &self.client);
        }
    }
}

impl HttpClients {
    /// Clients that resolve names by `lookup`.
    pub(super) fn with_lookup(lookup: Arc<dyn HostLookup>) -> HttpClients {
        HttpClients { pool: Mutex::default(), lookup }
    }

    /// Begins a request by the client for `key`, which is that of `tls`.
    pub(super) fn begin(&self, key: PoolKey, tls: &TlsOptions) -> Result<InFlightRequest<'_>, WorldError> {
        let client = self.get(&key, tls)?;
        Ok(InFlightRequest { client, clients: self, key, is_answered: false, has_transfer: false })
    }

    fn get(&self, key: &PoolKey, tls: &TlsOptions) -> Result<Arc<HttpClient>, WorldError> {
        let mut pool = self.pool.lock();
        if let Some(found) = pool.by_key.get_mut(key).filter(|_| key.keeps_connections) {
            found.last_used = Instant::now();
            return Ok(found.client.clone());
        }
        let config = pool.tls_config(&key.tls, tls).ok_or(WorldError::NoHttpClient)?;
        let client = build_client(key, config, self.lookup.clone()).ok_or(WorldError::NoHttpClient)?;
        let client =
            Arc::new(HttpClient { client, has_answered: AtomicBool::default(), thread: ConnectionThread::start() });
        if key.keeps_connections && client.thread.is_running() {
            pool.make_room();
            pool.by_key.insert(key.clone(), PooledClient { client: client.clone(), last_used: Instant::now() });
        }
        Ok(client)
    }

    /// Keeps `client` no longer.
    fn remove(&self, key: &PoolKey, client: &Arc<HttpClient>) {
        let mut pool = self.pool.lock();
        if pool.by_key.get(key).is_some_and(|found| Arc::ptr_eq(&found.client, client)) {
            pool.by_key.remove(key);
        }
    }
}

impl ClientPool {
    fn tls_config(&mut self, key: &TlsKey, tls: &TlsOptions) -> Option<ClientConfig> {
        if let Some(config) = self.tls_configs.get(key) {
            return Some(config.clone());
        }
        if self.tls_configs.len() >= MAX_CLIENTS {
            self.tls_configs.clear();
        }
        let config = tls.client_config()?;
        self.tls_configs.insert(key.clone(), config.clone());
        Some(config)
    }

    /// Drops the client that was not used for the longest time, if there are too many.
    fn make_room(&mut self) {
        if self.by_key.len() >= MAX_CLIENTS {
            let oldest = self.by_key.iter().min_by_key(|(_, pool)| pool.last_used).map(|(key, _)| key.clone());
            oldest.and_then(|key| self.by_key.remove(&key));
        }
    }
}

/// Redirects are off in the client, and so are the proxies of the environment: both would connect to unchecked addresses.
fn build_client(key: &PoolKey, tls: ClientConfig, lookup: Arc<dyn HostLookup>) -> Option<reqwest::Client> {
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .dns_resolver(Resolver { addresses: key.addresses.clone(), lookup })
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .no_proxy()
        .pool_max_idle_per_host(if key.keeps_connections { MAX_IDLE_CONNECTIONS } else { 0 })
        .pool_idle_timeout(IDLE_TIMEOUT)
        .http2_keep_alive_interval(PING_INTERVAL)
        .http2_keep_alive_timeout(PING_TIMEOUT)
        .user_agent(concat!("folio/", env!("CARGO_PKG_VERSION")));
    if let Some(proxy) = &key.proxy {
        builder = builder.proxy(reqwest::Proxy::all(proxy.clone()).ok()?);
    }
    builder.build().inspect_err(|error| tracing::warn!("cannot build an HTTP client: {error}")).ok()
}

/// A client for the collector of traces, which the operator names: it is held to no networks. A redirect would take its
/// headers along, and a connection that is kept would be looked after by nobody between two batches.
pub fn collector_client(timeout: Duration) -> Option<reqwest::Client> {
    let builder = reqwest::Client::builder()
        .tls_backend_preconfigured(TlsOptions::default().client_config()?)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .pool_max_idle_per_host(0)
        .timeout(timeout)
        .user_agent(concat!("folio/", env!("CARGO_PKG_VERSION")));
    builder.build().ok()
}

/// Resolves names.
pub(super) trait HostLookup: Send + Sync {
    /// All addresses of a name.
    fn lookup(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// Resolves names as this system does.
struct SystemLookup;

impl HostLookup for SystemLookup {
    fn lookup(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Resolves names to allowed addresses. The client connects to these only, so DNS rebinding has no effect.
struct Resolver {
    addresses: AllowedAddresses,
    lookup: Arc<dyn HostLookup>,
}

#[derive(Debug, thiserror::Error)]
enum DnsError {
    #[error("no address")]
    NoAddress,
    #[error("no public address")]
    PrivateOnly,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (allowed, looked_up) = (self.addresses.clone(), self.lookup.lookup(name.as_str().to_owned()));
        Box::pin(async move {
            // Why a name has no address: as the system says, if that is not about the name.
            let failure = |error: io::Error| -> Box<dyn Error + Send + Sync> {
                if is_out_of_files(&error) { error.into() } else { DnsError::NoAddress.into() }
            };
            let addresses = looked_up.await.map_err(failure)?;
            let has_address = !addresses.is_empty();
            let reachable: Vec<_> = addresses.into_iter().filter(|address| allowed.includes(*address)).collect();
            match reachable.is_empty() {
                false => Ok(Box::new(reachable.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs),
                true if has_address => Err(DnsError::PrivateOnly.into()),
                true => Err(DnsError::NoAddress.into()),
            }
        })
    }
}

/// Who an error is about.
pub(super) struct ErrorHost<'a> {
    /// The host of the request.
    pub(super) host: &'a str,
    /// The host of its proxy.
    pub(super) proxy: Option<&'a str>,
}

impl ErrorHost<'_> {
    /// The host that is connected to.
    fn connected_host(&self) -> String {
        self.proxy.unwrap_or(self.host).to_owned()
    }
}

/// Classifies an error of reqwest, without its URL.
pub(super) fn classify_error(error: &reqwest::Error, peer: &ErrorHost<'_>) -> WorldError {
    let mut reason = None;
    for cause in error_chain(error) {
        match cause.downcast_ref() {
            Some(DnsError::PrivateOnly) => return WorldError::PrivateAddress { host: peer.connected_host() },
            Some(DnsError::NoAddress) => return WorldError::Dns { host: peer.connected_host() },
            None => {}
        }
        if let Some(file) = cause.downcast_ref::<FileReadError>() {
            return file.clone().into();
        }
        if let Some(tls) = cause.downcast_ref::<rustls::Error>() {
            return WorldError::Tls { host: peer.host.to_owned(), reason: tls_reason(tls) };
        }
        reason = reason.or_else(|| cause.downcast_ref::<io::Error>().map(system_reason));
    }
    if error_chain(error).any(is_ping_timeout) {
        return WorldError::NoResponse { host: peer.host.to_owned(), reason: "its connection fell silent" };
    }
    match (reason, peer.proxy) {
        _ if !error.is_connect() => WorldError::InvalidResponse { host: peer.host.to_owned() },
        (None, Some(proxy)) => WorldError::ProxyRefused { host: peer.host.to_owned(), proxy: proxy.to_owned() },
        (reason, proxy) => WorldError::Connect {
            host: peer.connected_host(),
            is_proxy: proxy.is_some(),
            reason: reason.unwrap_or_else(|| io::ErrorKind::Other.to_string()),
        },
    }
}

/// Whether a connection ended before the request was written to it.
pub(super) fn is_unsent(error: &reqwest::Error) -> bool {
    error_chain(error).any(|cause| cause.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_canceled))
}

/// Whether the server answered no ping. Nothing else times out in the HTTP client.
fn is_ping_timeout(cause: &(dyn Error + 'static)) -> bool {
    cause.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_timeout)
}

/// Whether a connection ended before any answer, which happens to one that was kept for longer than the server keeps it, or
/// that fell silent.
pub(super) fn is_closed_connection(error: &reqwest::Error) -> bool {
    let broken = |kind| {
        use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
        matches!(kind, ConnectionReset | ConnectionAborted | BrokenPipe | UnexpectedEof)
    };
    !error.is_connect()
        && error_chain(error).any(|cause| {
            cause.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_incomplete_message)
                || is_ping_timeout(cause)
                || cause.downcast_ref::<io::Error>().is_some_and(|error| broken(error.kind()))
        })
}

/// Why TLS failed, and what helps.
fn tls_reason(error: &rustls::Error) -> String {
    use rustls::{AlertDescription as Alert, CertificateError as Certificate, Error};
    let words = match error {
        Error::InvalidCertificate(Certificate::UnknownIssuer | Certificate::BadSignature) => {
            "its certificate is signed by no trusted authority; name the authority in `tls.ca` of the connection"
        }
        Error::InvalidCertificate(Certificate::Expired | Certificate::ExpiredContext { .. }) => {
            "its certificate has expired"
        }
        Error::InvalidCertificate(Certificate::NotValidYet | Certificate::NotValidYetContext { .. }) => {
            "its certificate is not valid yet"
        }
        Error::InvalidCertificate(Certificate::NotValidForName | Certificate::NotValidForNameContext { .. }) => {
            "its certificate is for other names"
        }
        Error::AlertReceived(Alert::CertificateRequired) => {
            "it requires a client certificate; set `tls.clientCert` and `tls.clientKey` of the connection"
        }
        Error::AlertReceived(
            Alert::UnknownCA
            | Alert::BadCertificate
            | Alert::CertificateExpired
            | Alert::CertificateUnknown
            | Alert::DecryptError,
        ) => "it refused the client certificate; check `tls.clientCert` of the connection",
        Error::InvalidMessage(_) => "it does not speak TLS; check whether its URL begins with `http://`",
        other => return other.to_string(),
    };
    words.to_owned()
}

/// An error and its sources. An `io::Error` returns a wrapped error by `get_ref` only.
fn error_chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&cause: &&'a (dyn Error + 'static)| {
        let wrapped = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        wrapped.map(|inner| inner as &(dyn Error + 'static)).or_else(|| cause.source())
    })
}
