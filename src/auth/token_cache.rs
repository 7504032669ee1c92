//! Tokens that were verified, by their digests, until they expire.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;

use super::VerifiedToken;
use super::issuer_keys::IssuerKeys;
use crate::catalog::AuthSettings;

/// How many tokens are kept.
const MAX_TOKENS: usize = 10_000;

/// A token, and how long what is known of it may be used.
#[derive(Clone)]
pub(super) struct CachedToken {
    pub(super) token: VerifiedToken,
    pub(super) usable_until: SystemTime,
    /// The key that signed it, among those of its issuer.
    pub(super) key: Option<(Arc<IssuerKeys>, [u8; 32])>,
}

/// The verified tokens of one version of the settings: with others, they may mean something else.
#[derive(Default)]
pub(super) struct TokenCache(Mutex<CachedTokens>);

#[derive(Default)]
struct CachedTokens {
    /// The fingerprint of those settings.
    settings: [u8; 32],
    by_digest: HashMap<[u8; 32], CachedToken>,
}

impl TokenCache {
    pub(super) fn get(&self, digest: &[u8; 32], settings: &AuthSettings, now: SystemTime) -> Option<CachedToken> {
        let cached = self.0.lock();
        let is_current = cached.settings == settings.fingerprint;
        cached.by_digest.get(digest).filter(|token| is_current && token.usable_until > now).cloned()
    }

    pub(super) fn insert(&self, digest: [u8; 32], settings: &AuthSettings, token: CachedToken, now: SystemTime) {
        let mut cached = self.0.lock();
        if cached.settings != settings.fingerprint {
            *cached = CachedTokens { settings: settings.fingerprint, by_digest: HashMap::new() };
        }
        if cached.by_digest.len() >= MAX_TOKENS {
            cached.by_digest.retain(|_, token| token.usable_until > now);
        }
        if cached.by_digest.len() >= MAX_TOKENS {
            cached.by_digest.clear();
        }
        cached.by_digest.insert(digest, token);
    }
}
