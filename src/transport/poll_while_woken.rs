//! A task that is polled again at once where its parts wake each other, as a connection and what answers its requests.
//!
//! A task that is woken while it runs is queued again, and a thread that sleeps is woken to look for work: both cost more
//! than most requests do.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use super::deferred_waker::DeferredWaker;

/// How often it is polled before other tasks have their turn.
const MAX_POLLS: usize = 8;

/// Runs a future to its end, as the whole of a task.
pub(super) async fn poll_while_woken<T>(mut future: Pin<&mut impl Future<Output = T>>) -> T {
    let deferred = Arc::<DeferredWaker>::default();
    let waker = Waker::from(deferred.clone());
    poll_fn(|context| {
        deferred.register(context.waker());
        for _ in 0..MAX_POLLS {
            let (polled, was_woken) = deferred.defer(|| future.as_mut().poll(&mut Context::from_waker(&waker)));
            if polled.is_ready() || !was_woken {
                return polled;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::task::Wake;

    use futures_util::FutureExt;
    use tokio::sync::mpsc;

    use super::*;

    /// Counts how often its task is woken.
    #[derive(Default)]
    struct CountingWaker(AtomicUsize);

    impl Wake for CountingWaker {
        fn wake(self: Arc<CountingWaker>) {
            self.0.fetch_add(1, SeqCst);
        }
    }

    #[test]
    fn parts_wake_each_other_without_waking_their_task() {
        let (requests, mut read) = mpsc::unbounded_channel();
        let (answers, mut answered) = mpsc::unbounded_channel();
        let (written, mut output) = mpsc::unbounded_channel();
        let writing = async {
            while let Some(answer) = answered.recv().await {
                written.send(answer).unwrap();
            }
        };
        let reading = async {
            while let Some(request) = read.recv().await {
                answers.send(request).unwrap();
            }
            drop(answers);
        };
        // What is woken was polled before.
        let mut both = pin!(async { tokio::join!(biased; writing, reading) });
        let mut running = pin!(poll_while_woken(both.as_mut()));
        let waker = Arc::<CountingWaker>::default();
        let mut poll = || running.as_mut().poll(&mut Context::from_waker(&waker.clone().into()));
        assert!(poll().is_pending());
        for number in 1..=3 {
            requests.send(number).unwrap();
            assert_eq!(waker.0.load(SeqCst), number, "it is woken from without");
            assert!(poll().is_pending());
            assert_eq!((output.recv().now_or_never(), waker.0.load(SeqCst)), (Some(Some(number)), number));
        }
        drop(requests);
        assert!(poll().is_ready());
    }

    #[test]
    fn future_that_never_waits_leaves_others_their_turn() {
        let endless = pin!(poll_fn(|context| -> Poll<()> {
            context.waker().wake_by_ref();
            Poll::Pending
        }));
        let mut running = pin!(poll_while_woken(endless));
        let waker = Arc::<CountingWaker>::default();
        for polls in 1..=3 {
            assert!(running.as_mut().poll(&mut Context::from_waker(&waker.clone().into())).is_pending());
            assert_eq!(waker.0.load(SeqCst), polls);
        }
    }
}
