//! The latest line of the output of a running program.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use super::captured_bytes::strip_escapes;
use crate::diagnostic::truncate;
use crate::redact::{Redactor, redact_part};

/// How many bytes of a line are looked at, from its end.
const MAX_LINE_BYTES: usize = 4 << 10;
/// How much of a line is shown.
const MAX_LINE_CHARS: usize = 300;

/// The latest line that a program has printed, without secrets, escapes and blank lines. A carriage return ends a line too.
#[derive(Default)]
pub struct LatestLine {
    state: Mutex<OutputTail>,
    changed: Notify,
}

/// The end of the output so far.
#[derive(Default)]
struct OutputTail {
    bytes: Vec<u8>,
    /// Whether earlier bytes are dropped, with which a secret may begin.
    is_truncated: bool,
    /// Whether the last line is whole though no line break follows.
    is_complete: bool,
    redactors: Vec<Arc<Redactor>>,
}

impl LatestLine {
    pub(super) fn push(&self, bytes: &[u8]) {
        self.state().push(bytes);
        self.changed.notify_one();
    }

    /// Removes the secrets of this redactor, too.
    pub(super) fn redact_with(&self, redactor: &Arc<Redactor>) {
        self.state().redactors.push(redactor.clone());
    }

    /// Waits for output since the last wait.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Ends the output, with which its last line ends.
    pub fn complete(&self) {
        self.state().is_complete = true;
    }

    /// The latest line, if there is one.
    pub fn get(&self) -> Option<String> {
        self.state().latest_line()
    }

    fn state(&self) -> MutexGuard<'_, OutputTail> {
        self.state.lock()
    }
}

/// Shows nothing of the output.
impl fmt::Debug for LatestLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("LatestLine").finish_non_exhaustive()
    }
}

impl OutputTail {
    /// How many bytes a secret may begin before a line.
    fn lookbehind(&self) -> usize {
        self.redactors.iter().map(|redactor| redactor.lookahead()).max().unwrap_or_default()
    }

    fn push(&mut self, bytes: &[u8]) {
        let kept = self.lookbehind() + MAX_LINE_BYTES;
        let skipped = bytes.len().saturating_sub(2 * kept);
        if skipped > 0 {
            self.bytes.clear();
            self.is_truncated = true;
        }
        self.bytes.extend_from_slice(bytes.get(skipped..).unwrap_or_default());
        // Twice as much is kept, so that not every push moves the bytes.
        if self.bytes.len() > 2 * kept {
            self.bytes.drain(..self.bytes.len() - kept);
            self.is_truncated = true;
        }
    }

    fn latest_line(&self) -> Option<String> {
        let line = self.latest_range()?;
        let found = self.redactors.iter().flat_map(|redactor| redactor.find_so_far(&self.bytes)).collect();
        let text = String::from_utf8_lossy(&redact_part(&self.bytes, line, found)).into_owned();
        let plain = strip_escapes(&text);
        Some(truncate(plain.trim(), MAX_LINE_CHARS).into_owned()).filter(|text| !text.is_empty())
    }

    /// The place of the latest line that is not blank. If bytes are dropped, it does not begin where a secret may have
    /// lost its beginning.
    fn latest_range(&self) -> Option<Range<usize>> {
        let is_break = |byte: &u8| matches!(byte, b'\n' | b'\r');
        let end = match self.is_complete {
            true => self.bytes.len(),
            false => self.bytes.iter().rposition(is_break)?,
        };
        let whole = self.bytes.get(..end)?;
        let end = whole.iter().rposition(|byte| !byte.is_ascii_whitespace())? + 1;
        let start = whole.get(..end)?.iter().rposition(is_break).map_or(0, |at| at + 1);
        let first = if self.is_truncated { self.lookbehind() } else { 0 };
        Some(start.max(first)..end).filter(|line| line.start < line.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "hunter22-9d41+x\nsecond-line-of-it";

    fn output(secret: Option<&str>) -> LatestLine {
        let latest = LatestLine::default();
        latest.redact_with(&Arc::new(Redactor::new(secret)));
        latest
    }

    #[test]
    fn latest_whole_line_is_shown() {
        let latest = output(None);
        let pushed =
            [("a", None), ("b\n", Some("ab")), ("\n \n", Some("ab")), ("c\rd", Some("c")), ("\x1b[1me\n", Some("de"))];
        for (bytes, display_path) in pushed {
            latest.push(bytes.as_bytes());
            assert_eq!(latest.get().as_deref(), display_path);
        }
        latest.push(b"end");
        assert_eq!(latest.get().unwrap(), "de");
        latest.complete();
        assert_eq!(latest.get().unwrap(), "end");
    }

    #[test]
    fn no_part_of_a_secret_is_shown_at_any_time() {
        let printed = format!("before {SECRET} behind\nlast\n").repeat(3);
        for size in 1..printed.len() {
            let latest = output(Some(SECRET));
            for piece in printed.as_bytes().chunks(size) {
                latest.push(piece);
                let display_path = latest.get().unwrap_or_default();
                assert!(
                    !["hunter", "22-9d", "41+x", "second", "of-it"].iter().any(|part| display_path.contains(part)),
                    "{display_path}"
                );
            }
            assert_eq!(latest.get().unwrap(), "last");
        }
    }

    #[test]
    fn long_output_is_bounded_and_its_line_cut() {
        let latest = output(Some(SECRET));
        let limit = 2 * (Redactor::new([SECRET]).lookahead() + MAX_LINE_BYTES);
        for size in [1, 1000, 100_000] {
            for _ in 0..100_000 / size {
                latest.push(&vec![b'x'; size]);
                assert!(latest.state().bytes.len() <= limit);
            }
        }
        latest.push(b"\n");
        let display_path = latest.get().unwrap();
        assert!(
            display_path.chars().count() <= MAX_LINE_CHARS + 1 && display_path.starts_with("xxx"),
            "{display_path}"
        );
    }
}
