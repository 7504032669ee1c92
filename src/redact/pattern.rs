//! The encodings of a secret, as patterns of bytes.

/// Matches one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteMatcher {
    /// This byte.
    Byte(u8),
    /// This ASCII letter, stored in lower case, in either case.
    Letter(u8),
    /// A base64 character with these known bits.
    Sextet { value: u8, known: u8 },
    /// White space with a line break in it, for which any white space may stand: a file indents its lines, and a shell
    /// joins them.
    LineBreak,
}

impl ByteMatcher {
    fn for_byte(byte: u8) -> ByteMatcher {
        if byte.is_ascii_alphabetic() {
            ByteMatcher::Letter(byte.to_ascii_lowercase())
        } else {
            ByteMatcher::Byte(byte)
        }
    }

    pub(super) fn is_quote(&self) -> bool {
        matches!(self, ByteMatcher::Byte(byte) if super::escape::is_quote(*byte))
    }

    /// Whether `byte` matches.
    pub(super) fn matches(self, byte: u8) -> bool {
        match self {
            ByteMatcher::Byte(own) => own == byte,
            ByteMatcher::Letter(own) => own == byte.to_ascii_lowercase(),
            ByteMatcher::Sextet { value, known } => base64_sextet(byte).is_some_and(|bits| bits & known == value),
            ByteMatcher::LineBreak => is_white_space(byte),
        }
    }
}

pub(super) fn is_white_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// The six bits of a base64 character, in either alphabet.
pub(super) fn base64_sextet(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

/// A secret as it is part of a URL, in the usual form: with capitals, and all but unreserved characters (RFC 3986, 2.3).
fn percent_encode(secret: &str) -> String {
    let encode = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    secret.bytes().map(encode).collect()
}

/// The characters that Windows-1252 has in place of the control characters of Latin-1, in order; U+FFFD where it has none.
const WINDOWS_1252: &str = "€\u{fffd}‚ƒ„…†‡ˆ‰Š‹Œ\u{fffd}Ž\u{fffd}\u{fffd}‘’“”•–—˜™š›œ\u{fffd}žŸ";

/// A text in Windows-1252, which includes Latin-1.
fn windows_1252(text: &str) -> Option<Vec<u8>> {
    let encode = |letter: char| match u8::try_from(letter) {
        Ok(byte) if !(0x80..0xa0).contains(&byte) => Some(byte),
        _ => (0x80..=0x9f).zip(WINDOWS_1252.chars()).find(|(_, own)| *own == letter).map(|(byte, _)| byte),
    };
    text.chars().map(encode).collect()
}

/// A text as it is left by a program that took it for another charset; `None` where that is too little to tell.
fn with_replacement_characters(text: &str) -> Option<String> {
    let known = text.chars().filter(char::is_ascii_alphanumeric).count();
    let replace = |letter: char| if letter.is_ascii() { letter } else { char::REPLACEMENT_CHARACTER };
    (known >= super::SAFE_SECRET_CHARS).then(|| text.chars().map(replace).collect())
}

/// One encoding of one secret.
#[derive(Debug)]
pub(super) struct SecretPattern {
    pub(super) matchers: Vec<ByteMatcher>,
    /// The base64 character that the secret shares with the preceding bytes.
    pub(super) leading_sextet: Option<ByteMatcher>,
    /// The bytes that may separate its characters, in lines or groups.
    pub(super) separators: &'static [u8],
    /// The length of the secret.
    secret_bytes: usize,
}

impl SecretPattern {
    /// All encodings of a secret, except escapes, which may apply to any character.
    pub(super) fn all_encodings(secret: &str) -> Vec<SecretPattern> {
        let mut forms = vec![SecretPattern::plain(secret.as_bytes())];
        if !secret.is_ascii() {
            forms.extend(SecretPattern::beyond_ascii(secret));
        }
        forms.push(SecretPattern::hex_pattern(secret.as_bytes()));
        let encoded = percent_encode(secret);
        if encoded != secret {
            forms.push(SecretPattern::hex_pattern(encoded.as_bytes()));
        }
        forms.extend((0..3).map(|before| SecretPattern::base64(secret.as_bytes(), before)));
        forms
    }

    /// The further encodings of a secret that has other than ASCII characters: in either case, and in other charsets.
    fn beyond_ascii(secret: &str) -> Vec<SecretPattern> {
        let mut cases = vec![secret.to_owned(), secret.to_lowercase(), secret.to_uppercase()];
        cases.dedup();
        let in_1252: Vec<Vec<u8>> = cases.iter().filter_map(|text| windows_1252(text)).collect();
        let mut replaced: Vec<String> = cases.iter().filter_map(|text| with_replacement_characters(text)).collect();
        replaced.dedup();
        let utf_8 = cases.iter().skip(1).chain(&replaced).map(String::as_bytes);
        let plain = utf_8.chain(in_1252.iter().map(Vec::as_slice)).map(SecretPattern::plain);
        plain.chain(in_1252.first().map(|bytes| SecretPattern::hex_pattern(bytes))).collect()
    }

    /// How many bytes of the secret the first `count` characters of the pattern reveal.
    pub(super) fn revealed_bytes(&self, count: usize) -> usize {
        (count * self.secret_bytes).div_ceil(self.matchers.len().max(1))
    }

    fn plain(bytes: &[u8]) -> SecretPattern {
        let pieces = bytes.chunk_by(|one, next| is_white_space(*one) && is_white_space(*next));
        let matchers = pieces.flat_map(|piece| match piece.iter().any(|byte| matches!(byte, b'\r' | b'\n')) {
            true => vec![ByteMatcher::LineBreak],
            false => piece.iter().map(|byte| ByteMatcher::for_byte(*byte)).collect(),
        });
        SecretPattern { matchers: matchers.collect(), secret_bytes: bytes.len(), leading_sextet: None, separators: &[] }
    }

    /// The length of the longest text that it matches.
    pub(super) fn longest_match(&self) -> usize {
        let line_breaks = self.matchers.iter().filter(|matcher| **matcher == ByteMatcher::LineBreak).count();
        self.matchers.len() * super::MAX_ENCODED_BYTES + line_breaks * super::MAX_WHITE_SPACE
    }

    fn hex_pattern(bytes: &[u8]) -> SecretPattern {
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        SecretPattern { separators: b"\n :-", secret_bytes: bytes.len(), ..SecretPattern::plain(digits.as_bytes()) }
    }

    /// The base64 characters of the secret with this many bytes `before` it in its group of three.
    fn base64(bytes: &[u8], before: usize) -> SecretPattern {
        let mut padded = vec![0; before];
        padded.extend_from_slice(bytes);
        let (first, last) = (before * 8, padded.len() * 8);
        let bit = |at: usize| padded.get(at / 8).is_some_and(|byte| byte >> (7 - at % 8) & 1 == 1);
        let character = |nth: usize| {
            let (mut value, mut known) = (0, 0);
            for at in nth * 6..nth * 6 + 6 {
                let is_known = (first..last).contains(&at);
                known = known << 1 | u8::from(is_known);
                value = value << 1 | u8::from(is_known && bit(at));
            }
            ByteMatcher::Sextet { value, known }
        };
        let from = first.div_ceil(6);
        let lead = (from > first / 6).then(|| character(first / 6));
        SecretPattern {
            matchers: (from..last.div_ceil(6)).map(character).collect(),
            leading_sextet: lead,
            separators: b"\n",
            secret_bytes: bytes.len(),
        }
    }
}
