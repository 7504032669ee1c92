//! The keys of an issuer: found by its metadata when they are first needed, and fetched again as they change.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::Value;
use url::Url;

use super::AuthError;
use super::jwk::VerificationKey;
use super::jwt::JwtHeader;
use crate::catalog::IssuerSettings;
use crate::telemetry::IssuerState;
use crate::world::{HostPolicy, HttpRequest, World, is_loopback_host};

/// At what age keys are fetched again: a withdrawn key is then refused, with all tokens that it signed.
const REFRESH_AGE: Duration = Duration::from_secs(300);
/// How long keys serve that cannot be fetched again.
const MAX_AGE: Duration = Duration::from_secs(24 * 3600);
/// How long nothing is fetched after a fetch in vain: tokens of unknown keys cost their sender more than the issuer.
const FETCH_PAUSE: Duration = Duration::from_secs(10);
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_RESPONSE_BYTES: u64 = 1 << 20;

/// The keys of an issuer.
#[derive(Default)]
pub(super) struct IssuerKeys {
    known: Mutex<KnownKeys>,
    /// Held while keys are fetched: once for all who wait.
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct KnownKeys {
    keys: Vec<VerificationKey>,
    fetched_at: Option<Instant>,
    tried_at: Option<Instant>,
    /// Whether the last fetch brought the key that it was for, or another new one. Then the next unknown key may be one that the
    /// issuer has begun to sign with since.
    last_was_useful: bool,
}

/// Where the keys of an issuer are.
struct KeySource {
    issuer: String,
    /// `None` if its metadata says so.
    jwks_uri: Option<Url>,
}

impl KeySource {
    fn of(issuer: &IssuerSettings) -> KeySource {
        KeySource { issuer: issuer.issuer.clone(), jwks_uri: issuer.jwks_uri.clone() }
    }
}

/// Whether keys were fetched.
pub(super) enum Fetch {
    /// They are as new as they may be.
    Current,
    Failed,
}

impl KnownKeys {
    /// Takes keys that were fetched for a token in place of those that are known.
    fn replace(&mut self, keys: Vec<VerificationKey>, header: &JwtHeader, now: Instant) {
        let is_new = |key: &VerificationKey| !self.keys.iter().any(|known| known.id == key.id);
        self.last_was_useful = keys.iter().any(|key| is_new(key) || header.key_id.is_some() && key.fits(header));
        self.keys = keys;
        self.fetched_at = Some(now);
    }

    /// Whether they were fetched no longer ago than `age`.
    fn are_younger(&self, age: Duration, now: Instant) -> bool {
        self.fetched_at.is_some_and(|at| now.saturating_duration_since(at) < age)
    }

    /// How the last fetch ended, if it is too early for another one.
    fn recent_fetch(&self, now: Instant) -> Option<Fetch> {
        let is_recent = |at: &Instant| now.saturating_duration_since(*at) < FETCH_PAUSE && !self.last_was_useful;
        let tried_at = self.tried_at.filter(is_recent)?;
        Some(if self.fetched_at.is_some_and(|at| at >= tried_at) { Fetch::Current } else { Fetch::Failed })
    }
}

impl IssuerKeys {
    /// Whether tokens that this key signed need not be verified again.
    pub(super) fn is_current(&self, key: &[u8; 32], now: Instant) -> bool {
        let known = self.known.lock();
        known.are_younger(REFRESH_AGE, now) && known.keys.iter().any(|known| known.id == *key)
    }

    /// Whether the last fetch found them, if there was one.
    pub(super) fn issuer_state(&self) -> Option<IssuerState> {
        let known = self.known.lock();
        let tried_at = known.tried_at?;
        let is_reachable = known.fetched_at.is_some_and(|at| at >= tried_at);
        Some(if is_reachable { IssuerState::Reachable } else { IssuerState::Unreachable })
    }

    /// The keys that may have signed a token. Those that are old serve while newer ones are fetched.
    pub(super) async fn find(
        self: &Arc<Self>,
        header: &JwtHeader,
        issuer: &IssuerSettings,
        world: &Arc<dyn World>,
        now: Instant,
    ) -> Result<Vec<VerificationKey>, AuthError> {
        let found = self.fitting(header, now);
        if !found.is_empty() && self.known.lock().are_younger(REFRESH_AGE, now) {
            return Ok(found);
        }
        if !found.is_empty() && self.fetching.try_lock().is_err() {
            return Ok(found);
        }
        let fetch = self.fetch(header, issuer, world, now).await;
        let found = self.fitting(header, now);
        match fetch {
            _ if !found.is_empty() => Ok(found),
            Fetch::Current => Err(AuthError::Invalid("token is signed by an unknown key")),
            Fetch::Failed => Err(AuthError::Unavailable),
        }
    }

