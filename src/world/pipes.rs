//! The three pipes of a running program, all moved at once.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::{Receiver, Sender, pipe};

use super::captured_bytes::CapturedBytes;
use crate::world::supervisor;

/// So much is drained at full speed beyond the limit, at least.
const MIN_FAST_DRAIN_BYTES: u64 = 16 << 20;
/// So many times the limit is drained at full speed.
const FAST_DRAIN_FACTOR: u64 = 64;
const SCRATCH_BYTES: usize = 64 << 10;
/// How long a flood rests after each read: it costs next to no CPU, and what does end is still counted to its end.
const DRAIN_PAUSE: Duration = Duration::from_millis(2);

/// What goes into a program and comes out of it. Its futures may be dropped and made anew: nothing is lost.
pub(super) struct ParentPipes {
    stdin: StdinWriter,
    stdout: OutputReader,
    stderr: OutputReader,
}

impl ParentPipes {
    /// Makes the pipes of a program that reads `stdin`, and returns its ends of them.
    pub(super) fn new(stdin: Option<Vec<u8>>, limit: u64) -> io::Result<(ParentPipes, supervisor::ChildStdio)> {
        let (feed, fed) = match stdin {
            Some(bytes) => {
                let (ours, theirs) = pipe()?;
                (StdinWriter { pipe: Some(ours), bytes, written: 0 }, Some(theirs.into_blocking_fd()?))
            }
            None => (StdinWriter { pipe: None, bytes: Vec::new(), written: 0 }, None),
        };
        let ((stdout, out), (stderr, err)) = (output_pipe()?, output_pipe()?);
        let ours = ParentPipes {
            stdin: feed,
            stdout: OutputReader::new(stdout, limit),
            stderr: OutputReader::new(stderr, limit),
        };
        Ok((ours, supervisor::ChildStdio { stdin: fed, stdout: out, stderr: err }))
    }

    /// Moves everything until all three pipes are at their end.
    pub(super) async fn pump(&mut self) {
        tokio::join!(self.stdin.write_all(), self.stdout.read_to_end(), self.stderr.read_to_end());
    }

    /// Returns what stdout and stderr gave.
    pub(super) fn into_captured(self) -> (CapturedBytes, CapturedBytes) {
        (self.stdout.into_captured(), self.stderr.into_captured())
    }
}

/// A pipe to be read here, and its other end.
fn output_pipe() -> io::Result<(Receiver, OwnedFd)> {
    let (theirs, ours) = pipe()?;
    Ok((ours, theirs.into_blocking_fd()?))
}

struct StdinWriter {
    pipe: Option<Sender>,
    bytes: Vec<u8>,
    written: usize,
}

impl StdinWriter {
    /// A program need not read what it is given: a closed pipe is no error.
    async fn write_all(&mut self) {
        while let Some(pipe) = &mut self.pipe {
            let left = self.bytes.get(self.written..).unwrap_or_default();
            match pipe.write(left).await {
                Ok(count) if count > 0 => self.written += count,
                _ => self.pipe = None,
            }
        }
    }
}

struct OutputReader {
    pipe: Option<Receiver>,
    bytes: Vec<u8>,
    limit: u64,
    missing: u64,
    scratch: Vec<u8>,
}

impl OutputReader {
    fn new(pipe: Receiver, limit: u64) -> OutputReader {
        OutputReader { pipe: Some(pipe), bytes: Vec::new(), limit, missing: 0, scratch: Vec::new() }
    }

    async fn read_to_end(&mut self) {
        while let Some(pipe) = &mut self.pipe {
            let room = self.limit.saturating_sub(self.bytes.len() as u64);
            let read = if room > 0 {
                self.bytes.reserve(room.min(4 << 10) as usize);
                pipe.take(room).read_buf(&mut self.bytes).await
            } else {
                self.discard().await
            };
            if !read.is_ok_and(|count| count > 0) {
                self.pipe = None;
            }
        }
    }

    async fn discard(&mut self) -> io::Result<usize> {
        let Some(pipe) = &mut self.pipe else { return Ok(0) };
        if self.missing > MIN_FAST_DRAIN_BYTES.max(self.limit.saturating_mul(FAST_DRAIN_FACTOR)) {
            tokio::time::sleep(DRAIN_PAUSE).await;
        }
        self.scratch.clear();
        self.scratch.reserve(SCRATCH_BYTES);
        let count = pipe.read_buf(&mut self.scratch).await?;
        self.missing += count as u64;
        Ok(count)
    }

    fn into_captured(self) -> CapturedBytes {
        CapturedBytes::new(self.bytes, self.missing)
    }
}
