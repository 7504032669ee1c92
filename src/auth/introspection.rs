//! Asks issuers about tokens that only they can read (RFC 7662).

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::jwt::{check_audience, check_times};
use super::token_cache::CachedToken;
use super::{AuthError, VerifiedToken, seconds};
use crate::catalog::{AuthSettings, IntrospectionSettings, IssuerSettings};
use crate::world::{HostPolicy, HttpHeader, HttpRequest, RequestBody, World, basic_credentials};

const TIMEOUT: Duration = Duration::from_secs(5);
const MAX_RESPONSE_BYTES: u64 = 256 << 10;

/// How many tokens are asked about at a time, of each network half of them, and how long others wait for that: anybody may send
/// tokens that nobody knows.
const MAX_INTROSPECTIONS: usize = 16;
const MAX_WAIT: Duration = Duration::from_secs(5);

/// The tokens that are asked about.
pub(super) struct Introspections {
    all: Semaphore,
    of_network: Mutex<HashMap<IpAddr, Arc<Semaphore>>>,
}

impl Default for Introspections {
    fn default() -> Introspections {
        Introspections { all: Semaphore::new(MAX_INTROSPECTIONS), of_network: Mutex::default() }
    }
}

impl Introspections {
    /// Lets one more be asked about that comes from a network, in its turn; `None` where that takes too long.
    pub(super) async fn begin(&self, network: IpAddr) -> Option<Introspection<'_>> {
        let own = {
            let mut of_network = self.of_network.lock();
            of_network.retain(|_, turns| Arc::strong_count(turns) > 1);
            of_network.entry(network).or_insert_with(|| Arc::new(Semaphore::new(MAX_INTROSPECTIONS / 2))).clone()
        };
        let turns = async { Some((own.acquire_owned().await.ok()?, self.all.acquire().await.ok()?)) };
        let (of_network, of_all) = timeout(MAX_WAIT, turns).await.ok()??;
        Some(Introspection { _of_network: of_network, _of_all: of_all })
    }
}

/// A token that is asked about, until this is dropped.
pub(super) struct Introspection<'i> {
    _of_network: OwnedSemaphorePermit,
    _of_all: SemaphorePermit<'i>,
}

/// Asks the issuer that can be asked whether the token is one of its own.
pub(super) async fn ask(
    token: &str,
    settings: &AuthSettings,
    resource: &str,
    world: &dyn World,
    now: SystemTime,
) -> Result<CachedToken, AuthError> {
    let asked = settings.issuers.iter().find_map(|issuer| Some((issuer, issuer.introspect.as_ref()?)));
    let (issuer, introspect) = asked.ok_or(AuthError::Invalid("token is not a JWT, and not one of `tokens`"))?;
    let claims = introspect_token(token, issuer, introspect, world).await?;
    if claims.get("iss").is_some_and(|named| *named != issuer.issuer) {
        return Err(AuthError::Invalid("token is from an unknown issuer"));
    }
    check_audience(&claims, issuer.audience.as_deref().unwrap_or(resource))?;
    let expires_at = check_times(&claims, seconds(now))?;
    let identity = issuer.identity(claims, settings).ok_or(AuthError::Invalid("token names no caller"))?;
    let usable_until = now + introspect.cache;
    Ok(CachedToken {
        token: VerifiedToken { identity: Arc::new(identity), expires_at },
        usable_until: expires_at.map_or(usable_until, |expires_at| usable_until.min(expires_at)),
        key: None,
    })
}

/// The claims of a token that is active.
async fn introspect_token(
    token: &str,
    issuer: &IssuerSettings,
    introspect: &IntrospectionSettings,
    world: &dyn World,
) -> Result<Map<String, Value>, AuthError> {
    let failed = |reason: String| {
        tracing::warn!(target: "folio::auth", "cannot ask issuer `{}` about a token: {reason}", issuer.issuer);
        AuthError::Unavailable
    };
    let response = world.send_request(introspection_request(token, introspect)).await;
    let response = response.map_err(|error| failed(error.to_string()))?;
    if response.status != 200 {
        return Err(failed(format!("status {}", response.status)));
    }
    match serde_json::from_slice(&response.body.bytes) {
        Ok(Value::Object(claims)) if claims.get("active") == Some(&Value::Bool(true)) => Ok(claims),
        Ok(Value::Object(_)) => Err(AuthError::Invalid("token is not active")),
        _ => Err(failed("response is not a JSON object".to_owned())),
    }
}

fn introspection_request(token: &str, introspect: &IntrospectionSettings) -> HttpRequest {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.append_pair("token", token).append_pair("token_type_hint", "access_token");
    let mut headers = vec![
        HttpHeader::new("Content-Type", "application/x-www-form-urlencoded"),
        HttpHeader::new("Accept", "application/json"),
    ];
    if let Some(client_id) = &introspect.client_id {
        let credentials = basic_credentials(client_id, &introspect.client_secret);
        headers.push(HttpHeader::new_secret("Authorization", credentials));
    }
    let mut host_policy = HostPolicy::default();
    host_policy.allow_url(&introspect.url);
    HttpRequest {
        headers,
        body: Some(RequestBody::Bytes(form.finish().into_bytes())),
        secret_body: true,
        timeout: TIMEOUT,
        max_output: MAX_RESPONSE_BYTES,
        follows_redirects: false,
        host_policy,
        ..HttpRequest::new("POST", introspect.url.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn network_waits_for_its_own_turn() {
        let introspections = Introspections::default();
        let network = |last| IpAddr::V4(Ipv4Addr::new(192, 0, 2, last));
        let mut asked = Vec::new();
        for _ in 0..MAX_INTROSPECTIONS / 2 {
            asked.push(introspections.begin(network(1)).await.unwrap());
        }
        let mut next = Box::pin(introspections.begin(network(1)));
        assert!(next.as_mut().now_or_never().is_none(), "its half is taken");
        assert!(introspections.begin(network(2)).now_or_never().flatten().is_some(), "that of others is not");
        asked.pop();
        assert!(next.await.is_some(), "it has its turn");
        assert_eq!(introspections.of_network.lock().len(), 2);
        drop(asked);
        drop(introspections.begin(network(3)).await);
        assert_eq!(introspections.of_network.lock().len(), 1, "those who ask nothing are forgotten");
    }
}
