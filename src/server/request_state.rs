//! Seals the state of a call that waits for its client: unreadable, unforgeable, bound to its call, expiring, single-
//! use.
//!
//! The content is opaque here (action/). 2026-07-28, basic/patterns/mrtr: `requestState`.

use std::{
    collections::BTreeSet,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use parking_lot::Mutex;
use ring::{
    aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    hkdf,
    rand::{SecureRandom, SystemRandom},
};

/// The length of a key of its own, in bytes.
const KEY_BYTES: usize = 32;
/// How long a state may be opened.
const STATE_LIFETIME: Duration = Duration::from_secs(60 * 60);
/// How many states that were opened are remembered; beyond that the first to expire are forgotten, and none is opened that
/// expires as early as they do.
const MAX_OPENED_STATES: usize = 100_000;
/// How long a state may be, in characters: far more than what is ever sealed.
const MAX_STATE_CHARS: usize = 1 << 20;
/// The first byte, should the form ever change.
const FORMAT_VERSION: u8 = 1;
const EXPIRY_BYTES: usize = 8;

/// Seals and opens states.
pub(crate) struct StateSealer {
    /// The first one seals, each opens.
    keys: Vec<LessSafeKey>,
    random: SystemRandom,
    used_states: Mutex<UsedStates>,
}

/// States that were opened and have not expired.
struct UsedStates {
    seen: BTreeSet<(u64, [u8; NONCE_LEN])>,
    /// How many are remembered.
    capacity: usize,
    /// The latest expiry of those that are forgotten: what expires no later may have been opened.
    evicted_until: u64,
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
        let random = SystemRandom::new();
        let mut random_key = [0; KEY_BYTES];
        let mut keys: Vec<LessSafeKey> = secrets.iter().filter_map(|secret| derive_key(secret)).collect();
        if keys.is_empty() && random.fill(&mut random_key).is_ok() {
            keys.extend(derive_key(&random_key));
        }
        StateSealer { keys, random, used_states: Mutex::default() }
    }

    /// Seals `content` for the call that `binding` stands for. `None` where the system has no randomness.
    pub(crate) fn seal(&self, content: &[u8], binding: &[u8]) -> Option<String> {
        self.seal_until(content, binding, unix_now() + STATE_LIFETIME.as_secs())
    }

    fn seal_until(&self, content: &[u8], binding: &[u8], expiry: u64) -> Option<String> {
        let key = self.keys.first()?;
        let mut nonce = [0; NONCE_LEN];
        self.random.fill(&mut nonce).ok()?;
        let mut sealed = expiry.to_be_bytes().to_vec();
        sealed.extend_from_slice(content);
        key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(binding), &mut sealed).ok()?;
        let mut whole = vec![FORMAT_VERSION];
        whole.extend_from_slice(&nonce);
        whole.extend_from_slice(&sealed);
        Some(URL_SAFE_NO_PAD.encode(whole))
    }

    /// Opens a state of the call that `binding` stands for, once.
    pub(crate) fn open(&self, sealed: &str, binding: &[u8]) -> Result<Vec<u8>, UnsealError> {
        if sealed.len() > MAX_STATE_CHARS {
            return Err(UnsealError::Invalid);
        }
        let whole = URL_SAFE_NO_PAD.decode(sealed).map_err(|_| UnsealError::Invalid)?;
        let (version, rest) = whole.split_first().ok_or(UnsealError::Invalid)?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE_LEN>().ok_or(UnsealError::Invalid)?;
        if *version != FORMAT_VERSION {
            return Err(UnsealError::Invalid);
        }
        let used_states = self.keys.iter().find_map(|key| {
            let mut sealed = sealed.to_vec();
            let nonce = Nonce::assume_unique_for_key(*nonce);
            key.open_in_place(nonce, Aad::from(binding), &mut sealed).ok().map(|used_states| used_states.to_vec())
        });
        let used_states = used_states.ok_or(UnsealError::Invalid)?;
        let (expiry, content) = used_states.split_first_chunk::<EXPIRY_BYTES>().ok_or(UnsealError::Invalid)?;
        let expiry = u64::from_be_bytes(*expiry);
        if expiry <= unix_now() {
            return Err(UnsealError::Expired);
        }
        let mut used_states = self.used_states.lock();
        used_states.remember(expiry, *nonce)?;
        Ok(content.to_vec())
    }
}

impl Default for UsedStates {
    fn default() -> UsedStates {
        UsedStates { seen: BTreeSet::new(), capacity: MAX_OPENED_STATES, evicted_until: 0 }
    }
}

