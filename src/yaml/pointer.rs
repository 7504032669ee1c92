//! JSON pointers (RFC 6901), as strings.

use std::borrow::Cow;

/// Appends a segment to a pointer.
pub fn push_segment(pointer: &mut String, segment: &str) {
    pointer.push('/');
    if segment.contains(['~', '/']) {
        pointer.push_str(&segment.replace('~', "~0").replace('/', "~1"));
    } else {
        pointer.push_str(segment);
    }
}

/// The pointer to `segment` below `pointer`.
pub fn join(pointer: &str, segment: &str) -> String {
    let mut joined = pointer.to_owned();
    push_segment(&mut joined, segment);
    joined
}

/// The unescaped segments of a pointer.
pub fn segments(pointer: &str) -> impl Iterator<Item = Cow<'_, str>> {
    pointer.split('/').skip(1).map(|segment| match segment.contains('~') {
        true => segment.replace("~1", "/").replace("~0", "~").into(),
        false => segment.into(),
    })
}

/// The pointer one level up; of the root, the root.
pub fn parent(pointer: &str) -> &str {
    pointer.rsplit_once('/').map_or("", |(parent, _)| parent)
}
