//! JSON pointers (RFC 6901), as text.

use serde_json::Value;

/// The pointer of `segment` beneath `pointer`.
pub fn join(pointer: &str, segment: &str) -> String {
    format!("{pointer}/{}", segment.replace('~', "~0").replace('/', "~1"))
}

/// The segments of a pointer, as the keys that they are.
pub(super) fn segments(pointer: &str) -> impl Iterator<Item = String> {
    pointer.split('/').skip(1).map(|segment| segment.replace("~1", "/").replace("~0", "~"))
}

/// The value that a pointer leads to.
pub(super) fn get<'v>(value: &'v Value, pointer: &str) -> Option<&'v Value> {
    value.pointer(pointer)
}

/// The pointer one level up; of the root, the root.
pub(super) fn parent(pointer: &str) -> &str {
    pointer.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// The fragment of a reference with its `%xx` decoded; what is malformed stays as it is.
pub(super) fn percent_decode_lossy(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let pair = (*first == b'%').then(|| tail.get(..2)).flatten();
        let byte =
            pair.and_then(|pair| std::str::from_utf8(pair).ok()).and_then(|pair| u8::from_str_radix(pair, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { tail.get(2..).unwrap_or_default() } else { tail };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}
