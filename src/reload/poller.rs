//! Polls files for changes, where the system reports none.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use super::file_stamps::FileStamps;
use super::watcher::Wakeup;

/// A thread that compares files with its last baseline; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Poller {
    baselines: Sender<FileStamps>,
}

/// The pace of polling.
#[derive(Debug, Clone, Copy)]
pub(super) struct PollIntervals {
    /// The interval while nothing changes.
    pub(super) idle: Duration,
    /// The interval after a change, short enough to notice the next within the quiet period.
    pub(super) after_change: Duration,
}

impl Poller {
    /// Starts the thread, which waits for its first baseline.
    pub(super) fn start(intervals: PollIntervals, wakeup: Arc<Wakeup>) -> Poller {
        let (baselines, incoming) = channel();
        let spawned = thread::Builder::new()
            .name("folio poll".to_owned())
            .spawn(move || run_poller(&incoming, intervals, &wakeup));
        if let Err(error) = spawned {
            tracing::error!("cannot start polling for changes: {error}");
        }
        Poller { baselines }
    }

    /// Compares with these stamps from now on.
    pub(super) fn set_baseline(&self, stamps: &FileStamps) {
        // It fails if the thread could not be started, which was logged.
        let _ = self.baselines.send(stamps.clone());
    }
}

fn run_poller(incoming: &Receiver<FileStamps>, intervals: PollIntervals, wakeup: &Wakeup) {
    let Ok(mut base) = incoming.recv() else { return };
    // A change that ambiguous stamps do not show is found by one more check.
    let mut recheck = base.are_ambiguous();
    let mut pause = intervals.idle;
    loop {
        match incoming.recv_timeout(pause) {
            Ok(newer) => {
                base = newer;
                recheck = base.are_ambiguous();
                pause = intervals.idle;
            }
            Err(RecvTimeoutError::Timeout) => {
                let now = base.reread();
                let moved = recheck || now.differ_from(&base);
                if moved {
                    wakeup.wake();
                }
                pause = if moved { intervals.after_change.min(intervals.idle) } else { intervals.idle };
                base = now;
                recheck = false;
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::LoadDependencies;

    #[tokio::test]
    async fn ambiguous_stamps_trigger_a_check() {
        let temporary = tempfile::tempdir().unwrap();
        let file = temporary.path().join("a");
        let set = LoadDependencies { files: [file.clone()].into(), ..LoadDependencies::default() };
        let set = Arc::new(set);
        let fresh = || {
            std::fs::write(&file, "").unwrap();
            Some(FileStamps::read(set.clone())).filter(FileStamps::are_ambiguous)
        };
        let stamps = std::iter::repeat_with(fresh).flatten().next().unwrap();
        let wakeup = Arc::<Wakeup>::default();
        let intervals = PollIntervals { idle: Duration::from_millis(1), after_change: Duration::from_millis(1) };
        let poller = Poller::start(intervals, Arc::clone(&wakeup));
        poller.set_baseline(&stamps);
        tokio::time::timeout(Duration::from_secs(10), wakeup.notified()).await.unwrap();
    }
}
