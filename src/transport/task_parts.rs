//! Parts of one task that wake each other, such as one that reads requests and one that writes their answers.
//!
//! A task that is woken while it runs is queued again, and a thread that sleeps is woken to look for work: both cost more
//! than most requests do. So a part that is woken by another is polled at once, and one that is not woken is not polled.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    task::{Context, Poll, Wake, Waker},
};

use futures_util::task::AtomicWaker;

/// How often parts wake each other before other tasks have their turn.
const MAX_ROUNDS: usize = 8;

/// Runs `main` to its end and, until then, `beside`.
pub(super) async fn run_beside<T>(
    mut main: Pin<&mut impl Future<Output = T>>,
    mut beside: Pin<&mut impl Future<Output = ()>>,
) -> T {
    let task = Arc::<RunningTask>::default();
    let (main_waker, beside_waker) = (PartWaker::new(&task), PartWaker::new(&task));
    let mut has_ended = false;
    poll_fn(|context| {
        task.waker.register(context.waker());
        for _ in 0..MAX_ROUNDS {
            task.is_running.store(true, SeqCst);
            if let Some(Poll::Ready(output)) = main_waker.poll_if_woken(main.as_mut()) {
                return Poll::Ready(output);
            }
            if !has_ended {
                has_ended = beside_waker.poll_if_woken(beside.as_mut()).is_some_and(|polled| polled.is_ready());
            }
            task.is_running.store(false, SeqCst);
            let is_woken = main_waker.was_woken.load(SeqCst) || !has_ended && beside_waker.was_woken.load(SeqCst);
            if !is_woken {
                return Poll::Pending;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

/// What the parts of a task share.
#[derive(Default)]
struct RunningTask {
    waker: AtomicWaker,
    is_running: AtomicBool,
}

/// Notes that a part is woken, and wakes its task unless that is running.
struct PartWaker {
    task: Arc<RunningTask>,
    was_woken: AtomicBool,
}

impl PartWaker {
    fn new(task: &Arc<RunningTask>) -> Arc<PartWaker> {
        Arc::new(PartWaker { task: task.clone(), was_woken: AtomicBool::new(true) })
    }

    fn poll_if_woken<T>(self: &Arc<PartWaker>, part: Pin<&mut impl Future<Output = T>>) -> Option<Poll<T>> {
        let is_woken = self.was_woken.swap(false, SeqCst);
        is_woken.then(|| part.poll(&mut Context::from_waker(&Waker::from(self.clone()))))
    }
}

impl Wake for PartWaker {
    fn wake(self: Arc<PartWaker>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<PartWaker>) {
        self.was_woken.store(true, SeqCst);
        // A task that ends its run after this looks at what was woken.
        if !self.task.is_running.load(SeqCst) {
            self.task.waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

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
        let reading = async {
            while let Some(request) = read.recv().await {
                answers.send(request).unwrap();
            }
        };
        let writing = async {
            while let Some(answer) = answered.recv().await {
                written.send(answer).unwrap();
            }
        };
        let (reading, writing) = (std::pin::pin!(reading), std::pin::pin!(writing));
        let mut running = std::pin::pin!(run_beside(reading, writing));
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
    fn parts_that_never_wait_leave_others_their_turn() {
        let endless = || {
            poll_fn(|context| -> Poll<()> {
                context.waker().wake_by_ref();
                Poll::Pending
            })
        };
        let (one, other) = (std::pin::pin!(endless()), std::pin::pin!(endless()));
        let mut running = std::pin::pin!(run_beside(one, other));
        let waker = Arc::<CountingWaker>::default();
        for polls in 1..=3 {
            assert!(running.as_mut().poll(&mut Context::from_waker(&waker.clone().into())).is_pending());
            assert_eq!(waker.0.load(SeqCst), polls);
        }
    }
}
