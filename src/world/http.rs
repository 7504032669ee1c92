//! Sends one request, follows its redirects and reads the response.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::TryStreamExt;
use reqwest::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, LOCATION};
use reqwest::{Method, StatusCode};
use tokio::io::AsyncBufReadExt;
use tokio_util::io::StreamReader;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::access_token::AccessToken;
use super::captured_bytes::CapturedBytes;
use super::charset::decode_text;
use super::content_coding::{BodyReader, ContentCodings, written_codings};
use super::error::WorldError;
use super::host_policy::HostPolicy;
use super::http_client::{
    FloodError, HttpClients, InFlightRequest, PoolKey, classify_error, is_closed_connection, is_unsent,
};
use super::proxy::Proxy;
use super::redirect::OutgoingRequest;
use super::request_body::RequestBody;
use super::span::PartSpan;
use super::tls_options::TlsOptions;
use super::trace_context::TraceContext;
use crate::redact::is_credential_name;

const MAX_REDIRECTS: usize = 10;
/// How many bytes over the limit are read to count those that are missing.
const MAX_COUNTED_BYTES: u64 = 16 << 20;

/// A header, and whether its value is a credential.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpHeader {
    /// The name, in any case.
    pub name: String,
    pub value: String,
    /// Whether it is a credential, which redirects do not send to another origin, apart from those that are by their name.
    pub secret: bool,
}

impl HttpHeader {
    /// Creates a header that is not a credential.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> HttpHeader {
        HttpHeader { name: name.into(), value: value.into(), secret: false }
    }

    /// Creates a header whose value is a credential.
    pub fn new_secret(name: impl Into<String>, value: impl Into<String>) -> HttpHeader {
        HttpHeader { secret: true, ..HttpHeader::new(name, value) }
    }

    /// Whether it is a credential, by its mark or its name.
    pub(super) fn is_credential(&self) -> bool {
        self.secret || is_credential_name(&self.name)
    }
}

impl std::fmt::Debug for HttpHeader {
    /// Shows only the name: any value may be a secret.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}: …", self.name)
    }
}

#[derive(Clone)]
pub struct HttpRequest {
    /// The method, in upper case.
    pub method: String,
    /// An `http` or `https` URL.
    pub url: Url,
    /// The host of the URL, if it is part of a secret. It is never shown.
    pub secret_host: Option<String>,
    /// The query parameters that are credentials, which are never shown.
    pub secret_parameters: Vec<String>,
    /// The headers; names may repeat.
    pub headers: Vec<HttpHeader>,
    pub body: Option<RequestBody>,
    /// Whether the body contains a credential, which redirects must not send to another origin.
    pub secret_body: bool,
    /// The time limit, including redirects and the body of the response.
    pub timeout: Duration,
    /// How many bytes of the decoded response body are kept.
    pub max_output: u64,
    /// How many more are read, so that a secret across the limit is known.
    pub lookahead: u64,
    /// The folder of the pack that sends it.
    pub pack: Arc<Path>,
    /// The access token in its headers.
    pub access_token: Option<AccessToken>,
    /// How old a response may be that was kept; `None` for a new one.
    pub cache: Option<Duration>,
    /// For whom alone a response is kept, where it depends on who calls.
    pub cache_owner: Option<String>,
    /// Whether redirects are followed. Otherwise a redirect is the response.
    pub follows_redirects: bool,
    /// Whether a text of the response becomes UTF-8. Otherwise the body has the bytes that were sent.
    pub decodes_text: bool,
    /// Whether it may carry credentials: not once it was moved to another origin.
    pub is_authorized: bool,
    /// The hosts that may have private addresses.
    pub host_policy: HostPolicy,
    /// The certificates of its connection. The client certificate is not presented to another origin.
    pub tls: TlsOptions,
    /// The id of the step that sends it.
    pub step: Option<String>,
    /// The proxy of its connection.
    pub proxy: Option<Arc<Proxy>>,
    /// The trace that it is part of.
    pub trace: TraceContext,
    /// Whether the manifest alone names its host, which is no secret: a trace shows it.
    pub shows_host: bool,
    pub cancel: CancellationToken,
}

impl HttpRequest {
    /// Creates a request without headers and body, limited to 30 s and 1 MiB, to public hosts.
    pub fn new(method: impl Into<String>, url: Url) -> HttpRequest {
        HttpRequest {
            method: method.into(),
            url,
            secret_host: None,
            secret_parameters: Vec::new(),
            headers: Vec::new(),
            body: None,
            secret_body: false,
            timeout: Duration::from_secs(30),
            max_output: 1 << 20,
            lookahead: 0,
            pack: Arc::from(Path::new("")),
            access_token: None,
            cache: None,
            cache_owner: None,
            follows_redirects: true,
            decodes_text: true,
            is_authorized: true,
            host_policy: HostPolicy::default(),
            tls: TlsOptions::default(),
            step: None,
            proxy: None,
            trace: TraceContext::default(),
            shows_host: false,
            cancel: CancellationToken::new(),
        }
    }

