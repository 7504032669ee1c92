//! Names of credentials: of headers, of parameters in URLs, and of fields in answers.
//!
//! What is not here: what a secret looks like (load/), and the values of secrets.

use super::SECRET_PLACEHOLDER;
use crate::uri::percent_decode_lossy;

/// How the names of credentials end, in headers, parameters and fields: `X-Session-Id`, `access_token`, `dbPassword`.
const CREDENTIAL_WORDS: [&str; 11] = [
    "token", "secret", "password", "passwd", "passphrase", "apikey", "privatekey", "credential", "credentials",
    "sessionid", "passcode",
];
/// How more of them end in headers and parameters. In a field, such a name is often something else.
const PARAMETER_WORDS: [&str; 6] = ["key", "signature", "sig", "auth", "authorization", "cookie"];
/// Parts of the names of tokens that are positions in a list, and no credentials.
const POSITION_WORDS: [&str; 5] = ["page", "next", "sync", "cursor", "continuation"];
/// How often a URL may be encoded within another one.
const MAX_ENCODINGS: usize = 3;

/// Whether a header or a parameter is a credential by its name.
pub fn is_credential_name(name: &str) -> bool {
    let word = letters_and_digits(name);
    let mut ends = CREDENTIAL_WORDS.iter().chain(&PARAMETER_WORDS);
    ends.any(|end| word.ends_with(end)) && word != "idempotencykey"
}

/// Whether a field of an answer, such as a key of its JSON, is a credential by its name and value.
pub fn is_credential_field(name: &str, value: &str) -> bool {
    let word = letters_and_digits(name);
    if POSITION_WORDS.iter().any(|part| word.contains(part)) || value == SECRET_PLACEHOLDER {
        return false;
    }
    let is_password = word.ends_with("password") || word.ends_with("passphrase") || word.ends_with("passcode");
    let is_credential = CREDENTIAL_WORDS.iter().any(|end| word.ends_with(end));
    let is_pin = (4..=12).contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_digit());
    (is_credential && value.len() >= if is_password { 4 } else { 8 }) || (is_pin && is_pin_name(name))
}

/// Whether a text, such as a URL, a form or JSON in a text, has a parameter that is a credential.
pub fn has_credential_parameter(text: &str) -> bool {
    let is_credential = |name: &str, value: &str| {
        is_credential_field(name, value) || (letters_and_digits(name).ends_with("signature") && value.len() >= 8)
    };
    let mut parts = text.split(['?', '&', '#', '\n']);
    parts.any(|part| parameter(part).is_some_and(|field| is_credential(&field.decoded_name(), field.value)))
}

/// The password in the userinfo of an absolute URL (RFC 3986, 3.2.1).
pub fn url_password(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once("://")?;
    let is_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let (userinfo, _) = rest.split(['/', '?', '#']).next()?.rsplit_once('@')?;
    let (_, password) = userinfo.split_once(':')?;
    let is_url = !scheme.is_empty() && scheme.bytes().all(is_scheme) && !userinfo.contains(char::is_whitespace);
    (is_url && !password.is_empty()).then_some(password)
}

/// A header value with its URLs, where parameters that are credentials have the placeholder as their value. An
/// authorization code is one.
pub fn mask_credentials_in_urls(text: &str) -> String {
    mask_nested(text, MAX_ENCODINGS)
}

fn mask_nested(text: &str, encodings: usize) -> String {
    mask_parameters(text, |name, value| {
        let decoded = percent_decode_lossy(value);
        let is_position = POSITION_WORDS.iter().any(|part| letters_and_digits(name).contains(part));
        let is_nested = encodings > 0 && decoded != value && mask_nested(&decoded, encodings - 1) != decoded;
        name == "code" || is_nested || (is_credential_name(name) && !is_position)
    })
}

/// A text with a URL, where the parameters for which `is_secret` is true have the placeholder as their value.
pub fn mask_parameters(text: &str, is_secret: impl Fn(&str, &str) -> bool) -> String {
    let mut parts = text.split_inclusive(['?', '&', '#']);
    let mut masked = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match parameter(part).filter(|field| is_secret(&field.decoded_name(), field.value)) {
            Some(field) => masked.extend([field.name, "=", SECRET_PLACEHOLDER, field.rest]),
            None => masked.push_str(part),
        }
    }
    masked
}

struct Parameter<'t> {
    name: &'t str,
    value: &'t str,
    rest: &'t str,
}

impl Parameter<'_> {
    fn decoded_name(&self) -> String {
        percent_decode_lossy(&self.name.replace('+', " "))
    }
}

