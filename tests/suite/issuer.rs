//! An authorization server on this machine, whose tokens a test signs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm,
    Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RSA_PSS_SHA256, RsaEncoding, RsaKeyPair, RsaPublicKeyComponents,
};
use serde_json::{Value, json};

use crate::upstream_server::{RecordedRequest, Reply, Upstream};

/// What [`SigningKey::rsa`] and [`SigningKey::other_rsa`] are.
const RSA_KEY: &[u8] = include_bytes!("../fixtures/issuer/rsa-2048.pk8");
const OTHER_RSA_KEY: &[u8] = include_bytes!("../fixtures/issuer/rsa-2048-other.pk8");

/// A key that signs tokens.
#[derive(Clone)]
pub struct SigningKey {
    pub kid: &'static str,
    kind: Arc<KeyKind>,
}

enum KeyKind {
    Rsa(RsaKeyPair),
    Ecdsa(EcdsaKeyPair, &'static str),
    Ed25519(Ed25519KeyPair),
}

impl SigningKey {
    pub fn rsa(kid: &'static str) -> SigningKey {
        SigningKey { kid, kind: Arc::new(KeyKind::Rsa(RsaKeyPair::from_pkcs8(RSA_KEY).unwrap())) }
    }

    pub fn other_rsa(kid: &'static str) -> SigningKey {
        SigningKey { kid, kind: Arc::new(KeyKind::Rsa(RsaKeyPair::from_pkcs8(OTHER_RSA_KEY).unwrap())) }
    }

    pub fn p256(kid: &'static str) -> SigningKey {
        SigningKey::ecdsa(kid, &ECDSA_P256_SHA256_FIXED_SIGNING, "P-256")
    }

    pub fn p384(kid: &'static str) -> SigningKey {
        SigningKey::ecdsa(kid, &ECDSA_P384_SHA384_FIXED_SIGNING, "P-384")
    }

    fn ecdsa(kid: &'static str, algorithm: &'static EcdsaSigningAlgorithm, curve: &'static str) -> SigningKey {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap();
        SigningKey { kid, kind: Arc::new(KeyKind::Ecdsa(pair, curve)) }
    }

    pub fn ed25519(kid: &'static str) -> SigningKey {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap();
        SigningKey { kid, kind: Arc::new(KeyKind::Ed25519(pair)) }
    }

    /// The name of its algorithm.
    pub fn algorithm(&self) -> &'static str {
        match &*self.kind {
            KeyKind::Rsa(_) => "RS256",
            KeyKind::Ecdsa(_, "P-256") => "ES256",
            KeyKind::Ecdsa(..) => "ES384",
            KeyKind::Ed25519(_) => "EdDSA",
        }
    }

    /// Its public part, as a JWK.
    pub fn jwk(&self) -> Value {
        let mut jwk = match &*self.kind {
            KeyKind::Rsa(pair) => {
                let numbers: RsaPublicKeyComponents<Vec<u8>> = pair.public().into();
                json!({ "kty": "RSA", "n": base64url(&numbers.n), "e": base64url(&numbers.e) })
            }
            KeyKind::Ecdsa(pair, curve) => {
                let point = &pair.public_key().as_ref()[1..];
                let (x, y) = point.split_at(point.len() / 2);
                json!({ "kty": "EC", "crv": curve, "x": base64url(x), "y": base64url(y) })
            }
            KeyKind::Ed25519(pair) => {
                json!({ "kty": "OKP", "crv": "Ed25519", "x": base64url(pair.public_key().as_ref()) })
            }
        };
        jwk["kid"] = self.kid.into();
        jwk
    }

    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        match &*self.kind {
            KeyKind::Rsa(pair) => sign_rsa(pair, &RSA_PKCS1_SHA256, message),
            KeyKind::Ecdsa(pair, _) => pair.sign(&SystemRandom::new(), message).unwrap().as_ref().to_vec(),
            KeyKind::Ed25519(pair) => pair.sign(message).as_ref().to_vec(),
        }
    }

    /// A signature by RSASSA-PSS.
    pub fn sign_pss(&self, message: &[u8]) -> Vec<u8> {
        let KeyKind::Rsa(pair) = &*self.kind else { panic!("not an RSA key") };
        sign_rsa(pair, &RSA_PSS_SHA256, message)
    }

    /// A token with this header, and with the algorithm and the id of the key where it does not say so.
    pub fn token(&self, header: &Value, claims: &Value) -> String {
        let mut whole = json!({ "alg": self.algorithm(), "kid": self.kid });
        whole.as_object_mut().unwrap().extend(header.as_object().unwrap().clone());
        self.raw_token(&whole.to_string(), &claims.to_string())
    }

    /// A token of these texts.
    pub fn raw_token(&self, header: &str, claims: &str) -> String {
        let signed = format!("{}.{}", base64url(header.as_bytes()), base64url(claims.as_bytes()));
        format!("{signed}.{}", base64url(&self.sign(signed.as_bytes())))
    }
}

