//! A description from a URL.

use url::{Host, Url};

use super::source::{MAX_DESCRIPTION_BYTES, Source};
use crate::world::{HttpRequest, World, WorldError};

/// Why a description could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// Anybody between here and there could change what is fetched.
    #[error("the URL of a description begins with `https://`, unless its host is this machine")]
    Insecure,
    /// The request came to nothing.
    #[error("could not fetch the description")]
    Request(#[source] WorldError),
    /// The server had another answer.
    #[error("the server answered with HTTP status {status}")]
    Status {
        /// The status.
        status: u16,
    },
    /// It is larger than anything that is imported.
    #[error("the description is larger than {limit} bytes")]
    TooLarge {
        /// How large it may be.
        limit: u64,
    },
}

/// Fetches a description, over `https` or from this machine.
///
/// # Errors
/// It could not be fetched, or not safely.
pub async fn fetch(url: &Url, world: &dyn World) -> Result<Source, FetchError> {
    check_url(url)?;
    let mut request = HttpRequest::new("GET", url.clone());
    request.max_output = MAX_DESCRIPTION_BYTES;
    // Whoever types a URL means its host, wherever that is.
    request.host_policy.allow_url(url);
    let response = world.send_request(request).await.map_err(FetchError::Request)?;
    check_url(&response.url)?;
    if !(200..300).contains(&response.status) {
        return Err(FetchError::Status { status: response.status });
    }
    if response.body.is_truncated() {
        return Err(FetchError::TooLarge { limit: MAX_DESCRIPTION_BYTES });
    }
    Ok(Source { name: shown_url(url), bytes: response.body.bytes, folder: None, url: Some(response.url) })
}

/// The URL without what may be a secret in it.
fn shown_url(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{host}{port}{}", url.scheme(), url.path())
}

fn check_url(url: &Url) -> Result<(), FetchError> {
    let local = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    let safe = url.scheme() == "https" || url.scheme() == "http" && local;
    if safe { Ok(()) } else { Err(FetchError::Insecure) }
}