/// The parameter with which a text begins. Its value ends where one in a URL does.
fn parameter(text: &str) -> Option<Parameter<'_>> {
    let (name, rest) = text.split_once('=')?;
    let is_end = |character: char| character.is_whitespace() || "?&#<>\"'".contains(character);
    if name.is_empty() || name.contains(is_end) {
        return None;
    }
    let (value, rest) = rest.split_at(rest.find(is_end).unwrap_or(rest.len()));
    Some(Parameter { name, value, rest })
}

fn letters_and_digits(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}

/// Whether `pin` is the last word of a name: of `userPin` and `card_pin`, but not of `spin`.
fn is_pin_name(name: &str) -> bool {
    let Some(before) = name.len().checked_sub(3).and_then(|at| name.split_at_checked(at)) else { return false };
    let (before, pin) = before;
    match pin {
        "Pin" => true,
        "pin" | "PIN" => !before.ends_with(|character: char| character.is_ascii_alphabetic()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{
        has_credential_parameter, is_credential_field, is_credential_name, mask_credentials_in_urls, url_password,
    };

    #[test]
    fn credentials_are_known_by_name() {
        for name in ["Authorization", "X-Api-Key", "X-Session-Id", "access_token", "X-Amz-Credential", "passphrase"] {
            assert!(is_credential_name(name), "{name}");
        }
        for name in ["Idempotency-Key", "Location", "X-Tokens-Left", "code", "state"] {
            assert!(!is_credential_name(name), "{name}");
        }
    }

    #[test]
    fn fields_are_credentials_by_name_and_value() {
        for (name, value) in [
            ("credential", "abcdefgh"),
            ("passphrase", "horse"),
            ("sessionId", "0123456789"),
            ("session_id", "0123456789"),
            ("userPin", "4711"),
            ("pin", "471100"),
        ] {
            assert!(is_credential_field(name, value), "{name}");
        }
        for (name, value) in [
            ("nextPageToken", "CAUQAA0123"),
            ("token", "abc"),
            ("spin", "4711"),
            ("pin", "the note"),
            ("pin", "13"),
            ("key", "PROJECT-1234"),
            ("sessionId", "[secret]"),
        ] {
            assert!(!is_credential_field(name, value), "{name}");
        }
    }

    #[test]
    fn credentials_in_urls_of_headers_are_masked() {
        for (value, masked) in [
            ("/cb?code=4/0Ab&state=x", "/cb?code=[secret]&state=x"),
            ("https://a.example/#access_token=abc&x=1", "https://a.example/#access_token=[secret]&x=1"),
            (
                "<https://a.example/?page=2&access%5Ftoken=abc>; rel=\"next\", </?page=9>; rel=last",
                "<https://a.example/?page=2&access%5Ftoken=[secret]>; rel=\"next\", </?page=9>; rel=last",
            ),
            ("/login?next=%2Fcb%3Fcode%3Dabc&x=%20", "/login?next=[secret]&x=%20"),
            ("/list?page_token=abc&zipcode=1", "/list?page_token=abc&zipcode=1"),
            ("max-age=3, token", "max-age=3, token"),
            ("??&&==&=", "??&&==&="),
        ] {
            assert_eq!(mask_credentials_in_urls(value), masked);
        }
    }

    #[test]
    fn passwords_of_urls_are_found() {
        for (url, password) in [
            ("https://admin:hunter2@api.example/x?y#z", Some("hunter2")),
            ("postgres://user:p%40ss@db.example", Some("p%40ss")),
            ("https://:hunter2@api.example", Some("hunter2")),
            ("https://admin:a@b@api.example", Some("a@b")),
            ("https://admin@api.example", None),
            ("https://admin:@api.example", None),
            ("https://api.example:8080/@x", None),
            ("https://api.example/?q=a:b@c", None),
            ("see https://admin:hunter2@api.example", None),
            ("git@example.com:a/b", None),
        ] {
            assert_eq!(url_password(url), password, "{url}");
        }
    }

    #[test]
    fn credentials_in_forms_and_urls_are_found() {
        for text in
            ["grant=x&session_id=0123456789", "see https://a.example/f?token=0123456789", "A=1\nDB_PASSWORD=hunter2"]
        {
            assert!(has_credential_parameter(text), "{text}");
        }
        for text in ["let token = read_it()", "?page_token=0123456789", "?token=abc", "a = b"] {
            assert!(!has_credential_parameter(text), "{text}");
        }
    }
}