fn sign_rsa(pair: &RsaKeyPair, encoding: &'static dyn RsaEncoding, message: &[u8]) -> Vec<u8> {
    let mut signature = vec![0; pair.public().modulus_len()];
    pair.sign(encoding, &SystemRandom::new(), message, &mut signature).unwrap();
    signature
}

pub fn base64url(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The time, as tokens write it.
pub fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs().cast_signed()
}

/// The authorization server.
pub struct Issuer {
    upstream: Upstream,
    state: Arc<Mutex<IssuerState>>,
}

#[derive(Default)]
struct IssuerState {
    url: String,
    keys: Vec<Value>,
    is_away: bool,
    /// The claims of opaque tokens that are active.
    active: HashMap<String, Value>,
}

impl Issuer {
    /// One with the keys of `keys`.
    pub fn start(keys: &[&SigningKey]) -> Issuer {
        let keys = keys.iter().map(|key| key.jwk()).collect();
        let state = Arc::new(Mutex::new(IssuerState { keys, ..IssuerState::default() }));
        let upstream = Upstream::start({
            let state = state.clone();
            move |request, _| state.lock().unwrap().reply(request)
        });
        state.lock().unwrap().url = upstream.url();
        Issuer { upstream, state }
    }

    pub fn url(&self) -> String {
        self.upstream.url()
    }

    /// Answers nothing but errors, or again what is asked.
    pub fn set_away(&self, is_away: bool) {
        self.state.lock().unwrap().is_away = is_away;
    }

    /// Says that an opaque token is active, with these claims.
    pub fn add_opaque_token(&self, token: &str, claims: &Value) {
        self.state.lock().unwrap().active.insert(token.to_owned(), claims.clone());
    }

    /// How often a path was asked for.
    pub fn count(&self, path: &str) -> usize {
        self.upstream.requests().iter().filter(|request| request.target == path).count()
    }

    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.upstream.requests()
    }

    /// The claims of a good token of `sub` for the server at `audience`.
    pub fn claims(&self, sub: &str, audience: &str, scope: &str) -> Value {
        json!({ "iss": self.url(), "sub": sub, "aud": audience, "exp": now() + 600, "iat": now(), "scope": scope })
    }
}

impl IssuerState {
    fn reply(&self, request: &RecordedRequest) -> Reply {
        if self.is_away {
            return Reply::json(500, &json!({ "error": "server_error" }));
        }
        match request.target.as_str() {
            "/.well-known/openid-configuration" => Reply::json(
                200,
                &json!({ "issuer": self.url, "jwks_uri": format!("{}/jwks", self.url),
                         "introspection_endpoint": format!("{}/introspect", self.url) }),
            ),
            "/jwks" => Reply::json(200, &json!({ "keys": self.keys })),
            "/introspect" => Reply::json(200, &self.introspect(&request.body)),
            _ => Reply::json(404, &json!({})),
        }
    }

    fn introspect(&self, form: &str) -> Value {
        let token = url::form_urlencoded::parse(form.as_bytes()).find(|(name, _)| name == "token");
        let Some(mut claims) = token.and_then(|(_, token)| self.active.get(&*token).cloned()) else {
            return json!({ "active": false });
        };
        claims["active"] = true.into();
        claims
    }
}
