//! Seals what leaves the process and comes back: unreadable, unforgeable and bound to its place.

use std::sync::Arc;

use parking_lot::RwLock;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf;
use ring::rand::{SecureRandom, SystemRandom};

/// The length of a generated key, in bytes.
const KEY_BYTES: usize = 32;
/// The length of what makes each sealed content another one, in bytes.
pub const NONCE_BYTES: usize = NONCE_LEN;

/// The keys of a server. The first one seals, each opens. They can be replaced while it runs.
pub struct SealingKeys {
    /// What the keys are for: those of one use open nothing of another.
    usage: &'static str,
    keys: RwLock<Arc<[LessSafeKey]>>,
    random: SystemRandom,
}

impl SealingKeys {
    /// Keys from `secrets` of any length; without any, a random one.
    pub fn new(usage: &'static str, secrets: &[Vec<u8>]) -> SealingKeys {
        let sealing = SealingKeys { usage, keys: RwLock::new(Arc::new([])), random: SystemRandom::new() };
        let mut random_key = vec![0; KEY_BYTES];
        if !secrets.is_empty() {
            sealing.replace(secrets);
        } else if sealing.random.fill(&mut random_key).is_ok() {
            sealing.replace(&[random_key]);
        }
        sealing
    }

    /// Takes other secrets from now on.
    pub fn replace(&self, secrets: &[Vec<u8>]) {
        *self.keys.write() = secrets.iter().filter_map(|secret| derive_key(secret, self.usage)).collect();
    }

    /// Seals `content` in the place that `binding` stands for. `None` where the system has no randomness.
    pub fn seal(&self, content: &[u8], binding: &[u8]) -> Option<Vec<u8>> {
        let keys = self.keys.read().clone();
        let mut nonce = [0; NONCE_LEN];
        self.random.fill(&mut nonce).ok()?;
        let mut sealed = content.to_vec();
        let key = keys.first()?;
        key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(binding), &mut sealed).ok()?;
        Some([&nonce, &sealed[..]].concat())
    }

    /// Opens what was sealed in the same place; its nonce is in no other. `None` where it was not, or is altered.
    pub fn open(&self, sealed: &[u8], binding: &[u8]) -> Option<([u8; NONCE_BYTES], Vec<u8>)> {
        let keys = self.keys.read().clone();
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_LEN>()?;
        let opened = keys.iter().find_map(|key| {
            let mut sealed = sealed.to_vec();
            let opened = key.open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::from(binding), &mut sealed);
            opened.ok().map(|opened| opened.to_vec())
        });
        Some((*nonce, opened?))
    }
}

/// A key for a use, from a secret of any length.
fn derive_key(secret: &[u8], usage: &str) -> Option<LessSafeKey> {
    let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, b"folio");
    let derived = salt.extract(secret);
    let info = [usage.as_bytes()];
    let material = derived.expand(&info, &CHACHA20_POLY1305).ok()?;
    Some(LessSafeKey::new(UnboundKey::from(material)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_one_use_open_nothing_of_another() {
        let secrets = [b"a key of 32 characters or more ..".to_vec()];
        let (states, records) = (SealingKeys::new("states", &secrets), SealingKeys::new("records", &secrets));
        let sealed = states.seal(b"content", b"here").unwrap();
        assert_eq!(states.open(&sealed, b"here").unwrap().1, b"content");
        assert!(records.open(&sealed, b"here").is_none());
        assert!(states.open(&sealed, b"there").is_none());
    }

    #[test]
    fn replaced_keys_open_what_older_ones_sealed_while_they_are_listed() {
        let (older, newer) = (b"the older key".to_vec(), b"the newer key".to_vec());
        let keys = SealingKeys::new("states", std::slice::from_ref(&older));
        let sealed = keys.seal(b"content", b"").unwrap();
        keys.replace(&[newer.clone(), older]);
        assert!(keys.open(&sealed, b"").is_some());
        let later = keys.seal(b"content", b"").unwrap();
        keys.replace(&[newer]);
        assert!(keys.open(&sealed, b"").is_none() && keys.open(&later, b"").is_some());
    }
}
