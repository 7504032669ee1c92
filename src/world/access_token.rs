//! OAuth 2 access tokens by client credentials (RFC 6749, 4.4), kept until they expire.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use url::Url;

use super::{HttpHeader, HttpRequest, HttpResponse, RequestBody, World, WorldError};
use crate::digest::sha256;
use crate::redact::Redactor;

/// A token is replaced this long before it expires, or when a fifth of its time is left if that is less.
const MAX_REFRESH_MARGIN: Duration = Duration::from_secs(60);
/// How long a token is used whose response does not say when it expires.
const DEFAULT_LIFETIME: Duration = Duration::from_secs(3600);
/// How many tokens are kept: one for each client in a manifest.
const MAX_TOKENS: usize = 256;
const MAX_RESPONSE_BYTES: u64 = 64 << 10;
const MAX_TOKEN_BYTES: usize = 16 << 10;

/// A request for an access token.
#[derive(Clone)]
pub struct TokenRequest {
    /// Where tokens are issued.
    pub url: Url,
    /// The client.
    pub client_id: String,
    /// Its secret.
    pub client_secret: String,
    /// Whether the client's id and secret are sent in the form, rather than by Basic authentication.
    pub credentials_in_form: bool,
    /// Further fields of the form, such as `scope`.
    pub form: Vec<(String, String)>,
    /// The request that is authorized. Its limits hold for this one too.
    pub limits: HttpRequest,
}

/// An access token.
#[derive(Clone)]
pub struct AccessToken {
    /// The value of `Authorization`.
    pub authorization: HttpHeader,
    refresh_at: Instant,
    expires_at: Instant,
}

impl AccessToken {
    /// The token itself.
    fn text(&self) -> &str {
        self.authorization.value.trim_start_matches("Bearer ")
    }

    /// Stands for a token that is not fetched.
    pub(super) fn placeholder() -> AccessToken {
        AccessToken {
            authorization: HttpHeader::new_secret("Authorization", "Bearer -"),
            refresh_at: Instant::now(),
            expires_at: Instant::now(),
        }
    }
}

/// The tokens of a process.
#[derive(Default)]
pub(super) struct TokenCache {
    tokens: Mutex<HashMap<[u8; 32], TokenSlot>>,
    live: RwLock<LiveTokens>,
}

/// The tokens that APIs may still accept, at most [`MAX_TOKENS`], and what finds them in responses.
#[derive(Default)]
struct LiveTokens {
    tokens: VecDeque<AccessToken>,
    redactor: Option<Arc<Redactor>>,
}

impl LiveTokens {
    fn add(&mut self, token: AccessToken) {
        let now = Instant::now();
        self.tokens.retain(|old| old.expires_at > now && old.authorization != token.authorization);
        self.tokens.push_back(token);
        if self.tokens.len() > MAX_TOKENS {
            self.tokens.pop_front();
        }
        self.redactor = Some(Arc::new(Redactor::new(self.tokens.iter().map(AccessToken::text))));
    }
}

/// A token, locked while it is fetched: others wait for it.
type TokenSlot = Arc<tokio::sync::Mutex<Option<AccessToken>>>;

impl TokenCache {
    /// What finds the live tokens; `None` if there never were any.
    pub(super) fn redactor(&self) -> Option<Arc<Redactor>> {
        self.live.read().unwrap_or_else(PoisonError::into_inner).redactor.clone()
    }

    /// A token that is not `rejected`, fetched by `send` if there is none. What `send` responds has its tokens.
    pub(super) async fn get<F: Future<Output = Result<HttpResponse, WorldError>>>(
        &self,
        request: TokenRequest,
        rejected: Option<&AccessToken>,
        send: impl FnOnce(HttpRequest) -> F,
    ) -> Result<AccessToken, WorldError> {
        let (started, limits) = (Instant::now(), &request.limits);
        let slot = self.slot(request.key());
        let locked = limits.cancel.run_until_cancelled(tokio::time::timeout(limits.timeout, slot.lock())).await;
        let mut slot = locked.ok_or(WorldError::Cancelled)?.map_err(|_| WorldError::timed_out(limits.timeout))?;
        let usable = |token: &&AccessToken| {
            token.refresh_at > Instant::now() && rejected.is_none_or(|old| old.authorization != token.authorization)
        };
        if let Some(token) = slot.as_ref().filter(usable) {
            return Ok(token.clone());
        }
        *slot = None;
        let timeout = request.limits.timeout.saturating_sub(started.elapsed());
        let request = TokenRequest { limits: HttpRequest { timeout, ..request.limits.clone() }, ..request };
        let token = request.read_token(&send(request.to_http()).await?)?;
        self.live.write().unwrap_or_else(PoisonError::into_inner).add(token.clone());
        Ok(slot.insert(token).clone())
    }

