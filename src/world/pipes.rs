//! The three pipes of a running program, all moved at once.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use super::captured::Captured;

/// So much is drained at full speed beyond the limit, at least.
const DRAINED_FREELY: u64 = 16 << 20;
/// So many times the limit is drained at full speed.
const FREE_FACTOR: u64 = 64;
const SCRATCH: usize = 64 << 10;
/// How long a flood rests after each read: it costs next to no CPU, and what does end is still counted to its end.
const REST: Duration = Duration::from_millis(2);

/// What goes into a program and comes out of it. Its futures may be dropped and made anew: nothing is lost.
pub(super) struct Pipes {
    stdin: Feed,
    stdout: Sink<ChildStdout>,
    stderr: Sink<ChildStderr>,
}

impl Pipes {
    /// Takes the pipes of `child`, which are closed with this.
    pub(super) fn take(child: &mut Child, stdin: Option<Vec<u8>>, limit: u64) -> Pipes {
        Pipes {
            stdin: Feed { pipe: child.stdin.take(), bytes: stdin.unwrap_or_default(), written: 0 },
            stdout: Sink::new(child.stdout.take(), limit),
            stderr: Sink::new(child.stderr.take(), limit),
        }
    }

    /// Moves everything until all three pipes are at their end.
    pub(super) async fn flow(&mut self) {
        tokio::join!(self.stdin.write(), self.stdout.read(), self.stderr.read());
    }

    /// Returns what stdout and stderr gave.
    pub(super) fn captured(self) -> (Captured, Captured) {
        (self.stdout.captured(), self.stderr.captured())
    }
}

struct Feed {
    pipe: Option<ChildStdin>,
    bytes: Vec<u8>,
    written: usize,
}

impl Feed {
    /// A program need not read what it is given: a closed pipe is no error.
    async fn write(&mut self) {
        while let Some(pipe) = &mut self.pipe {
            let left = self.bytes.get(self.written..).unwrap_or_default();
            match pipe.write(left).await {
                Ok(count) if count > 0 => self.written += count,
                _ => self.pipe = None,
            }
        }
    }
}

struct Sink<R> {
    pipe: Option<R>,
    bytes: Vec<u8>,
    limit: u64,
    missing: u64,
    scratch: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Sink<R> {
    fn new(pipe: Option<R>, limit: u64) -> Sink<R> {
        Sink { pipe, bytes: Vec::new(), limit, missing: 0, scratch: Vec::new() }
    }

    async fn read(&mut self) {
        while let Some(pipe) = &mut self.pipe {
            let room = self.limit.saturating_sub(self.bytes.len() as u64);
            let read = if room > 0 {
                self.bytes.reserve(room.min(4 << 10) as usize);
                pipe.take(room).read_buf(&mut self.bytes).await
            } else {
                self.spill().await
            };
            if !read.is_ok_and(|count| count > 0) {
                self.pipe = None;
            }
        }
    }

    async fn spill(&mut self) -> std::io::Result<usize> {
        let Some(pipe) = &mut self.pipe else { return Ok(0) };
        if self.missing > DRAINED_FREELY.max(self.limit.saturating_mul(FREE_FACTOR)) {
            tokio::time::sleep(REST).await;
        }
        self.scratch.clear();
        self.scratch.reserve(SCRATCH);
        let count = pipe.read_buf(&mut self.scratch).await?;
        self.missing += count as u64;
        Ok(count)
    }

    fn captured(self) -> Captured {
        Captured::new(self.bytes, self.missing)
    }
}
