//! The three pipes of a running program, all moved at once.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::{Receiver, Sender, pipe};

use super::captured::Captured;
use crate::world::supervisor;

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
    stdout: Sink,
    stderr: Sink,
}

impl Pipes {
    /// Makes the pipes of a program that reads `stdin`, and returns its ends of them.
    pub(super) fn new(stdin: Option<Vec<u8>>, limit: u64) -> io::Result<(Pipes, supervisor::Pipes)> {
        let (feed, fed) = match stdin {
            Some(bytes) => {
                let (ours, theirs) = pipe()?;
                (Feed { pipe: Some(ours), bytes, written: 0 }, Some(theirs.into_blocking_fd()?))
            }
            None => (Feed { pipe: None, bytes: Vec::new(), written: 0 }, None),
        };
        let ((stdout, out), (stderr, err)) = (receiver()?, receiver()?);
        let ours = Pipes { stdin: feed, stdout: Sink::new(stdout, limit), stderr: Sink::new(stderr, limit) };
        Ok((ours, supervisor::Pipes { stdin: fed, stdout: out, stderr: err }))
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

/// A pipe to be read here, and its other end.
fn receiver() -> io::Result<(Receiver, OwnedFd)> {
    let (theirs, ours) = pipe()?;
    Ok((ours, theirs.into_blocking_fd()?))
}

struct Feed {
    pipe: Option<Sender>,
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

struct Sink {
    pipe: Option<Receiver>,
    bytes: Vec<u8>,
    limit: u64,
    missing: u64,
    scratch: Vec<u8>,
}

impl Sink {
    fn new(pipe: Receiver, limit: u64) -> Sink {
        Sink { pipe: Some(pipe), bytes: Vec::new(), limit, missing: 0, scratch: Vec::new() }
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

    async fn spill(&mut self) -> io::Result<usize> {
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
