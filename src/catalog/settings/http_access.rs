//! Access rules over HTTP from the manifest, in the form in which requests are checked.

use std::fmt;

use crate::digest::sha256;

/// Who may send requests over HTTP, besides this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HttpAccess {
    /// The bearer token that callers must send.
    pub token: Option<TokenDigest>,
    /// Origins of web pages, each as [`normalize_origin`] writes it.
    pub origins: Vec<String>,
    /// Accepted host names in lower case, with or without a port.
    pub hosts: Vec<String>,
}

/// The digest of a token; the token itself is not kept.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenDigest([u8; 32]);

impl TokenDigest {
    /// The token with this text.
    pub fn new(text: &str) -> TokenDigest {
        TokenDigest(sha256(text.as_bytes()))
    }

    /// The digest that 64 hexadecimal digits write.
    pub fn from_hex(digits: &str) -> Option<TokenDigest> {
        let nibble = |digit: &u8| char::from(*digit).to_digit(16);
        let mut digest = [0; 32];
        let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
        if pairs.len() != digest.len() || !rest.is_empty() {
            return None;
        }
        for (byte, [high, low]) in digest.iter_mut().zip(pairs) {
            *byte = u8::try_from(nibble(high)? * 16 + nibble(low)?).ok()?;
        }
        Some(TokenDigest(digest))
    }

    /// Whether a caller's token matches. The whole digests are compared, so that the time reveals neither the token nor
    /// its length.
    pub fn matches(&self, presented: &[u8]) -> bool {
        let pairs = self.0.iter().zip(sha256(presented));
        pairs.fold(0, |differing, (one, other)| differing | (one ^ other)) == 0
    }
}

impl fmt::Debug for TokenDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// Normalizes an origin to the form that browsers send.
pub fn normalize_origin(origin: &str) -> String {
    let origin = origin.trim_end_matches('/').to_ascii_lowercase();
    for (scheme, port) in [("http://", ":80"), ("https://", ":443")] {
        if origin.starts_with(scheme)
            && let Some(bare) = origin.strip_suffix(port)
        {
            return bare.to_owned();
        }
    }
    origin
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_matches_itself_only_and_is_never_printed() {
        let token = TokenDigest::new("open-sesame-4711");
        assert!(token.matches(b"open-sesame-4711"));
        for presented in ["", "open-sesame-471", "open-sesame-47111", "Open-sesame-4711"] {
            assert!(!token.matches(presented.as_bytes()), "{presented}");
        }
        assert_eq!(format!("{token:?}"), "Token");
    }
}
