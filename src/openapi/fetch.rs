//! A description from a URL.

use std::collections::{HashMap, HashSet, VecDeque};

use url::Url;

use super::source::{MAX_DESCRIPTION_BYTES, MAX_FILES, Source, referenced_files};
use crate::world::{HttpRequest, ProxyVariables, World, WorldError, is_loopback_host};

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

/// How descriptions are fetched.
#[derive(Clone, Copy)]
pub struct Fetcher<'a> {
    /// Sends the requests.
    pub world: &'a dyn World,
    /// The proxies of the environment, as for all that a user downloads.
    pub proxies: &'a ProxyVariables,
}

/// Fetches a description of at most so many bytes, over `https` or from this machine.
///
/// # Errors
/// It could not be fetched, or not safely.
pub async fn fetch(url: &Url, max_bytes: u64, fetcher: Fetcher<'_>) -> Result<Source, FetchError> {
    let (bytes, base) = fetch_bytes(url, max_bytes, fetcher).await?;
    let name = display_url(url);
    let is_whole = bytes.len() as u64 <= MAX_DESCRIPTION_BYTES;
    let fetched = if is_whole { fetch_referenced(&base, &bytes, fetcher).await } else { HashMap::new() };
    Ok(Source { name, bytes, folder: None, fetched, url: Some(base) })
}

/// The files that a description refers to, of its own folder. What cannot be fetched is told where it is needed.
async fn fetch_referenced(base: &Url, bytes: &[u8], fetcher: Fetcher<'_>) -> HashMap<String, Vec<u8>> {
    let own_name = base.path().rsplit('/').next().unwrap_or_default().to_owned();
    let mut left = MAX_DESCRIPTION_BYTES.saturating_sub(bytes.len() as u64);
    let (mut fetched, mut seen) = (HashMap::new(), HashSet::from([own_name.clone()]));
    let mut queue = VecDeque::from(referenced_files(&own_name, bytes));
    while let Some(path) = queue.pop_front() {
        let Some(url) = sibling_url(base, &path).filter(|_| seen.len() < MAX_FILES && seen.insert(path.clone())) else {
            continue;
        };
        let Ok((bytes, from)) = fetch_bytes(&url, left, fetcher).await else { continue };
        if from.origin() != base.origin() {
            continue;
        }
        left = left.saturating_sub(bytes.len() as u64);
        queue.extend(referenced_files(&path, &bytes));
        fetched.insert(path, bytes);
    }
    fetched
}

/// The URL of a file beside another, or below. `None` where it is not of that folder.
fn sibling_url(base: &Url, path: &str) -> Option<Url> {
    let mut folder = base.join(".").ok()?;
    folder.set_query(None);
    let url = folder.join(path).ok()?;
    (url.origin() == folder.origin() && url.path().starts_with(folder.path())).then_some(url)
}

/// What a URL has, and the URL that it was found at in the end.
async fn fetch_bytes(url: &Url, max_bytes: u64, fetcher: Fetcher<'_>) -> Result<(Vec<u8>, Url), FetchError> {
    check_url(url)?;
    let mut request = HttpRequest::new("GET", url.clone());
    request.max_output = max_bytes;
    // Whoever types a URL means its host, wherever that is.
    request.host_policy.allow_url(url);
    if url.scheme() == "https" {
        request.proxy = fetcher.proxies.proxy_for(url).map_err(FetchError::Request)?;
    }
    let response = fetcher.world.send_request(request).await.map_err(FetchError::Request)?;
    check_url(&response.url)?;
    if !(200..300).contains(&response.status) {
        return Err(FetchError::Status { status: response.status });
    }
    if response.body.is_truncated() {
        return Err(FetchError::TooLarge { limit: max_bytes });
    }
    Ok((response.body.bytes, response.url))
}

/// The URL without what may be a secret in it.
fn display_url(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{host}{port}{}", url.scheme(), url.path())
}

fn check_url(url: &Url) -> Result<(), FetchError> {
    let safe = url.scheme() == "https" || url.scheme() == "http" && is_loopback_host(url);
    if safe { Ok(()) } else { Err(FetchError::Insecure) }
}
