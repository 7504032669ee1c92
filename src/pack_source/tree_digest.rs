//! `TreeDigest`, the digest of the files of a pack.

use std::fmt;
use std::str::FromStr;

use crate::digest::sha256;

/// How a digest is written.
const PREFIX: &str = "sha256:";

/// The SHA-256 of the lines that `sha256sum` prints for the files, in the order of the bytes of their paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TreeDigest([u8; 32]);

/// Why a text is not a digest.
#[derive(Debug, thiserror::Error)]
#[error("expected `sha256:` and 64 hexadecimal digits")]
pub struct TreeDigestError;

impl TreeDigest {
    /// The digest of files by their digests; each path once, and in the order of their bytes.
    pub(super) fn from_files<'a>(files: impl IntoIterator<Item = (&'a str, [u8; 32])>) -> TreeDigest {
        let lines = files.into_iter().map(|(path, digest)| format!("{}  {path}\n", hex_encode(&digest)));
        TreeDigest(sha256(lines.collect::<String>().as_bytes()))
    }

    /// Its hexadecimal digits.
    pub fn digits(&self) -> String {
        hex_encode(&self.0)
    }
}

/// Bytes in lower-case hexadecimal digits.
pub(super) fn hex_encode(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().map_or('0', char::from);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

impl fmt::Display for TreeDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.digits())
    }
}

impl FromStr for TreeDigest {
    type Err = TreeDigestError;

    fn from_str(text: &str) -> Result<TreeDigest, TreeDigestError> {
        let digits = text.strip_prefix(PREFIX).ok_or(TreeDigestError)?;
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if digits.len() != 64 || !digits.bytes().all(is_digit) {
            return Err(TreeDigestError);
        }
        let mut bytes = [0; 32];
        for (nth, byte) in bytes.iter_mut().enumerate() {
            let pair = digits.get(nth * 2..nth * 2 + 2).ok_or(TreeDigestError)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| TreeDigestError)?;
        }
        Ok(TreeDigest(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed by `sha256sum a b/c | sha256sum`.
    #[test]
    fn digest_is_that_of_the_lines_of_sha256sum() {
        let digest = TreeDigest::from_files([("a", sha256(b"one\n")), ("b/c", sha256(b""))]);
        let expected = "sha256:df80ec6e9043388ab0a25652e1d6a6a8ec3aed25db176a777d35d05d296fe9ba";
        assert_eq!(digest.to_string(), expected);
        assert_eq!(expected.parse::<TreeDigest>().unwrap(), digest);
        for wrong in ["", "sha256:", "sha1:00", &expected.to_uppercase(), &expected[..70], "sha256:../../x"] {
            assert!(wrong.parse::<TreeDigest>().is_err(), "{wrong}");
        }
    }
}