    /// How many bytes of the body are read.
    pub(super) fn read_limit(&self) -> u64 {
        self.max_output.saturating_add(self.lookahead)
    }
}

/// A response of any status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpResponse {
    pub status: u16,
    /// The headers by lower-case name, in order; names may repeat.
    pub headers: Vec<(String, String)>,
    /// The decoded body.
    pub body: CapturedBytes,
    /// The URL after redirects.
    pub url: Url,
    pub source: ResponseSource,
}

/// Where a response comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ResponseSource {
    #[default]
    Server,
    /// The cache; the server was not asked.
    Cache,
    /// The cache, as the server says that it has not changed.
    Revalidated,
}

impl HttpResponse {
    /// The values of the header `name`, joined by commas.
    pub fn header(&self, name: &str) -> Option<String> {
        let values: Vec<&str> =
            self.headers.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| &**value).collect();
        (!values.is_empty()).then(|| values.join(", "))
    }
}

/// Sends `request` and reads the response.
pub(super) async fn send(clients: &HttpClients, request: HttpRequest) -> Result<HttpResponse, WorldError> {
    let (cancel, timeout) = (request.cancel.clone(), request.timeout);
    let mut span = None;
    let response = within_limits(&cancel, timeout, Box::pin(follow_redirects(clients, request, &mut span))).await;
    if let (Some(mut span), Err(error)) = (span, &response) {
        span.end(Some(error.span_type().into()));
    }
    response
}

/// Ends an exchange that takes too long or is cancelled.
pub(super) async fn within_limits(
    cancel: &CancellationToken,
    timeout: Duration,
    in_flight: impl Future<Output = Result<HttpResponse, WorldError>>,
) -> Result<HttpResponse, WorldError> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(WorldError::Cancelled),
        () = tokio::time::sleep(timeout) => Err(WorldError::timed_out(timeout)),
        response = in_flight => response,
    }
}

/// Sends a request, and those to which servers redirect it. Each has a span, of which `span` is the last if it failed.
async fn follow_redirects(
    clients: &HttpClients,
    mut request: HttpRequest,
    span: &mut Option<PartSpan>,
) -> Result<HttpResponse, WorldError> {
    let mut outgoing = OutgoingRequest::new(&mut request)?;
    for redirects in 0..=MAX_REDIRECTS {
        let started = request.trace.start_request(&outgoing.method, &outgoing.url, request.shows_host);
        outgoing.trace = started.trace().clone();
        *span = Some(started);
        let response = send_hop(clients, &outgoing, &request.host_policy).await;
        let ResponseHead { response, in_flight } = response.map_err(|error| match redirects {
            0 => error,
            _ => WorldError::AfterRedirect(Box::new(error)),
        })?;
        let Some(location) = redirect_location(&response).filter(|_| request.follows_redirects) else {
            let reading = BodyReading { limit: request.read_limit(), decodes_text: request.decodes_text };
            let response = read_response(response, outgoing, reading).await?;
            in_flight.end();
            span.take().into_iter().for_each(|span| span.end_request(response.status));
            return Ok(response);
        };
        in_flight.end();
        span.take().into_iter().for_each(|span| span.end_request(response.status().as_u16()));
        outgoing.follow(response.status(), &location)?;
    }
    Err(WorldError::TooManyRedirects { limit: MAX_REDIRECTS })
}

/// The head of a response, of which the body is still to be read.
struct ResponseHead<'c> {
    response: reqwest::Response,
    in_flight: InFlightRequest<'c>,
}

/// Sends a request to the server of `outgoing`. A connection that was kept from an earlier request may just be closed: if the
/// method is idempotent, or nothing was written, the request is then sent once more, on a new connection (RFC 9110,
/// 9.2.2).
async fn send_hop<'c>(
    clients: &'c HttpClients,
    outgoing: &OutgoingRequest,
    allow: &HostPolicy,
) -> Result<ResponseHead<'c>, WorldError> {
    let key = pool_key(outgoing, allow)?;
    let mut in_flight = clients.begin(key.clone(), &outgoing.tls)?;
    let mut response = send_by(&mut in_flight, outgoing).await?;
    if let Err(error) = &response
        && (is_unsent(error)
            || in_flight.client.has_answered.load(Ordering::Relaxed)
                && outgoing.method.is_idempotent()
                && is_closed_connection(error))
    {
        in_flight = clients.begin(PoolKey { keeps_connections: false, ..key }, &outgoing.tls)?;
        response = send_by(&mut in_flight, outgoing).await?;
    }
    let response = response.map_err(|error| classify_error(&error, &outgoing.error_host()))?;
    Ok(ResponseHead { response, in_flight })
}

/// The client that may connect to the server of `outgoing`, or to its proxy.
fn pool_key(outgoing: &OutgoingRequest, allow: &HostPolicy) -> Result<PoolKey, WorldError> {
    let addresses = match &outgoing.proxy {
        Some(proxy) => {
            allow.check_proxied_url(&outgoing.url)?;
            proxy.allowed_addresses()?
        }
        None => {
            allow.check_url(&outgoing.url)?;
            allow.allowed_addresses(&outgoing.url)
        }
    };
    let proxy = outgoing.proxy.as_ref().map(|proxy| proxy.url().clone());
    let origin = outgoing.url.origin();
    Ok(PoolKey { addresses, tls: outgoing.tls.key(), proxy, origin, keeps_connections: outgoing.keeps_connection })
}