    /// Fetches the keys for a token, unless that was just done, once for all who wait.
    pub(super) async fn fetch(
        self: &Arc<Self>,
        header: &JwtHeader,
        issuer: &IssuerSettings,
        world: &Arc<dyn World>,
        now: Instant,
    ) -> Fetch {
        let (keys, source, world, header) = (self.clone(), KeySource::of(issuer), world.clone(), header.clone());
        // It goes on when the client leaves that caused it: else that could keep it from ever ending.
        let fetch = tokio::spawn(async move {
            let _one_at_a_time = keys.fetching.lock().await;
            let is_known = header.key_id.is_some() && !keys.fitting(&header, now).is_empty();
            if is_known && keys.known.lock().are_younger(REFRESH_AGE, now) {
                return Fetch::Current;
            }
            keys.fetch_now(&header, &source, &*world, now).await
        });
        fetch.await.unwrap_or(Fetch::Failed)
    }

    fn fitting(&self, header: &JwtHeader, now: Instant) -> Vec<VerificationKey> {
        let known = self.known.lock();
        let keys = known.keys.iter().filter(|key| key.fits(header) && known.are_younger(MAX_AGE, now));
        keys.cloned().collect()
    }

    async fn fetch_now(&self, header: &JwtHeader, source: &KeySource, world: &dyn World, now: Instant) -> Fetch {
        if let Some(recent) = self.known.lock().recent_fetch(now) {
            return recent;
        }
        let fetched = fetch_keys(source, world).await;
        let mut known = self.known.lock();
        known.tried_at = Some(now);
        match fetched {
            Ok(keys) => {
                known.replace(keys, header, now);
                Fetch::Current
            }
            Err(reason) => {
                known.last_was_useful = false;
                tracing::warn!(target: "folio::auth", "cannot fetch the keys of issuer `{}`: {reason}", source.issuer);
                Fetch::Failed
            }
        }
    }
}

/// Fetches the keys of an issuer, by its metadata if the manifest does not say where they are.
async fn fetch_keys(source: &KeySource, world: &dyn World) -> Result<Vec<VerificationKey>, String> {
    let jwks_uri = match &source.jwks_uri {
        Some(url) => url.clone(),
        None => discover_jwks_uri(source, world).await?,
    };
    let set = fetch_json(jwks_uri, source, world).await?;
    let keys = set.get("keys").and_then(Value::as_array).ok_or("response is not a JWK set")?;
    Ok(keys.iter().filter_map(VerificationKey::from_jwk).collect())
}

async fn discover_jwks_uri(source: &KeySource, world: &dyn World) -> Result<Url, String> {
    let mut reason = String::new();
    for url in metadata_urls(&source.issuer) {
        let metadata = match fetch_json(url, source, world).await {
            Ok(metadata) => metadata,
            Err(error) => {
                reason = error;
                continue;
            }
        };
        if metadata.get("issuer").and_then(Value::as_str) != Some(&source.issuer) {
            "metadata is of another issuer".clone_into(&mut reason);
            continue;
        }
        let url = metadata.get("jwks_uri").and_then(Value::as_str).and_then(|url| Url::parse(url).ok());
        let url = url.filter(|url| url.scheme() == "https" || url.scheme() == "http" && is_loopback_host(url));
        return url.ok_or_else(|| "metadata has no usable `jwks_uri`".to_owned());
    }
    Err(reason)
}

/// Where the metadata of an issuer may be: by RFC 8414, 3.1, and by OpenID Connect Discovery 1.0, 4.1.
fn metadata_urls(issuer: &str) -> Vec<Url> {
    let Ok(url) = Url::parse(issuer) else { return Vec::new() };
    let at = |path: String| {
        let mut url = url.clone();
        url.set_path(&path);
        url
    };
    let path = url.path().trim_end_matches('/');
    vec![
        at(format!("/.well-known/oauth-authorization-server{path}")),
        at(format!("{path}/.well-known/openid-configuration")),
    ]
}

async fn fetch_json(url: Url, source: &KeySource, world: &dyn World) -> Result<Value, String> {
    let mut host_policy = HostPolicy::default();
    let written = Url::parse(&source.issuer).ok().into_iter().chain(source.jwks_uri.clone());
    written.for_each(|url| host_policy.allow_url(&url));
    let host = url.host_str().unwrap_or_default().to_owned();
    let request = HttpRequest {
        timeout: FETCH_TIMEOUT,
        max_output: MAX_RESPONSE_BYTES,
        follows_redirects: false,
        host_policy,
        ..HttpRequest::new("GET", url)
    };
    let response = world.send_request(request).await.map_err(|error| error.to_string())?;
    if response.status != 200 {
        return Err(format!("`{host}` responds with status {}", response.status));
    }
    serde_json::from_slice(&response.body.bytes).map_err(|_| format!("response of `{host}` is not JSON"))
}
