//! Follows redirects, and drops credentials for other origins.

use std::sync::Arc;

use reqwest::header::{ACCEPT_ENCODING, HeaderMap, HeaderName, HeaderValue, RANGE};
use reqwest::{Method, StatusCode};
use url::Url;

use super::content_coding::ACCEPTED_CODINGS;
use super::error::WorldError;
use super::http::{HttpHeader, HttpRequest};
use super::http_client::ErrorHost;
use super::proxy::Proxy;
use super::request_body::RequestBody;
use super::tls_options::TlsOptions;
use super::trace_context::TraceContext;
use crate::redact::is_credential_name;

/// The longest URL that the HTTP client sends.
const MAX_URL_BYTES: usize = 65_534;

/// A request after the redirects so far.
pub(super) struct OutgoingRequest {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<RequestBody>,
    pub(super) tls: TlsOptions,
    pub(super) proxy: Option<Arc<Proxy>>,
    /// The trace that it is part of.
    pub(super) trace: TraceContext,
    /// Whether its connection is kept: not one to an origin that a server chose.
    pub(super) keeps_connection: bool,
    secret_body: bool,
}

impl OutgoingRequest {
    pub(super) fn new(request: &mut HttpRequest) -> Result<OutgoingRequest, WorldError> {
        check_url(&request.url)?;
        Ok(OutgoingRequest {
            method: Method::from_bytes(request.method.as_bytes()).map_err(|_| WorldError::InvalidMethod)?,
            url: request.url.clone(),
            headers: header_map(&request.headers)?,
            body: request.body.take(),
            tls: request.tls.clone(),
            proxy: request.proxy.clone(),
            trace: request.trace.clone(),
            keeps_connection: request.is_authorized,
            secret_body: request.secret_body,
        })
    }

    /// Its headers, with those of its trace that it does not have itself.
    pub(super) fn traced_headers(&self) -> HeaderMap {
        let mut headers = self.headers.clone();
        for (name, _, value) in self.trace.entries() {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.entry(name).or_insert(value);
            }
        }
        headers
    }

    /// Its hosts, for messages.
    pub(super) fn error_host(&self) -> ErrorHost<'_> {
        ErrorHost {
            host: self.url.host_str().unwrap_or_default(),
            proxy: self.proxy.as_ref().map(|proxy| proxy.host()),
        }
    }

    /// Follows a redirect to `location`.
    pub(super) fn follow(&mut self, status: StatusCode, location: &str) -> Result<(), WorldError> {
        let malformed = WorldError::InvalidUrl { reason: "invalid `Location` header" };
        let mut next = self.url.join(location).map_err(|_| malformed)?;
        check_url(&next)?;
        self.change_method(status);
        if next.origin() != self.url.origin() {
            let secrets = RequestSecrets {
                in_headers: self.headers.iter().any(|(name, value)| is_credential_header(name, value)),
                in_body: self.secret_body && self.body.is_some(),
            };
            secrets.check_origin_change(&self.url, &mut next)?;
            self.drop_credentials();
            self.keeps_connection = false;
        }
        self.url = next;
        Ok(())
    }

    /// 303 changes to GET; so do 301 and 302 after POST, as in browsers.
    fn change_method(&mut self, status: StatusCode) {
        let get = match status {
            StatusCode::SEE_OTHER => !matches!(self.method, Method::GET | Method::HEAD),
            StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => self.method == Method::POST,
            _ => false,
        };
        if get {
            self.method = Method::GET;
            self.body = None;
            let content = |name: &&HeaderName| name.as_str().starts_with("content-");
            for name in self.headers.keys().filter(content).cloned().collect::<Vec<_>>() {
                self.headers.remove(name);
            }
        }
    }

    fn drop_credentials(&mut self) {
        let secret: Vec<HeaderName> = self
            .headers
            .iter()
            .filter(|(name, value)| is_credential_header(name, value))
            .map(|(name, _)| name.clone())
            .collect();
        for name in secret {
            self.headers.remove(name);
        }
        self.tls.drop_identity();
    }
}

impl HttpRequest {
    /// Moves the request to the URL of a next page. As with a redirect, another origin gets no credentials.
    pub fn move_to(&mut self, mut next: Url) -> Result<(), WorldError> {
        check_url(&next)?;
        if next.origin() != self.url.origin() {
            let secrets = RequestSecrets {
                in_headers: self.headers.iter().any(HttpHeader::is_credential),
                in_body: self.secret_body && self.body.is_some(),
            };
            secrets.check_origin_change(&self.url, &mut next)?;
            self.headers.retain(|header| !header.is_credential());
            self.is_authorized = false;
            self.tls.drop_identity();
        }
        self.url = next;
        Ok(())
    }
}

