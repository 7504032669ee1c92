//! Pumps stdin, stdout and stderr of a running program concurrently.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::{Receiver, Sender, pipe};

use super::captured_bytes::{CapturedBytes, TAIL_BYTES, last_bytes};
use super::{LatestLine, ProgramCommand};
use crate::budget::{Budget, BudgetExceeded};
use crate::world::supervisor;

/// The minimum number of bytes over the limit that are drained at full speed.
const MIN_FAST_DRAIN_BYTES: u64 = 16 << 20;
/// How many times the limit is drained at full speed.
const FAST_DRAIN_FACTOR: u64 = 64;
const SCRATCH_BYTES: usize = 64 << 10;
/// How much of an output is not held.
const UNHELD_BYTES: usize = 64 << 10;
/// The pause between reads of a flood, which then costs little CPU and is still counted.
const DRAIN_PAUSE: Duration = Duration::from_millis(2);

/// The pipes of a program. Dropping a future of `pump` loses nothing.
pub(super) struct ParentPipes {
    stdin: StdinWriter,
    stdout: OutputReader,
    stderr: OutputReader,
}

impl ParentPipes {
    /// Creates the pipes of a program, which take its stdin, and returns its ends. Up to `max_output` bytes of each output
    /// are kept, and held; stdout is passed on as it comes.
    pub(super) fn new(command: &mut ProgramCommand) -> io::Result<(ParentPipes, supervisor::ChildDescriptors)> {
        let (stdin_writer, fed) = match command.stdin.take() {
            Some(bytes) => {
                let (ours, theirs) = pipe()?;
                (StdinWriter { pipe: Some(ours), bytes, written_bytes: 0 }, Some(theirs.into_blocking_fd()?))
            }
            None => (StdinWriter { pipe: None, bytes: Vec::new(), written_bytes: 0 }, None),
        };
        let ((stdout, out), (stderr, err)) = (output_pipe()?, output_pipe()?);
        let ours = ParentPipes {
            stdin: stdin_writer,
            stdout: OutputReader { latest_line: command.latest_line.clone(), ..OutputReader::new(stdout, command) },
            stderr: OutputReader::new(stderr, command),
        };
        Ok((
            ours,
            supervisor::ChildDescriptors { stdin: fed, stdout: out, stderr: err, sandbox: Vec::new(), cwd: None },
        ))
    }

    /// Reads and writes until all three pipes are closed.
    pub(super) async fn pump(&mut self) {
        tokio::join!(self.stdin.write_all(), self.stdout.read_to_end(), self.stderr.read_to_end());
    }

    /// Why not all output that may be kept was read.
    pub(super) fn budget_error(&self) -> Option<BudgetExceeded> {
        self.stdout.budget_error.or(self.stderr.budget_error)
    }

    /// Returns stdout and stderr.
    pub(super) fn into_captured(self) -> (CapturedBytes, CapturedBytes) {
        (self.stdout.into_captured(), self.stderr.into_captured())
    }
}

/// Creates a pipe to read here, and its other end.
fn output_pipe() -> io::Result<(Receiver, OwnedFd)> {
    let (theirs, ours) = pipe()?;
    Ok((ours, theirs.into_blocking_fd()?))
}

struct StdinWriter {
    pipe: Option<Sender>,
    bytes: Vec<u8>,
    written_bytes: usize,
}

impl StdinWriter {
    /// A closed pipe is not an error: a program need not read stdin.
    async fn write_all(&mut self) {
        while let Some(pipe) = &mut self.pipe {
            let left = self.bytes.get(self.written_bytes..).unwrap_or_default();
            match pipe.write(left).await {
                Ok(count) if count > 0 => self.written_bytes += count,
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
    /// The last bytes, once some are missing.
    tail: Vec<u8>,
    scratch: Vec<u8>,
    /// Takes the bytes as they come.
    latest_line: Option<Arc<LatestLine>>,
    /// Holds the bytes.
    budget: Budget,
    /// How many bytes may be kept before more are held.
    held: usize,
    /// Why no more was read.
    budget_error: Option<BudgetExceeded>,
}

impl OutputReader {
    fn new(pipe: Receiver, command: &ProgramCommand) -> OutputReader {
        OutputReader {
            pipe: Some(pipe),
            bytes: Vec::new(),
            limit: command.max_output,
            missing: 0,
            tail: Vec::new(),
            scratch: Vec::new(),
            latest_line: None,
            budget: command.budget.nested(),
            held: UNHELD_BYTES,
            budget_error: None,
        }
    }

    async fn read_to_end(&mut self) {
        let most = usize::try_from(self.limit).unwrap_or(usize::MAX);
        while self.pipe.is_some() {
            if self.bytes.len() >= self.held && self.held < most {
                // As much again as there is, as the bytes grow by doubling. Meanwhile the program waits to write.
                let more = self.held.min(most - self.held);
                match self.budget.hold_when_free(more).await {
                    Ok(()) => self.held += more,
                    // A program that can write no more mostly ends.
                    Err(why) => (self.budget_error, self.pipe) = (Some(why), None),
                }
            }
            let Some(pipe) = &mut self.pipe else { return };
            let room = self.limit.saturating_sub(self.bytes.len() as u64);
            let read = if room > 0 {
                self.bytes.reserve(room.min(4 << 10) as usize);
                let read = pipe.take(room).read_buf(&mut self.bytes).await;
                self.forward(&self.bytes, &read);
                read
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
        let read = pipe.read_buf(&mut self.scratch).await;
        self.forward(&self.scratch, &read);
        if self.missing == 0 {
            self.tail = last_bytes(&self.bytes).to_vec();
        }
        self.tail.extend_from_slice(&self.scratch);
        self.tail.drain(..self.tail.len().saturating_sub(TAIL_BYTES));
        self.missing += *read.as_ref().unwrap_or(&0) as u64;
        read
    }

    /// Passes on what was read at the end of `bytes`.
    fn forward(&self, bytes: &[u8], read: &io::Result<usize>) {
        if let (Some(latest_line), Ok(count)) = (&self.latest_line, read) {
            latest_line.push(bytes.get(bytes.len() - count..).unwrap_or_default());
        }
    }

    fn into_captured(self) -> CapturedBytes {
        let captured = CapturedBytes::new(self.bytes, self.missing);
        if self.missing > 0 { captured.with_tail(self.tail) } else { captured }
    }
}
