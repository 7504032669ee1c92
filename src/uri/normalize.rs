//! The one form in which URIs are compared.

use std::borrow::Cow;

use url::Url;

use super::percent::is_unreserved;
use super::template::lowercase_scheme;

/// The form of a URI that is equal for all URIs that mean the same, to folio or to a client.
///
/// Clients send, and compare, what the URL standard makes of a URI: browsers do, and so does the Python SDK. So this is
/// that form; and where the standard leaves apart what RFC 3986 (6.2.2 and 6.2.3) calls equivalent, it is normalized
/// further: escapes of unreserved characters, the hexadecimal digits of others, the case of a host and a path `/`.
pub fn normalize_uri(uri: &str) -> Cow<'_, str> {
    if is_normalized(uri) {
        return Cow::Borrowed(uri);
    }
    let text = normalize_escapes(&standard_form(uri).unwrap_or_else(|| lowercase_scheme(uri).into_owned()));
    let Some((scheme, authority, path)) = split_authority(&text) else { return Cow::Owned(text) };
    let host_start = authority.rfind('@').map_or(0, |at| at + 1);
    let (user, host) = authority.split_at_checked(host_start).unwrap_or_default();
    let can_be_bare = !host.is_empty() || scheme == "file";
    let after_slash = path.strip_prefix('/').filter(|rest| rest.is_empty() || rest.starts_with(['?', '#']));
    let path = after_slash.filter(|_| can_be_bare).unwrap_or(path);
    Cow::Owned(format!("{scheme}://{user}{}{path}", host.to_ascii_lowercase()))
}

/// Whether a URI is quickly seen to be in that form, as most are.
fn is_normalized(uri: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"/-._~".contains(&byte);
    let scheme_end = uri.bytes().position(|byte| !byte.is_ascii_lowercase()).unwrap_or_default();
    let Some((scheme, rest)) = uri.split_at_checked(scheme_end) else { return false };
    let Some(rest) = rest.strip_prefix("://") else { return false };
    let is_standard = matches!(scheme, "http" | "https" | "ws" | "wss" | "ftp" | "file");
    let has_dot_segment = || uri.as_bytes().windows(2).any(|pair| pair == b"/.");
    !is_standard && rest.bytes().all(is_plain) && !has_dot_segment() && !uri.ends_with('/')
}

/// What the URL standard makes of a URI.
fn standard_form(uri: &str) -> Option<String> {
    if let Ok(url) = Url::parse(uri) {
        return Some(url.into());
    }
    // The standard refuses authorities such as `npm:left-pad`, which names of resources may have.
    let (scheme, authority, path) = split_authority(uri)?;
    let url = Url::parse(&format!("x://x{path}")).ok()?;
    let path = url.as_str().strip_prefix("x://x")?;
    Some(format!("{}://{authority}{path}", scheme.to_ascii_lowercase()))
}

fn split_authority(uri: &str) -> Option<(&str, &str, &str)> {
    let (scheme, rest) = uri.split_once(':')?;
    let rest = rest.strip_prefix("//")?;
    let (authority, path) = rest.split_at_checked(rest.find(['/', '?', '#']).unwrap_or(rest.len()))?;
    Some((scheme, authority, path))
}

/// Decodes the unreserved characters, which mean the same either way, and writes other escapes in upper case.
fn normalize_escapes(uri: &str) -> String {
    let mut pieces = uri.split('%');
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let digits = piece.get(..2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).map(char::from);
        match (byte, digits, piece.get(2..)) {
            (Some(character), _, Some(rest)) if is_unreserved(character) => {
                out.push(character);
                out.push_str(rest);
            }
            (_, Some(digits), Some(rest)) => {
                out.push('%');
                out.push_str(&digits.to_ascii_uppercase());
                out.push_str(rest);
            }
            _ => {
                out.push('%');
                out.push_str(piece);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use url::Url;

    use super::normalize_uri;

    #[test]
    fn equivalent_uris_are_equal() {
        for (uri, normalized) in [
            ("conf://a", "conf://a"),
            ("conf://%61", "conf://a"),
            ("x://h/a%2fB%7e%", "x://h/a%2FB~%"),
            ("x://h/./a/../b", "x://h/b"),
            ("x://h/%2e%2E/b?q=/../#f", "x://h/b?q=/../#f"),
            ("x:a%ä%6", "x:a%%C3%A4%6"),
            ("CONF://User:Pass@Host.Example/Path", "conf://User:Pass@host.example/Path"),
            ("HTTPS://Wiki.Example:443", "https://wiki.example"),
            ("https://wiki.example/", "https://wiki.example"),
            ("https://wiki.example/?Q", "https://wiki.example?Q"),
            ("https:wiki.example\\p", "https://wiki.example/p"),
            ("http://h:0080/a", "http://h/a"),
            ("https://h:80/a", "https://h:80/a"),
            ("wss://h:443/a", "wss://h/a"),
            ("wiki://Docs:/a", "wiki://docs/a"),
            ("wiki://docs/", "wiki://docs"),
            ("wiki://docs/a/", "wiki://docs/a/"),
            ("wiki:///", "wiki:///"),
            ("time://12:05", "time://12:5"),
            ("file://localhost/a", "file:///a"),
            ("FILE:/a/%2E/b", "file:///a/b"),
            ("file:///", "file://"),
            ("https://b%c3%bccher.example/x", "https://xn--bcher-kva.example/x"),
            ("https://bücher.example/x", "https://xn--bcher-kva.example/x"),
            ("https://XN--Bcher-kva.example/x", "https://xn--bcher-kva.example/x"),
            ("wiki://XN--Bcher-kva/x", "wiki://xn--bcher-kva/x"),
            ("conf://[0:0::A]/x", "conf://[::a]/x"),
            ("pkg://Npm:left-pad/./readme", "pkg://npm:left-pad/readme"),
            ("conf://h/a\nb ", "conf://h/ab"),
            ("urn:a:B", "urn:a:B"),
            ("mail:/a/../b", "mail:/b"),
            ("guide", "guide"),
        ] {
            assert_eq!(normalize_uri(uri), normalized, "{uri}");
            assert_eq!(normalize_uri(normalized), normalized, "{uri} again");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn client_form_of_a_uri_is_equal(
            uri in "(https?|wiki|FILE|s)://?([a-zA-Z.@:0-9\\[\\]-]|%[46][1-9a-f]){0,8}(/|/\\.|%2e|[a-zA-Z?#%é&=]){0,12}",
        ) {
            let normalized = normalize_uri(&uri).into_owned();
            prop_assert_eq!(&*normalize_uri(&normalized), &normalized);
            if let Ok(client_form) = Url::parse(&uri) {
                prop_assert_eq!(&*normalize_uri(client_form.as_str()), &normalized);
            }
        }
    }
}
