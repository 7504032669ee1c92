//! The HTTP proxy of a connection.

use url::Url;

use super::error::WorldError;
use super::host_policy::{AllowedAddresses, HostPolicy};
use crate::redact::Redactor;

/// An HTTP proxy. It resolves the names of the servers that it is asked for.
pub struct Proxy {
    url: Url,
    host_policy: HostPolicy,
    redactor: Redactor,
}

impl Proxy {
    /// A proxy at an `http` or `https` URL, whose own host is held to `host_policy`.
    pub fn new(url: Url, host_policy: HostPolicy) -> Result<Proxy, WorldError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(WorldError::InvalidUrl { reason: "unsupported scheme, expected `http` or `https`" });
        }
        let redactor = Redactor::new(password(&url).as_deref());
        Ok(Proxy { url, host_policy, redactor })
    }

    pub(super) fn url(&self) -> &Url {
        &self.url
    }

    /// Its host, for messages.
    pub(super) fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// Finds its password in what comes back.
    pub(super) fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// The addresses that it may have.
    pub(super) fn allowed_addresses(&self) -> Result<AllowedAddresses, WorldError> {
        self.host_policy.check_url(&self.url)?;
        Ok(self.host_policy.allowed_addresses(&self.url))
    }
}

/// The password, without percent-encoding.
fn password(url: &Url) -> Option<String> {
    let pair = format!("={}", url.password()?.replace('+', "%2B"));
    url::form_urlencoded::parse(pair.as_bytes()).next().map(|(_, password)| password.into_owned())
}
