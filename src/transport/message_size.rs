//! How much memory a message takes while it is parsed, before it is: never less than it does.

/// What a message takes beside its parts: the types of its method.
const MESSAGE_BYTES: u64 = 2048;
/// A byte of the message: the buffer that it was read into, and its text.
const BYTES_PER_BYTE: u64 = 3;
/// The same where strings have escapes: no copy of such a string borrows its text.
const BYTES_PER_ESCAPED_BYTE: u64 = 10;
/// A value, or the name of one, where rmcp parses the message too, which keeps several copies to find its type. The
/// capacity of a vector is up to twice its length and at least four, and an allocation has a header.
const BYTES_PER_PART: u64 = 720;

/// How much memory a message takes at most that is written so.
pub(super) fn message_size(bytes: &[u8]) -> u64 {
    let is_part = |byte: &u8| u8::from(matches!(byte, b',' | b':' | b'[' | b'{'));
    // Counts in bytes, of pieces that they can count, which the compiler makes vectors of.
    let parts: u64 = bytes.chunks(255).map(|piece| u64::from(piece.iter().map(is_part).sum::<u8>())).sum();
    let has_escapes = memchr::memchr(b'\\', bytes).is_some();
    let factor = if has_escapes { BYTES_PER_ESCAPED_BYTE } else { BYTES_PER_BYTE };
    MESSAGE_BYTES + bytes.len() as u64 * factor + parts * BYTES_PER_PART
}
