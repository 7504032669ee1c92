//! Public keys of issuers (RFC 7517, RFC 7518), and what they verify.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384,
    RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512,
    RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};
use serde_json::Value;

use super::jwt::JwtHeader;
use crate::digest::Digest;

/// An asymmetric algorithm of signatures. Symmetric ones and `none` are not: who verifies could sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algorithm {
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Ps384,
    Ps512,
    Es256,
    Es384,
    EdDsa,
}

impl Algorithm {
    const NAMES: &[(&str, Algorithm)] = &[
        ("RS256", Algorithm::Rs256),
        ("RS384", Algorithm::Rs384),
        ("RS512", Algorithm::Rs512),
        ("PS256", Algorithm::Ps256),
        ("PS384", Algorithm::Ps384),
        ("PS512", Algorithm::Ps512),
        ("ES256", Algorithm::Es256),
        ("ES384", Algorithm::Es384),
        ("EdDSA", Algorithm::EdDsa),
        ("Ed25519", Algorithm::EdDsa),
    ];

    pub(super) fn from_name(name: &str) -> Option<Algorithm> {
        Algorithm::NAMES.iter().find(|(known, _)| *known == name).map(|(_, algorithm)| *algorithm)
    }

    fn rsa(self) -> Option<&'static RsaParameters> {
        match self {
            Algorithm::Rs256 => Some(&RSA_PKCS1_2048_8192_SHA256),
            Algorithm::Rs384 => Some(&RSA_PKCS1_2048_8192_SHA384),
            Algorithm::Rs512 => Some(&RSA_PKCS1_2048_8192_SHA512),
            Algorithm::Ps256 => Some(&RSA_PSS_2048_8192_SHA256),
            Algorithm::Ps384 => Some(&RSA_PSS_2048_8192_SHA384),
            Algorithm::Ps512 => Some(&RSA_PSS_2048_8192_SHA512),
            Algorithm::Es256 | Algorithm::Es384 | Algorithm::EdDsa => None,
        }
    }
}

/// A public key of an issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VerificationKey {
    /// Identifies the key itself, whatever it is called.
    pub(super) id: [u8; 32],
    key_id: Option<String>,
    algorithm: Option<Algorithm>,
    numbers: KeyNumbers,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum KeyNumbers {
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    /// A point, uncompressed.
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl VerificationKey {
    /// The key of a JWK; `None` if it is none that verifies signatures.
    pub(super) fn from_jwk(jwk: &Value) -> Option<VerificationKey> {
        let text = |name: &str| jwk.get(name).and_then(Value::as_str);
        let number = |name: &str| URL_SAFE_NO_PAD.decode(text(name)?.trim_end_matches('=')).ok();
        let is_for_signatures = text("use").is_none_or(|purpose| purpose == "sig");
        let verifies = jwk
            .get("key_ops")
            .is_none_or(|uses| uses.as_array().is_some_and(|uses| uses.iter().any(|purpose| purpose == "verify")));
        if !is_for_signatures || !verifies {
            return None;
        }
        let point = |length: usize| {
            let (x, y) = (number("x")?, number("y")?);
            (x.len() == length && y.len() == length).then(|| [&[4][..], &x, &y].concat())
        };
        let numbers = match (text("kty")?, text("crv")) {
            ("RSA", _) => {
                KeyNumbers::Rsa { modulus: without_zeros(number("n")?), exponent: without_zeros(number("e")?) }
            }
            ("EC", Some("P-256")) => KeyNumbers::P256(point(32)?),
            ("EC", Some("P-384")) => KeyNumbers::P384(point(48)?),
            ("OKP", Some("Ed25519")) => KeyNumbers::Ed25519(number("x").filter(|x| x.len() == 32)?),
            _ => return None,
        };
        let algorithm = match text("alg") {
            None => None,
            Some(name) => Some(Algorithm::from_name(name)?),
        };
        let id = Digest::new("key").chain_update(format!("{numbers:?}{algorithm:?}").as_bytes()).finish();
        Some(VerificationKey { id, key_id: text("kid").map(str::to_owned), algorithm, numbers })
    }

    /// Whether a token with this header may be signed by it.
    pub(super) fn fits(&self, header: &JwtHeader) -> bool {
        let is_named = header.key_id.is_none() || header.key_id == self.key_id;
        is_named && self.algorithm.is_none_or(|algorithm| algorithm == header.algorithm)
    }

    /// Whether it made the signature by this algorithm, which must be one for its kind of key.
    pub(super) fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        let by = |verification: &'static dyn VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(verification, key).verify(message, signature).is_ok()
        };
        match (&self.numbers, algorithm) {
            (KeyNumbers::Rsa { modulus, exponent }, algorithm) => algorithm.rsa().is_some_and(|parameters| {
                RsaPublicKeyComponents { n: modulus, e: exponent }.verify(parameters, message, signature).is_ok()
            }),
            (KeyNumbers::P256(point), Algorithm::Es256) => by(&ECDSA_P256_SHA256_FIXED, point),
            (KeyNumbers::P384(point), Algorithm::Es384) => by(&ECDSA_P384_SHA384_FIXED, point),
            (KeyNumbers::Ed25519(key), Algorithm::EdDsa) => by(&ED25519, key),
            _ => false,
        }
    }
}

/// A number as `ring` takes it. Some issuers write it with zeros before it.
fn without_zeros(mut number: Vec<u8>) -> Vec<u8> {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.drain(..zeros);
    number
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    /// 32 bytes for a key, made of a text.
    pub(in crate::auth) fn number(text: &str) -> String {
        URL_SAFE_NO_PAD.encode(crate::digest::sha256(text.as_bytes()))
    }

    #[test]
    fn only_keys_that_verify_signatures_are_taken() {
        let right = json!({ "kty": "OKP", "crv": "Ed25519", "x": number("a") });
        assert!(VerificationKey::from_jwk(&right).is_some());
        for (name, value) in [
            ("kty", json!("oct")),
            ("kty", json!(1)),
            ("crv", json!("X25519")),
            ("use", json!("enc")),
            ("key_ops", json!(["sign"])),
            ("key_ops", json!("verify")),
            ("alg", json!("HS256")),
            ("alg", json!("none")),
            ("x", json!("AAAA")),
            ("x", json!("!")),
        ] {
            let mut jwk = right.clone();
            jwk[name] = value.clone();
            assert_eq!(VerificationKey::from_jwk(&jwk), None, "{name} {value}");
        }
        let mut marked = right.clone();
        marked["use"] = "sig".into();
        marked["key_ops"] = json!(["verify"]);
        assert!(VerificationKey::from_jwk(&marked).is_some());
    }

    #[test]
    fn key_fits_the_tokens_of_its_id_and_algorithm() {
        let key = |id: &str, alg: &str| {
            VerificationKey::from_jwk(
                &json!({ "kty": "OKP", "crv": "Ed25519", "kid": id, "alg": alg, "x": number("a") }),
            )
        };
        let header = |id: Option<&str>, algorithm| JwtHeader { algorithm, key_id: id.map(str::to_owned) };
        let key = key("a", "EdDSA").unwrap();
        assert!(key.fits(&header(Some("a"), Algorithm::EdDsa)) && key.fits(&header(None, Algorithm::EdDsa)));
        assert!(!key.fits(&header(Some("b"), Algorithm::EdDsa)) && !key.fits(&header(Some("a"), Algorithm::Es256)));
    }
}
