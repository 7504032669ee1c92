//! Wakes a task later, where who may wake it then does the work of the task itself.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    task::{Wake, Waker},
};

use futures_util::task::AtomicWaker;

/// Wakes a task, or notes that it is to be woken.
#[derive(Default)]
pub(super) struct DeferredWaker {
    task: AtomicWaker,
    is_deferring: AtomicBool,
    was_woken: AtomicBool,
}

impl DeferredWaker {
    /// Sets the task to wake.
    pub(super) fn register(&self, task: &Waker) {
        self.task.register(task);
    }

    /// Wakes the task.
    pub(super) fn wake_task(&self) {
        self.task.wake();
    }

    /// Does what may wake the task, which is not woken meanwhile. Returns whether it should have been.
    pub(super) fn defer<T>(&self, work: impl FnOnce() -> T) -> (T, bool) {
        self.is_deferring.store(true, SeqCst);
        let deferring = Deferring(self);
        let done = work();
        drop(deferring);
        (done, self.was_woken.swap(false, SeqCst))
    }
}

impl Wake for DeferredWaker {
    fn wake(self: Arc<DeferredWaker>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<DeferredWaker>) {
        if self.is_deferring.load(SeqCst) {
            self.was_woken.store(true, SeqCst);
            // Who ends the work after this looks at whether it was woken.
            if self.is_deferring.load(SeqCst) {
                return;
            }
        }
        self.task.wake();
    }
}

/// Ends even if the work panics.
struct Deferring<'a>(&'a DeferredWaker);

impl Drop for Deferring<'_> {
    fn drop(&mut self) {
        self.0.is_deferring.store(false, SeqCst);
    }
}
