//! Asks who sends a request, and says what is wanted of one that may not (RFC 6750, RFC 9728).

use std::{
    collections::BTreeSet,
    net::IpAddr,
    sync::Arc,
    time::{Duration, SystemTime},
};

use axum::{
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::Response,
};
use serde_json::{Map, Value, json};
use url::Url;

use crate::{
    auth::{AuthError, Authenticator},
    catalog::{AuthSettings, Catalog, HttpSettings},
    identity::{AccessControl, CallerSecrets},
    redact::MIN_SECRET_CHARS,
    server::{RequestSender, SharedServer},
};

use super::{
    admission::{Account, network_of},
    refusal::RefusalNote,
    response::{RefusedRequest, json_response, text_response},
};

/// Where the metadata of a protected resource is, before the path of the resource (RFC 9728, 3.1).
const METADATA_PATH: &str = "/.well-known/oauth-protected-resource";
/// How often it is looked whether the token of a stream is still good.
pub(super) const RECHECK_INTERVAL: Duration = Duration::from_secs(60);

/// A longer value of a header is refused: it is looked for in all that is answered.
const MAX_CALLER_HEADER_BYTES: usize = 4 << 10;

/// Who sent a request, and for how long its token is good.
#[derive(Debug, Clone, Default)]
pub(super) struct Sender {
    pub(super) request_sender: RequestSender,
    pub(super) expires_at: Option<SystemTime>,
    /// What it has under way.
    pub(super) account: Arc<Account>,
}

/// Why nobody is let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AuthDenial {
    /// The one token that all callers share is missing or wrong.
    SharedToken,
    /// There is none. The request needs these scopes.
    MissingToken(Vec<String>),
    /// For this reason.
    InvalidToken(&'static str),
    /// The request needs these scopes, all of them.
    InsufficientScope(Vec<String>),
    IssuerUnavailable,
}

/// Finds out who sends requests.
pub(super) struct Authentication {
    authenticator: Authenticator,
    /// The URL of the endpoint, where the manifest does not say how clients name it.
    own_url: String,
}

impl Authentication {
    pub(super) fn new(shared_server: &SharedServer, own_url: String) -> Authentication {
        let authenticator = Authenticator::new(shared_server.world()).with_health(shared_server.health().clone());
        Authentication { authenticator, own_url }
    }

    /// Who at this address sends a request with these headers, whatever scopes the token has.
    pub(super) async fn identify(
        &self,
        headers: &HeaderMap,
        address: IpAddr,
        settings: &AuthSettings,
        catalog: &Catalog,
    ) -> Result<Sender, AuthDenial> {
        let Some(token) = bearer_token(headers)? else {
            let nobody = Sender::from(AccessControl::Caller(None));
            return if settings.optional { Ok(nobody) } else { Err(AuthDenial::MissingToken(settings.scopes.clone())) };
        };
        let verified = self.authenticator.verify(token, settings, self.resource(catalog), network_of(address)).await;
        let verified = verified.map_err(|error| match error {
            AuthError::Invalid(reason) => AuthDenial::InvalidToken(reason),
            AuthError::Unavailable => AuthDenial::IssuerUnavailable,
        })?;
        let access = AccessControl::Caller(Some(verified.identity));
        Ok(Sender { expires_at: verified.expires_at, ..Sender::from(access) })
    }

    /// Refuses a caller that lacks a scope that every request needs.
    pub(super) fn check_scopes(access: &AccessControl, catalog: &Catalog) -> Result<(), AuthDenial> {
        let checked = catalog.check_scopes_of_every_request(access);
        checked.map_err(|_| AuthDenial::InsufficientScope(catalog.scopes_of_every_request().to_vec()))
    }

    /// The URL of the endpoint, as clients name it.
    fn resource<'a>(&'a self, catalog: &'a Catalog) -> &'a str {
        catalog.http_settings().public_url.as_ref().map_or(&self.own_url, |url| url.as_str())
    }

