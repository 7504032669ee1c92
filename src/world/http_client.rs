//! Builds the HTTP clients, and classifies their errors.

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt;

use super::error::WorldError;
use super::host_policy::is_public;

/// Two clients, built on first use: one for public addresses only, and one for all. They share no connections.
#[derive(Default)]
pub(super) struct HttpClients {
    public: OnceLock<Option<reqwest::Client>>,
    unrestricted: OnceLock<Option<reqwest::Client>>,
}

impl HttpClients {
    /// The client for public addresses only, or for all.
    pub(super) fn get(&self, public_only: bool) -> Result<&reqwest::Client, WorldError> {
        let client = if public_only { &self.public } else { &self.unrestricted };
        client.get_or_init(|| build_client(public_only)).as_ref().ok_or(WorldError::NoHttpClient)
    }
}

/// Redirects and proxies are off in the client: both would connect to unchecked addresses.
fn build_client(public_only: bool) -> Option<reqwest::Client> {
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls_config()?)
        .dns_resolver(Resolver { public_only })
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .no_proxy()
        .pool_max_idle_per_host(8)
        .user_agent(concat!("folio/", env!("CARGO_PKG_VERSION")))
        .build()
        .inspect_err(|error| tracing::warn!("cannot build an HTTP client: {error}"))
        .ok()
}

/// Without certificate authorities, as in an empty container, plain HTTP still works.
fn tls_config() -> Option<ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = || ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
    match builder().ok()?.with_platform_verifier() {
        Ok(verified) => Some(verified.with_no_client_auth()),
        Err(error) => {
            tracing::warn!("no certificate authorities found, https is unavailable: {error}");
            Some(builder().ok()?.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth())
        }
    }
}

/// Resolves names to allowed addresses. The client connects to these only, so DNS rebinding has no effect.
struct Resolver {
    public_only: bool,
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
        let public_only = self.public_only;
        Box::pin(async move {
            let all: Vec<SocketAddr> =
                tokio::net::lookup_host((name.as_str(), 0)).await.map_err(|_| DnsError::NoAddress)?.collect();
            let found = !all.is_empty();
            let dialled: Vec<_> = all.into_iter().filter(|address| !public_only || is_public(address.ip())).collect();
            match dialled.is_empty() {
                false => Ok(Box::new(dialled.into_iter()) as Addrs),
                true if found => Err(DnsError::PrivateOnly.into()),
                true => Err(DnsError::NoAddress.into()),
            }
        })
    }
}

/// Classifies an error of reqwest, without its URL.
pub(super) fn classify_error(error: &reqwest::Error, host: &str) -> WorldError {
    let host = host.to_owned();
    let mut kind = None;
    for cause in error_chain(error) {
        match cause.downcast_ref() {
            Some(DnsError::PrivateOnly) => return WorldError::PrivateAddress { host },
            Some(DnsError::NoAddress) => return WorldError::Dns { host },
            None => {}
        }
        if let Some(tls) = cause.downcast_ref::<rustls::Error>() {
            return WorldError::Tls { host, reason: tls.to_string() };
        }
        kind = kind.or_else(|| cause.downcast_ref::<io::Error>().map(io::Error::kind));
    }
    match kind {
        _ if !error.is_connect() => WorldError::InvalidResponse { host },
        kind => WorldError::Connect { host, kind: kind.unwrap_or(io::ErrorKind::Other) },
    }
}

/// An error and its sources. An `io::Error` returns a wrapped error by `get_ref` only.
fn error_chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&cause: &&'a (dyn Error + 'static)| {
        let wrapped = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        wrapped.map(|inner| inner as &(dyn Error + 'static)).or_else(|| cause.source())
    })
}