/// Where a request has secrets.
struct RequestSecrets {
    in_headers: bool,
    in_body: bool,
}

impl RequestSecrets {
    /// Checks that a request may go from one origin to another, where its headers are dropped, and takes the credentials
    /// out of the URL.
    fn check_origin_change(&self, from: &Url, to: &mut Url) -> Result<(), WorldError> {
        let host = to.host_str().unwrap_or_default().to_owned();
        let has_userinfo = !from.username().is_empty() || from.password().is_some();
        let is_downgrade = from.scheme() == "https" && to.scheme() == "http";
        if is_downgrade && (self.in_body || self.in_headers || has_userinfo) {
            return Err(WorldError::HttpsDowngrade { host });
        }
        if self.in_body {
            return Err(WorldError::CrossOriginCredentials { host });
        }
        let _ = (to.set_username(""), to.set_password(None));
        Ok(())
    }
}

fn check_url(url: &Url) -> Result<(), WorldError> {
    match url.scheme() {
        "http" | "https" if url.as_str().len() > MAX_URL_BYTES => {
            Err(WorldError::InvalidUrl { reason: "longer than 65534 bytes; send long values in the body" })
        }
        "http" | "https" => Ok(()),
        _ => Err(WorldError::InvalidUrl { reason: "unsupported scheme, expected `http` or `https`" }),
    }
}

fn header_map(headers: &[HttpHeader]) -> Result<HeaderMap, WorldError> {
    let mut map = HeaderMap::with_capacity(headers.len());
    for header in headers {
        let invalid = || WorldError::InvalidHeader { name: header.name.clone() };
        let name = HeaderName::from_bytes(header.name.as_bytes()).map_err(|_| invalid())?;
        let mut value = HeaderValue::from_str(&header.value).map_err(|_| invalid())?;
        value.set_sensitive(header.secret);
        map.append(name, value);
    }
    // A part of a coded body cannot be decoded.
    if !map.contains_key(RANGE) {
        map.entry(ACCEPT_ENCODING).or_insert(HeaderValue::from_static(ACCEPTED_CODINGS));
    }
    Ok(map)
}

/// Whether a header is a credential, by its mark or its name.
fn is_credential_header(name: &HeaderName, value: &HeaderValue) -> bool {
    value.is_sensitive() || is_credential_name(name.as_str())
}

#[cfg(test)]
mod tests {
    use super::OutgoingRequest;
    use crate::world::{HttpHeader, HttpRequest, WorldError};
    use reqwest::StatusCode;
    use url::Url;

    fn request(url: &str, headers: Vec<HttpHeader>) -> HttpRequest {
        HttpRequest { headers, ..HttpRequest::new("GET", Url::parse(url).unwrap()) }
    }

    fn follow(mut request: HttpRequest, location: &str) -> Result<OutgoingRequest, WorldError> {
        let mut outgoing = OutgoingRequest::new(&mut request)?;
        outgoing.follow(StatusCode::FOUND, location).map(|()| outgoing)
    }

    #[test]
    fn credentials_are_not_sent_from_https_to_http() {
        let secret = vec![HttpHeader::new_secret("x-key", "k")];
        for request in [request("https://a.example/", secret.clone()), request("https://u:p@a.example/", Vec::new())] {
            let refused = follow(request, "http://a.example/").err();
            assert!(
                matches!(refused, Some(WorldError::HttpsDowngrade { ref host }) if host == "a.example"),
                "{refused:?}"
            );
        }
        assert!(follow(request("https://a.example/", vec![HttpHeader::new("x", "1")]), "http://a.example/").is_ok());
        let upgraded = follow(request("http://a.example/", secret), "https://a.example/").unwrap();
        assert!(!upgraded.headers.contains_key("x-key"));
    }

    #[test]
    fn credentials_are_dropped_on_another_origin() {
        let secret = || vec![HttpHeader::new_secret("x-key", "k")];
        let kept = follow(request("https://u:p@a.example/x/y", secret()), "../z").unwrap();
        assert_eq!((kept.url.as_str(), kept.headers.contains_key("x-key")), ("https://u:p@a.example/z", true));
        for other in ["https://b.example/", "https://a.example:8443/", "//sub.a.example/"] {
            let followed = follow(request("https://a.example/", secret()), other).unwrap();
            assert!(!followed.headers.contains_key("x-key"), "{other}");
        }
    }
}
