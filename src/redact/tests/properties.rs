//! No encoding of a secret leaves a piece of it behind.

use crate::redact::{InputEnd, Redactor, SAFE_SECRET_CHARS};
use base64::Engine as _;
use base64::alphabet::STANDARD as STANDARD_ALPHABET;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::{NO_PAD, STANDARD, URL_SAFE_NO_PAD};
use proptest::prelude::*;
use serde_json::Value;

/// A million cases with `PROPTEST_CASES=1000000`; a pass over all ways of writing in any case.
fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(2000);
    ProptestConfig { max_global_rejects: 4 * cases, ..ProptestConfig::with_cases(cases) }
}

fn secret() -> impl Strategy<Value = String> {
    let characters = prop_oneof![
        8 => "[a-zA-Z0-9]",
        3 => "[\"'/\\\\%&+ <>#$~_.:;=@-]",
        1 => "[äöüßÄéß€語😀]",
        1 => prop::sample::select(vec!["\\n", "%25", "\r", "&amp;", "\\\\"]).prop_map(str::to_owned),
        1 => Just("\n".to_owned()),
    ];
    // Most are short, so that each character of them is met in many ways; a key is long.
    let length = prop_oneof![9 => 8..40_usize, 1 => 40..600_usize];
    length
        .prop_flat_map(move |length| prop::collection::vec(characters.clone(), length))
        .prop_map(|letters| without_adjacent_white_space(letters.concat().trim()))
        .prop_filter("long enough", |secret| secret.chars().count() >= SAFE_SECRET_CHARS)
}

/// White space at a line break may stand for any other, so what is left of it alone says nothing.
fn without_adjacent_white_space(text: &str) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    letters.dedup_by(|next, last| next.is_whitespace() && last.is_whitespace());
    letters.into_iter().collect()
}

/// The ways in which a file or a program may break the lines of a text.
const LAYOUTS: u8 = 5;

fn lay_out(text: &str, layout: u8) -> String {
    let line_break = match layout {
        0 => "\n",
        1 => "\r\n",
        2 => "\n    ",
        3 => "\r\n\t ",
        _ => " ",
    };
    text.replace('\n', line_break)
}

/// The charsets of a text: UTF-8, Windows-1252, and one that a program did not know.
const CHARSETS: u8 = 3;

/// A text in a charset, or in UTF-8 where that cannot encode the secret.
fn in_charset(text: &str, charset: u8, secret: &str) -> Vec<u8> {
    let byte = |letter: char| match letter {
        '€' => Some(0x80),
        letter => u8::try_from(letter).ok(),
    };
    let bytes = || text.chars().map(|letter| byte(letter).unwrap_or(b'?')).collect();
    let known = secret.chars().filter(char::is_ascii_alphanumeric).count();
    match charset {
        1 if secret.chars().all(|letter| byte(letter).is_some()) => bytes(),
        2 if known >= SAFE_SECRET_CHARS => text.replace(|letter: char| !letter.is_ascii(), "\u{fffd}").into_bytes(),
        _ => text.as_bytes().to_vec(),
    }
}

/// How a text is written.
#[derive(Debug, Clone)]
struct Writing {
    way: u8,
    /// The ways of the characters one by one.
    ways: Vec<u8>,
    layout: u8,
    charset: u8,
}

fn writing() -> impl Strategy<Value = Writing> {
    (0..ENCODINGS, char_encodings(), 0..LAYOUTS, 0..CHARSETS).prop_map(|(way, ways, layout, charset)| Writing {
        // Hexadecimal is of the secret as it is.
        layout: if matches!(way, 7 | 13) { 0 } else { layout },
        // A text whose characters are written one by one is in one charset.
        charset: if way == ENCODINGS - 1 { 0 } else { charset },
        way,
        ways,
    })
}

impl Writing {
    fn write(&self, text: &str, secret: &str) -> Vec<u8> {
        self.write_turned(text, secret, &self.ways)
    }

    fn write_turned(&self, text: &str, secret: &str, ways: &[u8]) -> Vec<u8> {
        in_charset(&encode(&lay_out(text, self.layout), self.way, ways), self.charset, secret)
    }

    /// Six characters of a secret, from each on, as they are written.
    fn six_char_pieces(&self, secret: &str) -> Vec<Vec<u8>> {
        let letters: Vec<char> = secret.chars().collect();
        let six = |nth: usize| letters[nth..nth + 6].iter().collect::<String>();
        (0..letters.len() - 5)
            .map(|nth| {
                let ways = self.ways.iter().cycle().skip(nth % self.ways.len()).take(6).copied();
                self.write_turned(&six(nth), secret, &ways.collect::<Vec<u8>>())
            })
            .collect()
    }
}

