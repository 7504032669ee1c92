//! Listening where the system does not tell: looking at the files again and again.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use super::WatchSet;
use super::file_stamps::FileStamps;
use super::watcher::Wakeup;

/// A thread that looks at the files of the last base that it was given; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Poller {
    baselines: Sender<Baseline>,
}

#[derive(Debug)]
struct Baseline {
    set: WatchSet,
    stamps: FileStamps,
}

/// How often to look.
#[derive(Debug, Clone, Copy)]
pub(super) struct PollPace {
    /// While nothing happens.
    pub(super) idle: Duration,
    /// After a change, to notice the next before the bell is taken for quiet.
    pub(super) after_change: Duration,
}

impl Poller {
    /// Starts the thread; it does nothing before its first base.
    pub(super) fn start(pace: PollPace, ring: Arc<Wakeup>) -> Poller {
        let (bases, incoming) = channel();
        let spawned =
            thread::Builder::new().name("folio poll".to_owned()).spawn(move || run_poller(&incoming, pace, &ring));
        if let Err(error) = spawned {
            tracing::error!("cannot start polling for changes: {error}");
        }
        Poller { baselines: bases }
    }

    /// Compares with `stamps` of `set` from now on.
    pub(super) fn set_baseline(&self, set: &WatchSet, stamps: &FileStamps) {
        // Without a thread there is nobody to tell, which was said when it could not be started.
        let _ = self.baselines.send(Baseline { set: set.clone(), stamps: stamps.clone() });
    }
}

fn run_poller(incoming: &Receiver<Baseline>, pace: PollPace, ring: &Wakeup) {
    let Ok(mut base) = incoming.recv() else { return };
    // No event will tell of a change that the stamps could not show, so such stamps are looked at once more.
    let mut recheck = base.stamps.are_ambiguous();
    let mut pause = pace.idle;
    loop {
        match incoming.recv_timeout(pause) {
            Ok(newer) => {
                base = newer;
                recheck = base.stamps.are_ambiguous();
                pause = pace.idle;
            }
            Err(RecvTimeoutError::Timeout) => {
                let now = FileStamps::read(&base.set);
                let moved = recheck || now != base.stamps;
                if moved {
                    ring.wake();
                }
                pause = if moved { pace.after_change.min(pace.idle) } else { pace.idle };
                base.stamps = now;
                recheck = false;
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;

    #[tokio::test]
    async fn ambiguous_stamps_trigger_a_check() {
        let temporary = tempfile::tempdir().unwrap();
        let file = temporary.path().join("a");
        let set = WatchSet { files: [file.clone()].into(), ..WatchSet::default() };
        let fresh = || {
            std::fs::write(&file, "").unwrap();
            Some(FileStamps::read(&set)).filter(FileStamps::are_ambiguous)
        };
        let stamps = std::iter::repeat_with(fresh).flatten().next().unwrap();
        let ring = Arc::<Wakeup>::default();
        let pace = PollPace { idle: Duration::from_millis(1), after_change: Duration::from_millis(1) };
        let poller = Poller::start(pace, Arc::clone(&ring));
        poller.set_baseline(&set, &stamps);
        tokio::time::timeout(Duration::from_secs(10), ring.notified()).await.unwrap();
    }
}
