//! Normalizes URIs, so that equivalent ones are equal (RFC 3986, 6.2.2).

use std::borrow::Cow;

use super::percent::is_unreserved;

/// A URI in which no unreserved character is encoded, no segment of the path is `.` or `..`, and nothing is a fragment.
pub fn normalize_uri(uri: &str) -> Cow<'_, str> {
    if !uri.contains(['%', '#']) && !uri.contains("/.") {
        return Cow::Borrowed(uri);
    }
    let decoded = decode_unreserved(uri);
    let whole = decoded.split('#').next().unwrap_or_default();
    let (path, query) = whole.find('?').and_then(|at| whole.split_at_checked(at)).unwrap_or((whole, ""));
    let host = path.find("://").map_or(0, |at| at + "://".len());
    let slash = path.get(host..).and_then(|rest| rest.find('/')).map_or(path.len(), |at| host + at);
    let (before, path) = path.split_at_checked(slash).unwrap_or((path, ""));
    Cow::Owned(format!("{before}{}{query}", remove_dot_segments(path)))
}

/// Decodes the unreserved characters alone, which mean the same either way.
fn decode_unreserved(uri: &str) -> String {
    let mut pieces = uri.split('%');
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let byte = piece.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()).map(char::from);
        match (byte.filter(|character| is_unreserved(*character)), piece.get(2..)) {
            (Some(character), Some(rest)) => {
                out.push(character);
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

fn remove_dot_segments(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "." => {}
            ".." if kept.len() > 1 => drop(kept.pop()),
            ".." => {}
            segment => kept.push(segment),
        }
    }
    kept.join("/")
}

#[cfg(test)]
mod tests {
    use super::normalize_uri;

    #[test]
    fn equivalent_uris_are_equal() {
        for (uri, normalized) in [
            ("conf://a", "conf://a"),
            ("conf://%61", "conf://a"),
            ("x://h/a%2Fb%7e%", "x://h/a%2Fb~%"),
            ("x://h/./a/../b", "x://h/b"),
            ("x://h/%2e%2E/b?q=/../#f", "x://h/b?q=/../"),
            ("x:a%ä%6", "x:a%ä%6"),
        ] {
            assert_eq!(normalize_uri(uri), normalized, "{uri}");
        }
    }
}
