//! How much memory a message takes while it is parsed, before it is: never less than it does.
//!
//! The capacity of a vector is up to twice its length and at least four, it is in memory twice while it grows, and an
//! allocation has a header.

use memchr::{memchr, memchr2};

/// What a message takes beside its parts: the types of its method.
const MESSAGE_BYTES: u64 = 2048;
/// A byte of the message: the buffer that it was read into, and its text.
const BYTES_PER_BYTE: u64 = 3;
/// A byte of a string with escapes, which no copy borrows, in addition.
const BYTES_PER_ESCAPED_BYTE: u64 = 4;
/// What the allocation of such a string takes beside its bytes.
const ALLOCATION_BYTES: u64 = 32;
/// An array or an object.
const BYTES_PER_CONTAINER: u64 = 400;
/// An element of an array, a member of an object, or its name.
const BYTES_PER_VALUE: u64 = 240;

/// Up to which length strings are not told apart from what is around them.
const SHORT_BYTES: usize = 2 * 1024;
/// Up to which size that does not matter: it counts a few commas too many.
const SMALL_SIZE: u64 = 16 * 1024;

/// What each byte takes at most, wherever it stands.
#[expect(clippy::indexing_slicing, reason = "each index is below 256")]
static BYTE_SIZES: [u16; 256] = {
    let mut sizes = [BYTES_PER_BYTE as u16 + 1; 256];
    sizes[b'[' as usize] += BYTES_PER_CONTAINER as u16;
    sizes[b'{' as usize] += BYTES_PER_CONTAINER as u16;
    sizes[b',' as usize] += BYTES_PER_VALUE as u16;
    sizes[b':' as usize] += BYTES_PER_VALUE as u16;
    sizes[b'\\' as usize] += ALLOCATION_BYTES as u16;
    sizes
};

/// How much memory a message takes at most that is written so.
pub(super) fn message_size(bytes: &[u8]) -> u64 {
    let size = (bytes.len() <= SHORT_BYTES).then(|| size_by_bytes(bytes));
    size.filter(|size| *size <= SMALL_SIZE).unwrap_or_else(|| size_by_structure(bytes))
}

/// What a short message takes at most, by its bytes alone.
fn size_by_bytes(bytes: &[u8]) -> u64 {
    let escaped_bytes = if memchr(b'\\', bytes).is_some() { bytes.len() as u64 } else { 0 };
    let sizes = bytes.iter().filter_map(|byte| BYTE_SIZES.get(usize::from(*byte)));
    MESSAGE_BYTES + sizes.map(|size| u64::from(*size)).sum::<u64>() + escaped_bytes * BYTES_PER_ESCAPED_BYTE
}

/// The same, by what stands in strings and around them.
fn size_by_structure(bytes: &[u8]) -> u64 {
    let (mut containers, mut values, mut escaped_bytes, mut is_copied) = (0, 0, 0, false);
    let mut rest = bytes;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'"' => escaped_bytes += skip_string(&mut rest),
            // What is empty allocates nothing.
            b'[' | b'{' => containers += u64::from(!matches!(rest.first(), Some(b']' | b'}'))),
            b',' | b':' => values += 1,
            // `[]` and null may stand for empty objects, which are put in a copy.
            b']' | b'n' => is_copied = true,
            _ => {}
        }
    }
    MESSAGE_BYTES
        + bytes.len() as u64 * (BYTES_PER_BYTE + u64::from(is_copied))
        + escaped_bytes * BYTES_PER_ESCAPED_BYTE
        + containers * BYTES_PER_CONTAINER
        + values * BYTES_PER_VALUE
}

/// Goes behind the end of a string. Returns what it takes if it has escapes.
fn skip_string(rest: &mut &[u8]) -> u64 {
    let (before, mut has_escapes) = (rest.len(), false);
    loop {
        let Some(at) = memchr2(b'"', b'\\', rest) else {
            *rest = &[];
            break;
        };
        let is_escape = rest.get(at) == Some(&b'\\');
        // With what is escaped.
        *rest = rest.get(at + 1 + usize::from(is_escape)..).unwrap_or_default();
        if !is_escape {
            break;
        }
        has_escapes = true;
    }
    if has_escapes { (before - rest.len()) as u64 + ALLOCATION_BYTES } else { 0 }
}
