//! What waits to be written to a peer. What piles up while the peer reads goes out in one write, but for an answer
//! behind progress.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde::Serialize;
use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    sync::{Notify, watch},
    task::JoinHandle,
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use crate::redact::Redactors;
use crate::server::{PeerAccount, Reservation};

/// Beyond this nothing more is asked of a peer until it has read.
const FULL: usize = 8 * 1024 * 1024;

/// How much is written at once, and the longest buffer that is kept when it is written.
const PIECE: usize = 1024 * 1024;

/// How long an answer stays behind progress. The TypeScript SDK forgets who waits for progress when it reads the answer,
/// before it passes on what came in the same read.
const APART: Duration = Duration::from_millis(5);

/// What a message is to the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// An answer, which must not be read together with progress.
    Answer,
    /// Progress.
    Progress,
    /// Anything else.
    Any,
}

/// The outgoing half of a connection.
pub(super) struct Outbox {
    waiting: Mutex<Waiting>,
    more: Notify,
    full: watch::Sender<bool>,
    reservation: Reservation,
    redactors: Redactors,
    /// Cancelled when the peer takes nothing any more.
    halt: CancellationToken,
}

#[derive(Default)]
struct Waiting {
    pieces: VecDeque<Piece>,
    /// The bytes of all pieces, and of the one that is being written.
    bytes: usize,
    /// A buffer that was written, to be filled anew.
    spare: Vec<u8>,
    /// Whether anything said from now on is dropped.
    muted: bool,
}

/// What goes out in one write.
#[derive(Default)]
struct Piece {
    bytes: Vec<u8>,
    has_progress: bool,
    has_answer: bool,
}

impl Piece {
    /// Whether a message may go out with what is there.
    fn takes(&self, order: Order) -> bool {
        self.bytes.len() < PIECE && !(self.has_progress && order == Order::Answer)
    }
}

impl Waiting {
    /// Adds a message as it is written.
    fn add(&mut self, line: Vec<u8>, order: Order) {
        let (has_progress, has_answer) = (order == Order::Progress, order == Order::Answer);
        match self.pieces.back_mut().filter(|last| line.len() < PIECE && last.takes(order)) {
            Some(last) => {
                last.bytes.extend_from_slice(&line);
                last.has_progress |= has_progress;
                last.has_answer |= has_answer;
                self.keep(line);
            }
            None => self.pieces.push_back(Piece { bytes: line, has_progress, has_answer }),
        }
    }

    /// Keeps a buffer to be filled anew, unless it is long.
    fn keep(&mut self, mut buffer: Vec<u8>) {
        if buffer.capacity() <= PIECE {
            buffer.clear();
            self.spare = buffer;
        }
    }
}

