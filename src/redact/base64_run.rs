//! Runs of base64 in a text, decoded at each alignment: a secret may be encoded in another way inside.

use std::ops::Range;

use super::escape::{self, Escapes};
use super::pattern::base64_sextet;

/// The alignments of a run: the characters before it may look like base64, too.
const ALIGNMENTS: usize = 4;

/// Adjacent base64 characters.
#[derive(Debug, Clone, Copy)]
pub(super) struct Base64Run<'a> {
    escapes: &'a Escapes<'a>,
    start: usize,
    end: usize,
    /// The number of its characters.
    pub(super) length: usize,
}

/// The item at one position.
enum Item {
    Sextet(u8),
    /// A line break, or an invisible character.
    Nothing,
}

/// The runs of a text that encode at least one byte.
pub(super) fn base64_runs<'a>(escapes: &'a Escapes<'a>) -> impl Iterator<Item = Base64Run<'a>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < escapes.text.len() {
            let run = Base64Run::from(escapes, at);
            at = run.next_start();
            if run.length >= 2 {
                return Some(run);
            }
        }
        None
    })
}

impl<'a> Base64Run<'a> {
    /// The first run at or after `at`.
    fn from(escapes: &'a Escapes<'a>, at: usize) -> Base64Run<'a> {
        let text = escapes.text;
        let rest = text.get(at..).unwrap_or_default();
        let may_match_at = |byte: &u8| base64_sextet(*byte).is_some() || escape::starts_escape(*byte);
        let start = at + rest.iter().position(may_match_at).unwrap_or(rest.len());
        // Most runs are words without escapes: a fast path.
        let rest = text.get(start..).unwrap_or_default();
        let length = rest.iter().take_while(|byte| base64_sextet(**byte).is_some()).count();
        let mut run = Base64Run { escapes, start, end: start + length, length };
        for (item, end) in items(escapes, run.end) {
            match item {
                Item::Sextet(_) => run.length += 1,
                // The character after a backslash may be the first, where both are not an escape.
                Item::Nothing if run.length == 0 => break,
                Item::Nothing => {}
            }
            run.end = end;
        }
        run
    }

    /// Where the next run may start.
    fn next_start(&self) -> usize {
        let rest = self.escapes.text.get(self.end..).unwrap_or_default();
        // Further backslashes give the same result as the first.
        self.end + rest.iter().take_while(|byte| **byte == b'\\').count().max(usize::from(self.length == 0))
    }

    /// Whether it ends the text, and so may be incomplete.
    pub(super) fn is_last(&self) -> bool {
        self.escapes.is_end(self.end)
    }

    /// Its decoded bytes in each alignment.
    pub(super) fn decoded(self) -> impl Iterator<Item = DecodedRun<'a>> {
        let sextets = items(self.escapes, self.start).filter_map(|(item, _)| match item {
            Item::Sextet(bits) => Some(bits),
            Item::Nothing => None,
        });
        let sextets: Vec<u8> = sextets.collect();
        (0..ALIGNMENTS).map(move |skipped| {
            let sextets = sextets.get(skipped..).unwrap_or_default();
            let mut bytes = Vec::with_capacity(sextets.len() / 4 * 3 + 3);
            sextets.chunks(4).for_each(|group| decode(group, &mut bytes));
            DecodedRun { run: self, skipped, bytes }
        })
    }
}

fn decode(group: &[u8], bytes: &mut Vec<u8>) {
    match *group {
        [a, b, c, d] => bytes.extend([a << 2 | b >> 4, b << 4 | c >> 2, c << 6 | d]),
        [a, b, c] => bytes.extend([a << 2 | b >> 4, b << 4 | c >> 2]),
        [a, b] => bytes.push(a << 2 | b >> 4),
        _ => {}
    }
}

/// The decoded bytes of a run without its first `skipped` characters.
pub(super) struct DecodedRun<'a> {
    run: Base64Run<'a>,
    skipped: usize,
    pub(super) bytes: Vec<u8>,
}

impl DecodedRun<'_> {
    /// The ranges in the text of these ranges of bytes, which are sorted and disjoint.
    pub(super) fn text_ranges(&self, ranges: &[Range<usize>]) -> Vec<Range<usize>> {
        let mut wanted = ranges.iter().map(|range| self.characters(range)).peekable();
        let (mut places, mut nth) = (Vec::new(), 0);
        let (mut from, mut at) = (None, self.run.start);
        for (item, end) in items(self.run.escapes, self.run.start) {
            if let (Item::Sextet(_), Some(range)) = (item, wanted.peek()) {
                if nth >= range.start {
                    from.get_or_insert(at);
                }
                nth += 1;
                if nth >= range.end {
                    places.extend(from.take().map(|from| from..end));
                    wanted.next();
                }
            }
            at = end;
        }
        places
    }

    /// The characters that encode a bit of these bytes.
    fn characters(&self, range: &Range<usize>) -> Range<usize> {
        self.skipped + range.start * 8 / 6..self.skipped + (range.end * 8).div_ceil(6)
    }
}

/// The items from `at` on, each with its end, up to the first character that is not base64.
fn items(escapes: &Escapes<'_>, at: usize) -> impl Iterator<Item = (Item, usize)> {
    let mut at = at;
    std::iter::from_fn(move || {
        let (item, end) = item(escapes, at)?;
        at = end;
        Some((item, end))
    })
}

fn item(escapes: &Escapes<'_>, at: usize) -> Option<(Item, usize)> {
    let text = escapes.text;
    let byte = *text.get(at)?;
    match base64_sextet(byte) {
        Some(bits) => Some((Item::Sextet(bits), at + 1)),
        None if escape::starts_escape(byte) => escaped(escapes, at),
        None => nothing(text, byte, at + 1),
    }
}

/// The character that an escape encodes: of nested escapes the innermost, which comes last.
fn escaped(escapes: &Escapes<'_>, at: usize) -> Option<(Item, usize)> {
    let mut found = None;
    let _ = escapes.decode(at, |unit| {
        let [byte] = *unit.bytes() else { return };
        let item = base64_sextet(byte).map(|bits| (Item::Sextet(bits), unit.end));
        found = item.or_else(|| nothing(escapes.text, byte, unit.end)).or(found.take());
    });
    found
}

fn nothing(text: &[u8], byte: u8, end: usize) -> Option<(Item, usize)> {
    let end = if byte == b'\n' { Some(end + indentation(text, end)) } else { escape::invisible_end(text, byte, end) };
    end.map(|end| (Item::Nothing, end))
}

/// The indentation of the next line.
fn indentation(text: &[u8], at: usize) -> usize {
    text.get(at..).unwrap_or_default().iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}
