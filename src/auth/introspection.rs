//! Asks issuers about tokens that only they can read (RFC 7662).

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value};

use super::jwt::{check_audience, check_times};
use super::token_cache::CachedToken;
use super::{AuthError, VerifiedToken, seconds};
use crate::catalog::{AuthSettings, IntrospectionSettings, IssuerSettings};
use crate::world::{HostPolicy, HttpHeader, HttpRequest, RequestBody, World, basic_credentials};

const TIMEOUT: Duration = Duration::from_secs(5);
const MAX_RESPONSE_BYTES: u64 = 256 << 10;

/// Asks the issuer that can be asked whether the token is one of its own.
pub(super) async fn ask(
    token: &str,
    settings: &AuthSettings,
    resource: &str,
    world: &dyn World,
    now: SystemTime,
) -> Result<CachedToken, AuthError> {
    let asked = settings.issuers.iter().find_map(|issuer| Some((issuer, issuer.introspect.as_ref()?)));
    let (issuer, introspect) = asked.ok_or(AuthError::Invalid("token is unknown"))?;
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
