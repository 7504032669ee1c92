//! The queue of messages to one peer. Messages that queue up are written at once, except an answer after progress.

use std::{
    collections::VecDeque,
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    sync::{Notify, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use crate::budget::{Caller, Reservation};
use crate::server::{MessageSink, OutgoingKind, OutgoingMessage};

use super::batch;

/// Beyond this nothing more is asked of a peer until it has read.
const MAX_QUEUED_BYTES: usize = 8 * 1024 * 1024;

/// How much is written at once.
const MAX_WRITE_BYTES: usize = 1024 * 1024;

/// How long an answer stays behind progress. The TypeScript SDK forgets who waits for progress when it reads the answer,
/// before it passes on what came in the same read.
const RESPONSE_DELAY_AFTER_PROGRESS: Duration = Duration::from_millis(5);

/// The outgoing half of a connection.
pub(super) struct SendQueue {
    queue: Mutex<WriteQueue>,
    pushed: Notify,
    full: watch::Sender<bool>,
    reservation: Reservation,
    /// How many responses are not written, whether they still may be or not.
    unwritten_responses: AtomicUsize,
    /// Cancelled when the peer takes nothing any more.
    abort: CancellationToken,
}

#[derive(Default)]
struct WriteQueue {
    pieces: VecDeque<WriteChunk>,
    /// The bytes of all pieces, and of the one that is being written.
    bytes: usize,
    /// Whether new messages are dropped.
    is_closed: bool,
}

/// What goes out in one write.
#[derive(Default)]
struct WriteChunk {
    bytes: Vec<u8>,
    has_progress: bool,
    responses: usize,
}

impl SendQueue {
    /// A queue for messages to a peer. When it takes nothing any more, `abort` is cancelled.
    pub(super) fn new(caller: &Arc<Caller>, abort: CancellationToken) -> Arc<SendQueue> {
        Arc::new(SendQueue {
            queue: Mutex::default(),
            pushed: Notify::new(),
            full: watch::Sender::new(false),
            reservation: caller.reserve(0),
            unwritten_responses: AtomicUsize::new(0),
            abort,
        })
    }

    /// Adds the answers to a batch.
    pub(super) fn push_batch(&self, responses: &[OutgoingMessage]) {
        let kind = OutgoingKind::Answer { id: None, error: None, is_unavailable: false };
        self.push(OutgoingMessage { json: batch::responses_to_json(responses).into(), kind });
    }

    /// Adds a message, as a line.
    pub(super) fn push(&self, message: OutgoingMessage) {
        let (is_response, has_progress) = (message.is_answer(), matches!(message.kind, OutgoingKind::Progress { .. }));
        let (json, responses) = (message.json, usize::from(is_response));
        self.unwritten_responses.fetch_add(responses, Ordering::AcqRel);
        let mut queue = self.queue();
        if queue.is_closed {
            return;
        }
        queue.bytes += json.len() + 1;
        self.reservation.grow(json.len() as u64 + 1);
        let last = queue.pieces.back_mut().filter(|last| last.bytes.len().max(json.len()) < MAX_WRITE_BYTES);
        // A response must not be read together with progress.
        match last.filter(|last| !(last.has_progress && is_response)) {
            Some(last) => {
                last.bytes.extend_from_slice(&json);
                last.bytes.push(b'\n');
                last.has_progress |= has_progress;
                last.responses += responses;
            }
            None => {
                let mut bytes = Vec::from(json);
                bytes.push(b'\n');
                queue.pieces.push_back(WriteChunk { bytes, has_progress, responses });
            }
        }
        self.update_full(&queue);
        drop(queue);
        self.pushed.notify_one();
    }

    /// Returns at once unless the peer has much to read; then when it has read it.
    pub(super) async fn wait_for_room(&self) {
        if self.is_full() {
            let _ = self.full.subscribe().wait_for(|full| !full).await;
        }
    }

    /// Whether the peer has much to read.
    pub(super) fn is_full(&self) -> bool {
        *self.full.borrow()
    }

    /// Drops new messages; queued ones are still written.
    pub(super) fn close(&self) {
        self.queue().is_closed = true;
        self.pushed.notify_one();
    }

    /// How many responses are not written.
    pub(super) fn unwritten_responses(&self) -> usize {
        self.unwritten_responses.load(Ordering::Acquire)
    }

    /// Drops queued and new messages: the peer no longer reads.
    pub(super) fn abort(&self) {
        let mut queue = self.queue();
        *queue = WriteQueue { is_closed: true, ..WriteQueue::default() };
        self.reservation.shrink(self.reservation.bytes());
        self.update_full(&queue);
        drop(queue);
        self.abort.cancel();
    }

    /// Updates `full` while the queue is locked.
    fn update_full(&self, queue: &WriteQueue) {
        let is_full = queue.bytes > MAX_QUEUED_BYTES;
        self.full.send_if_modified(|full| std::mem::replace(full, is_full) != is_full);
    }

    fn queue(&self) -> MutexGuard<'_, WriteQueue> {
        self.queue.lock()
    }

    /// Writes messages until the queue is closed and empty, or the peer takes nothing any more.
    pub(super) async fn write_to(&self, mut writer: impl AsyncWrite + Unpin) {
        let mut progress: Option<Instant> = None;
        loop {
            let (piece, is_closed) = {
                let mut queue = self.queue();
                (queue.pieces.pop_front(), queue.is_closed)
            };
            let Some(piece) = piece else {
                if is_closed {
                    break;
                }
                self.pushed.notified().await;
                continue;
            };
            if let Some(progress_written_at) = progress.filter(|_| piece.responses > 0) {
                tokio::time::sleep_until(progress_written_at + RESPONSE_DELAY_AFTER_PROGRESS).await;
                progress = None;
            }
            let written: io::Result<()> = async {
                writer.write_all(&piece.bytes).await?;
                writer.flush().await
            }
            .await;
            if let Err(error) = written {
                tracing::debug!(%error, "write failed");
                break;
            }
            if piece.has_progress {
                progress = Some(Instant::now());
            }
            self.unwritten_responses.fetch_sub(piece.responses, Ordering::AcqRel);
            let mut queue = self.queue();
            queue.bytes = queue.bytes.saturating_sub(piece.bytes.len());
            self.reservation.shrink(piece.bytes.len() as u64);
            self.update_full(&queue);
        }
        self.abort();
    }
}

impl MessageSink for Arc<SendQueue> {
    /// Change notifications wait while the peer does not read, and are merged meanwhile.
    fn send(&self, message: OutgoingMessage) -> Option<BoxFuture<'static, ()>> {
        if matches!(message.kind, OutgoingKind::Question { .. }) || !self.is_full() {
            self.push(message);
            return None;
        }
        let send_queue = self.clone();
        Some(Box::pin(async move {
            send_queue.wait_for_room().await;
            send_queue.push(message);
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    const RESPONSE: OutgoingKind = OutgoingKind::Answer { id: None, error: None, is_unavailable: false };
    const PROGRESS: OutgoingKind = OutgoingKind::Progress { origin: None };
    const OTHER: OutgoingKind = OutgoingKind::Notification { origin: None };

    fn message(text: impl Into<String>, kind: OutgoingKind) -> OutgoingMessage {
        OutgoingMessage { json: format!("\"{}\"", text.into()).into(), kind }
    }

    fn send_queue(buffer: usize) -> (Arc<SendQueue>, tokio::io::DuplexStream) {
        let (near, far) = tokio::io::duplex(buffer);
        let send_queue = SendQueue::new(&Arc::default(), CancellationToken::new());
        let writing = send_queue.clone();
        tokio::spawn(async move { writing.write_to(near).await });
        (send_queue, far)
    }

    /// Pushing and writing run on two threads: a sender that waits for room still makes progress.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn room_waiter_is_woken_across_threads() {
        let (send_queue, mut far) = send_queue(MAX_QUEUED_BYTES);
        let reading = tokio::spawn(async move {
            let mut sink = vec![0; 1024 * 1024];
            while far.read(&mut sink).await.unwrap() > 0 {}
        });
        let large = message("x".repeat(MAX_QUEUED_BYTES - 16), OTHER);
        for _ in 0..100 {
            send_queue.push(large.clone());
            send_queue.push(message("more than is full", OTHER));
            tokio::time::timeout(Duration::from_secs(20), send_queue.wait_for_room())
                .await
                .expect("there is never any room");
        }
        send_queue.abort();
        reading.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn answer_is_delayed_after_progress() {
        let (send_queue, mut far) = send_queue(64 * 1024);
        send_queue.push(message("progress", PROGRESS));
        send_queue.push(message("answer", RESPONSE));
        send_queue.push(message("next", RESPONSE));
        let mut read = [0; 64];
        let count = far.read(&mut read).await.unwrap();
        assert_eq!(&read[..count], b"\"progress\"\n");
        let count = far.read(&mut read).await.unwrap();
        assert_eq!(&read[..count], b"\"answer\"\n\"next\"\n");
    }

    #[tokio::test(start_paused = true)]
    async fn queued_progress_is_written_before_its_answer() {
        let (send_queue, mut far) = send_queue(64 * 1024);
        for (text, kind) in [("pa", PROGRESS), ("a", RESPONSE), ("pb", PROGRESS), ("b", RESPONSE)] {
            send_queue.push(message(text, kind));
        }
        for expected in ["\"pa\"\n", "\"a\"\n\"pb\"\n", "\"b\"\n"] {
            let mut read = [0; 64];
            let count = far.read(&mut read).await.unwrap();
            assert_eq!(String::from_utf8_lossy(&read[..count]), expected);
        }
    }

    #[tokio::test]
    async fn unread_bytes_are_released_at_the_end() {
        let (near, _far) = tokio::io::duplex(16);
        let (caller, abort) = (Arc::<Caller>::default(), CancellationToken::new());
        let send_queue = SendQueue::new(&caller, abort.clone());
        send_queue.push(message("x".repeat(MAX_QUEUED_BYTES), RESPONSE));
        assert!(send_queue.is_full());
        send_queue.close();
        assert!(tokio::time::timeout(Duration::from_millis(10), send_queue.write_to(near)).await.is_err());
        send_queue.abort();
        assert_eq!((caller.held(), send_queue.is_full(), abort.is_cancelled()), (0, false, true));
    }

    #[tokio::test]
    async fn queued_bytes_are_reserved_until_written() {
        let (send_queue, mut far) = send_queue(16);
        send_queue.push(message("x".repeat(1000), RESPONSE));
        assert_eq!(send_queue.reservation.bytes(), 1003);
        let mut read = vec![0; 1003];
        far.read_exact(&mut read).await.unwrap();
        while send_queue.reservation.bytes() > 0 {
            tokio::task::yield_now().await;
        }
    }
}
