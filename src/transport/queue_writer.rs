//! Writes a queue from two places: the thread that fills it, before that waits for input, and otherwise a task.

use std::{
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use futures_util::{
    FutureExt,
    future::{BoxFuture, Fuse, FusedFuture},
};
use parking_lot::Mutex;
use tokio::{io::AsyncWrite, task::coop::unconstrained};

use super::{deferred_waker::DeferredWaker, send_queue::SendQueue};

/// Writes what is queued for a peer.
pub(super) struct QueueWriter {
    writing: Mutex<Fuse<BoxFuture<'static, ()>>>,
    waker: Arc<DeferredWaker>,
}

impl QueueWriter {
    pub(super) fn new(
        send_queue: Arc<SendQueue>,
        writer: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Arc<QueueWriter> {
        // What the reading thread has used of its budget must not stop the writing.
        let writing = unconstrained(async move { send_queue.write_to(writer).await }).boxed().fuse();
        Arc::new(QueueWriter { writing: Mutex::new(writing), waker: Arc::default() })
    }

    /// Writes until the queue is closed and empty, or the peer takes nothing any more. One task runs this.
    pub(super) async fn run(&self) {
        poll_fn(|context| {
            self.waker.register(context.waker());
            self.poll(&self.waker.clone().into())
        })
        .await;
    }

    /// The same at the end, when the work of [`write_after`](Self::write_after) is no longer waited for.
    pub(super) async fn finish(&self) {
        poll_fn(|context| self.poll(context.waker())).await;
    }

    /// Does what may fill the queue, and writes that, without waking the task. Neither may wait.
    pub(super) fn write_after<T>(&self, work: impl FnOnce() -> T) -> T {
        let (done, has_queued) = self.waker.defer(work);
        if has_queued && self.poll(&self.waker.clone().into()).is_ready() {
            self.waker.wake_task();
        }
        done
    }

    fn poll(&self, waker: &Waker) -> Poll<()> {
        let mut writing = self.writing.lock();
        if writing.is_terminated() { Poll::Ready(()) } else { writing.poll_unpin(&mut Context::from_waker(waker)) }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering::SeqCst},
        time::Duration,
    };

    use tokio::{io::AsyncReadExt, sync::oneshot, task::JoinHandle};
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::server::{OutgoingKind, OutgoingMessage};

    fn line(text: &'static str) -> OutgoingMessage {
        OutgoingMessage { json: text.into(), kind: OutgoingKind::Notification { origin: None } }
    }

    fn start() -> (Arc<SendQueue>, Arc<QueueWriter>, JoinHandle<()>, tokio::io::DuplexStream) {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let send_queue = SendQueue::new(&Arc::default(), CancellationToken::new());
        let queue_writer = QueueWriter::new(send_queue.clone(), near);
        let writing = queue_writer.clone();
        let task = tokio::spawn(async move { writing.run().await });
        (send_queue, queue_writer, task, far)
    }

    #[tokio::test]
    async fn what_work_queues_is_written_before_anything_else_runs() {
        let (send_queue, queue_writer, task, mut far) = start();
        tokio::task::yield_now().await;
        queue_writer.write_after(|| ["a", "b"].into_iter().for_each(|text| send_queue.push(line(text))));
        let mut read = [0; 64];
        assert_eq!(far.read(&mut read).now_or_never().expect("no other task has run").unwrap(), 4);
        assert_eq!(&read[..4], b"a\nb\n");
        queue_writer.write_after(|| send_queue.close());
        task.await.unwrap();
        assert_eq!(far.read(&mut read).await.unwrap(), 0, "the end is seen");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn work_does_not_delay_the_end() {
        let (near, mut far) = tokio::io::duplex(1);
        let send_queue = SendQueue::new(&Arc::default(), CancellationToken::new());
        let queue_writer = QueueWriter::new(send_queue.clone(), near);
        let (begun, has_begun) = oneshot::channel();
        let (end, may_end) = std::sync::mpsc::channel::<()>();
        let working = std::thread::spawn({
            let queue_writer = queue_writer.clone();
            move || {
                queue_writer.write_after(|| {
                    begun.send(()).unwrap();
                    may_end.recv().unwrap();
                });
            }
        });
        has_begun.await.unwrap();
        send_queue.push(line("answer"));
        send_queue.close();
        let mut read = [0; 7];
        let both = async { tokio::join!(queue_writer.finish(), far.read_exact(&mut read)) };
        tokio::time::timeout(Duration::from_secs(20), both).await.expect("it waits for the work").1.unwrap();
        assert_eq!(&read, b"answer\n");
        end.send(()).unwrap();
        working.join().unwrap();
    }

    /// Whatever the moment, it is written without more work to come.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_others_queue_meanwhile_is_written() {
        const ROUNDS: usize = 20_000;
        let (send_queue, queue_writer, _task, mut far) = start();
        let round = Arc::<AtomicUsize>::default();
        let others = std::thread::spawn({
            let (send_queue, round) = (send_queue.clone(), round.clone());
            move || {
                for next in 1..=ROUNDS {
                    while round.load(SeqCst) < next {
                        std::thread::yield_now();
                    }
                    (0..next % 400).for_each(|_| std::hint::spin_loop());
                    send_queue.push(line("o"));
                }
            }
        });
        for next in 1..=ROUNDS {
            round.store(next, SeqCst);
            queue_writer.write_after(|| send_queue.push(line("w")));
            let mut read = [0; 4];
            let both = far.read_exact(&mut read);
            tokio::time::timeout(Duration::from_secs(20), both).await.expect("one is never written").unwrap();
        }
        others.join().unwrap();
    }
}
