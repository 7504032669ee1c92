//! The forms in which a secret is found.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::Value;

use super::MIN_PARTIAL_SECRET_BYTES;
use crate::uri::percent_encode_except;

/// Texts and what each is replaced by, one after the other.
type Escapes = &'static [(&'static str, &'static str)];

/// What encoders of JSON escape beside what they must: nothing, as PHP, as Go, as Gson, and as .NET.
const JSON_ESCAPES: [Escapes; 5] = [
    &[],
    &[("/", "\\/")],
    &[("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")],
    &[("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026"), ("=", "\\u003d"), ("'", "\\u0027")],
    &[
        ("\\\"", "\\u0022"),
        ("<", "\\u003c"),
        (">", "\\u003e"),
        ("&", "\\u0026"),
        ("'", "\\u0027"),
        ("+", "\\u002b"),
        ("`", "\\u0060"),
    ],
];
/// What encoders of HTML and XML escape beside `&`, `<` and `>`.
const HTML_ESCAPES: [Escapes; 8] = [
    &[],
    &[("\"", "&quot;"), ("'", "&#39;")],
    &[("\"", "&quot;"), ("'", "&#x27;")],
    &[("\"", "&quot;"), ("'", "&#039;")],
    &[("\"", "&quot;"), ("'", "&apos;")],
    &[("\"", "&#34;"), ("'", "&#39;"), ("+", "&#43;")],
    &[("\"", "&quot;"), ("'", "&#39;"), ("/", "&#x2f;"), ("`", "&#x60;"), ("=", "&#x3d;")],
    &[("\"", "&quot;"), ("'", "&#x27;"), ("`", "&#x60;"), ("=", "&#x3d;")],
];
/// Texts between quotes: in shells, in programs, in SQL, and in CSV.
const QUOTED_ESCAPES: [Escapes; 6] = [
    &[("'", "'\\''")],
    &[("'", "'\"'\"'")],
    &[("\\", "\\\\"), ("\"", "\\\""), ("$", "\\$"), ("`", "\\`")],
    &[("\\", "\\\\"), ("'", "\\'"), ("\n", "\\n")],
    &[("'", "''")],
    &[("\"", "\"\"")],
];
/// Before what bash, and what the libraries of other languages, put a backslash in words without quotes.
const BACKSLASHED: [&str; 2] = [" \t'\"\\|&;()<>!{}*[]?^$`,#", " \t'\"\\|&;()<>!{}*[]?^$`#~=%"];
/// What encoders leave as it is beside letters and digits: of RFC 3986, of JavaScript, of forms, of paths in Python, of
/// whole URLs, of paths in Go, and of paths, queries and users as browsers send them.
const NOT_PERCENT_ENCODED: [&str; 9] = [
    "-._~",
    "-._~!'()*",
    "-._*",
    "-._~/",
    "-._~!'()*;,/?:@&=+$#",
    "-._~$&+=:@",
    "-._~!$%&'()*+,/:;=@[\\]^|",
    "-._~!$%&()*+,/:;=?@[\\]^`{|}",
    "-._~!$%&'()*+,",
];
/// How often the escapes of JSON may be escaped for JSON once more: for JSON within JSON, and for the message that holds it.
const MAX_JSON_NESTING: usize = 2;

/// One form of a secret.
#[derive(Debug)]
pub(super) struct SecretForm {
    pub(super) text: String,
    /// How much of it at an interrupted end counts.
    pub(super) min_partial: usize,
    /// Whether the characters before and after it may encode a part of the secret.
    pub(super) shares_edges: [bool; 2],
}

/// A secret as it is and escaped, in lower case.
pub(super) fn text_forms(secret: &str) -> Vec<SecretForm> {
    let mut values = vec![secret.to_owned(), secret.replace('\n', "\r\n")];
    // ASCII is searched in any case.
    values.extend((!secret.is_ascii()).then(|| [secret.to_lowercase(), secret.to_uppercase()]).into_iter().flatten());
    values.dedup();
    let mut texts = distinct(values.iter().flat_map(|value| escaped_texts(value)).collect());
    for _ in 0..MAX_JSON_NESTING {
        let nested: Vec<String> = texts.iter().map(|text| json_escape(text)).collect();
        texts = distinct([texts, nested].concat());
    }
    let form = |text| SecretForm { text, min_partial: MIN_PARTIAL_SECRET_BYTES, shares_edges: [false; 2] };
    texts.into_iter().map(form).collect()
}

fn distinct(mut texts: Vec<String>) -> Vec<String> {
    texts.iter_mut().for_each(|text| text.make_ascii_lowercase());
    texts.sort();
    texts.dedup();
    texts
}

/// A text, and the ways in which programs escape it.
fn escaped_texts(text: &str) -> Vec<String> {
    let mut texts = vec![text.to_owned()];
    for json in JSON_ESCAPES.map(|escapes| replace(&json_escape(text), escapes)) {
        let unit = |unit: &mut u16| format!("\\u{unit:04x}");
        texts.push(escape_beyond_ascii(&json, |char| char.encode_utf16(&mut [0; 2]).iter_mut().map(unit).collect()));
        texts.push(json);
    }
    let html = replace(text, &[("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")]);
    for html in HTML_ESCAPES.map(|escapes| replace(&html, escapes)) {
        texts.push(escape_beyond_ascii(&html, |char| format!("&#{};", u32::from(char))));
        texts.push(html);
    }
    texts.extend(QUOTED_ESCAPES.map(|escapes| replace(text, escapes)));
    for set in BACKSLASHED {
        texts
            .push(text.chars().flat_map(|char| set.contains(char).then_some('\\').into_iter().chain([char])).collect());
    }
    for kept in NOT_PERCENT_ENCODED {
        let encoded = percent_encode_except(text, kept);
        texts.extend([encoded.replace("%20", "+"), encoded]);
    }
    texts
}

fn replace(text: &str, escapes: Escapes) -> String {
    escapes.iter().fold(text.to_owned(), |text, (plain, escaped)| text.replace(plain, escaped))
}

/// What is between the quotes of a string of JSON.
fn json_escape(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
}

fn escape_beyond_ascii(text: &str, escape: impl Fn(char) -> String) -> String {
    text.chars().map(|char| if char.is_ascii() { char.to_string() } else { escape(char) }).collect()
}

/// A secret in hexadecimal, and in base64 at each alignment; both alphabets in the case that they have.
pub(super) fn binary_forms(secret: &str) -> Vec<SecretForm> {
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let hex = [hex.to_uppercase(), hex].map(|text| SecretForm {
        text,
        min_partial: MIN_PARTIAL_SECRET_BYTES * 2,
        shares_edges: [false; 2],
    });
    let mut forms = Vec::from(hex);
    for before in 0..3 {
        let padded = ["\0".repeat(before).as_bytes(), secret.as_bytes()].concat();
        // Those characters that encode nothing but the secret.
        let own = (before * 8).div_ceil(6)..padded.len() * 8 / 6;
        let shares_edges = [before > 0, !padded.len().is_multiple_of(3)];
        for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            let encoded = engine.encode(&padded);
            forms.push(SecretForm {
                text: encoded.get(own.clone()).unwrap_or_default().to_owned(),
                min_partial: (MIN_PARTIAL_SECRET_BYTES * 8).div_ceil(6),
                shares_edges,
            });
        }
    }
    forms
}
