//! The encodings of a secret, as patterns of bytes.

/// What stands at one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteMatcher {
    /// This byte.
    Byte(u8),
    /// This letter of ASCII, in lower case here, in either there.
    Letter(u8),
    /// A character of base64, of whose six bits these are known.
    Sextet { value: u8, known: u8 },
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

    /// Whether `byte` can stand there.
    pub(super) fn matches(self, byte: u8) -> bool {
        match self {
            ByteMatcher::Byte(own) => own == byte,
            ByteMatcher::Letter(own) => own == byte.to_ascii_lowercase(),
            ByteMatcher::Sextet { value, known } => base64_sextet(byte).is_some_and(|bits| bits & known == value),
        }
    }
}

/// The six bits of a character of base64, in either of its alphabets.
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

/// One form of one secret.
#[derive(Debug)]
pub(super) struct SecretPattern {
    pub(super) matchers: Vec<ByteMatcher>,
    /// Of base64, the character before, which the secret shares with what stands before it.
    pub(super) leading_sextet: Option<ByteMatcher>,
    /// What may stand between its characters: it may be written in lines, or in groups.
    pub(super) between: &'static [u8],
}

impl SecretPattern {
    /// Every form of a secret. What escapes in it is not here: any character may be escaped.
    pub(super) fn all_encodings(secret: &str) -> Vec<SecretPattern> {
        let mut texts = vec![secret.to_owned()];
        if !secret.is_ascii() {
            texts.extend([secret.to_lowercase(), secret.to_uppercase()]);
            texts.dedup();
        }
        let mut forms: Vec<SecretPattern> = texts.iter().map(|text| SecretPattern::plain(text.as_bytes())).collect();
        forms.push(SecretPattern::hexadecimal(secret.as_bytes()));
        forms.extend((0..3).map(|before| SecretPattern::base64(secret.as_bytes(), before)));
        forms
    }

    fn plain(bytes: &[u8]) -> SecretPattern {
        SecretPattern {
            matchers: bytes.iter().map(|byte| ByteMatcher::for_byte(*byte)).collect(),
            leading_sextet: None,
            between: &[],
        }
    }

    fn hexadecimal(bytes: &[u8]) -> SecretPattern {
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        SecretPattern { between: b"\n :-", ..SecretPattern::plain(digits.as_bytes()) }
    }

    /// The characters that hold a bit of the secret, where so many bytes stand `before` it in its group of three.
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
            between: b"\n",
        }
    }
}
