//! Replaces halves of surrogate pairs, as of an emoji that was cut: JSON may hold them, but no text can.

use std::{borrow::Cow, sync::LazyLock};

use memchr::memmem;

/// What seldom stands in a message. The finder is made once, since that takes as long as to search a short message.
static UNICODE_ESCAPE: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(b"\\u"));

/// A message whose lone halves are U+FFFD. It keeps its length.
pub(super) fn replace_lone_surrogates(bytes: &[u8]) -> Cow<'_, [u8]> {
    let mut replaced = Cow::Borrowed(bytes);
    if UNICODE_ESCAPE.find(bytes).is_none() {
        return replaced;
    }
    let mut at = 0;
    while let Some(next) = memchr::memchr(b'\\', bytes.get(at..).unwrap_or_default()) {
        at += next;
        let is_pair = matches!(escaped_unit(bytes, at), Some(0xD800..=0xDBFF))
            && matches!(escaped_unit(bytes, at + 6), Some(0xDC00..=0xDFFF));
        match escaped_unit(bytes, at) {
            _ if is_pair => at += 12,
            Some(0xD800..=0xDFFF) => {
                let digits = replaced.to_mut().get_mut(at + 2..at + 6);
                digits.into_iter().for_each(|digits| digits.copy_from_slice(b"fffd"));
                at += 6;
            }
            _ => at += 2,
        }
    }
    replaced
}

/// The unit of UTF-16 that is escaped at a place as `\uXXXX`.
fn escaped_unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_a_surrogate_pair_is_replaced() {
        for (written, read) in [
            (r#""x\ud83d""#, r#""x\ufffd""#),
            (r#""\uD83D\uDE00\udE00x""#, r#""\uD83D\uDE00\ufffdx""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\\ud83d \\\ud83d \u00e9""#, r#""\\ud83d \\\ufffd \u00e9""#),
            (r#""\ud83"#, r#""\ud83"#),
        ] {
            assert_eq!(String::from_utf8(replace_lone_surrogates(written.as_bytes()).into_owned()).unwrap(), read);
        }
    }
}