fn contains(text: &[u8], piece: &[u8]) -> bool {
    text.windows(piece.len()).any(|window| window == piece)
}

/// A way to write one character.
fn encode_char(letter: char, way: u8) -> String {
    let (mut units, mut bytes) = ([0; 2], [0; 4]);
    let units = letter.encode_utf16(&mut units).iter().copied();
    let bytes = letter.encode_utf8(&mut bytes).bytes();
    match way {
        0 => bytes.map(|byte| format!("%{byte:02X}")).collect(),
        1 => bytes.map(|byte| format!("%{byte:02x}")).collect(),
        2 => bytes.map(|byte| format!("%25{byte:02x}")).collect(),
        3 => units.map(|unit| format!("\\u{unit:04x}")).collect(),
        4 => units.map(|unit| format!("\\\\u{unit:04X}")).collect(),
        5 => format!("&#{};", u32::from(letter)),
        6 => format!("&#x{:X};", u32::from(letter)),
        7 => format!("&amp;#x{:x};", u32::from(letter)),
        8 => format!("\\u{{{:x}}}", u32::from(letter)),
        9 => letter.to_ascii_uppercase().to_string(),
        _ => letter.to_string(),
    }
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

/// The ways to write a text, apart from base64.
const ENCODINGS: u8 = 18;

fn encode(text: &str, way: u8, ways: &[u8]) -> String {
    match way {
        0 => text.to_owned(),
        1 => json_escape(text),
        2 => json_escape(&json_escape(text)),
        3 => form_encode(text),
        4 => form_encode(&form_encode(text)),
        5 => json_escape(text).replace('/', "\\/"),
        6 => html_escape(text),
        7 => text.bytes().map(|byte| format!("{byte:02x}")).collect(),
        8 => text.to_lowercase(),
        9 => text.to_uppercase(),
        10 => text.escape_default().to_string(),
        11 => form_encode(text).replace("%2F", "/").replace("%7E", "~").replace('+', "%20"),
        12 => form_encode(&json_escape(text)),
        13 => text.bytes().map(|byte| format!("{byte:02X}:")).collect(),
        14 => text
            .bytes()
            .map(|byte| if byte.is_ascii() { char::from(byte).to_string() } else { format!("\\{byte:03o}") })
            .collect(),
        15 => text.replace('"', "\"\""),
        16 => text.replace('\'', "'\\''"),
        _ => text.chars().zip(ways.iter().cycle()).map(|(letter, way)| encode_char(letter, *way)).collect(),
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

fn char_encodings() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(0_u8..14, 1..40)
}

fn context_text() -> impl Strategy<Value = String> {
    "[xyz0-9 .:/?=&%\\\\\"{}\n,äF+]{0,12}"
}

/// The ways in which base64 stands in a text.
const FRAMES: u8 = 6;

fn framed(base64: &str, frame: u8) -> String {
    let lines = |between: &str| {
        let lines: Vec<&str> = base64.as_bytes().chunks(19).map(|line| std::str::from_utf8(line).unwrap()).collect();
        lines.join(between)
    };
    match frame {
        0 => base64.to_owned(),
        1 => base64.replace('+', "-").replace('/', "_").trim_end_matches('=').to_owned(),
        2 => form_encode(base64),
        3 => base64.replace('/', "\\/"),
        4 => lines("\n    "),
        _ => lines("\\r\\n"),
    }
}

/// What the pieces of a text that are in base64 may be base64 of.
fn decodings(text: &str) -> Vec<Vec<u8>> {
    let text = text.replace("%2B", "+").replace("%2F", "/").replace("\\/", "/").replace('-', "+").replace('_', "/");
    let text = text.replace("\n    ", "").replace("\\r\\n", "");
    let runs = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '+' && letter != '/');
    let lenient = GeneralPurpose::new(&STANDARD_ALPHABET, NO_PAD.with_decode_allow_trailing_bits(true));
    runs.flat_map(|run| {
        let from = (0..4.min(run.len())).map(|skipped| &run[skipped..]);
        let whole = from.map(|run| if run.len() % 4 == 1 { &run[..run.len() - 1] } else { run });
        whole.map(|run| lenient.decode(run).unwrap()).collect::<Vec<_>>()
    })
    .collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn nothing_of_a_secret_is_left_in_what_base64_is_of(
        secret in secret(), writing in writing(), before in context_text(), behind in context_text(),
        outer in "[a-zA-Z:. =]{0,6}", frame in 0..FRAMES, twice in any::<bool>(),
        at in any::<prop::sample::Index>(), end in cut(),
    ) {
        let inner = [before.as_bytes(), &writing.write(&secret, &secret), behind.as_bytes()].concat();
        let inner = if twice { format!("{outer}{}", STANDARD.encode(inner)).into_bytes() } else { inner };
        let text = format!("{outer}{}", framed(&STANDARD.encode(inner), frame));
        let left = redact_cut(&secret, text.as_bytes(), at.index(text.len() + 1), end);
        let left = String::from_utf8_lossy(&left);
        let mut read = decodings(&left);
        if twice {
            read = read.iter().flat_map(|text| decodings(&String::from_utf8_lossy(text))).collect();
        }
        for piece in writing.six_char_pieces(&secret) {
            prop_assert!(!read.iter().any(|text| contains(text, &piece)), "{text} became {left}");
        }
    }

    #[test]
    fn no_piece_of_a_secret_is_left(
        secret in secret(), writing in writing(), before in context_text(), behind in context_text(),
        at in any::<prop::sample::Index>(), end in cut(),
    ) {
        let text = [before.as_bytes(), &writing.write(&secret, &secret), behind.as_bytes()].concat();
        let left = redact_cut(&secret, &text, at.index(text.len() + 1), end);
        for piece in writing.six_char_pieces(&secret) {
            prop_assert!(!contains(&left, &piece), "{} became {}", text.escape_ascii(), left.escape_ascii());
        }
    }

    #[test]
    fn no_piece_of_a_secret_is_left_in_base64(
        secret in secret(), before in "[a-z:]{0,5}", behind in "[a-z]{0,5}", way in 0_u8..4, layout in 0..LAYOUTS,
        charset in 0..CHARSETS,
        at in any::<prop::sample::Index>(), end in cut(),
    ) {
        let written = in_charset(&lay_out(&secret, layout), charset, &secret);
        let whole = [before.as_bytes(), &written, behind.as_bytes()].concat();
        let encode = |text: &[u8]| match way {
            0 | 1 => STANDARD.encode(text),
            2 => URL_SAFE_NO_PAD.encode(text),
            _ => form_encode(&STANDARD.encode(text)),
        };
        let text = encode(&whole);
        let lines: Vec<&str> = text.as_bytes().chunks(20).map(|line| std::str::from_utf8(line).unwrap()).collect();
        let text = if way == 1 { lines.join("\n") } else { text };
        let left = String::from_utf8(redact_cut(&secret, text.as_bytes(), at.index(text.len() + 1), end)).unwrap();
        let plain = left.replace('\n', "").replace("%2B", "+").replace("%2F", "/");
        // Six characters are eight of base64, of which the outer ones are shared.
        let known = encode(&whole).replace("%2B", "+").replace("%2F", "/");
        let from = (before.len() * 8).div_ceil(6);
        let to = (before.len() + written.len()) * 8 / 6;
        // White space may stand for other white space, so it says nothing by itself.
        let has_white_space = |nth: usize| {
            let bytes = nth * 6 / 8..((nth + 7) * 6).div_ceil(8).min(whole.len());
            whole[bytes].iter().any(u8::is_ascii_whitespace)
        };
        for nth in (from..to.saturating_sub(6)).filter(|nth| !has_white_space(*nth)) {
            prop_assert!(!plain.contains(&known[nth..nth + 7]), "{text} became {left}");
        }
    }

    #[test]
    fn any_bytes_are_accepted_and_clean_text_is_unchanged(
        bytes in prop::collection::vec(any::<u8>(), 0..200), text in any::<String>(), secret in secret(),
        layout in 0..LAYOUTS, charset in 0..CHARSETS,
    ) {
        let redactor = Redactor::new([secret.as_str()]);
        let mut hidden = bytes.clone();
        redactor.redact_and_truncate(&mut hidden, 100, InputEnd::Interrupted);
        prop_assert!(bytes.starts_with(&hidden) || hidden.contains(&b'[') || hidden.contains(&b'*'));
        prop_assert_eq!(&*redactor.redact_text(&text), &*text);
        // Beside a secret that is replaced, other text stays.
        let written = in_charset(&lay_out(&secret, layout), charset, &secret);
        let mut whole = [text.as_bytes(), b"\0|", &written, b"|\0", text.as_bytes()].concat();
        let before = whole.clone();
        redactor.redact_bytes(&mut whole, InputEnd::Complete);
        prop_assert!(whole != before, "{} is not found", before.escape_ascii());
        prop_assert!(whole.starts_with(&before[..text.len()]) && whole.ends_with(&before[before.len() - text.len()..]));
    }
}
