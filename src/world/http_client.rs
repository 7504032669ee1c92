//! Builds the HTTP clients, and classifies their errors.

use std::collections::HashMap;
use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt;

use super::error::WorldError;
use super::host_policy::AllowedAddresses;
use super::request_body::UnreadableFile;

/// How many clients are kept: one for each list of networks in a manifest.
const MAX_CLIENTS: usize = 64;

/// A client for each set of allowed addresses, built on first use. They share no connections, so that none is used by a
/// request that could not have opened it.
#[derive(Default)]
pub(super) struct HttpClients {
    by_addresses: Mutex<HashMap<AllowedAddresses, reqwest::Client>>,
}

impl HttpClients {
    /// The client for hosts that have these addresses.
    pub(super) fn get(&self, addresses: AllowedAddresses) -> Result<reqwest::Client, WorldError> {
        let mut clients = self.by_addresses.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&addresses) {
            return Ok(client.clone());
        }
        if clients.len() >= MAX_CLIENTS {
            clients.clear();
        }
        let client = build_client(addresses.clone()).ok_or(WorldError::NoHttpClient)?;
        clients.insert(addresses, client.clone());
        Ok(client)
    }
}

/// Redirects and proxies are off in the client: both would connect to unchecked addresses.
fn build_client(addresses: AllowedAddresses) -> Option<reqwest::Client> {
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls_config()?)
        .dns_resolver(Resolver { addresses })
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .no_proxy()
        .pool_max_idle_per_host(8)
        .user_agent(concat!("folio/", env!("CARGO_PKG_VERSION")))
        .build()
        .inspect_err(|error| tracing::warn!("cannot build an HTTP client: {error}"))
        .ok()
}

/// With HTTP/2 where the server speaks it, and with the authorities that this system trusts.
fn tls_config() -> Option<ClientConfig> {
    let mut config = verifying_config()?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Some(config)
}

/// Without certificate authorities, as in an empty container, plain HTTP still works.
fn verifying_config() -> Option<ClientConfig> {
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
    addresses: AllowedAddresses,
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
        let allowed = self.addresses.clone();
        Box::pin(async move {
            let all: Vec<SocketAddr> =
                tokio::net::lookup_host((name.as_str(), 0)).await.map_err(|_| DnsError::NoAddress)?.collect();
            let found = !all.is_empty();
            let dialled: Vec<_> = all.into_iter().filter(|address| allowed.contain(address.ip())).collect();
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
        if let Some(file) = cause.downcast_ref::<UnreadableFile>() {
            return file.clone().into();
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