    /// The metadata of the endpoint, where a request asks for that: beneath the path of the endpoint, or at the root.
    pub(super) fn metadata(&self, method: &Method, path: &str, catalog: &Catalog) -> Option<Response> {
        let rest = path.strip_prefix(METADATA_PATH)?.trim_end_matches('/');
        let settings = catalog.http_settings().auth.as_ref().filter(|auth| !auth.issuers.is_empty())?;
        let is_get = method == Method::GET || method == Method::HEAD;
        let resource = self.resource(catalog);
        let own_path = Url::parse(&self.own_url).map(|url| url.path().to_owned()).unwrap_or_default();
        let public_path = Url::parse(resource).map(|url| url.path().to_owned()).unwrap_or_default();
        let is_ours = [own_path, public_path].iter().any(|path| path.trim_end_matches('/') == rest);
        if !is_get || !(rest.is_empty() || is_ours) {
            return None;
        }
        let issuers: Vec<&str> = settings.issuers.iter().map(|issuer| issuer.issuer.as_str()).collect();
        let metadata = json!({
            "resource": resource,
            "authorization_servers": issuers,
            "scopes_supported": settings.scopes,
            "bearer_methods_supported": ["header"],
            "resource_name": catalog.server().name,
        });
        Some(json_response(StatusCode::OK, metadata.to_string().into()))
    }

    /// Why a request is refused that needs these scopes, beside those that every request needs.
    pub(super) fn scope_denial(
        &self,
        needed: BTreeSet<String>,
        access: &AccessControl,
        catalog: &Catalog,
    ) -> AuthDenial {
        let of_all = catalog.http_settings().auth.iter().flat_map(|settings| settings.scopes.clone());
        let scopes = of_all.chain(needed).collect::<BTreeSet<_>>().into_iter().collect();
        if access.identity().is_some() {
            AuthDenial::InsufficientScope(scopes)
        } else {
            AuthDenial::MissingToken(scopes)
        }
    }

    /// The answer to who is not let in.
    pub(super) fn denied_response(&self, denial: &AuthDenial, catalog: &Catalog) -> Response {
        let mut response = self.response_to(denial, catalog);
        response.extensions_mut().insert(RefusalNote::of_denial(denial));
        response
    }

    fn response_to(&self, denial: &AuthDenial, catalog: &Catalog) -> Response {
        let words = match denial {
            AuthDenial::SharedToken => "missing or invalid token; send `Authorization: Bearer …`\n".to_owned(),
            AuthDenial::MissingToken(_) => "missing token; send `Authorization: Bearer …`\n".to_owned(),
            AuthDenial::InvalidToken(reason) => format!("invalid token: {reason}\n"),
            AuthDenial::InsufficientScope(scopes) => {
                format!("insufficient scope: the request needs `{}`\n", scopes.join(" "))
            }
            AuthDenial::IssuerUnavailable => "the issuer of the token is not available\n".to_owned(),
        };
        let mut response = text_response(denial.status(), words);
        let header = match denial {
            AuthDenial::SharedToken => Some((header::WWW_AUTHENTICATE, "Bearer")),
            AuthDenial::IssuerUnavailable => Some((header::RETRY_AFTER, "10")),
            _ => None,
        };
        response.headers_mut().extend(header.map(|(name, value)| (name, HeaderValue::from_static(value))));
        self.add_challenge(response.headers_mut(), denial, catalog);
        response
    }

    /// Says which token is wanted (RFC 6750, 3; RFC 9728, 5.1).
    pub(super) fn add_challenge(&self, headers: &mut HeaderMap, denial: &AuthDenial, catalog: &Catalog) {
        let Some(settings) = &catalog.http_settings().auth else { return };
        let (error, description, scopes) = match denial {
            AuthDenial::MissingToken(scopes) => (None, None, scopes),
            AuthDenial::InvalidToken(reason) => (Some("invalid_token"), Some(*reason), &settings.scopes),
            AuthDenial::InsufficientScope(scopes) => (Some("insufficient_scope"), None, scopes),
            AuthDenial::SharedToken | AuthDenial::IssuerUnavailable => return,
        };
        let metadata = (!settings.issuers.is_empty()).then(|| self.metadata_url(catalog)).flatten();
        let scopes = (!scopes.is_empty()).then(|| scopes.join(" "));
        let parameters = [
            ("error", error.map(str::to_owned)),
            ("error_description", description.map(str::to_owned)),
            ("scope", scopes),
            ("resource_metadata", metadata),
        ];
        let parameters = parameters.into_iter().filter_map(|(name, value)| Some(format!("{name}=\"{}\"", value?)));
        let challenge = format!("Bearer {}", parameters.collect::<Vec<_>>().join(", "));
        if let Ok(challenge) = HeaderValue::from_str(challenge.trim_end()) {
            headers.insert(header::WWW_AUTHENTICATE, challenge);
        }
    }

