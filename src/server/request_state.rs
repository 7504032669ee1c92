//! Seals the state of a call that waits for its client: unreadable, unforgeable, bound to its call, expiring, and with an id
//! that is used once.
//!
//! The content is opaque here (action/). 2026-07-28, basic/patterns/mrtr: `requestState`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::store::{OneTimeId, SealingKeys};

/// How long a state may be opened.
const STATE_LIFETIME: Duration = Duration::from_secs(60 * 60);
/// How long a state may be, in characters: far more than what is ever sealed.
const MAX_STATE_CHARS: usize = 1 << 20;
/// The first byte, should the form ever change.
const FORMAT_VERSION: u8 = 2;
const NUMBER_BYTES: usize = 8;

/// Seals and opens states.
pub(crate) struct StateSealer(SealingKeys);

/// A state that was opened.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OpenedState {
    pub(crate) content: Vec<u8>,
    /// What must be used for the first time.
    pub(crate) id: OneTimeId,
}

/// Why a state is not opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnsealError {
    #[error("invalid `requestState`: not of this call, or altered")]
    Invalid,
    #[error("expired `requestState`; retry the call from the start")]
    Expired,
    #[error("`requestState` already used; retry the call from the start")]
    AlreadyUsed,
}

impl StateSealer {
    /// Seals with the first of `secrets`, or with a random key.
    pub(crate) fn new(secrets: &[Vec<u8>]) -> StateSealer {
        StateSealer(SealingKeys::new("request state 1", secrets))
    }

    /// Seals with the first of other secrets from now on, and opens what any of them sealed.
    pub(crate) fn replace_secrets(&self, secrets: &[Vec<u8>]) {
        self.0.replace(secrets);
    }

    /// Seals `content` for the call that `binding` stands for, in an epoch of the store. `None` where the system has no
    /// randomness.
    pub(crate) fn seal(&self, content: &[u8], binding: &[u8], epoch: u64) -> Option<String> {
        self.seal_until(content, binding, epoch, unix_now() + STATE_LIFETIME.as_secs())
    }

    fn seal_until(&self, content: &[u8], binding: &[u8], epoch: u64, expiry: u64) -> Option<String> {
        let content = [&expiry.to_be_bytes()[..], &epoch.to_be_bytes()[..], content].concat();
        let sealed = self.0.seal(&content, binding)?;
        Some(URL_SAFE_NO_PAD.encode([&[FORMAT_VERSION][..], &sealed[..]].concat()))
    }

    /// Opens a state of the call that `binding` stands for. It may have been opened before.
    pub(crate) fn open(&self, sealed: &str, binding: &[u8]) -> Result<OpenedState, UnsealError> {
        if sealed.len() > MAX_STATE_CHARS {
            return Err(UnsealError::Invalid);
        }
        let whole = URL_SAFE_NO_PAD.decode(sealed).map_err(|_| UnsealError::Invalid)?;
        let sealed = whole.strip_prefix(&[FORMAT_VERSION]).ok_or(UnsealError::Invalid)?;
        let (nonce, opened) = self.0.open(sealed, binding).ok_or(UnsealError::Invalid)?;
        let (expiry, rest) = opened.split_first_chunk::<NUMBER_BYTES>().ok_or(UnsealError::Invalid)?;
        let (epoch, content) = rest.split_first_chunk::<NUMBER_BYTES>().ok_or(UnsealError::Invalid)?;
        let id = OneTimeId { nonce, epoch: u64::from_be_bytes(*epoch), expiry: u64::from_be_bytes(*expiry) };
        if id.expiry <= unix_now() {
            return Err(UnsealError::Expired);
        }
        Ok(OpenedState { content: content.to_vec(), id })
    }
}

fn unix_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keys(keys: &[&str]) -> Vec<Vec<u8>> {
        keys.iter().map(|key| key.as_bytes().to_vec()).collect()
    }

    fn content(opened: Result<OpenedState, UnsealError>) -> Result<Vec<u8>, UnsealError> {
        opened.map(|opened| opened.content)
    }

    #[test]
    fn state_is_bound_to_its_call_and_has_one_id() {
        let seal = StateSealer::new(&[]);
        let sealed = seal.seal(b"content", b"this call", 7).unwrap();
        assert_eq!(seal.open(&sealed, b"another call"), Err(UnsealError::Invalid));
        let opened = seal.open(&sealed, b"this call").unwrap();
        assert_eq!((&*opened.content, opened.id.epoch), (&b"content"[..], 7));
        assert_eq!(seal.open(&sealed, b"this call"), Ok(opened));
        let other = seal.seal(b"content", b"this call", 7).unwrap();
        assert_ne!(seal.open(&other, b"this call").unwrap().id, seal.open(&sealed, b"this call").unwrap().id);
    }

    #[test]
    fn state_opens_in_another_process_with_same_key() {
        let sealed = StateSealer::new(&keys(&["the first key of all of 32 bytes"])).seal(b"x", b"", 0).unwrap();
        let rotated =
            StateSealer::new(&keys(&["a newer key which is 32 bytes long", "the first key of all of 32 bytes"]));
        assert!(rotated.open(&sealed, b"").is_ok());
        assert_eq!(
            StateSealer::new(&keys(&["a newer key which is 32 bytes long"])).open(&sealed, b""),
            Err(UnsealError::Invalid)
        );
        assert_eq!(StateSealer::new(&[]).open(&sealed, b""), Err(UnsealError::Invalid));
    }

    #[test]
    fn a_state_expires() {
        let seal = StateSealer::new(&[]);
        let sealed = seal.seal_until(b"x", b"", 0, unix_now()).unwrap();
        assert_eq!(seal.open(&sealed, b""), Err(UnsealError::Expired));
    }

    #[test]
    fn sealed_state_hides_its_content() {
        let sealed = StateSealer::new(&[]).seal(b"content to be kept", b"", 0).unwrap();
        let bytes = URL_SAFE_NO_PAD.decode(sealed).unwrap();
        assert!(!bytes.windows(7).any(|window| window == b"content"));
    }

    proptest! {
        #[test]
        fn tampered_state_is_refused(whole in prop::collection::vec(any::<u8>(), 0..200), at in any::<prop::sample::Index>(), flip in 1..=255u8) {
            let seal = StateSealer::new(&[]);
            let sealed = seal.seal(&whole, b"call", 0).unwrap();
            let mut bytes = URL_SAFE_NO_PAD.decode(&sealed).unwrap();
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            prop_assert_eq!(seal.open(&URL_SAFE_NO_PAD.encode(bytes), b"call"), Err(UnsealError::Invalid));
            prop_assert_eq!(content(seal.open(&sealed, b"call")), Ok(whole));
        }

        #[test]
        fn forged_state_is_refused(text in ".{0,200}") {
            prop_assert_eq!(StateSealer::new(&[]).open(&text, b""), Err(UnsealError::Invalid));
        }
    }
}
