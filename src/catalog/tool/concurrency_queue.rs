//! A FIFO queue of the calls above a concurrency limit.

use std::collections::VecDeque;

use tokio::sync::watch;

/// The calls of one tool that run or wait.
#[derive(Default)]
pub(in crate::catalog) struct ConcurrencyQueue {
    running: u32,
    /// How many may run at once.
    limit: Option<u32>,
    waiting: VecDeque<(u64, watch::Sender<Option<usize>>)>,
    last_id: u64,
}

/// A place among those that wait.
pub(in crate::catalog) struct QueuePosition {
    id: u64,
    position: watch::Receiver<Option<usize>>,
}

impl QueuePosition {
    /// Its position, from 1; `None` when it is its turn.
    pub(in crate::catalog) fn position(&mut self) -> Option<usize> {
        *self.position.borrow_and_update()
    }

    /// Waits until the position is another one.
    pub(in crate::catalog) async fn position_changed(&mut self) {
        let _ = self.position.changed().await;
    }
}

impl ConcurrencyQueue {
    /// Whether a new call must wait.
    pub(in crate::catalog) fn is_full(&self) -> bool {
        self.limit.is_some_and(|limit| self.running >= limit)
    }

    /// How many wait.
    pub(in crate::catalog) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Sets how many may run at once.
    pub(in crate::catalog) fn set_limit(&mut self, limit: Option<u32>) {
        if self.limit != limit {
            self.limit = limit;
            self.advance();
        }
    }

    /// A call runs.
    pub(in crate::catalog) fn start(&mut self) {
        self.running += 1;
    }

    /// A call has ended.
    pub(in crate::catalog) fn end(&mut self) {
        self.running = self.running.saturating_sub(1);
        self.advance();
    }

    /// A call waits, behind all others.
    pub(in crate::catalog) fn wait(&mut self) -> QueuePosition {
        self.last_id += 1;
        let (position_sender, position) = watch::channel(Some(self.waiting.len() + 1));
        self.waiting.push_back((self.last_id, position_sender));
        QueuePosition { id: self.last_id, position }
    }

    /// A call no longer waits, or its turn came and it does not run.
    pub(in crate::catalog) fn leave(&mut self, position: &QueuePosition) {
        let count = self.waiting.len();
        self.waiting.retain(|(id, _)| *id != position.id);
        if self.waiting.len() == count {
            self.end();
        } else {
            self.publish_positions();
        }
    }

    fn advance(&mut self) {
        let count = self.waiting.len();
        while !self.is_full()
            && let Some((_, position_sender)) = self.waiting.pop_front()
        {
            self.running += 1;
            position_sender.send_replace(None);
        }
        if self.waiting.len() < count {
            self.publish_positions();
        }
    }

    fn publish_positions(&self) {
        for (position, (_, position_sender)) in (1..).zip(&self.waiting) {
            position_sender.send_if_modified(|sent| sent.replace(position) != Some(position));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_come_in_order() {
        let mut turns = ConcurrencyQueue::default();
        turns.set_limit(Some(1));
        turns.start();
        let mut queued_calls = [turns.wait(), turns.wait(), turns.wait()];
        let positions =
            |queued_calls: &mut [QueuePosition; 3]| queued_calls.each_mut().map(|position| position.position());
        assert_eq!(positions(&mut queued_calls), [Some(1), Some(2), Some(3)]);
        turns.leave(&queued_calls[1]);
        assert_eq!(positions(&mut queued_calls), [Some(1), Some(2), Some(2)]);
        turns.end();
        assert_eq!(positions(&mut queued_calls), [None, Some(2), Some(1)]);
        assert!(turns.is_full());
        // Its turn came, and it has gone.
        turns.leave(&queued_calls[0]);
        assert_eq!(positions(&mut queued_calls), [None, Some(2), None]);
        turns.end();
        assert!(!turns.is_full() && turns.waiting() == 0);
    }

    #[test]
    fn raised_limit_admits_those_that_wait() {
        let mut turns = ConcurrencyQueue::default();
        turns.set_limit(Some(1));
        turns.start();
        let (mut first, mut second) = (turns.wait(), turns.wait());
        turns.set_limit(Some(2));
        assert_eq!((first.position(), second.position()), (None, Some(1)));
        turns.set_limit(None);
        assert_eq!(second.position(), None);
    }
}
