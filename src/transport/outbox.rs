//! What waits to be written to a peer. What piles up while the peer reads goes out in one write.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde::Serialize;
use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    sync::{Notify, watch},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use crate::redact::Redactors;

/// Beyond this nothing more is asked of a peer until it has read.
const FULL: usize = 8 * 1024 * 1024;

/// More than this is not kept when it is written.
const KEPT: usize = 1024 * 1024;

/// The outgoing half of a connection.
pub(super) struct Outbox {
    waiting: Mutex<Waiting>,
    more: Notify,
    full: watch::Sender<bool>,
    redactors: Redactors,
}

#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    /// Whether anything said from now on is dropped.
    muted: bool,
}

impl Outbox {
    /// Begins to write to `writer`. When the peer no longer takes anything, `halt` is cancelled.
    pub(super) fn spawn<W: AsyncWrite + Unpin + Send + 'static>(
        writer: W,
        redactors: Redactors,
        halt: CancellationToken,
    ) -> (Arc<Outbox>, JoinHandle<()>) {
        let full = watch::Sender::new(false);
        let outbox = Arc::new(Outbox { waiting: Mutex::default(), more: Notify::new(), full, redactors });
        let task = tokio::spawn({
            let outbox = outbox.clone();
            async move {
                if let Err(error) = outbox.write(writer).await {
                    tracing::debug!(%error, "the peer reads no more");
                }
                outbox.mute();
                halt.cancel();
                outbox.full.send_replace(false);
            }
        });
        (outbox, task)
    }

    /// Adds a message.
    pub(super) fn push(&self, message: &impl Serialize) {
        let mut waiting = self.waiting();
        if waiting.muted {
            return;
        }
        let before = waiting.bytes.len();
        if let Err(error) = serde_json::to_writer(&mut waiting.bytes, message) {
            tracing::error!(%error, "a message cannot be written as JSON");
            waiting.bytes.truncate(before);
            return;
        }
        if !self.redactors.is_empty() {
            let written = waiting.bytes.split_off(before);
            waiting.bytes.extend(self.redactors.message(written));
        }
        waiting.bytes.push(b'\n');
        let full = waiting.bytes.len() > FULL;
        drop(waiting);
        if full {
            self.full.send_replace(true);
        }
        self.more.notify_one();
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
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn write<W: AsyncWrite + Unpin>(&self, mut writer: W) -> io::Result<()> {
        let mut batch = Vec::new();
        loop {
            let muted = {
                let mut waiting = self.waiting();
                std::mem::swap(&mut waiting.bytes, &mut batch);
                waiting.muted
            };
            if batch.is_empty() {
                if muted {
                    return Ok(());
                }
                self.more.notified().await;
                continue;
            }
            writer.write_all(&batch).await?;
            writer.flush().await?;
            batch.clear();
            batch.shrink_to(KEPT);
            if self.is_full() && self.waiting().bytes.len() <= FULL {
                self.full.send_replace(false);
            }
        }
    }
}
