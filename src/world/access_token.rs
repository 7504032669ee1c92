//! OAuth 2 access tokens by client credentials (RFC 6749, 4.4), and by exchange of those of callers (RFC 8693), kept until
//! they expire.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use serde_json::Value;
use url::Url;

use super::valid_tokens::{MAX_CLIENT_TOKENS, Sha256Digest, TokenScope, ValidTokens};
use super::{HttpHeader, HttpRequest, HttpResponse, RequestBody, World, WorldError, strip_escapes};
use crate::digest::sha256;
use crate::redact::Redactor;

/// A token is replaced this long before it expires, or when a fifth of its time is left if that is less.
const MAX_REFRESH_MARGIN: Duration = Duration::from_secs(60);
/// How long a token is used whose response does not say when it expires.
const DEFAULT_LIFETIME: Duration = Duration::from_secs(3600);
/// How long a token is not replaced that was fetched in place of a rejected one: the API does not reject it for its age.
const REPLACEMENT_PAUSE: Duration = Duration::from_secs(60);
/// How many clients have their tokens kept: each caller whose token is exchanged counts as one.
const MAX_CLIENTS: usize = 4096;
const MAX_RESPONSE_BYTES: u64 = 64 << 10;
const MAX_TOKEN_BYTES: usize = 16 << 10;
/// A shorter token is a word like any other, which would be replaced wherever a response has it.
const MIN_TOKEN_BYTES: usize = 8;

/// A request for an access token.
#[derive(Clone)]
pub struct TokenRequest {
    /// Where tokens are issued.
    pub url: Url,
    /// Identifies the client as it is written in the manifest, whatever the values of its templates.
    pub client: [u8; 32],
    /// The name of the client.
    pub client_id: String,
    pub client_secret: String,
    /// Whether the client's id and secret are sent in the form, rather than by Basic authentication.
    pub credentials_in_form: bool,
    /// The token of the caller that is exchanged; `None` for one of the client itself.
    pub subject: Option<SubjectToken>,
    /// Further fields of the form, such as `scope`.
    pub form: Vec<(String, String)>,
    /// The request that is authorized. Its limits hold for this one too.
    pub limits: HttpRequest,
}

/// The token of a caller, who gets another one for it.
#[derive(Clone)]
pub struct SubjectToken {
    pub token: String,
    /// Names the caller: its issuer and its id.
    pub caller: String,
}

#[derive(Clone)]
pub struct AccessToken {
    /// The value of `Authorization`.
    pub authorization: HttpHeader,
    /// Its pack and its client.
    pub(super) scope: TokenScope,
    /// The requests that it was fetched for.
    pub(super) key: Sha256Digest,
    refresh_at: Instant,
    /// From when on another one is fetched if it is rejected.
    replaceable_at: Instant,
    pub(super) expires_at: Instant,
    /// Whether it was fetched for an earlier request.
    pub(super) is_cached: bool,
}

impl AccessToken {
    pub(super) fn text(&self) -> &str {
        self.authorization.value.trim_start_matches("Bearer ")
    }

    /// Stands for a token that is not fetched.
    pub(super) fn placeholder(request: &TokenRequest) -> AccessToken {
        AccessToken {
            authorization: HttpHeader::new_secret("Authorization", "Bearer -"),
            scope: request.scope(),
            key: request.key(),
            refresh_at: Instant::now(),
            is_cached: false,
            replaceable_at: Instant::now(),
            expires_at: Instant::now(),
        }
    }
}

/// The tokens of a process.
#[derive(Default)]
pub(super) struct TokenCache {
    clients: Mutex<HashMap<TokenScope, TokenSlots>>,
    pub(super) valid_tokens: ValidTokens,
}

/// The tokens of a client, by the requests that they were fetched for.
type TokenSlots = HashMap<Sha256Digest, TokenSlot>;