async fn send_by(
    in_flight: &mut InFlightRequest<'_>,
    outgoing: &OutgoingRequest,
) -> Result<Result<reqwest::Response, reqwest::Error>, WorldError> {
    let mut request = in_flight
        .client
        .client
        .request(outgoing.method.clone(), outgoing.url.clone())
        .headers(outgoing.traced_headers());
    if let Some(body) = &outgoing.body {
        let opened = body.open().await?;
        if let Some(length) = opened.length {
            request = request.header(CONTENT_LENGTH, length);
        }
        if let Some(content_type) = opened.content_type {
            request = request.header(CONTENT_TYPE, content_type);
        }
        request = request.body(opened.body);
        if body.is_large() {
            in_flight.begin_transfer();
        }
    }
    let reason = "it keeps sending data that is not a response";
    let host = outgoing.error_host().host;
    in_flight.send(request).await.map_err(|FloodError| WorldError::NoResponse { host: host.to_owned(), reason })
}

fn redirect_location(response: &reqwest::Response) -> Option<String> {
    let moved = matches!(
        response.status(),
        StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::SEE_OTHER
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT
    );
    let location = response.headers().get(LOCATION).filter(|_| moved)?;
    Some(String::from_utf8_lossy(location.as_bytes()).into_owned())
}

/// How a body is read.
struct BodyReading {
    limit: u64,
    decodes_text: bool,
}

async fn read_response(
    response: reqwest::Response,
    outgoing: OutgoingRequest,
    BodyReading { limit, decodes_text }: BodyReading,
) -> Result<HttpResponse, WorldError> {
    let (status, mut headers) = (response.status(), response.headers().clone());
    let has_body = outgoing.method != Method::HEAD && !matches!(status.as_u16(), 204 | 304);
    let lookahead = outgoing.proxy.as_ref().map_or(0, |proxy| proxy.redactor().lookahead());
    let read_limit = usize::try_from(limit).unwrap_or(usize::MAX).saturating_add(lookahead);
    let undecodable = |reason| {
        let host = outgoing.error_host().host.to_owned();
        WorldError::Undecodable { host, status: status.as_u16(), reason }
    };
    let codings = if has_body { ContentCodings::read(&headers).map_err(undecodable)? } else { Default::default() };
    // The length of the body as it is sent.
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let length = length.filter(|_| codings.is_empty());
    let is_coded = !codings.is_empty();
    let body: BodyReader = Box::new(StreamReader::new(response.bytes_stream().map_err(io::Error::other)));
    let reading = async { read_body(codings.undo(body).await?, read_limit, length).await };
    let (bytes, missing) =
        reading.await.map_err(|error| match error.get_ref().and_then(|error| error.downcast_ref()) {
            Some(error) => classify_error(error, &outgoing.error_host()),
            None => undecodable(format!("its body is not `{}`, as its header says", written_codings(&headers))),
        })?;
    // HTTP/2 servers may end a body early by a reset that is not an error.
    if has_body && missing == 0 && length.is_some_and(|length| length > bytes.len() as u64) {
        return Err(WorldError::InvalidResponse { host: outgoing.error_host().host.to_owned() });
    }
    if is_coded {
        // They are about the body as it was sent.
        headers.remove(CONTENT_ENCODING);
        headers.remove(CONTENT_LENGTH);
    }
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let bytes = if decodes_text { decode_text(bytes, content_type) } else { bytes };
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let response = HttpResponse {
        status: status.as_u16(),
        headers: headers.iter().map(|(name, value)| (name.to_string(), text(value.as_bytes()))).collect(),
        body: CapturedBytes::new(bytes, missing),
        url: outgoing.url,
        source: ResponseSource::Server,
    };
    Ok(match &outgoing.proxy {
        Some(proxy) => response.redact(proxy.redactor(), limit),
        None => response,
    })
}

/// Reads so many bytes of a body, and counts those after them. `length` is that of all, if it is known.
async fn read_body(mut body: BodyReader, limit: usize, length: Option<u64>) -> io::Result<(Vec<u8>, u64)> {
    let (mut bytes, mut missing) = (Vec::new(), 0);
    loop {
        let chunk = body.fill_buf().await?;
        let size = chunk.len();
        let room = limit.saturating_sub(bytes.len()).min(size);
        bytes.extend_from_slice(chunk.get(..room).unwrap_or_default());
        missing += (size - room) as u64;
        body.consume(size);
        if missing > 0
            && let Some(length) = length
        {
            missing = missing.max(length.saturating_sub(bytes.len() as u64));
            return Ok((bytes, missing));
        }
        if size == 0 || missing > MAX_COUNTED_BYTES {
            return Ok((bytes, missing));
        }
    }
}
