//! No form of a secret leaves a piece of it behind.

use crate::redact::{InputEnd, Redactor, SAFE_SECRET_CHARS};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::prelude::*;
use serde_json::Value;

/// A million cases with `PROPTEST_CASES=1000000`.
fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(64);
    ProptestConfig { max_global_rejects: 4 * cases, ..ProptestConfig::with_cases(cases) }
}

fn secret() -> impl Strategy<Value = String> {
    let characters = prop_oneof![
        8 => "[a-zA-Z0-9]",
        3 => "[\"'/\\\\%&+ <>#$~_.:;=@-]",
        1 => "[äöüßÄéß€語😀]",
        1 => prop::sample::select(vec!["\\n", "%25", "\r", "&amp;", "\\\\", "\n"]).prop_map(str::to_owned),
    ];
    // Most are short, so that each character of them is met in many forms; a key is long.
    let length = prop_oneof![9 => 8..40_usize, 1 => 40..600_usize];
    length
        .prop_flat_map(move |length| prop::collection::vec(characters.clone(), length))
        .prop_map(|letters| letters.concat().trim().to_owned())
        .prop_filter("long enough", |secret| secret.chars().count() >= SAFE_SECRET_CHARS)
}

fn contains(text: &[u8], piece: &[u8]) -> bool {
    text.windows(piece.len()).any(|window| window == piece)
}

fn json_escape(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn form_encode(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

fn html_escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&#39;")
}

/// JSON in ASCII alone.
fn ascii_json(text: &str) -> String {
    let escape = |unit: u16| if unit < 128 { char::from(unit as u8).to_string() } else { format!("\\u{unit:04x}") };
    json_escape(text).encode_utf16().map(escape).collect()
}

/// The ways to write a text, apart from base64.
const FORMS: u8 = 16;

fn write(text: &str, form: u8) -> String {
    match form {
        0 => text.to_owned(),
        1 => json_escape(text),
        2 => json_escape(&json_escape(text)),
        3 => form_encode(text),
        4 => form_encode(text).replace('+', "%20").to_lowercase(),
        5 => json_escape(text).replace('/', "\\/"),
        6 => html_escape(text),
        7 => text.bytes().map(|byte| format!("{byte:02x}")).collect(),
        8 => text.to_lowercase(),
        9 => text.to_uppercase(),
        10 => ascii_json(text),
        11 => form_encode(text).replace("%2F", "/").replace("%7E", "~").replace('+', "%20"),
        12 => json_escape(&ascii_json(text)),
        13 => text.bytes().map(|byte| format!("{byte:02X}:")).collect(),
        14 => text.replace('"', "\"\""),
        _ => text.replace('\'', "'\\''"),
    }
}

/// What becomes of the end of a text.
#[derive(Debug, Clone, Copy)]
enum Cut {
    None,
    /// Its writer was killed.
    Interrupted,
    /// It is longer than may be kept.
    Limit,
}

/// A text as it is left by a redactor of `secret`, cut at `at`.
fn redact_cut(secret: &str, text: &[u8], at: usize, cut: Cut) -> Vec<u8> {
    let redactor = Redactor::new([secret]);
    let mut bytes = text.to_vec();
    match cut {
        Cut::None => redactor.redact_bytes(&mut bytes, InputEnd::Complete),
        Cut::Interrupted => {
            bytes.truncate(at);
            redactor.redact_bytes(&mut bytes, InputEnd::Interrupted);
        }
        Cut::Limit => {
            bytes.truncate(at + redactor.lookahead());
            redactor.redact_and_truncate(&mut bytes, at, InputEnd::Complete);
        }
    }
    bytes
}

fn cut() -> impl Strategy<Value = Cut> {
    prop::sample::select(vec![Cut::None, Cut::Interrupted, Cut::Limit])
}

fn context_text() -> impl Strategy<Value = String> {
    "[xyz0-9 .:/?=&%\\\\\"{}\n,äF+]{0,12}"
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_piece_of_a_secret_is_left(
        secret in secret(), form in 0..FORMS, before in context_text(), behind in context_text(),
        at in any::<prop::sample::Index>(), end in cut(),
    ) {
        let text = format!("{before}{}{behind}", write(&secret, form));
        let left = redact_cut(&secret, text.as_bytes(), at.index(text.len() + 1), end);
        let letters: Vec<char> = secret.chars().collect();
        for six in letters.windows(6) {
            let piece = write(&six.iter().collect::<String>(), form);
            prop_assert!(!contains(&left, piece.as_bytes()), "{text} became {}", left.escape_ascii());
        }
    }

    #[test]
    fn no_piece_of_a_secret_is_left_in_base64(
        secret in secret(), before in "[a-z:]{0,5}", behind in "[a-z]{0,5}", is_url_safe in any::<bool>(),
        width in prop_oneof![Just(usize::MAX), 5..80_usize], at in any::<prop::sample::Index>(), end in cut(),
    ) {
        let whole = format!("{before}{secret}{behind}");
        let whole = if is_url_safe { URL_SAFE_NO_PAD.encode(&whole) } else { STANDARD.encode(&whole) };
        let lines: Vec<&str> = whole.as_bytes().chunks(width).map(|line| std::str::from_utf8(line).unwrap()).collect();
        let text = lines.join("\n");
        let left = String::from_utf8(redact_cut(&secret, text.as_bytes(), at.index(text.len() + 1), end)).unwrap();
        let joined = left.replace('\n', "");
        // Six characters are eight of base64, of which the outer ones are shared.
        let from = (before.len() * 8).div_ceil(6);
        let to = (before.len() + secret.len()) * 8 / 6;
        for nth in from..to.saturating_sub(6) {
            prop_assert!(!joined.contains(&whole[nth..nth + 7]), "{text} became {left}");
        }
    }

    #[test]
    fn any_bytes_are_accepted_and_clean_text_is_unchanged(
        bytes in prop::collection::vec(any::<u8>(), 0..200), text in any::<String>(), secret in secret(),
    ) {
        let redactor = Redactor::new([secret.as_str()]);
        let mut hidden = bytes.clone();
        redactor.redact_and_truncate(&mut hidden, 100, InputEnd::Interrupted);
        prop_assert!(bytes.starts_with(&hidden) || hidden.contains(&b'[') || hidden.contains(&b'*'));
        prop_assert_eq!(&*redactor.redact_text(&text), &*text);
        // Beside a secret that is replaced, other text stays.
        let mut whole = [text.as_bytes(), b"\0|", secret.as_bytes(), b"|\0", text.as_bytes()].concat();
        let before = whole.clone();
        redactor.redact_bytes(&mut whole, InputEnd::Complete);
        prop_assert!(whole != before, "{} is not found", before.escape_ascii());
        prop_assert!(whole.starts_with(&before[..text.len()]) && whole.ends_with(&before[before.len() - text.len()..]));
    }
}
