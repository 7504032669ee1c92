//! Listening where the system does not tell: looking at the files again and again.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use super::WatchSet;
use super::bell::Ring;
use super::stamp::Stamps;

/// A thread that looks at the files of the last base that it was given; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Poller {
    bases: Sender<Base>,
}

#[derive(Debug)]
struct Base {
    set: WatchSet,
    stamps: Stamps,
}

/// How often to look.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// While nothing happens.
    pub(super) idle: Duration,
    /// After a change, to notice the next before the bell is taken for quiet.
    pub(super) restless: Duration,
}

impl Poller {
    /// Starts the thread; it does nothing before its first base.
    pub(super) fn start(pace: Pace, ring: Arc<Ring>) -> Poller {
        let (bases, incoming) = channel();
        let spawned = thread::Builder::new().name("folio poll".to_owned()).spawn(move || look(&incoming, pace, &ring));
        if let Err(error) = spawned {
            tracing::error!("cannot watch for changes: {error}");
        }
        Poller { bases }
    }

    /// Compares with `stamps` of `set` from now on.
    pub(super) fn compare_with(&self, set: &WatchSet, stamps: &Stamps) {
        // Without a thread there is nobody to tell, which was said when it could not be started.
        let _ = self.bases.send(Base { set: set.clone(), stamps: stamps.clone() });
    }
}

fn look(incoming: &Receiver<Base>, pace: Pace, ring: &Ring) {
    let Ok(mut base) = incoming.recv() else { return };
    // No event will tell of a change that the stamps could not show, so such stamps are looked at once more.
    let mut doubt = base.stamps.are_fresh();
    let mut pause = pace.idle;
    loop {
        match incoming.recv_timeout(pause) {
            Ok(newer) => {
                base = newer;
                doubt = base.stamps.are_fresh();
                pause = pace.idle;
            }
            Err(RecvTimeoutError::Timeout) => {
                let now = Stamps::of(&base.set);
                let moved = doubt || now != base.stamps;
                if moved {
                    ring.ring();
                }
                pause = if moved { pace.restless.min(pace.idle) } else { pace.idle };
                base.stamps = now;
                doubt = false;
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
    async fn stamps_that_could_hide_a_change_ring_though_nothing_is_seen() {
        let temporary = tempfile::tempdir().unwrap();
        let file = temporary.path().join("a");
        let set = WatchSet { files: [file.clone()].into(), ..WatchSet::default() };
        let fresh = || {
            std::fs::write(&file, "").unwrap();
            Some(Stamps::of(&set)).filter(Stamps::are_fresh)
        };
        let stamps = std::iter::repeat_with(fresh).flatten().next().unwrap();
        let ring = Arc::<Ring>::default();
        let pace = Pace { idle: Duration::from_millis(1), restless: Duration::from_millis(1) };
        let poller = Poller::start(pace, Arc::clone(&ring));
        poller.compare_with(&set, &stamps);
        tokio::time::timeout(Duration::from_secs(10), ring.rung()).await.unwrap();
    }
}
