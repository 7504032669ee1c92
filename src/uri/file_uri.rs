//! `file:` URIs (RFC 8089).

use std::path::PathBuf;

use super::percent::percent_decode;

/// The absolute path of a `file:` URI on this machine; `None` where it has none.
///
/// Dot segments are kept, unlike in browsers, so that the caller sees each `..`, escaped or not.
pub fn file_uri_to_path(uri: &str) -> Option<PathBuf> {
    let (scheme, rest) = uri.split_once(':')?;
    if !scheme.eq_ignore_ascii_case("file") || rest.contains(['?', '#']) {
        return None;
    }
    let path = match rest.strip_prefix("//") {
        Some(rest) => {
            let (host, _) = rest.split_once('/')?;
            let here = host.is_empty() || host.eq_ignore_ascii_case("localhost");
            rest.get(host.len()..).filter(|_| here)?
        }
        None => rest,
    };
    let path = PathBuf::from(percent_decode(path)?);
    path.is_absolute().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::file_uri_to_path;

    #[test]
    fn file_uri_becomes_a_local_path() {
        for (uri, path) in [
            ("file:///srv/a", "/srv/a"),
            ("FILE:/srv/a", "/srv/a"),
            ("file://localhost/srv/a", "/srv/a"),
            ("file:///two%20words/ü%C3%BC", "/two words/üü"),
            ("file:///two words", "/two words"),
            ("file:///", "/"),
        ] {
            assert_eq!(file_uri_to_path(uri).as_deref(), Some(path.as_ref()), "{uri}");
        }
        for uri in [
            "file:srv/a", "file://srv", "file://elsewhere/srv/a", "file:///a?b", "file:///a#b", "file:///a%00b",
            "file:///a%zz", "file:///a%ff", "https://localhost/srv/a", "/srv/a", "",
        ] {
            assert_eq!(file_uri_to_path(uri), None, "{uri}");
        }
    }

    #[test]
    fn dot_segments_are_kept() {
        for uri in ["file:///a/../b", "file:///a/%2e%2E/b", "file:///a%2f..%2fb"] {
            assert_eq!(file_uri_to_path(uri).as_deref(), Some("/a/../b".as_ref()), "{uri}");
        }
        assert_eq!(file_uri_to_path("file:///a/.\t./b").as_deref(), Some("/a/.\t./b".as_ref()));
    }
}