    fn metadata_url(&self, catalog: &Catalog) -> Option<String> {
        let mut url = Url::parse(self.resource(catalog)).ok()?;
        let path = format!("{METADATA_PATH}{}", url.path().trim_end_matches('/'));
        url.set_path(&path);
        Some(url.into())
    }
}

impl AuthDenial {
    pub(super) fn status(&self) -> StatusCode {
        match self {
            AuthDenial::SharedToken | AuthDenial::MissingToken(_) | AuthDenial::InvalidToken(_) => {
                StatusCode::UNAUTHORIZED
            }
            AuthDenial::InsufficientScope(_) => StatusCode::FORBIDDEN,
            AuthDenial::IssuerUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

impl From<AccessControl> for Sender {
    fn from(access: AccessControl) -> Sender {
        Sender { request_sender: RequestSender { access, ..RequestSender::default() }, ..Sender::default() }
    }
}

impl Sender {
    pub(super) fn access(&self) -> &AccessControl {
        &self.request_sender.access
    }

    /// The sender with what a request brings to act upstream: the headers that the manifest declares and no others, and the
    /// token of an issuer where a connection exchanges it. Refuses a request that brings what cannot be sent on.
    pub(super) fn with_secrets(
        mut self,
        headers: &HeaderMap,
        settings: &HttpSettings,
    ) -> Result<Sender, RefusedRequest> {
        let mut found = Map::new();
        for name in &settings.caller_headers {
            match header_text(headers, name) {
                Ok(Some(value)) => drop(found.insert(name.to_ascii_lowercase(), value.into())),
                Ok(None) => {}
                Err((status, words)) => return Err(RefusedRequest::text(status, format!("`{name}` {words}\n"))),
            }
        }
        let has_issuer = self.access().identity().is_some_and(|identity| !identity.issuer.is_empty());
        let token = if settings.exchanges_tokens && has_issuer { bearer_token(headers).ok().flatten() } else { None };
        let secrets = CallerSecrets { headers: Value::Object(found), token: token.map(str::to_owned) };
        if !secrets.is_empty() {
            self.request_sender.secrets = Arc::new(secrets);
        }
        Ok(self)
    }

    /// How long to wait before it is asked again whether its token is good; `None` for one that no issuer can withdraw.
    pub(super) fn recheck_after(&self) -> Option<Duration> {
        let has_issuer = self.access().identity().is_some_and(|identity| !identity.issuer.is_empty());
        let left = |at: SystemTime| at.duration_since(SystemTime::now()).unwrap_or_default();
        // An issuer may withdraw also a token that it gave no end.
        let recheck_after = self.expires_at.map_or(RECHECK_INTERVAL, |at| left(at).min(RECHECK_INTERVAL));
        has_issuer.then_some(recheck_after)
    }
}

/// The value of a header that the manifest declares, or why it cannot be sent on. An empty one is none.
fn header_text<'h>(headers: &'h HeaderMap, name: &str) -> Result<Option<&'h str>, (StatusCode, &'static str)> {
    let mut values = headers.get_all(name).iter();
    let (value, None) = (values.next(), values.next()) else {
        return Err((StatusCode::BAD_REQUEST, "is sent twice"));
    };
    let Some(value) = value else { return Ok(None) };
    if value.len() < MIN_SECRET_CHARS && !value.is_empty() {
        return Err((StatusCode::BAD_REQUEST, "is too short to be a secret"));
    }
    if value.len() > MAX_CALLER_HEADER_BYTES {
        return Err((StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "is too long"));
    }
    let text = value.to_str().map_err(|_| (StatusCode::BAD_REQUEST, "has other characters than ASCII"))?;
    Ok(Some(text.trim()).filter(|text| !text.is_empty()))
}

/// The bearer token of a request. A second `Authorization` is someone's trick.
fn bearer_token(headers: &HeaderMap) -> Result<Option<&str>, AuthDenial> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (value, None) = (values.next(), values.next()) else {
        return Err(AuthDenial::InvalidToken("`Authorization` is sent twice"));
    };
    let Some(value) = value else { return Ok(None) };
    let value = value.to_str().map_err(|_| AuthDenial::InvalidToken("token is malformed"))?;
    match value.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") && !token.trim().is_empty() => {
            Ok(Some(token.trim()))
        }
        _ => Err(AuthDenial::InvalidToken("`Authorization` is not a bearer token")),
    }
}
