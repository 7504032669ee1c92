//! Parses JWTs and checks their header and claims (RFC 7515, RFC 7519, RFC 9068).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use super::jwk::{Algorithm, VerificationKey};
use super::unique_keys::UniqueKeys;
use super::{AuthError, CLOCK_SKEW};

/// A JWT whose signature is not verified yet.
pub(super) struct Jwt<'t> {
    pub(super) header: JwtHeader,
    pub(super) claims: Map<String, Value>,
    signed: &'t [u8],
    signature: Vec<u8>,
}

/// What a header says of the key. Keys in the header itself (`jwk`, `jku`, `x5c`) are never used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JwtHeader {
    pub(super) algorithm: Algorithm,
    pub(super) key_id: Option<String>,
}

impl<'t> Jwt<'t> {
    /// Parses a token; `None` if it has not the form of a JWT, and so may be opaque.
    pub(super) fn parse(token: &'t str) -> Result<Option<Jwt<'t>>, AuthError> {
        let Some((signed, signature)) = token.rsplit_once('.') else { return Ok(None) };
        let Some((header, claims)) = signed.split_once('.').filter(|(_, claims)| !claims.contains('.')) else {
            return Ok(None);
        };
        let Ok(header) = URL_SAFE_NO_PAD.decode(header) else { return Ok(None) };
        if !header.starts_with(b"{") {
            return Ok(None);
        }
        let malformed = AuthError::Invalid("token is malformed");
        let object = |bytes: &[u8]| serde_json::from_slice::<UniqueKeys>(bytes).map_err(|_| malformed);
        let header = JwtHeader::read(&object(&header)?.0)?;
        let claims = object(&URL_SAFE_NO_PAD.decode(claims).map_err(|_| malformed)?)?.0;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| malformed)?;
        Ok(Some(Jwt { header, claims, signed: signed.as_bytes(), signature }))
    }

    pub(super) fn is_signed_by(&self, key: &VerificationKey) -> bool {
        key.verifies(self.header.algorithm, self.signed, &self.signature)
    }

    /// Checks that the token is for `audience` at the time `now`. Returns from when on it is not accepted.
    pub(super) fn check_claims(&self, audience: &str, now: f64) -> Result<SystemTime, AuthError> {
        check_audience(&self.claims, audience)?;
        check_times(&self.claims, now)?.ok_or(AuthError::Invalid("token has no `exp`"))
    }
}

impl JwtHeader {
    fn read(header: &Map<String, Value>) -> Result<JwtHeader, AuthError> {
        let unsupported = |reason| Err(AuthError::Invalid(reason));
        let is_access_token =
            |kind: &str| ["jwt", "at+jwt", "application/at+jwt"].iter().any(|known| kind.eq_ignore_ascii_case(known));
        if header.get("typ").is_some_and(|kind| !kind.as_str().is_some_and(is_access_token)) {
            return unsupported("token has an unsupported `typ`");
        }
        // An extension that must be understood; none is.
        if header.contains_key("crit") {
            return unsupported("token has `crit`");
        }
        let Some(algorithm) = header.get("alg").and_then(Value::as_str).and_then(Algorithm::from_name) else {
            return unsupported("token has an unsupported `alg`");
        };
        let key_id = match header.get("kid") {
            None => None,
            Some(Value::String(key_id)) => Some(key_id.clone()),
            Some(_) => return unsupported("token has an invalid `kid`"),
        };
        Ok(JwtHeader { algorithm, key_id })
    }
}

/// Checks that a token is issued for this server: one for another server could be passed on by it. A `/` at the end is the
/// same: clients write it or not where the path is empty.
pub(super) fn check_audience(claims: &Map<String, Value>, audience: &str) -> Result<(), AuthError> {
    let is_audience =
        |one: &Value| one.as_str().is_some_and(|one| one.trim_end_matches('/') == audience.trim_end_matches('/'));
    let is_ours = match claims.get("aud") {
        Some(one @ Value::String(_)) => is_audience(one),
        // One that is not a text makes the claim another one than the issuer meant.
        Some(Value::Array(several)) => several.iter().all(Value::is_string) && several.iter().any(is_audience),
        _ => false,
    };
    if is_ours { Ok(()) } else { Err(AuthError::Invalid("token is for another audience")) }
}

/// Checks that a token is valid at the time `now`. Returns from when on it is not accepted, if it says so.
pub(super) fn check_times(claims: &Map<String, Value>, now: f64) -> Result<Option<SystemTime>, AuthError> {
    let time = |claim: &str| match claims.get(claim) {
        None => Ok(None),
        Some(time) => time
            .as_f64()
            .filter(|time| time.is_finite())
            .map(Some)
            .ok_or(AuthError::Invalid("token has an invalid time")),
    };
    let (expires, not_before, issued) = (time("exp")?, time("nbf")?, time("iat")?);
    let skew = CLOCK_SKEW.as_secs_f64();
    if expires.is_some_and(|expires| expires + skew <= now) {
        return Err(AuthError::Invalid("token has expired"));
    }
    if [not_before, issued].into_iter().flatten().any(|begins| begins - skew > now) {
        return Err(AuthError::Invalid("token is not valid yet"));
    }
    // A time that no clock can show is as good as never.
    let end = |expires: f64| UNIX_EPOCH.checked_add(Duration::try_from_secs_f64(expires + skew).ok()?);
    Ok(expires.and_then(|expires| end(expires).or_else(|| end(1e11))))
}
