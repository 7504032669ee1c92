//! Verifies the tokens of callers over HTTP: JWTs and opaque tokens of issuers, and tokens that the manifest lists.
//!
//! What is not here: the settings (catalog/), what a caller may do (catalog/), and how a refusal is written (transport/).

mod issuer_keys;
mod introspection;
mod jwk;
mod jwt;
mod token_cache;
mod unique_keys;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use url::Url;

use crate::catalog::{AuthSettings, IssuerSettings};
use crate::digest::sha256;
use crate::identity::Identity;
use crate::telemetry::ServerHealth;
use crate::world::World;

use introspection::Introspections;
use issuer_keys::IssuerKeys;
use jwk::VerificationKey;
use jwt::Jwt;
use token_cache::{CachedToken, TokenCache};

/// How far the clocks of an issuer and of this machine may differ.
const CLOCK_SKEW: Duration = Duration::from_secs(60);
/// A longer token is refused unread.
const MAX_TOKEN_BYTES: usize = 16 << 10;

/// A token that was verified.
#[derive(Debug, Clone)]
pub(crate) struct VerifiedToken {
    pub(crate) identity: Arc<Identity>,
    /// From when on it is refused; `None` for a token that the manifest lists.
    pub(crate) expires_at: Option<SystemTime>,
}

/// Why a token is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AuthError {
    /// The token is not valid, for this reason.
    #[error("{0}")]
    Invalid(&'static str),
    /// Nobody can say whether it is: its issuer does not answer.
    #[error("issuer is not available")]
    Unavailable,
}

/// An issuer, and where its keys are if the manifest says so.
type IssuerKeySource = (String, Option<Url>);

/// Verifies tokens, and keeps the keys of issuers and what was verified.
pub(crate) struct Authenticator {
    world: Arc<dyn World>,
    issuers: Mutex<HashMap<IssuerKeySource, Arc<IssuerKeys>>>,
    cache: TokenCache,
    health: Arc<ServerHealth>,
    introspections: Introspections,
}

impl Authenticator {
    /// Asks issuers by requests in `world`.
    pub(crate) fn new(world: Arc<dyn World>) -> Authenticator {
        Authenticator {
            world,
            issuers: Mutex::default(),
            cache: TokenCache::default(),
            health: Arc::default(),
            introspections: Introspections::default(),
        }
    }

    /// The same that notes in `health` whether issuers can be reached.
    pub(crate) fn with_health(self, health: Arc<ServerHealth>) -> Authenticator {
        Authenticator { health, ..self }
    }

    /// Who in this network shows a token to the server at the URL `resource`, which tokens must be issued for unless the
    /// settings say otherwise.
    ///
    /// # Errors
    /// It is not valid, or its issuer is away.
    pub(crate) async fn verify(
        &self,
        token: &str,
        settings: &AuthSettings,
        resource: &str,
        network: IpAddr,
    ) -> Result<VerifiedToken, AuthError> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(AuthError::Invalid("token is too long"));
        }
        // Each is compared, so that the time does not tell which one is like it.
        let listed = settings
            .tokens
            .iter()
            .fold(None, |found, listed| if listed.digest.matches(token.as_bytes()) { Some(listed) } else { found });
        if let Some(listed) = listed {
            return Ok(VerifiedToken { identity: listed.identity.clone(), expires_at: None });
        }
        // What a token may be issued for can change with the URL of the endpoint.
        let (digest, now) = (sha256(format!("{resource}\n{token}").as_bytes()), SystemTime::now());
        if let Some(cached) = self.cache.get(&digest, settings, now)
            && cached.key.as_ref().is_none_or(|(keys, key)| keys.is_current(key, Instant::now()))
        {
            return Ok(cached.token);
        }
        let verified = match Jwt::parse(token)? {
            Some(jwt) => self.verify_jwt(jwt, settings, resource, now).await?,
            None => {
                let _asking = self.introspections.begin(network).await.ok_or(AuthError::Unavailable)?;
                introspection::ask(token, settings, resource, &*self.world, now).await?
            }
        };
        self.cache.insert(digest, settings, verified.clone(), now);
        Ok(verified.token)
    }

    async fn verify_jwt(
        &self,
        jwt: Jwt<'_>,
        settings: &AuthSettings,
        resource: &str,
        now: SystemTime,
    ) -> Result<CachedToken, AuthError> {
        let issuer =
            settings.issuers.iter().find(|issuer| jwt.claims.get("iss") == Some(&issuer.issuer.as_str().into()));
        let issuer = issuer.ok_or(AuthError::Invalid("token is from an unknown issuer"))?;
        // What can be told without the keys of the issuer is told first: no caller makes it fetch them by a stale token.
        let expires_at = jwt.check_claims(issuer.audience.as_deref().unwrap_or(resource), seconds(now))?;
        let keys = self.issuer_keys(issuer);
        let fitting = keys.find(&jwt.header, issuer, &self.world, Instant::now()).await;
        let signed_by = |keys: Vec<VerificationKey>| keys.into_iter().find(|key| jwt.is_signed_by(key));
        let mut key = fitting.map(signed_by);
        if jwt.header.key_id.is_none() && matches!(key, Ok(None)) {
            // Nothing else tells that the issuer signs by another key now.
            keys.fetch(&jwt.header, issuer, &self.world, Instant::now()).await;
            key = keys.find(&jwt.header, issuer, &self.world, Instant::now()).await.map(signed_by);
        }
        self.health.record_issuer(&issuer.issuer, keys.issuer_state());
        let key = key?;
        let key = key.ok_or(AuthError::Invalid("signature does not match"))?;
        let identity = issuer.identity(jwt.claims, settings).ok_or(AuthError::Invalid("token names no caller"))?;
        Ok(CachedToken {
            token: VerifiedToken { identity: Arc::new(identity), expires_at: Some(expires_at) },
            usable_until: expires_at,
            key: Some((keys, key.id)),
        })
    }

    fn issuer_keys(&self, issuer: &IssuerSettings) -> Arc<IssuerKeys> {
        let key = (issuer.issuer.clone(), issuer.jwks_uri.clone());
        self.issuers.lock().entry(key).or_default().clone()
    }
}

/// A time as tokens write it.
fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}
