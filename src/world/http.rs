//! One request, over its redirects, until its answer is read.

use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::{CONTENT_LENGTH, LOCATION};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::captured::Captured;
use super::client::{Clients, explain};
use super::error::WorldError;
use super::guard::HostPolicy;
use super::redirect::Hop;

const REDIRECTS: usize = 10;
/// So much of an answer is read beyond its limit, to say how much is missing.
const COUNTED: u64 = 16 << 20;

/// A header, and whether its value is a credential.
#[derive(Clone, PartialEq, Eq)]
pub struct Header {
    /// The name, in any case.
    pub name: String,
    /// The value.
    pub value: String,
    /// A credential does not follow a redirect to another origin. `Authorization` and `Cookie` always are.
    pub secret: bool,
}

impl Header {
    /// Makes a header that is no credential.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Header {
        Header { name: name.into(), value: value.into(), secret: false }
    }

    /// Makes a header whose value is a credential.
    pub fn secret(name: impl Into<String>, value: impl Into<String>) -> Header {
        Header { secret: true, ..Header::new(name, value) }
    }
}

impl std::fmt::Debug for Header {
    /// Shows the name alone: a value may be a secret, whatever the flag says.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}: …", self.name)
    }
}

/// A request.
#[derive(Clone)]
pub struct Request {
    /// The method, in upper case.
    pub method: String,
    /// An `http` or `https` URL.
    pub url: Url,
    /// The headers; the same name may come again.
    pub headers: Vec<Header>,
    /// The body.
    pub body: Option<Vec<u8>>,
    /// Whether the body holds a credential, so that no redirect may carry it to another origin.
    pub secret_body: bool,
    /// How long it may take, with redirects and the answer's body.
    pub timeout: Duration,
    /// How many bytes of the answer's body are kept, unpacked.
    pub max_output: u64,
    /// Hosts that may have a private address.
    pub allow: HostPolicy,
    /// Ends it early.
    pub cancel: CancellationToken,
}

impl Request {
    /// Makes a request without headers and body, with 30 s and 1 MiB, to public hosts.
    pub fn new(method: impl Into<String>, url: Url) -> Request {
        Request {
            method: method.into(),
            url,
            headers: Vec::new(),
            body: None,
            secret_body: false,
            timeout: Duration::from_secs(30),
            max_output: 1 << 20,
            allow: HostPolicy::default(),
            cancel: CancellationToken::new(),
        }
    }
}

/// An answer, of whatever status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The headers by lower-case name, in the order they came; the same name may come again.
    pub headers: Vec<(String, String)>,
    /// The body, unpacked.
    pub body: Captured,
    /// Where it came from, after redirects.
    pub url: Url,
}

impl Response {
    /// Returns the values of the header `name`, joined by commas as HTTP has it.
    pub fn header(&self, name: &str) -> Option<String> {
        let values: Vec<&str> =
            self.headers.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| &**value).collect();
        (!values.is_empty()).then(|| values.join(", "))
    }
}

/// Sends `request` and reads the answer.
pub(super) async fn send(clients: &Clients, request: Request) -> Result<Response, WorldError> {
    let (cancel, after) = (request.cancel.clone(), request.timeout);
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(WorldError::Cancelled),
        () = tokio::time::sleep(after) => Err(WorldError::TimedOut { after, said: Captured::default() }),
        answer = follow(clients, request) => answer,
    }
}

async fn follow(clients: &Clients, mut request: Request) -> Result<Response, WorldError> {
    let mut hop = Hop::first(&mut request)?;
    for _ in 0..=REDIRECTS {
        let answer = exchange(clients, &hop, &request.allow).await?;
        match redirect(&answer) {
            Some(location) => hop.follow(answer.status(), &location)?,
            None => return read(answer, hop, request.max_output).await,
        }
    }
    Err(WorldError::TooManyRedirects { limit: REDIRECTS })
}

async fn exchange(clients: &Clients, hop: &Hop, allow: &HostPolicy) -> Result<reqwest::Response, WorldError> {
    allow.check(&hop.url)?;
    let client = clients.get(!allow.admits(&hop.url))?;
    let mut request = client.request(hop.method.clone(), hop.url.clone()).headers(hop.headers.clone());
    if let Some(body) = &hop.body {
        request = request.body(body.clone());
    }
    request.send().await.map_err(|fault| explain(&fault, &hop.host()))
}

fn redirect(answer: &reqwest::Response) -> Option<String> {
    let moved = matches!(
        answer.status(),
        StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::SEE_OTHER
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT
    );
    let location = answer.headers().get(LOCATION).filter(|_| moved)?;
    Some(String::from_utf8_lossy(location.as_bytes()).into_owned())
}

async fn read(mut answer: reqwest::Response, hop: Hop, limit: u64) -> Result<Response, WorldError> {
    let status = answer.status().as_u16();
    let headers = answer.headers().iter();
    let headers =
        headers.map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()));
    let headers = headers.collect();
    let length = content_length(&answer);
    let (mut bytes, mut missing) = (Vec::new(), 0);
    while let Some(chunk) = answer.chunk().await.map_err(|fault| explain(&fault, &hop.host()))? {
        let room = usize::try_from(limit).unwrap_or(usize::MAX).saturating_sub(bytes.len()).min(chunk.len());
        bytes.extend_from_slice(chunk.get(..room).unwrap_or_default());
        missing += (chunk.len() - room) as u64;
        if missing > 0
            && let Some(length) = length
        {
            missing = missing.max(length.saturating_sub(bytes.len() as u64));
            break;
        }
        if missing > COUNTED {
            break;
        }
    }
    Ok(Response { status, headers, body: Captured::new(bytes, missing), url: hop.url })
}

/// Returns how long the body is, where that is said: of a packed one it is not.
fn content_length(answer: &reqwest::Response) -> Option<u64> {
    answer.headers().get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
