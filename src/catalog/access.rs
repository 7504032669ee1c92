//! Access rules over HTTP from the manifest, in the form in which requests are checked.

use std::fmt;

use crate::digest::sha256;

/// Who may ask over HTTP, beside this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HttpAccess {
    /// The bearer token that callers must show.
    pub token: Option<TokenDigest>,
    /// Origins of web pages, each as [`normalize_origin`] writes it.
    pub origins: Vec<String>,
    /// Names under which the server may be called, in small letters, with or without a port.
    pub hosts: Vec<String>,
}

/// A token, of which nothing is kept but a digest.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenDigest([u8; 32]);

impl TokenDigest {
    /// The token with this text.
    pub fn new(text: &str) -> TokenDigest {
        TokenDigest(sha256(text.as_bytes()))
    }

    /// Whether it is what a caller shows. All of the digests is compared: the time tells nothing of the token, neither its
    /// letters nor how many there are.
    pub fn matches(&self, shown: &[u8]) -> bool {
        let pairs = self.0.iter().zip(sha256(shown));
        pairs.fold(0, |differing, (one, other)| differing | (one ^ other)) == 0
    }
}

impl fmt::Debug for TokenDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// An origin as a browser writes it.
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
        for shown in ["", "open-sesame-471", "open-sesame-47111", "Open-sesame-4711"] {
            assert!(!token.matches(shown.as_bytes()), "{shown}");
        }
        assert_eq!(format!("{token:?}"), "Token");
    }
}