impl Outbox {
    /// Begins to write to `writer`. When the peer no longer takes anything, `halt` is cancelled.
    pub(super) fn spawn<W: AsyncWrite + Unpin + Send + 'static>(
        writer: W,
        peer: &PeerAccount,
        redactors: Redactors,
        halt: CancellationToken,
    ) -> (Arc<Outbox>, JoinHandle<()>) {
        let outbox = Arc::new(Outbox {
            waiting: Mutex::default(),
            more: Notify::new(),
            full: watch::Sender::new(false),
            reservation: peer.reserve(0),
            redactors,
            halt,
        });
        let task = tokio::spawn({
            let outbox = outbox.clone();
            async move {
                if let Err(error) = outbox.write(writer).await {
                    tracing::debug!(%error, "the peer reads no more");
                }
                outbox.end();
            }
        });
        (outbox, task)
    }

    /// Adds a message.
    pub(super) fn push(&self, message: &impl Serialize, order: Order) {
        let Some(line) = self.line(message) else { return };
        let mut waiting = self.waiting();
        if waiting.muted {
            return;
        }
        waiting.bytes += line.len();
        self.reservation.grow(line.len() as u64);
        waiting.add(line, order);
        self.tell_full(&waiting);
        drop(waiting);
        self.more.notify_one();
    }

    /// A message as it is written. Nobody waits for the lock meanwhile: it may be long.
    fn line(&self, message: &impl Serialize) -> Option<Vec<u8>> {
        let mut line = {
            let mut waiting = self.waiting();
            if waiting.muted {
                return None;
            }
            std::mem::take(&mut waiting.spare)
        };
        if let Err(error) = serde_json::to_writer(&mut line, message) {
            tracing::error!(%error, "a message cannot be written as JSON");
            return None;
        }
        if !self.redactors.is_empty() {
            line = self.redactors.message(line);
        }
        line.push(b'\n');
        Some(line)
    }

    /// Returns at once unless the peer has much to read; then when it has read it.
    pub(super) fn room(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut full = self.full.subscribe();
        async move {
            let _ = full.wait_for(|full| !full).await;
        }
    }

    /// Whether the peer has much to read.
    pub(super) fn is_full(&self) -> bool {
        *self.full.borrow()
    }

    /// Drops whatever is said from now on. What was said before is still written.
    pub(super) fn mute(&self) {
        self.waiting().muted = true;
        self.more.notify_one();
    }

    /// Mutes it, and waits for what was said before to be written, if the peer takes it soon.
    pub(super) async fn finish(&self, mut task: JoinHandle<()>, within: Duration) {
        self.mute();
        if tokio::time::timeout(within, &mut task).await.is_err() {
            task.abort();
            // What it was about to write is given back below.
            let _ = task.await;
            self.end();
        }
    }

    /// Drops all that waits, and whatever is said from now on: the peer takes nothing any more.
    fn end(&self) {
        let mut waiting = self.waiting();
        *waiting = Waiting { muted: true, ..Waiting::default() };
        self.reservation.shrink(self.reservation.bytes());
        self.tell_full(&waiting);
        drop(waiting);
        self.halt.cancel();
    }

    /// Tells whether it is full, as long as nobody else can change that.
    fn tell_full(&self, waiting: &Waiting) {
        let is_full = waiting.bytes > FULL;
        self.full.send_if_modified(|full| std::mem::replace(full, is_full) != is_full);
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn write<W: AsyncWrite + Unpin>(&self, mut writer: W) -> io::Result<()> {
        let mut progress: Option<Instant> = None;
        loop {
            let (piece, muted) = {
                let mut waiting = self.waiting();
                (waiting.pieces.pop_front(), waiting.muted)
            };
            let Some(piece) = piece else {
                if muted {
                    return Ok(());
                }
                self.more.notified().await;
                continue;
            };
            if let Some(written) = progress.filter(|_| piece.has_answer) {
                tokio::time::sleep_until(written + APART).await;
                progress = None;
            }
            writer.write_all(&piece.bytes).await?;
            writer.flush().await?;
            if piece.has_progress {
                progress = Some(Instant::now());
            }
            self.written(piece.bytes);
        }
    }

    fn written(&self, buffer: Vec<u8>) {
        let mut waiting = self.waiting();
        waiting.bytes = waiting.bytes.saturating_sub(buffer.len());
        self.reservation.shrink(buffer.len() as u64);
        waiting.keep(buffer);
        self.tell_full(&waiting);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;
    use crate::server::Account;
    use tokio::io::AsyncReadExt;

    fn outbox(buffer: usize) -> (Arc<Outbox>, tokio::io::DuplexStream) {
        let (near, far) = tokio::io::duplex(buffer);
        let (outbox, _task) =
            Outbox::spawn(near, &Account::new(256 << 20).peer(), Redactors::default(), CancellationToken::new());
        (outbox, far)
    }

    /// On two threads, what is said and what is written go on at once: who waits for room is let in all the same.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn who_waits_for_room_gets_it_on_however_many_threads() {
        let (outbox, mut far) = outbox(FULL);
        let reading = tokio::spawn(async move {
            let mut sink = vec![0; 1024 * 1024];
            while far.read(&mut sink).await.unwrap() > 0 {}
        });
        let large = serde_json::value::RawValue::from_string(format!("\"{}\"", "x".repeat(FULL - 16))).unwrap();
        for _ in 0..100 {
            outbox.push(&large, Order::Any);
            outbox.push(&"more than is full", Order::Any);
            tokio::time::timeout(Duration::from_secs(20), outbox.room()).await.expect("there is never any room");
        }
        outbox.end();
        reading.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_written_apart_from_progress_before_it() {
        let (outbox, mut far) = outbox(64 * 1024);
        outbox.push(&"progress", Order::Progress);
        outbox.push(&"answer", Order::Answer);
        outbox.push(&"next", Order::Answer);
        let mut read = [0; 64];
        let count = far.read(&mut read).await.unwrap();
        assert_eq!(&read[..count], b"\"progress\"\n");
        let count = far.read(&mut read).await.unwrap();
        assert_eq!(&read[..count], b"\"answer\"\n\"next\"\n");
    }

    #[tokio::test(start_paused = true)]
    async fn each_answer_is_written_behind_the_progress_that_waits_with_it() {
        let (outbox, mut far) = outbox(64 * 1024);
        for (text, order) in
            [("pa", Order::Progress), ("a", Order::Answer), ("pb", Order::Progress), ("b", Order::Answer)]
        {
            outbox.push(&text, order);
        }
        for expected in ["\"pa\"\n", "\"a\"\n\"pb\"\n", "\"b\"\n"] {
            let mut read = [0; 64];
            let count = far.read(&mut read).await.unwrap();
            assert_eq!(String::from_utf8_lossy(&read[..count]), expected);
        }
    }

    #[tokio::test]
    async fn what_is_not_read_at_the_end_is_given_back() {
        let (near, _far) = tokio::io::duplex(16);
        let (peer, halt) = (Account::new(256 << 20).peer(), CancellationToken::new());
        let (outbox, task) = Outbox::spawn(near, &peer, Redactors::default(), halt.clone());
        outbox.push(&"x".repeat(FULL), Order::Answer);
        assert!(outbox.is_full());
        outbox.finish(task, Duration::from_millis(10)).await;
        assert_eq!((peer.used(), outbox.is_full(), halt.is_cancelled()), (0, false, true));
    }

    #[tokio::test]
    async fn what_waits_is_reserved_until_it_is_written() {
        let (outbox, mut far) = outbox(16);
        outbox.push(&"x".repeat(1000), Order::Answer);
        assert_eq!(outbox.reservation.bytes(), 1003);
        let mut read = vec![0; 1003];
        far.read_exact(&mut read).await.unwrap();
        while outbox.reservation.bytes() > 0 {
            tokio::task::yield_now().await;
        }
    }
}