    fn slot(&self, key: [u8; 32]) -> TokenSlot {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if tokens.len() >= MAX_TOKENS && !tokens.contains_key(&key) {
            tokens.clear();
        }
        tokens.entry(key).or_default().clone()
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

    /// Whether the token can be part of a header (RFC 6750, 2.1), and is not too long to be looked for in responses.
    fn has_valid_token(&self) -> bool {
        let is_token_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
        self.access_token.len() <= MAX_TOKEN_BYTES && self.access_token.bytes().all(is_token_byte)
    }
}

impl TokenRequest {
    /// Equal for requests that give the same token.
    fn key(&self) -> [u8; 32] {
        let mut text = format!("{:?}", (&self.client_id, &self.client_secret, self.credentials_in_form, &self.form));
        text.push_str(self.url.as_str());
        sha256(text.as_bytes())
    }

    /// Fetches a token.
    pub(super) async fn fetch(&self, world: &(impl World + ?Sized)) -> Result<AccessToken, WorldError> {
        self.read_token(&world.send_request(self.to_http()).await?)
    }

    fn read_token(&self, response: &HttpResponse) -> Result<AccessToken, WorldError> {
        let parsed = TokenResponse::parse(&response.body.bytes);
        if !(200..300).contains(&response.status) || parsed.access_token.is_empty() {
            return Err(self.error(response, &parsed));
        }
        if !parsed.token_type.is_empty() && !parsed.token_type.eq_ignore_ascii_case("bearer") {
            let kind = parsed.token_type.replace(&parsed.access_token, "…");
            return Err(self.failure(format!("unsupported `token_type` `{kind}`")));
        }
        if !parsed.has_valid_token() {
            return Err(self.failure("invalid `access_token`".to_owned()));
        }
        let lifetime = parsed.expires_in.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let lifetime = lifetime.unwrap_or(DEFAULT_LIFETIME).min(Duration::from_secs(30 * 24 * 3600));
        Ok(AccessToken {
            authorization: HttpHeader::new_secret("Authorization", format!("Bearer {}", parsed.access_token)),
            refresh_at: Instant::now() + lifetime.saturating_sub(MAX_REFRESH_MARGIN.min(lifetime / 5)),
            expires_at: Instant::now() + lifetime,
        })
    }

    fn to_http(&self) -> HttpRequest {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        form.append_pair("grant_type", "client_credentials");
        form.extend_pairs(&self.form);
        let mut headers = vec![
            HttpHeader::new("Content-Type", "application/x-www-form-urlencoded"),
            HttpHeader::new("Accept", "application/json"),
        ];
        if self.credentials_in_form {
            form.append_pair("client_id", &self.client_id).append_pair("client_secret", &self.client_secret);
        } else {
            headers.push(HttpHeader::new_secret("Authorization", self.basic_credentials()));
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

    /// Both parts are form-encoded before they are joined (RFC 6749, 2.3.1).
    fn basic_credentials(&self) -> String {
        let encode = |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        format!("Basic {}", STANDARD.encode(format!("{}:{}", encode(&self.client_id), encode(&self.client_secret))))
    }

    fn error(&self, response: &HttpResponse, parsed: &TokenResponse) -> WorldError {
        let reason: Vec<&str> =
            [&*parsed.error, &*parsed.error_description].into_iter().filter(|text| !text.is_empty()).collect();
        let reason = match reason.is_empty() {
            true if (200..300).contains(&response.status) => "no `access_token` in the response".to_owned(),
            true => format!("HTTP status {}", response.status),
            false => reason.join(": "),
        };
        self.failure(reason)
    }

    fn failure(&self, reason: String) -> WorldError {
        WorldError::Token { host: self.url.host_str().unwrap_or_default().to_owned(), reason }
    }
}