impl UsedStates {
    /// Remembers a state that is opened for the first time.
    fn remember(&mut self, expiry: u64, nonce: [u8; NONCE_LEN]) -> Result<(), UnsealError> {
        if expiry <= self.evicted_until {
            return Err(UnsealError::Expired);
        }
        if !self.seen.insert((expiry, nonce)) {
            return Err(UnsealError::AlreadyUsed);
        }
        // Those that have expired are forgotten too, and stay so should the clock be put back.
        let now = unix_now();
        while self.seen.len() > self.capacity || self.seen.first().is_some_and(|(first, _)| *first <= now) {
            let Some((first, _)) = self.seen.pop_first() else { break };
            self.evicted_until = self.evicted_until.max(first);
        }
        Ok(())
    }
}

/// A key for sealing, from a secret of any length.
fn derive_key(secret: &[u8]) -> Option<LessSafeKey> {
    let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, b"folio");
    let derived = salt.extract(secret);
    let material = derived.expand(&[b"request state 1"], &CHACHA20_POLY1305).ok()?;
    Some(LessSafeKey::new(UnboundKey::from(material)))
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

    #[test]
    fn state_is_single_use_and_call_bound() {
        let seal = StateSealer::new(&[]);
        let sealed = seal.seal(b"content", b"this call").unwrap();
        assert_eq!(seal.open(&sealed, b"another call"), Err(UnsealError::Invalid));
        assert_eq!(seal.open(&sealed, b"this call").as_deref(), Ok(&b"content"[..]));
        assert_eq!(seal.open(&sealed, b"this call"), Err(UnsealError::AlreadyUsed));
    }

    #[test]
    fn state_opens_in_another_process_with_same_key() {
        let sealed = StateSealer::new(&keys(&["the first key of all of 32 bytes"])).seal(b"x", b"").unwrap();
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
        let sealed = seal.seal_until(b"x", b"", unix_now()).unwrap();
        assert_eq!(seal.open(&sealed, b""), Err(UnsealError::Expired));
    }

    #[test]
    fn sealed_state_hides_its_content() {
        let sealed = StateSealer::new(&[]).seal(b"content to be kept", b"").unwrap();
        let bytes = URL_SAFE_NO_PAD.decode(sealed).unwrap();
        assert!(!bytes.windows(7).any(|window| window == b"content"));
    }

    #[test]
    fn remembered_states_are_bounded() {
        let mut used_states = UsedStates::default();
        for number in 0..MAX_OPENED_STATES + 10 {
            assert_eq!(used_states.remember(unix_now() + 100 + number as u64, nonce(number)), Ok(()));
        }
        assert_eq!(used_states.seen.len(), MAX_OPENED_STATES);
    }

    fn nonce(number: usize) -> [u8; NONCE_LEN] {
        let mut nonce = [0; NONCE_LEN];
        nonce[..8].copy_from_slice(&number.to_be_bytes());
        nonce
    }

    #[test]
    fn evicted_state_is_not_opened_again() {
        let seal = StateSealer::new(&[]);
        let early = unix_now() + 100;
        let first = seal.seal_until(b"first", b"", early).unwrap();
        let beside = seal.seal_until(b"beside", b"", early).unwrap();
        assert!(seal.open(&first, b"").is_ok());
        for _ in 0..MAX_OPENED_STATES {
            let other = seal.seal_until(b"", b"", early + 1).unwrap();
            assert!(seal.open(&other, b"").is_ok());
        }
        assert_eq!(seal.open(&first, b""), Err(UnsealError::Expired));
        assert_eq!(seal.open(&beside, b""), Err(UnsealError::Expired), "nobody can tell that it was not opened");
        let later = seal.seal_until(b"later", b"", early + 2).unwrap();
        assert!(seal.open(&later, b"").is_ok());
    }

    proptest! {
        /// However few are remembered, in whatever order they expire.
        #[test]
        fn no_state_is_opened_twice(used_states in prop::collection::vec((0..20_u64, 0..30_usize), 0..200)) {
            let mut memory = UsedStates { capacity: 8, ..UsedStates::default() };
            let mut taken = std::collections::HashSet::new();
            for (after, number) in used_states {
                let state = (unix_now() + 1000 + after, nonce(number));
                if memory.remember(state.0, state.1).is_ok() {
                    prop_assert!(taken.insert(state), "{state:?}");
                }
            }
        }

        #[test]
        fn tampered_state_is_refused(content in prop::collection::vec(any::<u8>(), 0..200), at in any::<prop::sample::Index>(), flip in 1..=255u8) {
            let seal = StateSealer::new(&[]);
            let sealed = seal.seal(&content, b"call").unwrap();
            let mut bytes = URL_SAFE_NO_PAD.decode(&sealed).unwrap();
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            prop_assert_eq!(seal.open(&URL_SAFE_NO_PAD.encode(bytes), b"call"), Err(UnsealError::Invalid));
            prop_assert_eq!(seal.open(&sealed, b"call"), Ok(content));
        }

        #[test]
        fn forged_state_is_refused(text in ".{0,200}") {
            prop_assert_eq!(StateSealer::new(&[]).open(&text, b""), Err(UnsealError::Invalid));
        }
    }
}
