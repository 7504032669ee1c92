//! Splits bytes into lines.

/// The longest line that is read, as long as rmcp's own.
pub(super) const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// More than this is not kept when the lines in it are done.
const MAX_IDLE_BUFFER_BYTES: usize = 1024 * 1024;

/// Bytes as they arrive, and the lines in them.
pub(super) struct LineBuffer {
    bytes: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    /// Up to where no newline was found.
    searched_bytes: usize,
    /// Whether the rest of a line that is too long is still to come.
    is_skipping: bool,
}

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LineEvent<'a> {
    /// A line, without what ends it.
    Line(&'a [u8]),
    /// A line that is too long to be kept.
    TooLong,
    /// Nothing until more is read.
    NeedMore,
}

impl LineBuffer {
    pub(super) fn new() -> LineBuffer {
        LineBuffer { bytes: Vec::with_capacity(16 * 1024), start: 0, searched_bytes: 0, is_skipping: false }
    }

    /// Where to read to. What was found before is forgotten.
    pub(super) fn read_buffer(&mut self) -> &mut Vec<u8> {
        self.bytes.drain(..self.start);
        self.searched_bytes -= self.start;
        self.start = 0;
        if self.bytes.is_empty() && self.bytes.capacity() > MAX_IDLE_BUFFER_BYTES {
            self.bytes = Vec::with_capacity(16 * 1024);
        }
        self.bytes.reserve(16 * 1024);
        &mut self.bytes
    }

    pub(super) fn next(&mut self) -> LineEvent<'_> {
        loop {
            let rest = self.bytes.get(self.searched_bytes..).unwrap_or_default();
            let Some(length) = memchr::memchr(b'\n', rest) else {
                self.searched_bytes = self.bytes.len();
                if self.searched_bytes - self.start <= MAX_LINE_BYTES && !self.is_skipping {
                    return LineEvent::NeedMore;
                }
                self.bytes.clear();
                (self.start, self.searched_bytes) = (0, 0);
                let is_known = std::mem::replace(&mut self.is_skipping, true);
                return if is_known { LineEvent::NeedMore } else { LineEvent::TooLong };
            };
            let line = self.start..self.searched_bytes + length;
            self.start = line.end + 1;
            self.searched_bytes = self.start;
            let is_empty = |line: &[u8]| line.trim_ascii().is_empty();
            if std::mem::take(&mut self.is_skipping) || self.bytes.get(line.clone()).is_none_or(is_empty) {
                continue;
            }
            if line.len() > MAX_LINE_BYTES {
                return LineEvent::TooLong;
            }
            return LineEvent::Line(self.bytes.get(line).unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(pieces: &[&[u8]]) -> Vec<String> {
        let mut lines = LineBuffer::new();
        let mut found = Vec::new();
        for piece in pieces {
            lines.read_buffer().extend_from_slice(piece);
            loop {
                match lines.next() {
                    LineEvent::Line(line) => found.push(String::from_utf8_lossy(line).into_owned()),
                    LineEvent::TooLong => found.push("too long".to_owned()),
                    LineEvent::NeedMore => break,
                }
            }
        }
        found
    }

    proptest! {
        #[test]
        fn lines_are_independent_of_chunking(text in "[ab\n\r ]{0,40}", size in 1_usize..7) {
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            let whole: Vec<_> = text.rsplit_once('\n').map_or("", |(whole, _)| whole).split('\n')
                .filter(|line| !line.trim().is_empty()).map(str::to_owned).collect();
            prop_assert_eq!(lines(&pieces), whole);
        }
    }

    #[test]
    fn overlong_line_is_reported_once() {
        let long = vec![b'x'; MAX_LINE_BYTES + 1];
        assert_eq!(lines(&[&long, b"yyy", b"y\nnext\n"]), ["too long", "next"]);
        let long = [long, b"\nnext\n".to_vec()].concat();
        assert_eq!(lines(&[&long]), ["too long", "next"]);
    }
}
