//! Builds the HTTP clients, and classifies their errors.

use std::collections::HashMap;
use std::error::Error;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::runtime::{Builder, Handle, Runtime};
use url::Url;

use super::error::WorldError;
use super::host_policy::AllowedAddresses;
use super::request_body::UnreadableFile;
use super::tls_options::{TlsKey, TlsOptions};

/// How many clients are kept: one for each list of networks, certificates and proxy in a manifest.
const MAX_CLIENTS: usize = 64;

/// A client for each set of allowed addresses, built on first use. They share no connections, so that none is used by a
/// request that could not have opened it.
pub(super) struct HttpClients {
    by_key: Mutex<HashMap<PoolKey, HttpClient>>,
    lookup: Arc<dyn HostLookup>,
    threads: ConnectionThreads,
}

/// The threads on which connections are read. A server that floods one, as with interim responses without an end, keeps
/// its thread busy until the request ends, and no thread that serves clients.
struct ConnectionThreads(Option<Runtime>);

impl ConnectionThreads {
    fn start() -> ConnectionThreads {
        let started = Builder::new_multi_thread().worker_threads(2).thread_name("folio-http").enable_all().build();
        ConnectionThreads(started.inspect_err(|error| tracing::warn!("cannot start threads: {error}")).ok())
    }
}

impl Drop for ConnectionThreads {
    fn drop(&mut self) {
        // An async thread must not wait for others.
        self.0.take().into_iter().for_each(Runtime::shutdown_background);
    }
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
    /// Whether connections are used again.
    pub(super) keeps_connections: bool,
}

/// A client, and whether it ever had an answer: only then can it have a connection that is used again.
#[derive(Clone)]
pub(super) struct HttpClient {
    pub(super) client: reqwest::Client,
    pub(super) has_answered: Arc<AtomicBool>,
    threads: Option<Handle>,
}

impl HttpClient {
    /// Sends a request; a connection that it opens is read on threads of its own.
    pub(super) async fn send(&self, request: reqwest::RequestBuilder) -> Result<reqwest::Response, reqwest::Error> {
        let mut sending = pin!(request.send());
        poll_fn(|context| {
            let _entered = self.threads.as_ref().map(Handle::enter);
            sending.as_mut().poll(context)
        })
        .await
    }
}

impl HttpClients {
    /// Clients that resolve names by `lookup`.
    pub(super) fn with_lookup(lookup: Arc<dyn HostLookup>) -> HttpClients {
        HttpClients { by_key: Mutex::default(), lookup, threads: ConnectionThreads::start() }
    }

    /// The client for `key`, which is that of `tls`.
    pub(super) fn get(&self, key: &PoolKey, tls: &TlsOptions) -> Result<HttpClient, WorldError> {
        let mut clients = self.by_key.lock();
        if let Some(client) = clients.get(key) {
            return Ok(client.clone());
        }
        if clients.len() >= MAX_CLIENTS {
            clients.clear();
        }
        let client = build_client(key, tls, self.lookup.clone()).ok_or(WorldError::NoHttpClient)?;
        let threads = self.threads.0.as_ref().map(|runtime| runtime.handle().clone());
        let client = HttpClient { client, has_answered: Arc::default(), threads };
        clients.insert(key.clone(), client.clone());
        Ok(client)
    }
}

/// Redirects are off in the client, and so are the proxies of the environment: both would connect to unchecked addresses.
fn build_client(key: &PoolKey, tls: &TlsOptions, lookup: Arc<dyn HostLookup>) -> Option<reqwest::Client> {
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls.client_config()?)
        .dns_resolver(Resolver { addresses: key.addresses.clone(), lookup })
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .no_proxy()
        .pool_max_idle_per_host(if key.keeps_connections { 8 } else { 0 })
        .user_agent(concat!("folio/", env!("CARGO_PKG_VERSION")));
    if let Some(proxy) = &key.proxy {
        builder = builder.proxy(reqwest::Proxy::all(proxy.clone()).ok()?);
    }
    builder.build().inspect_err(|error| tracing::warn!("cannot build an HTTP client: {error}")).ok()
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
            let all = looked_up.await.map_err(|_| DnsError::NoAddress)?;
            let found = !all.is_empty();
            let dialled: Vec<_> = all.into_iter().filter(|address| allowed.contain(*address)).collect();
            match dialled.is_empty() {
                false => Ok(Box::new(dialled.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs),
                true if found => Err(DnsError::PrivateOnly.into()),
                true => Err(DnsError::NoAddress.into()),
            }
        })
    }
}

/// Who an error is about.
pub(super) struct Peer<'a> {
    /// The host of the request.
    pub(super) host: &'a str,
    /// The host of its proxy.
    pub(super) proxy: Option<&'a str>,
}

impl Peer<'_> {
    /// The host that is connected to.
    fn connected_host(&self) -> String {
        self.proxy.unwrap_or(self.host).to_owned()
    }
}

/// Classifies an error of reqwest, without its URL.
pub(super) fn classify_error(error: &reqwest::Error, peer: &Peer<'_>) -> WorldError {
    let mut kind = None;
    for cause in error_chain(error) {
        match cause.downcast_ref() {
            Some(DnsError::PrivateOnly) => return WorldError::PrivateAddress { host: peer.connected_host() },
            Some(DnsError::NoAddress) => return WorldError::Dns { host: peer.connected_host() },
            None => {}
        }
        if let Some(file) = cause.downcast_ref::<UnreadableFile>() {
            return file.clone().into();
        }
        if let Some(tls) = cause.downcast_ref::<rustls::Error>() {
            return WorldError::Tls { host: peer.host.to_owned(), reason: tls_reason(tls) };
        }
        kind = kind.or_else(|| cause.downcast_ref::<io::Error>().map(io::Error::kind));
    }
    match (kind, peer.proxy) {
        _ if !error.is_connect() => WorldError::InvalidResponse { host: peer.host.to_owned() },
        (None, Some(proxy)) => WorldError::ProxyRefused { host: peer.host.to_owned(), proxy: proxy.to_owned() },
        (kind, proxy) => WorldError::Connect {
            host: peer.connected_host(),
            is_proxy: proxy.is_some(),
            kind: kind.unwrap_or(io::ErrorKind::Other),
        },
    }
}

/// Whether a connection ended before the request was written to it.
pub(super) fn is_unsent(error: &reqwest::Error) -> bool {
    error_chain(error).any(|cause| cause.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_canceled))
}

/// Whether a connection ended before any answer, which happens to one that was kept for longer than the server keeps it.
pub(super) fn is_closed_connection(error: &reqwest::Error) -> bool {
    let broken = |kind| {
        use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
        matches!(kind, ConnectionReset | ConnectionAborted | BrokenPipe | UnexpectedEof)
    };
    !error.is_connect()
        && error_chain(error).any(|cause| {
            cause.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_incomplete_message)
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
