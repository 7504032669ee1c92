//! Bytes into lines.

/// The longest line that is read, as long as rmcp's own.
pub(super) const LONGEST: usize = 16 * 1024 * 1024;

/// More than this is not kept when the lines in it are done.
const KEPT: usize = 1024 * 1024;

/// Bytes as they arrive, and the lines in them.
pub(super) struct Lines {
    bytes: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    /// Up to where no newline was found.
    searched: usize,
    /// Whether the rest of a line that is too long is still to come.
    skipping: bool,
}

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A line, without what ends it.
    Line(std::ops::Range<usize>),
    /// A line that is too long to be kept.
    TooLong,
    /// Nothing until more is read.
    More,
}

impl Lines {
    pub(super) fn new() -> Lines {
        Lines { bytes: Vec::with_capacity(16 * 1024), start: 0, searched: 0, skipping: false }
    }

    /// The bytes of a line that was just found.
    pub(super) fn get(&self, line: std::ops::Range<usize>) -> &[u8] {
        self.bytes.get(line).unwrap_or_default()
    }

    /// Where to read to. What was found before is forgotten.
    pub(super) fn space(&mut self) -> &mut Vec<u8> {
        self.bytes.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        if self.bytes.is_empty() && self.bytes.capacity() > KEPT {
            self.bytes = Vec::with_capacity(16 * 1024);
        }
        self.bytes.reserve(16 * 1024);
        &mut self.bytes
    }

    pub(super) fn next(&mut self) -> Next {
        loop {
            let rest = self.bytes.get(self.searched..).unwrap_or_default();
            let Some(length) = rest.iter().position(|byte| *byte == b'\n') else { return self.unfinished() };
            let line = self.start..self.searched + length;
            self.start = line.end + 1;
            self.searched = self.start;
            if std::mem::take(&mut self.skipping) || self.get(line.clone()).trim_ascii().is_empty() {
                continue;
            }
            if line.len() > LONGEST {
                return Next::TooLong;
            }
            return Next::Line(line);
        }
    }

    fn unfinished(&mut self) -> Next {
        self.searched = self.bytes.len();
        if self.searched - self.start <= LONGEST && !self.skipping {
            return Next::More;
        }
        self.bytes.clear();
        self.start = 0;
        self.searched = 0;
        if std::mem::replace(&mut self.skipping, true) { Next::More } else { Next::TooLong }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;
    use proptest::prelude::*;

    fn lines(pieces: &[&[u8]]) -> Vec<String> {
        let mut lines = Lines::new();
        let mut found = Vec::new();
        for piece in pieces {
            lines.space().extend_from_slice(piece);
            loop {
                match lines.next() {
                    Next::Line(line) => found.push(String::from_utf8_lossy(lines.get(line)).into_owned()),
                    Next::TooLong => found.push("too long".to_owned()),
                    Next::More => break,
                }
            }
        }
        found
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_how_the_bytes_arrive(text in "[ab\n\r ]{0,40}", size in 1_usize..7) {
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            let whole: Vec<_> = text.rsplit_once('\n').map_or("", |(whole, _)| whole).split('\n')
                .filter(|line| !line.trim().is_empty()).map(str::to_owned).collect();
            prop_assert_eq!(lines(&pieces), whole);
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_told_once_and_the_next_is_read() {
        let long = vec![b'x'; LONGEST + 1];
        assert_eq!(lines(&[&long, b"yyy", b"y\nnext\n"]), ["too long", "next"]);
        let long = [long, b"\nnext\n".to_vec()].concat();
        assert_eq!(lines(&[&long]), ["too long", "next"]);
    }
}
