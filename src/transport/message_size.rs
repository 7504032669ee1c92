//! Estimates how much memory a message takes while it is parsed, before it is: never less than it does.

use std::slice;

/// Who parses a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parser {
    /// `message`, which reads each value once.
    Folio,
    /// rmcp too, which buffers a message several times over to find its type.
    Rmcp,
}

/// What the parts of a message take at most, in bytes: the capacity of a vector is up to twice its length and at least
/// four, and an allocation has a header.
struct PartCosts {
    /// A byte of the message: the buffer that it was read into, and its text.
    byte: u64,
    /// A byte of a string with escapes, which no copy borrows, in addition.
    escaped_byte: u64,
    array: u64,
    object: u64,
    /// An element of an array, or a member of an object.
    element: u64,
    /// The name and the hash of a member, in addition.
    member: u64,
}

const FOLIO_COSTS: PartCosts =
    PartCosts { byte: 3, escaped_byte: 3, array: 320, object: 384, element: 240, member: 256 };
const RMCP_COSTS: PartCosts =
    PartCosts { byte: 3, escaped_byte: 7, array: 640, object: 720, element: 440, member: 440 };

/// What a message takes beside its parts: the types of its method.
const MESSAGE_BYTES: u64 = 2048;

/// What an allocation for a string with escapes takes beside its bytes.
const ALLOCATION_BYTES: u64 = 32;

/// Up to this size a coarse estimate will do.
const EXACT_COUNT_LIMIT_BYTES: u64 = 32 * 1024;

impl Parser {
    /// How much memory a message takes at most that is written so.
    pub(super) fn estimated_bytes(self, bytes: &[u8]) -> u64 {
        let costs = match self {
            Parser::Folio => &FOLIO_COSTS,
            Parser::Rmcp => &RMCP_COSTS,
        };
        let coarse = costs.upper_bound(bytes);
        if coarse <= EXACT_COUNT_LIMIT_BYTES { coarse } else { costs.of(bytes.len(), &Parts::count(bytes)) }
    }
}

impl PartCosts {
    /// An upper bound: as if each part had the highest cost, and all strings had escapes.
    fn upper_bound(&self, bytes: &[u8]) -> u64 {
        let is_part = |byte: &u8| u8::from(matches!(byte, b',' | b':' | b'[' | b'{'));
        // Counts in bytes, of pieces that they can count, which the compiler makes vectors of.
        let parts: u64 = bytes.chunks(255).map(|piece| u64::from(piece.iter().map(is_part).sum::<u8>())).sum();
        let max_part_cost = self.array.max(self.object).max(self.element).max(self.member);
        let part = max_part_cost + self.escaped_byte * ALLOCATION_BYTES;
        MESSAGE_BYTES + bytes.len() as u64 * (self.byte + self.escaped_byte) + parts * part
    }

    fn of(&self, length: usize, parts: &Parts) -> u64 {
        MESSAGE_BYTES
            + length as u64 * self.byte
            + parts.escaped_bytes * self.escaped_byte
            + parts.arrays * self.array
            + parts.objects * self.object
            + parts.elements * self.element
            + parts.members * self.member
    }
}

/// How many parts a message has.
#[derive(Default)]
struct Parts {
    arrays: u64,
    objects: u64,
    elements: u64,
    members: u64,
    escaped_bytes: u64,
}

impl Parts {
    fn count(bytes: &[u8]) -> Parts {
        let (mut parts, mut rest) = (Parts::default(), bytes.iter());
        while let Some(byte) = rest.next() {
            match byte {
                b'"' => parts.escaped_bytes += skip_string(&mut rest),
                // What is empty allocates nothing.
                b'[' => parts.arrays += u64::from(rest.as_slice().first() != Some(&b']')),
                b'{' => parts.objects += u64::from(rest.as_slice().first() != Some(&b'}')),
                b',' => parts.elements += 1,
                b':' => parts.members += 1,
                _ => {}
            }
        }
        parts
    }
}

/// Goes behind the end of a string. Returns what it takes if it has escapes.
fn skip_string(rest: &mut slice::Iter<'_, u8>) -> u64 {
    let (before, mut has_escapes) = (rest.len(), false);
    while let Some(byte) = rest.next() {
        match byte {
            b'"' => break,
            b'\\' => {
                has_escapes = true;
                rest.next();
            }
            _ => {}
        }
    }
    if has_escapes { (before - rest.len()) as u64 + ALLOCATION_BYTES } else { 0 }
}