/// A token, locked while it is fetched: others wait for it.
type TokenSlot = Arc<tokio::sync::Mutex<Option<AccessToken>>>;

impl TokenCache {
    /// A token that is not `rejected`, fetched by `send` if there is none, or the rejected one if it just replaced another.
    /// What `send` responds has its tokens.
    pub(super) async fn get<F: Future<Output = Result<HttpResponse, WorldError>>>(
        &self,
        request: TokenRequest,
        rejected: Option<&AccessToken>,
        send: impl FnOnce(HttpRequest) -> F,
    ) -> Result<AccessToken, WorldError> {
        let (started, limits) = (Instant::now(), &request.limits);
        let slot = self.slot(&request);
        let locked = limits.cancel.run_until_cancelled(tokio::time::timeout(limits.timeout, slot.lock())).await;
        let mut slot = locked.ok_or(WorldError::Cancelled)?.map_err(|_| WorldError::timed_out(limits.timeout))?;
        let usable = |token: &&AccessToken| match rejected {
            Some(old) if old.authorization == token.authorization => token.replaceable_at > Instant::now(),
            _ => token.refresh_at > Instant::now(),
        };
        if let Some(token) = slot.as_ref().filter(usable) {
            return Ok(AccessToken { is_cached: true, ..token.clone() });
        }
        let replaceable_at = match (rejected, slot.take()) {
            (Some(_), _) => Instant::now() + REPLACEMENT_PAUSE,
            (None, old) => old.map_or_else(Instant::now, |old| old.replaceable_at),
        };
        if request.subject.is_none() && !self.valid_tokens.has_room(&request.scope(), request.key()) {
            return Err(
                request.failure(format!("its client has {MAX_CLIENT_TOKENS} tokens, or too long ones, in the cache"))
            );
        }
        let timeout = request.limits.timeout.saturating_sub(started.elapsed());
        let request = TokenRequest { limits: HttpRequest { timeout, ..request.limits.clone() }, ..request };
        let response = send(request.to_http()).await.map_err(WorldError::for_token)?;
        let token = request.read_token(&response).map_err(|error| self.redact_reason(error, &request))?;
        let token = AccessToken { replaceable_at, ..token };
        self.valid_tokens.add(token.clone());
        Ok(slot.insert(token).clone())
    }

    /// The error without the tokens that the issuer repeats, which may be that of the caller too.
    fn redact_reason(&self, mut error: WorldError, request: &TokenRequest) -> WorldError {
        let WorldError::Token { reason, .. } = &mut error else { return error };
        if let Some(subject) = &request.subject {
            Redactor::new([&*subject.token]).redact_in_place(reason);
        }
        if let Some(redactor) = self.valid_tokens.redactor(&request.scope(), None) {
            redactor.redact_in_place(reason);
        }
        error
    }

    fn slot(&self, request: &TokenRequest) -> TokenSlot {
        let mut clients = self.clients.lock();
        if clients.len() >= MAX_CLIENTS && !clients.contains_key(&request.scope()) {
            clients.clear();
        }
        let (slots, key) = (clients.entry(request.scope()).or_default(), request.key());
        if slots.len() >= MAX_CLIENT_TOKENS && !slots.contains_key(&key) {
            slots.clear();
        }
        slots.entry(key).or_default().clone()
    }
}

/// A response of a token endpoint (RFC 6749, 5.1 and 5.2).
#[derive(Default)]
struct TokenResponse {
    access_token: String,
    token_type: String,
    expires_in: Option<f64>,
    error: String,
    error_description: String,
}

