//! SHA-256 digests that are stable across processes and releases.
//!
//! Digests that travel (in a cursor, in a sealed state) or are compared with a later load are made here; the algorithm of
//! the standard hasher may change between releases of Rust.

use sha2::{Digest as _, Sha256};

/// A digest of parts, each prefixed with its length, so that different lists of parts differ.
#[derive(Clone)]
pub struct Digest(Sha256);

impl Digest {
    /// A digest for one purpose: equal parts for another purpose have another digest.
    pub fn new(domain: &str) -> Digest {
        Digest(Sha256::new()).chain_update(b"folio").chain_update(domain.as_bytes())
    }

    pub fn update(&mut self, part: &[u8]) {
        self.0.update((part.len() as u64).to_be_bytes());
        self.0.update(part);
    }

    /// The digest with one more part.
    #[must_use]
    pub fn chain_update(mut self, part: &[u8]) -> Digest {
        self.update(part);
        self
    }

    pub fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }

    /// Its first 128 bits.
    pub fn finish_u128(self) -> u128 {
        self.finish().first_chunk().map_or(0, |first| u128::from_be_bytes(*first))
    }

    /// Its first 64 bits.
    pub fn finish_u64(self) -> u64 {
        self.finish().first_chunk().map_or(0, |first| u64::from_be_bytes(*first))
    }
}

/// The SHA-256 of some bytes.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number(kind: &str, parts: &[Vec<u8>]) -> u64 {
        parts.iter().fold(Digest::new(kind), |digest, part| digest.chain_update(part)).finish_u64()
    }

    /// Computed apart from this program, with Python's `hashlib`.
    #[test]
    fn digest_is_stable_across_releases() {
        assert_eq!(number("list", &[b"a".to_vec(), b"bc".to_vec()]), 0xca0d_248f_1dd2_88a9);
        assert_eq!(sha256(b"abc").first_chunk(), Some(&[0xba, 0x78, 0x16, 0xbf]));
    }

    proptest! {
        #[test]
        fn digest_separates_parts_and_domains(
            one in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..4), 0..4),
            other in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..4), 0..4),
        ) {
            prop_assert_eq!(number("a", &one) == number("a", &other), one == other);
            prop_assert_ne!(number("a", &one), number("b", &one));
        }
    }
}