impl TokenResponse {
    /// Parses a response. Servers write numbers as strings, and null for what is absent.
    fn parse(bytes: &[u8]) -> TokenResponse {
        let json: Value = serde_json::from_slice(bytes).unwrap_or_default();
        let text = |key: &str| json.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let expires_in = json.get("expires_in");
        TokenResponse {
            access_token: text("access_token"),
            token_type: text("token_type"),
            expires_in: expires_in.and_then(|value| value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())),
            error: json.pointer("/error/message").and_then(Value::as_str).map_or_else(|| text("error"), str::to_owned),
            error_description: text("error_description"),
        }
    }

    /// What the issuer says, without the token that it gives.
    fn redact(&self, text: String) -> String {
        Redactor::new([&*self.access_token]).redact_text(&text).into_owned()
    }

    /// Whether the token can be part of a header (RFC 6750, 2.1), and is not too long to be looked for in responses.
    fn has_valid_token(&self) -> bool {
        let is_token_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
        self.access_token.len() <= MAX_TOKEN_BYTES && self.access_token.bytes().all(is_token_byte)
    }
}

impl TokenRequest {
    /// Equal for requests that give the same token: to the same issuer, from the same client, who is known by the
    /// certificate of its connection too, for the same pack, and for the same token of the same caller.
    fn key(&self) -> Sha256Digest {
        let proxy = self.limits.proxy.as_ref().map(|proxy| proxy.url().as_str());
        let client = (&self.client_id, &self.client_secret, self.credentials_in_form, &self.form);
        let connection = (&self.limits.pack, self.limits.tls.key(), proxy, self.url.as_str());
        let subject = self.subject.as_ref().map(|subject| (&subject.caller, sha256(subject.token.as_bytes())));
        sha256(format!("{:?}", (self.client, client, connection, subject)).as_bytes())
    }

    fn scope(&self) -> TokenScope {
        let caller = self.subject.as_ref().map(|subject| sha256(subject.caller.as_bytes()));
        TokenScope { pack: self.limits.pack.clone(), client: Some(self.client), caller }
    }

    pub(super) async fn fetch(&self, world: &(impl World + ?Sized)) -> Result<AccessToken, WorldError> {
        self.read_token(&world.send_request(self.to_http()).await?)
    }

    fn read_token(&self, response: &HttpResponse) -> Result<AccessToken, WorldError> {
        let parsed = TokenResponse::parse(&response.body.bytes);
        if !(200..300).contains(&response.status) || parsed.access_token.is_empty() {
            return Err(self.error(response, &parsed));
        }
        if !parsed.token_type.is_empty() && !parsed.token_type.eq_ignore_ascii_case("bearer") {
            return Err(self.failure(parsed.redact(format!("unsupported `token_type` `{}`", parsed.token_type))));
        }
        if !parsed.has_valid_token() {
            return Err(self.failure("invalid `access_token`".to_owned()));
        }
        if parsed.access_token.len() < MIN_TOKEN_BYTES {
            return Err(self.failure(format!("`access_token` has fewer than {MIN_TOKEN_BYTES} characters")));
        }
        let lifetime = parsed.expires_in.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let lifetime = lifetime.unwrap_or(DEFAULT_LIFETIME).min(Duration::from_secs(30 * 24 * 3600));
        Ok(AccessToken {
            authorization: HttpHeader::new_secret("Authorization", format!("Bearer {}", parsed.access_token)),
            scope: self.scope(),
            key: self.key(),
            replaceable_at: Instant::now(),
            refresh_at: Instant::now() + lifetime.saturating_sub(MAX_REFRESH_MARGIN.min(lifetime / 5)),
            is_cached: false,
            expires_at: Instant::now() + lifetime,
        })
    }

    fn to_http(&self) -> HttpRequest {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        match &self.subject {
            None => form.append_pair("grant_type", "client_credentials"),
            Some(subject) => form
                .append_pair("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange")
                .append_pair("subject_token", &subject.token)
                .append_pair("subject_token_type", "urn:ietf:params:oauth:token-type:access_token"),
        };
        form.extend_pairs(&self.form);
        let mut headers = vec![
            HttpHeader::new("Content-Type", "application/x-www-form-urlencoded"),
            HttpHeader::new("Accept", "application/json"),
        ];
        if self.credentials_in_form {
            form.append_pair("client_id", &self.client_id).append_pair("client_secret", &self.client_secret);
        } else {
            headers
                .push(HttpHeader::new_secret("Authorization", basic_credentials(&self.client_id, &self.client_secret)));
        }
        HttpRequest {
            method: "POST".to_owned(),
            url: self.url.clone(),
            headers,
            body: Some(RequestBody::Bytes(form.finish().into_bytes())),
            secret_body: true,
            max_output: MAX_RESPONSE_BYTES,
            follows_redirects: false,
            ..self.limits.clone()
        }
    }

    fn error(&self, response: &HttpResponse, parsed: &TokenResponse) -> WorldError {
        let reason: Vec<&str> =
            [&*parsed.error, &*parsed.error_description].into_iter().filter(|text| !text.is_empty()).collect();
        let reason = match reason.is_empty() {
            true if (200..300).contains(&response.status) => "no `access_token` in the response".to_owned(),
            true => format!("HTTP status {}", response.status),
            false => parsed.redact(strip_escapes(&reason.join(": ")).into_owned()),
        };
        self.failure(reason)
    }

    fn failure(&self, reason: String) -> WorldError {
        WorldError::Token { host: self.url.host_str().unwrap_or_default().to_owned(), reason }
    }
}

/// The value of `Authorization` of a client. Both parts are form-encoded before they are joined (RFC 6749, 2.3.1).
pub fn basic_credentials(client_id: &str, client_secret: &str) -> String {
    let encode = |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    format!("Basic {}", STANDARD.encode(format!("{}:{}", encode(client_id), encode(client_secret))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(subject: Option<(&str, &str)>) -> TokenRequest {
        TokenRequest {
            url: "https://login.example/token".parse().unwrap(),
            client: [0; 32],
            client_id: "desk".to_owned(),
            client_secret: "s".to_owned(),
            credentials_in_form: false,
            subject: subject.map(|(caller, token)| SubjectToken { token: token.to_owned(), caller: caller.to_owned() }),
            form: Vec::new(),
            limits: HttpRequest::new("GET", "https://api.example/".parse().unwrap()),
        }
    }

    #[test]
    fn each_token_of_each_caller_is_exchanged_for_itself() {
        let requests = [None, Some(("ann", "one")), Some(("ann", "two")), Some(("ben", "one"))].map(request);
        for (number, one) in requests.iter().enumerate() {
            for other in requests.iter().skip(number + 1) {
                assert_ne!(one.key(), other.key());
            }
        }
        assert!(requests[1].scope() == requests[2].scope() && requests[1].scope() != requests[3].scope());
    }

    #[test]
    fn exchanged_tokens_are_searched_for_in_responses_to_their_caller() {
        let tokens = ValidTokens::default();
        let add = |caller: &str, text: String| {
            let token = AccessToken::placeholder(&request(Some((caller, &text))));
            let authorization = HttpHeader::new_secret("Authorization", format!("Bearer {text}"));
            tokens.add(AccessToken { authorization, expires_at: Instant::now() + DEFAULT_LIFETIME, ..token });
        };
        add("ben", "exchanged-token-of-ben".to_owned());
        (0..12).for_each(|number| add("ann", format!("exchanged-token-of-ann-{number:02}")));
        let finds = |caller: &str, text: &str| {
            let redactor = tokens.redactor(&request(Some((caller, "any"))).scope(), None);
            redactor.is_some_and(|redactor| redactor.finds_secret(text))
        };
        assert!(finds("ann", "exchanged-token-of-ann-11") && finds("ben", "exchanged-token-of-ben"));
        assert!(!finds("ann", "exchanged-token-of-ben") && !finds("ben", "exchanged-token-of-ann-11"));
        assert!(!finds("ann", "exchanged-token-of-ann-03") && finds("ann", "exchanged-token-of-ann-04"));
    }
}
